"""A stream of real requests for a simulation: who asked for what and when, from a script, a trace or a table.

**A script or a trace** of events, as `sfq-spec import` makes it and the gateway records it: JSON Lines with `event` and
`time`. What a request took is read from its end: the tokens that are told there, or else the time from its dispatch,
which becomes as many tokens of output as take so long. Requests that were withdrawn or never ended are left out.

**A table**: CSV with a header, or JSON Lines, of `time` (seconds), `user`, `input_tokens`, `output_tokens`, and where
they are told `cost` and `priority`. Some other names of these columns are known too.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec

from sfq_impl.fleet.policy import MOST_TOKENS
from sfq_impl.fleet.simulation.engine import Pace, Work
from sfq_impl.heap import HeapScheduler
from sfq_spec.trace import Arrive, BadLine, Cancel, Complete, Dispatch, Entry, Recost, Refused, SetWeight, decode

NAMES: Mapping[str, tuple[str, ...]] = {
    "time": ("time", "arrival_s", "req_time"),
    "user": ("user", "client", "tenant"),
    "input_tokens": ("input_tokens", "prompt_tokens", "prompt_len"),
    "output_tokens": ("output_tokens", "completion_tokens", "output_len"),
    "cost": ("cost",),
    "priority": ("priority",),
}
"""What a column may be called."""
NEEDED = ("time", "user", "input_tokens", "output_tokens")
CHUNKS = 8
"""In how many pieces an answer comes; more would only take longer."""


class BadWorkload(ValueError):
    """A stream that cannot be read: the line, the field, and what would be right."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    time: float
    """Seconds from the first one."""
    user: str
    work: Work
    cost: int | None = None
    """None where the stream tells none: it is a matter of prices then."""
    priority: int = 0


