"""What the formats have in common: requests with a size and a time of arrival, in rows that may be wrong."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sfq_spec import numbers
from sfq_spec.trace import LONGEST_LINE, BadLine, Readable

SECOND = 1_000_000
"""Microseconds. Times are whole microseconds throughout, so that nothing drifts."""

_WHOLE = re.compile(r"\d{1,15}", re.ASCII)


@dataclass(frozen=True)
class Arrival:
    """A request as the file tells of it."""

    time: int
    """Microseconds since the file's own beginning, rounded down."""
    user: str
    input_tokens: int
    output_tokens: int
    cost: Fraction | None = None
    """None: its tokens tell."""
    prefix: tuple[str | int, ...] = ()
    """The blocks of its prompt, where the file tells them."""


@dataclass(frozen=True)
class Imported:
    """The requests of a file, in order of arrival; those of one instant in the order of the file."""

    arrivals: Sequence[Arrival]
    left_out: int = 0
    """Requests that the file reports as rejected: nobody dispatched them."""


def in_order(arrivals: Sequence[Arrival], left_out: int = 0) -> Imported:
    """The requests sorted by time of arrival; a stable sort."""
    return Imported(sorted(arrivals, key=lambda arrival: arrival.time), left_out)


def lines(stream: Readable) -> Iterator[tuple[int, str]]:
    """Each line with its number from 1, decoded. Raises `BadLine` where one is not UTF-8 or has no end."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise BadLine(number, None, f"is longer than {LONGEST_LINE:,} bytes")
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as bad:
            raise BadLine(number, None, f"is not UTF-8 (byte {bad.start + 1})") from None


def table(stream: Readable, columns: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The named columns of a CSV file with a header, in any order, and the number of each row's line.

    Columns with other names are passed over. Raises `BadLine`.
    """
    rows = csv.reader((line for _, line in lines(stream)), strict=True)
    width = 0
    places: tuple[int, ...] = ()
    try:
        for row in rows:
            if not width:
                width, places = len(row), _places(row, columns)
            elif row:
                if len(row) != width:
                    raise BadLine(rows.line_num, None, f"has {len(row)} fields; the header has {width}")
                yield rows.line_num, tuple(row[place].strip() for place in places)
    except csv.Error as error:
        raise BadLine(rows.line_num, None, f"is not CSV: {error}") from None
    if not width:
        raise BadLine(1, None, f"is not there: the file needs a header with {', '.join(columns)}")


def _places(header: Sequence[str], columns: tuple[str, ...]) -> tuple[int, ...]:
    names = [name.strip() for name in header]
    for column in columns:
        if names.count(column) != 1:
            problem = "is more than once in" if column in names else "is missing from"
            needs, found = ", ".join(columns), _shown(",".join(names), 200)
            raise BadLine(1, column, f"{problem} the header, which needs {needs}, and is {found}")
    return tuple(names.index(column) for column in columns)


def named(line: int, field: str, text: str) -> str:
    """A user's name as it stands. Raises `BadLine` where it is empty."""
    if not text:
        raise BadLine(line, field, "is empty: each request needs a user")
    return text


def whole(line: int, field: str, value: object) -> int:
    """A number of tokens, from a text or a JSON integer. Raises `BadLine`."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    raise BadLine(line, field, f"{_shown(value)} is not a whole number of tokens, from 0 up")


def microseconds(line: int, field: str, value: object, unit: int = SECOND) -> int:
    """A time in units of `unit` microseconds, from 0 up, rounded down to a microsecond. Raises `BadLine`."""
    try:
        time = numbers.read(value)
    except numbers.NotANumber as error:
        raise BadLine(line, field, str(error)) from None
    if not isinstance(time, Fraction) or time < 0:
        raise BadLine(line, field, f"{_shown(value)} is not a time: a finite number from 0 up")
    return int(time * unit)


def _shown(value: object, most: int = 40) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."
