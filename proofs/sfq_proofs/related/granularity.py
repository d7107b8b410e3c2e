"""The worst lead of one of two users that both wait all the time, exactly and for all time (article §3.2, §4.2).

Both always have two requests waiting: whatever is dispatched is replaced at once, at any of the costs. So the states
are finite for a method that keeps nobody ahead for ever, and the greatest lead is found by going through them all.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, product
from typing import Any

from sfq_spec.related.model import Model, model
from sfq_spec.trace import Arrive, Complete, Dispatch

COSTS = (1, 3)
ZERO = Fraction(0)
FAR = 20
"""A lead of so many largest costs is taken for one without a bound."""
MOST = 12_000
"""States, at most; a method whose counters only grow has ever new ones."""


@dataclass(frozen=True)
class Granularity:
    """The greatest W_i − W_j over the intervals that were gone through."""

    lead: Fraction
    is_all: bool
    """Whether these are all that there are; else there may be greater ones."""

    @property
    def grows(self) -> bool:
        """Whether it went on growing."""
        return self.lead > FAR * max(COSTS)


def worst_lead(policy: str) -> Granularity:
    """Go through the states of a method: by turns the oldest, and one of greatest lead, that was not gone on from yet.

    What is dispatched is complete at once.
    """
    scheduler, seen, number, turns = model(policy), set[Any](), count(5), count()
    begin = [(_begin(scheduler, queues), (ZERO, ZERO)) for queues in product(COSTS, repeat=4)]
    open_ = {next(number): place for place in begin}
    oldest, furthest = deque(open_), [(ZERO, place) for place in open_]
    worst = ZERO
    while open_ and len(seen) < MOST and worst <= FAR * max(COSTS):
        place = oldest.popleft() if next(turns) % 2 else heappop(furthest)[1]
        if place not in open_:
            continue
        state, leads = open_.pop(place)
        sent, answer = scheduler.take(state, Dispatch())
        job = state.live[str(answer.dispatched)]
        sent, _ = scheduler.take(sent, Complete(job.request))
        signs = (1, -1) if job.user == "A" else (-1, 1)
        first, second = (max(ZERO, lead + sign * job.cost) for lead, sign in zip(leads, signs, strict=True))
        worst = max(worst, first, second)
        for cost in COSTS:
            place = next(number)
            following, _ = scheduler.take(sent, Arrive(job.user, f"{job.user}{place}", Fraction(cost)))
            if (known := (first, second, scheduler.essence(following))) not in seen:
                seen.add(known)
                open_[place] = following, (first, second)
                oldest.append(place)
                heappush(furthest, (-max(first, second), place))
    return Granularity(worst, not open_)


def _begin(scheduler: Model, costs: tuple[int, ...]) -> Any:
    state: Any = scheduler.first()
    for number, (user, cost) in enumerate(zip("AABB", costs, strict=True), start=1):
        state, _ = scheduler.take(state, Arrive(user, f"{user}{number}", Fraction(cost)))
    return state
