"""Random histories: a Hypothesis state machine that plays them in the arena.

Costs range over many orders of magnitude and are often equal, so that ties are likely. Most histories mix
everything; invalid events come too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from arena import Arena
from sfq_spec.scheduler import Scheduler
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Outcome, Recost, SetWeight, Upkeep

USERS = st.sampled_from(["A", "B", "C", "a", "é", "\ufffd", "\U0001f600"])
COSTS = st.one_of(
    st.sampled_from([1, 1, 1, 2, 3, 5]),
    st.integers(1, 12),
    st.builds(lambda digit, power: digit * 10**power, st.integers(1, 9), st.integers(0, 9)),
    st.fractions(Fraction(1, 9), 5, max_denominator=9),
)
WEIGHTS = st.one_of(st.sampled_from([1, 2, 3, Fraction(1, 2)]), st.fractions(Fraction(1, 12), 100, max_denominator=12))
INVALID = st.sampled_from([0, -1, float("nan"), float("inf")])
PLACE = st.integers(0, 1_000)


class Duel(RuleBasedStateMachine):
    """The machine, a scheduler beside it, every claim after every event."""

    factory: ClassVar[Any] = None
    """Makes the scheduler; None for the machine alone."""

    def __init__(self) -> None:
        super().__init__()
        scheduler: Scheduler | None = type(self).factory() if type(self).factory else None
        self.arena = Arena(scheduler)
        self.count = 0

    def _arrive(self, user: str, cost: Any) -> None:
        self.count += 1
        self.arena.play(Arrive(user, f"r{self.count}", cost))

    def _waiting(self, place: int) -> str:
        waiting: list[str] = self.arena.waiting
        return waiting[place % len(waiting)]

    def _in_flight(self, place: int) -> str:
        in_flight: list[str] = self.arena.in_flight
        return in_flight[place % len(in_flight)]

    @rule(user=USERS, cost=COSTS)
    def arrive(self, user: str, cost: Any) -> None:
        self._arrive(user, cost)

    @rule(user=USERS, costs=st.lists(COSTS, min_size=2, max_size=5))
    def burst(self, user: str, costs: list[Any]) -> None:
        for cost in costs:
            self._arrive(user, cost)

    @rule()
    def dispatch(self) -> None:
        self.arena.play(Dispatch())

    @rule(times=st.integers(2, 6))
    def dispatch_some(self, times: int) -> None:
        for _ in range(times):
            self.arena.play(Dispatch())

    @rule()
    def drain(self) -> None:
        while self.arena.waiting:
            self.arena.play(Dispatch())

    @precondition(lambda self: self.arena.waiting)
    @rule(place=PLACE)
    def cancel(self, place: int) -> None:
        self.arena.play(Cancel(self._waiting(place)))

    @precondition(lambda self: self.arena.waiting)
    @rule(place=PLACE)
    def cancel_all_of_one(self, place: int) -> None:
        user = self.arena.state.live[self._waiting(place)].user
        for request in self.arena.state.queues[user]:
            self.arena.play(Cancel(request.request))

    @precondition(lambda self: self.arena.waiting)
    @rule(place=PLACE, cost=COSTS)
    def recost(self, place: int, cost: Any) -> None:
        self.arena.play(Recost(self._waiting(place), cost))

    @precondition(lambda self: self.arena.in_flight)
    @rule(place=PLACE, outcome=st.sampled_from(["completed", "failed", "cancelled"]))
    def complete(self, place: int, outcome: Outcome) -> None:
        self.arena.play(Complete(self._in_flight(place), outcome))

    @rule(user=USERS, weight=WEIGHTS)
    def weigh(self, user: str, weight: Any) -> None:
        self.arena.play(SetWeight(user, weight))

    @rule()
    def upkeep(self) -> None:
        self.arena.play(Upkeep())

    @precondition(lambda self: len(self.arena.accounts) < 4)
    @rule()
    def observer_starts(self) -> None:
        self.arena.observe_from_now()

    @rule(user=USERS, cost=INVALID)
    def invalid_cost(self, user: str, cost: Any) -> None:
        self._arrive(user, cost)

    @rule(user=USERS, weight=INVALID)
    def invalid_weight(self, user: str, weight: Any) -> None:
        self.arena.play(SetWeight(user, weight))

    @precondition(lambda self: self.arena.state.live)
    @rule(user=USERS, place=PLACE)
    def duplicate(self, user: str, place: int) -> None:
        live = sorted(self.arena.state.live)
        self.arena.play(Arrive(user, live[place % len(live)], 1))

    @precondition(lambda self: self.arena.in_flight)
    @rule(place=PLACE)
    def too_late(self, place: int) -> None:
        self.arena.play(Cancel(self._in_flight(place)))
        self.arena.play(Recost(self._in_flight(place), 1))

    @rule()
    def unknown(self) -> None:
        self.arena.play(Cancel("nobody's"))
        self.arena.play(Recost("nobody's", 1))
        self.arena.play(Complete("nobody's"))
