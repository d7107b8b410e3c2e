"""Lines of a trace, read fast and in batches, with the place of each for whoever has to complain about it.

What the fast reader does not take is read again by `sfq_spec.trace`, which takes it or names what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import IO, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sfq_spec import numbers, trace
from sfq_spec.trace import LONGEST_LINE, BadLine

CHUNK = 1 << 18
"""Bytes that are read at a time."""

Kind = Literal["arrive", "dispatch", "cancel", "complete", "weight", "cost", "upkeep"]


class Record(msgspec.Struct, gc=False):
    """One event with the answer that it got; a field that a kind of event does not have is empty."""

    event: Kind
    user: str | None = None
    request: str | None = None
    cost: Any = None
    weight: Any = None
    dispatched: str | UnsetType | None = UNSET
    refused: str | UnsetType = UNSET
    lag: dict[str, Any] | UnsetType = UNSET
    time: float | int | str | None = None
    held: Any = None
    """Of a dispatch: the users that were passed over, where others may overtake."""


@dataclass(frozen=True)
class Batch:
    """Some records that follow on one another, and where they stand.

    Where there are fewer places than records, each further record is on the line after the one before.
    """

    records: list[Record]
    files: list[str]
    lines: list[int]

    def place(self, index: int) -> str:
        """File and line of a record."""
        last = len(self.lines) - 1
        line = self.lines[min(index, last)] + max(0, index - last)
        return f"{self.files[min(index, len(self.files) - 1)]}: line {line}"


class Unreadable(Exception):
    """A line that says nothing, or what cannot be; there is no verdict. The message names the place and the fix."""


_records: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record, float_hook=numbers.decimal)
_NEEDED = {
    "arrive": ("user", "request", "cost"),
    "cancel": ("request",),
    "complete": ("request",),
    "weight": ("user", "weight"),
    "cost": ("request", "cost"),
}


def typed(chunk: bytes) -> list[Record]:
    """The records of whole lines. Raises a `msgspec.MsgspecError` where one is not a record."""
    return _records.decode_lines(chunk)


def batches(file: str, stream: IO[bytes]) -> Iterator[Batch]:
    """The records of a file of JSON Lines. Raises `Unreadable` at the first line that is not an event."""
    line = 1
    rest = b""
    while chunk := stream.read(CHUNK):
        chunk = rest + chunk
        end = chunk.rfind(b"\n") + 1
        chunk, rest = chunk[:end], chunk[end:]
        if len(rest) > LONGEST_LINE:
            number = line + chunk.count(b"\n")
            raise Unreadable(f"{file}: line {number}: is longer than {LONGEST_LINE:,} bytes")
        if chunk:
            yield from _batch(file, line, chunk)
            line += chunk.count(b"\n")
    if rest.strip():
        yield from _batch(file, line, rest)


def _batch(file: str, line: int, chunk: bytes) -> Iterator[Batch]:
    try:
        records = typed(chunk)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        records = []
    if len(records) == chunk.count(b"\n") + (not chunk.endswith(b"\n")):
        yield Batch(records, [file], [line])
        return
    lines: list[int] = []
    records = []
    for number, text in enumerate(chunk.split(b"\n"), start=line):
        if text.strip():
            try:
                records.append(read_line(text, number))
            except BadLine as bad:
                if records:
                    yield Batch(records, [file], lines)
                raise Unreadable(f"{file}: {bad}") from None
            lines.append(number)
    if records:
        yield Batch(records, [file], lines)


def read_line(text: bytes, number: int) -> Record:
    """The record on one line. Raises `BadLine` under the given line number."""
    if len(text) > LONGEST_LINE:
        raise BadLine(number, None, f"is longer than {LONGEST_LINE:,} bytes")
    try:
        text.decode()
        return _records.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        entry = trace.decode(text, number)
    time = entry.extra.get("time")
    told = entry.answer
    return Record(
        event=entry.event.__struct_config__.tag,  # type: ignore[arg-type]
        **{name: getattr(entry.event, name) for name in entry.event.__struct_fields__ if name != "outcome"},
        dispatched=told.dispatched,
        refused=told.refused,
        lag=told.lag,
        time=str(time, "utf-8") if isinstance(time, bytes | msgspec.Raw) else None,
        held=msgspec.json.decode(entry.extra["held"]) if "held" in entry.extra else None,
    )


def missing(record: Record) -> str | None:
    """The field that an event of this kind needs, and this one does not have."""
    for name in _NEEDED.get(record.event, ()):
        if getattr(record, name) is None:
            return name
    if record.event == "dispatch" and record.dispatched is UNSET and record.refused is UNSET:
        return "dispatched"
    return None


def exact(value: object) -> int | Fraction | None:
    """A number that is finite, an integer where it is whole; None for any other. Raises `numbers.NotANumber`."""
    number = numbers.read(value)
    if not isinstance(number, Fraction):
        return None
    return number.numerator if number.denominator == 1 else number