@dataclass(frozen=True)
class Workload:
    """All of them, in order of arrival."""

    asked: tuple[Asked, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    """Of users, as the stream tells them last."""
    left_out: int = 0
    """Requests of which nobody knows what they would have taken."""


def read(lines: Iterable[bytes], pace: Pace | None = None) -> Workload:
    """A stream, in whichever of the forms; `pace` makes tokens of times. Raises `BadWorkload`."""
    numbered = _filled(lines)
    first = next(numbered, None)
    if first is None:
        raise BadWorkload("is empty: a script of `sfq-spec import`, or a table of time, user, input and output tokens")
    numbered = chain([first], numbered)
    if not first[1].lstrip().startswith(b"{"):
        return _sorted([_asked(*row) for row in _table(numbered)])
    if b'"event"' in first[1]:
        return _Script(pace or Pace()).read(numbered)
    return _sorted([_asked(number, _object(number, line)) for number, line in numbered])


def work(input_tokens: int, output_tokens: int) -> Work:
    """What a request of so many tokens asks of a server."""
    return Work(input_tokens, output_tokens, max(1, math.ceil(output_tokens / CHUNKS)))


def _filled(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _sorted(asked: list[Asked], weights: Mapping[str, float] | None = None, left_out: int = 0) -> Workload:
    if not asked:
        raise BadWorkload("holds no request that was served")
    asked.sort(key=lambda each: each.time)
    begin = asked[0].time
    moved = (Asked(each.time - begin, each.user, each.work, each.cost, each.priority) for each in asked)
    return Workload(tuple(moved), weights or {}, left_out)


def _object(number: int, line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadWorkload(f"line {number}: is not an object of JSON: {error}") from None


def _table(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV file, by the names of their columns."""
    try:
        rows = csv.reader((line.decode("utf-8-sig") for _, line in numbered), strict=True)
        header = [name.strip() for name in next(rows)]
        for row in rows:
            if len(row) != len(header):
                raise BadWorkload(f"line {rows.line_num}: has {len(row)} fields; the header has {len(header)}")
            yield rows.line_num, dict(zip(header, row, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadWorkload(f"is not CSV: {error}") from None


def _asked(number: int, row: Mapping[str, Any]) -> Asked:
    """The request of a row. Raises `BadWorkload`."""
    told = {}
    for name, others in NAMES.items():
        told[name] = next((row[other] for other in others if row.get(other) not in (None, "")), None)
        if told[name] is None and name in NEEDED:
            there = ", ".join(list(row)[:8])
            raise BadWorkload(
                f"line {number}: `{name}` is missing; the line has {there}. Other logs are read by "
                "`sfq-spec import FORMAT FILE`, and its script is taken here"
            )
    user = str(told["user"])
    time = _number(number, "time", told["time"])
    input_tokens = _whole(number, "input_tokens", told["input_tokens"], 0, MOST_TOKENS)
    output_tokens = _whole(number, "output_tokens", told["output_tokens"], 0, MOST_TOKENS)
    cost = None if told["cost"] is None else max(1, math.ceil(_number(number, "cost", told["cost"])))
    priority = 0 if told["priority"] is None else _whole(number, "priority", told["priority"], -99, 99)
    return Asked(time, user, work(input_tokens, output_tokens), cost, priority)


def _number(number: int, name: str, value: object) -> float:
    try:
        found = float(str(value))
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or found < 0:
        raise BadWorkload(f"line {number}: `{name}` is {str(value)[:40]!r}, and not a number of at least 0")
    return found


def _whole(number: int, name: str, value: object, least: int, most: int) -> int:
    try:
        found = float(str(value))
    except ValueError:
        found = math.nan
    if not found.is_integer() or not least <= found <= most:
        raise BadWorkload(
            f"line {number}: `{name}` is {str(value)[:40]!r}, and not a whole number from {least:,} to {most:,}"
        )
    return int(found)


@dataclass
class _Flying:
    """A request of a script."""

    asked: float
    user: str
    cost: int
    begun: float | None = None


@dataclass
class _Script:
    """The requests of a script or trace. Where a dispatch does not tell what it sent, the scheduler knows."""

    pace: Pace
    asked: list[Asked] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    left_out: int = 0
    live: dict[str, _Flying] = field(default_factory=dict)
    scheduler: HeapScheduler = field(default_factory=HeapScheduler)

    def read(self, numbered: Iterable[tuple[int, bytes]]) -> Workload:
        for number, line in numbered:
            try:
                entry = decode(line, number)
                if entry.answer.refused is msgspec.UNSET:
                    self._take(number, entry)
            except BadLine as bad:
                raise BadWorkload(str(bad)) from None
            except Refused as refusal:
                raise BadWorkload(f"line {number}: {refusal}") from None
        return _sorted(self.asked, self.weights, self.left_out + len(self.live))

    def _take(self, number: int, entry: Entry) -> None:
        event = entry.event
        match event:
            case Arrive():
                self.scheduler.arrive(event.user, event.request, event.cost)
                cost = max(1, math.ceil(event.cost))
                self.live[event.request] = _Flying(self._time(number, entry), event.user, cost)
            case Dispatch():
                self._dispatch(number, entry)
            case Complete():
                self._complete(number, entry, event.request)
            case Cancel():
                self._cancel(event.request)
            case SetWeight():
                self.scheduler.set_weight(event.user, event.weight)
                self.weights[event.user] = float(event.weight)
            case Recost() if event.request in self.live:
                self.scheduler.recost(event.request, event.cost)
                self.live[event.request].cost = max(1, math.ceil(event.cost))

    def _dispatch(self, number: int, entry: Entry) -> None:
        told = entry.answer.dispatched
        if told is msgspec.UNSET:
            sent = self.scheduler.dispatch()
            told = None if sent is None else sent.request
        if isinstance(told, str) and told in self.live:
            self.live[told].begun = self._time(number, entry)

    def _complete(self, number: int, entry: Entry, request: str) -> None:
        flying = self.live.pop(request, None)
        if flying is None or flying.begun is None:
            self.left_out += flying is not None
            return
        self.scheduler.complete(request)
        tokens = [self._told(number, entry, name) for name in ("input_tokens", "output_tokens")]
        if any(tokens):
            done = work(*tokens)
        else:
            took = max(0.0, self._time(number, entry) - flying.begun)
            done = work(0, max(1, round(took / self.pace.decode)) if self.pace.decode else 1)
        self.asked.append(Asked(flying.asked, flying.user, done, flying.cost))

    def _cancel(self, request: str) -> None:
        if self.live.pop(request, None) is not None:
            self.left_out += 1
            self.scheduler.cancel(request)

    def _time(self, number: int, entry: Entry) -> float:
        if "time" not in entry.extra:
            raise BadWorkload(f"line {number}: field `time` is missing: a simulation needs to know when it was")
        return _number(number, "time", msgspec.json.decode(entry.extra["time"]))

    def _told(self, number: int, entry: Entry, name: str) -> int:
        if name not in entry.extra:
            return 0
        return _whole(number, name, msgspec.json.decode(entry.extra[name]), 0, MOST_TOKENS)
