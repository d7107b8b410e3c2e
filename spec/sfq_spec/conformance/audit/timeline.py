"""What a plot needs of a log, in so many spans of events: charges, waits, and the lead at some moments.

A span covers twice as many events whenever there would be too many spans, so that it all has a fixed size per user.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

MOST_SPANS = 256
"""Spans that there are at most."""
RARELY = 4
"""A lead is looked up at most once in so many dispatches per waiting user, so that it costs little."""

Value = TypeVar("Value")


@dataclass
class Timeline:
    """Per span, from 0: what happened in it."""

    size: int = 1
    """Events in a span."""
    ends: dict[int, tuple[int, object]] = field(default_factory=dict)
    """Event and time of the last dispatch in a span."""
    charges: dict[str, dict[int, int]] = field(default_factory=dict)
    """Per user and span the sum of its charges, in units."""
    waits: dict[str, dict[int, float]] = field(default_factory=dict)
    """Per user and span the longest wait that ended there: in seconds, or in events where the log has no times."""
    leads: dict[int, tuple[int, int, object]] = field(default_factory=dict)
    """The greatest lead in the intervals that ended at some moment of the span, and its event and time."""
    _dispatches: int = 0

    def charge(self, name: str, charge: int, wait: float, event: int, time: object) -> None:
        """A user was dispatched after it had waited."""
        span = event // self.size
        while span >= MOST_SPANS:
            self._merge()
            span = event // self.size
        self.ends[span] = (event, time)
        charges = self.charges.setdefault(name, {})
        charges[span] = charges.get(span, 0) + charge
        waits = self.waits.setdefault(name, {})
        waits[span] = max(waits.get(span, 0), wait)
        self._dispatches += 1

    def lead(self, event: int, time: object, waiting: int, look: Callable[[], int]) -> None:
        """Look up the lead of this moment if it is time to. `waiting` users wait."""
        span = event // self.size
        if span not in self.leads and self._dispatches >= RARELY * waiting:
            self._dispatches = 0
            self.leads[span] = (look(), event, time)

    def multiply(self, factor: int) -> None:
        """From now on charges are told in a unit that is smaller by this factor."""
        self.leads = {span: (lead * factor, event, time) for span, (lead, event, time) in self.leads.items()}
        for name, charges in self.charges.items():
            self.charges[name] = {span: charge * factor for span, charge in charges.items()}

    def _merge(self) -> None:
        self.size *= 2
        self.ends = {span // 2: end for span, end in sorted(self.ends.items())}
        self.leads = _merged(self.leads, lambda a, b: a if a[0] > b[0] else b)
        self.charges = {name: _merged(charges, lambda a, b: a + b) for name, charges in self.charges.items()}
        self.waits = {name: _merged(waits, max) for name, waits in self.waits.items()}


def _merged(values: dict[int, Value], join: Callable[[Value, Value], Value]) -> dict[int, Value]:
    merged: dict[int, Value] = {}
    for span, value in values.items():
        merged[span // 2] = join(merged[span // 2], value) if span // 2 in merged else value
    return merged
