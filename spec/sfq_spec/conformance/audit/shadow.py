"""The specification beside a scheduler in production: it reads what was decided, and follows as long as it can.

A trace that a scheduler writes at once is followed line by line. After a divergence nothing can be said of the meters,
so the rest is passed over until nobody waits; there the next period of congestion begins level (article §2.5), and the
following begins anew, with the weights that hold then. The same where lines are missing or cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.conformance.audit.findings import CONTEXT
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.overtaking import OvertakingOrder
from sfq_spec.conformance.audit.records import Record, Unreadable, read_line
from sfq_spec.conformance.judge import Wrong
from sfq_spec.trace import BadLine

MOST_LINES = 200_000
"""Lines of one period of congestion that are kept for a reproduction; of a longer one the latest half."""
MOST_USERS = 100_000
"""Users that are remembered; with more of them the following begins anew when nobody waits."""


class Gap(msgspec.Struct, forbid_unknown_fields=True):
    """A line that is no event: so many are missing here, and nobody waits now."""

    gap: int


_gaps = msgspec.json.Decoder(Gap)


@dataclass(frozen=True)
class Divergence:
    """A decision that is not the machine's."""

    line: int
    """From 1, of all that was read."""
    wrong: Wrong
    lines: tuple[bytes, ...]
    """The shortest trace that shows it: from the moment at which all were level to the wrong event."""
    is_whole: bool
    """Whether it does begin at such a moment; not where the period was too long to be kept."""

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "divergence": self.wrong.sentence,
            "line": self.line,
            "legal": list(self.wrong.legal),
            "claims": list(self.wrong.claims),
            "context": [msgspec.json.decode(line) for line in self.lines[-CONTEXT:]],
            "events_of_reproduction": len(self.lines),
            "reproduction_is_whole": self.is_whole,
        }


@dataclass(frozen=True)
class Lost:
    """From here on nothing can be said until nobody waits."""

    why: str

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {"lost": self.why}


@dataclass
class Shadow:
    """Follows a scheduler."""

    overtaking: bool = False
    any_tie: bool = False
    most_lines: int = MOST_LINES
    line: int = 0
    events: int = 0
    """Events that were followed."""
    passed_over: int = 0
    """Events about which nothing could be said."""
    divergences: int = 0
    _waiting: set[str] = field(default_factory=set)
    """The requests that wait, by what the trace tells; to know when nobody does."""
    _weights: dict[str, bytes] = field(default_factory=dict)
    """The line that gave a user its weight, where that is not 1."""
    _lines: list[bytes] = field(default_factory=list)
    _is_whole: bool = True
    _is_lost: bool = False
    """Whether nothing can be said until nobody waits."""
    _has_forgotten: bool = False
    """Whether it has begun anew, and knows not which ids are in flight from before."""

    def __post_init__(self) -> None:
        self._begin()

    def take(self, line: bytes) -> Divergence | Lost | None:
        """The next line of the trace, and what is to be told of it."""
        self.line += 1
        if not line.strip():
            return None
        try:
            record = read_line(line, self.line)
        except BadLine as bad:
            return self._take_no_event(line, bad)
        if record.refused is not UNSET and self._has_forgotten:
            self.passed_over += 1
            return None
        self._note(record, line)
        if self._is_lost:
            self.passed_over += 1
            self._begin_if_level()
            return None
        return self._follow(record)

    def _follow(self, record: Record) -> Divergence | Lost | None:
        try:
            wrong = self._order.take([record])
        except Unreadable as gap:
            return self._lose(f"line {self.line}: {gap}")
        self.events += 1
        if wrong is None:
            if record.refused is not UNSET:
                self._lines.pop()
            self._begin_if_level()
            return None
        self.divergences += 1
        found = Divergence(self.line, wrong, tuple(self._lines), self._is_whole)
        self._is_lost = True
        self._begin_if_level()
        return found

    def _take_no_event(self, line: bytes, bad: BadLine) -> Lost | None:
        try:
            gap = _gaps.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._lose(str(bad))
        self.passed_over += gap.gap
        self._has_forgotten = True
        self._waiting.clear()
        self._begin()
        return None

    def _note(self, record: Record, line: bytes) -> None:
        """What the line tells, whoever is right: who waits, which weights hold, and the line itself."""
        if len(self._lines) >= self.most_lines:
            del self._lines[: self.most_lines // 2]
            self._is_whole = False
        self._lines.append(line if line.endswith(b"\n") else line + b"\n")
        if record.refused is not UNSET:
            return
        if record.event == "arrive" and record.request is not None:
            self._waiting.add(record.request)
        elif record.event == "cancel" and record.request is not None:
            self._waiting.discard(record.request)
        elif record.event == "dispatch" and isinstance(record.dispatched, str):
            self._waiting.discard(record.dispatched)
        elif record.event == "weight" and record.user is not None:
            self._weights[record.user] = line
            if _is_one(record.weight):
                del self._weights[record.user]

    def _lose(self, why: str) -> Lost | None:
        """Nothing can be said any more; why is told once."""
        told = None if self._is_lost else Lost(why)
        self._is_lost = True
        self.passed_over += 1
        self._begin_if_level()
        return told

    def _begin_if_level(self) -> None:
        """Where nobody waits everybody is level, and what was before matters no more."""
        if self._waiting:
            return
        if self._is_lost or len(self._order.players) > MOST_USERS:
            self._has_forgotten = True
            self._begin()
        else:
            self._lines, self._is_whole = list(self._weights.values()), True

    def _begin(self) -> None:
        self._is_lost, self._is_whole = False, True
        self._order: Order = OvertakingOrder(any_tie=self.any_tie) if self.overtaking else Order(any_tie=self.any_tie)
        self._lines = list(self._weights.values())
        self._order.take(read_line(line, 0) for line in self._lines)


def _is_one(weight: object) -> bool:
    try:
        return numbers.read(weight) == 1
    except numbers.NotANumber:
        return False
