"""Schedulers that conform, each written in a way of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from schedulers.faulty import TiesByInsertion
from schedulers.linear_scan import LinearScan, Refusal
from schedulers.linked import FourWayHeap, IndexedHeap, Linked
from schedulers.plain import Heap, LeastFirst
from sfq_impl.heap import HeapScheduler
from sfq_spec.tags import TagScheduler


class Tags:
    """The formulation of 1996, with tags for every request; it has neither cancels nor weights, and tells no lags."""

    def __init__(self) -> None:
        self.tags = TagScheduler()
        self.live: dict[str, bool] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        if not math.isfinite(cost) or cost <= 0:
            raise Refusal("invalid-cost")
        if request in self.live:
            raise Refusal("duplicate-request")
        self.live[request] = True
        self.tags = self.tags.arrive(user, request, Fraction(cost), Fraction(1))

    def dispatch(self) -> str | None:
        self.tags, sent = self.tags.dispatch()
        if sent is None:
            return None
        self.live[sent.request] = False
        return sent.request

    def complete(self, request: str, outcome: str) -> None:
        if not self.live.get(request, True):
            del self.live[request]


class RebasesAlways(LinearScan):
    """After every event v is zero again, and the meters are what they were ahead of it, or behind."""

    def _rebase(self) -> None:
        self.meters = {user: meter - self.v for user, meter in self.meters.items()}
        self.v = 0

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, cost)
        self._rebase()

    def dispatch(self) -> str | None:
        sent = super().dispatch()
        self._rebase()
        return sent

    def cancel(self, request: str) -> None:
        super().cancel(request)
        self._rebase()


class ForgetsEagerly(LinearScan):
    """A user that does not wait and is not ahead of v is forgotten at once."""

    def dispatch(self) -> str | None:
        sent = super().dispatch()
        self._forget()
        return sent

    def cancel(self, request: str) -> None:
        super().cancel(request)
        self._forget()

    def _forget(self) -> None:
        for user in [user for user, meter in self.meters.items() if meter <= self.v and not self.queues[user]]:
            del self.meters[user], self.queues[user]


class ResetsLate(LinearScan):
    """The reset waits for the next arrival. The lags in between are not right, so it tells none."""

    lag: Any = None

    def _reset(self) -> None:
        return

    def arrive(self, user: str, request: str, cost: Any) -> None:
        if not any(self.queues.values()):
            self.v = max([self.v, *self.meters.values()])
        super().arrive(user, request, cost)


class TiesByLastId(LeastFirst):
    """A tie goes to the last id."""

    def key(self, user: str) -> Any:
        return self.meters[user], [-ord(letter) for letter in user], -len(user)


CORRECT: tuple[Callable[[], Any], ...] = (
    LinearScan,
    LeastFirst,
    Heap,
    Linked,
    IndexedHeap,
    FourWayHeap,
    HeapScheduler,
    Tags,
    RebasesAlways,
    ForgetsEagerly,
    ResetsLate,
)
"""Every correct scheduler here that breaks ties by the id."""
FREE: tuple[Callable[[], Any], ...] = (TiesByInsertion, TiesByLastId, LinearScan)
"""Those that are correct where a tie may go to anybody."""
