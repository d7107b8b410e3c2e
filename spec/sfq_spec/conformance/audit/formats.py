"""Logs of other systems, with one row per request: VTC's measurements, LiteLLM's spend logs, and CSV in general.

None of them says when a request was dispatched. The time of its first token stands in for it, as seen by the client
or the proxy: a request cannot have been dispatched later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import IO, Any

import msgspec

from sfq_spec import numbers
from sfq_spec.conformance.audit.moments import SECOND, Row
from sfq_spec.importers import vtc
from sfq_spec.importers.rows import named, table, whole
from sfq_spec.trace import LONGEST_LINE, BadLine
from sfq_spec.words import counted

UNITS = {"s": SECOND, "ms": SECOND // 1_000, "us": SECOND // 1_000_000, "ns": 1}
_PLAIN = re.compile(r"(\d{1,18})(?:\.(\d{1,9}))?", re.ASCII)


@dataclass
class Tally:
    """What a reader saw besides the rows that it handed out."""

    left_out: int = 0
    """Rows of requests that were never dispatched."""
    why: str = ""
    """Which rows these are."""
    notes: list[str] = field(default_factory=list)
    """What else a reader of the result should know."""


@dataclass(frozen=True)
class Prices:
    """What a request costs where the log counts tokens: weighted tokens, at least 1."""

    input_weight: int = 1
    output_weight: int = 2

    def cost(self, input_tokens: int, output_tokens: int) -> int:
        """An integer above zero."""
        return max(1, self.input_weight * input_tokens + self.output_weight * output_tokens)


def read_vtc(file: str, stream: IO[bytes], prices: Prices, tally: Tally) -> Iterator[Row]:
    """The accepted requests of a log of the VTC artifact. Raises `BadLine`."""
    tally.why = "first_token_latency below 0: rejected"
    for line, (client, time, latency, prompt, output) in table(stream, vtc.COLUMNS):
        arrival = moment(line, "req_time", time)
        user = named(line, "client", client)
        cost = prices.cost(whole(line, "prompt_len", prompt), whole(line, "output_len", output))
        waited = _number(line, "first_token_latency", latency)
        if waited < 0:
            tally.left_out += 1
        else:
            yield Row(file, line, user, arrival, arrival + int(waited * SECOND), cost)


@dataclass(frozen=True)
class Columns:
    """Which column of a CSV file is what; the cost is a column, or is made of two with tokens."""

    user: str
    arrival: str
    dispatch: str
    cost: str = ""
    input_tokens: str = ""
    output_tokens: str = ""
    unit: str = "s"
    """Of the times that are numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that must be there."""
        return (self.user, self.arrival, self.dispatch, *self.costs)

    @property
    def costs(self) -> tuple[str, ...]:
        """The columns that the cost comes from."""
        return tuple(name for name in (self.cost, self.input_tokens, self.output_tokens) if name)


def read_csv(file: str, stream: IO[bytes], columns: Columns, prices: Prices, tally: Tally) -> Iterator[Row]:
    """The rows of a CSV file; those with an empty time of dispatch are left out. Raises `BadLine`."""
    tally.why = f"{columns.dispatch} is empty"
    for line, (user, arrival, dispatch, *costs) in table(stream, columns.names):
        if not dispatch:
            tally.left_out += 1
            continue
        begin = moment(line, columns.arrival, arrival, columns.unit)
        end = moment(line, columns.dispatch, dispatch, columns.unit)
        yield _row(
            file,
            line,
            columns.dispatch,
            named(line, columns.user, user),
            begin,
            end,
            _cost(line, columns, prices, costs),
        )


def _cost(line: int, columns: Columns, prices: Prices, texts: list[str]) -> int | Fraction:
    if not columns.cost:
        tokens = {name: whole(line, name, text) for name, text in zip(columns.costs, texts, strict=True)}
        return prices.cost(tokens.get(columns.input_tokens, 0), tokens.get(columns.output_tokens, 0))
    cost = _number(line, columns.cost, texts[0])
    if cost <= 0:
        raise BadLine(line, columns.cost, f"{texts[0]} is not above zero")
    return cost.numerator if cost.denominator == 1 else cost


USERS = ("user", "end_user", "api_key")
"""Columns of LiteLLM_SpendLogs that tell users apart; the first that is not empty counts."""
_NEEDED = ("request_id", "startTime", "prompt_tokens", "completion_tokens")


def read_litellm(file: str, stream: IO[bytes], user: str, prices: Prices, tally: Tally) -> Iterator[Row]:
    """The rows of LiteLLM_SpendLogs, as JSON Lines, an array, or an object with such an array under "data".

    `user` is the column that tells users apart; where it is empty, the first of `USERS` that has a value does.
    Requests that failed are left out, as are those that were answered from the cache. Raises `BadLine`.
    """
    tally.why = "status is failure, or the cache answered"
    whole_responses = 0
    columns: Counter[str] = Counter()
    for line, row in _objects(stream):
        for name in _NEEDED:
            if row.get(name) is None:
                raise BadLine(line, name, "is missing: a row of LiteLLM_SpendLogs has it")
        if row.get("status") == "failure" or str(row.get("cache_hit")).lower() == "true":
            tally.left_out += 1
            continue
        begin = moment(line, "startTime", row["startTime"])
        name = "completionStartTime" if row.get("completionStartTime") else "endTime"
        if not row.get(name):
            raise BadLine(line, name, "is missing: it stands in for the time of the dispatch")
        end = moment(line, name, row[name])
        whole_responses += row[name] == row.get("endTime")
        cost = prices.cost(
            whole(line, "prompt_tokens", row["prompt_tokens"]),
            whole(line, "completion_tokens", row["completion_tokens"]),
        )
        column = _user_column(line, row, user)
        columns[column] += 1
        yield _row(file, line, name, str(row[column]), begin, end, cost)
    if len(columns) > 1:
        told = ", ".join(f"{column} for {count:,}" for column, count in sorted(columns.items()))
        tally.notes.append(f"users were told apart by different columns: {told}; --user-column names one for all")
    if whole_responses:
        tally.notes.append(
            f"not streamed: {counted(whole_responses, 'response')}, where the end, not the first token, stands in for "
            "the dispatch"
        )


def moment(line: int, name: str, value: object, unit: str = "s") -> int:
    """A time in nanoseconds: a number of units, or a date and time in ISO 8601, UTC where it names no zone.

    Raises `BadLine`.
    """
    if isinstance(value, str) and unit == "s" and (plain := _PLAIN.fullmatch(value)):
        return int(plain[1]) * SECOND + int((plain[2] or "").ljust(9, "0"))
    if isinstance(value, str) and ("-" in value[1:] or ":" in value):
        return _date(line, name, value)
    time = _number(line, name, value) * UNITS[unit]
    if time < 0:
        raise BadLine(line, name, f"{value} is below zero: times count from some beginning on")
    return int(time)


def _date(line: int, name: str, text: str) -> int:
    fraction = re.search(r"[.,](\d+)", text)
    whole_seconds = text.replace(fraction[0], "") if fraction else text
    try:
        date = datetime.fromisoformat(whole_seconds)
    except ValueError:
        raise BadLine(
            line, name, f"{text!r} is not a time: a number, or a date such as 2026-01-31T12:00:00.5Z"
        ) from None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    since = date - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86_400 + since.seconds
    return seconds * SECOND + int((fraction[1] if fraction else "").ljust(9, "0")[:9])


def _row(file: str, line: int, name: str, user: str, begin: int, end: int, cost: int | Fraction) -> Row:
    if end < begin:
        early = (begin - end) / SECOND
        raise BadLine(line, name, f"is {early:g} s before the arrival: are the columns mixed up?")
    return Row(file, line, user, begin, end, cost)


def _user_column(line: int, row: Mapping[str, Any], column: str) -> str:
    for name in (column,) if column else USERS:
        if row.get(name):
            return name
    raise BadLine(line, column or ", ".join(USERS), "is empty: --user-column names another column")


def _number(line: int, name: str, value: object) -> Fraction:
    try:
        number = numbers.read(value)
    except numbers.NotANumber as error:
        raise BadLine(line, name, str(error)) from None
    if not isinstance(number, Fraction):
        raise BadLine(line, name, f"{value} is not finite")
    return number


def _objects(stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a stream of JSON: one a line, or all in one array, which is read whole."""
    line = stream.readline(LONGEST_LINE + 1)
    number = 1
    while line and not line.strip():
        line, number = stream.readline(LONGEST_LINE + 1), number + 1
    if line.lstrip().startswith(b"[") or not _is_row(line):
        yield from _array(line + stream.read())
        return
    while line:
        if len(line) > LONGEST_LINE:
            raise BadLine(number, None, f"is longer than {LONGEST_LINE:,} bytes")
        if line.strip():
            yield number, _object(number, line)
        line, number = stream.readline(LONGEST_LINE + 1), number + 1


def _is_row(line: bytes) -> bool:
    try:
        return "data" not in msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return line.strip() != b"{"


def _object(number: int, line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadLine(number, None, f"is not a JSON object: {error}") from None


def _array(text: bytes) -> Iterable[tuple[int, dict[str, Any]]]:
    """The rows of an array; instead of a line each has its place in it, from 1."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadLine(0, None, f"is not JSON: {error}") from None
    rows = found.get("data") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadLine(0, "data", "is not an array of rows: a spend log is JSON Lines, an array, or has one here")
    return enumerate(rows, start=1)
