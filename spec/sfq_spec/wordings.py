"""Sentences of the article that are false as they stand, each as a predicate on runs.

A wording looks at a run event by event and says after each whether it still holds; it remembers what it needs. The runs
that refute them stand in `errata`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

from sfq_spec.machine import Machine, Taken, take
from sfq_spec.rounding import rebasing
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event

ZERO = Fraction(0)
FLOATS = rebasing()


@dataclass(frozen=True)
class Moment:
    """One event of a run, with what came before and after."""

    before: Machine
    event: Event
    taken: Taken

    @property
    def after(self) -> Machine:
        """The state after the event."""
        return self.taken.state

    @property
    def user(self) -> str | None:
        """Whose request it was about."""
        return self.taken.request.user if self.taken.request else None

    @property
    def charge(self) -> Fraction:
        """What was charged; 0 where nothing was."""
        request = self.taken.request
        if not isinstance(self.event, Dispatch) or request is None:
            return ZERO
        return request.cost / self.before.competition.weight[request.user]

    def signed(self, charge: Fraction) -> Fraction:
        """What the event adds to A's lead over B."""
        return {"A": charge, "B": -charge}.get(self.user or "", ZERO) if self.charge else ZERO


class Wording(Hashable, Protocol):
    """A sentence, made precise. Immutable: it gives back what it is after the event."""

    def see(self, moment: Moment) -> tuple[Wording, bool]:
        """What is remembered after an event, and whether the sentence still holds."""


def _both_wait(state: Machine) -> bool:
    return {"A", "B"} <= state.queues.keys()


@dataclass(frozen=True)
class WithinTwo:
    """E-CMAX: A and B wait throughout ⇒ |W_A − W_B| ≤ 2 c_max, c_max the largest cost that appears in the interval."""

    open: frozenset[tuple[Fraction, Fraction]] = frozenset()
    """Per interval that has not ended: W_A − W_B, and the largest cost dispatched or waiting in it."""

    def see(self, moment: Moment) -> tuple[WithinTwo, bool]:
        """An interval may begin at every moment, and ends where one of the two does not wait."""
        if not _both_wait(moment.after):
            return WithinTwo(), True
        waiting = max(request.cost for queue in moment.after.queues.values() for request in queue)
        largest, more = max(waiting, moment.charge), moment.signed(moment.charge)
        grown = {(gap + more, max(c_max, largest)) for gap, c_max in self.open}
        return WithinTwo(frozenset(grown | {(ZERO, waiting)})), all(abs(gap) <= 2 * c_max for gap, c_max in grown)


@dataclass(frozen=True)
class CountsWithin:
    """E-COUNT: A and B wait throughout, costs equal ⇒ their dispatches differ by at most so many; the article: 1."""

    most: int = 1
    open: frozenset[Fraction] = frozenset()

    def see(self, moment: Moment) -> tuple[CountsWithin, bool]:
        """As before, with counts."""
        if not _both_wait(moment.after):
            return replace(self, open=frozenset()), True
        grown = {gap + moment.signed(Fraction(1)) for gap in self.open}
        return replace(self, open=frozenset(grown | {ZERO})), all(abs(gap) <= self.most for gap in grown)


@dataclass(frozen=True)
class SameOrder:
    """E-REBASE: to subtract v from v and every meter does not change the order of those who wait, in binary64."""

    def see(self, moment: Moment) -> tuple[SameOrder, bool]:
        """What would be, were it done now."""
        state = moment.after
        rebased = FLOATS.upkeep(state.logic, FLOATS, state.competition).after
        return self, _order(state, state.competition) == _order(state, rebased)


def _order(state: Machine, s: Any) -> list[str]:
    return sorted(state.queues, key=lambda user: (s.meter[user], user))


@dataclass(frozen=True)
class WidthOfTheBand:
    """E-RANGE: with v subtracted, the meters lie within a range of c_max, the largest charge so far."""

    c_max: Fraction = ZERO

    def see(self, moment: Moment) -> tuple[WidthOfTheBand, bool]:
        """The width does not depend on what is subtracted."""
        c_max = max(self.c_max, moment.charge)
        meters = moment.after.competition.meter.values()
        return WidthOfTheBand(c_max), max(meters, default=ZERO) - min(meters, default=ZERO) <= c_max


@dataclass(frozen=True)
class StrictlyGreater:
    """E-STALL: the finish tag of a request that is dispatched is greater than v."""

    def see(self, moment: Moment) -> tuple[StrictlyGreater, bool]:
        """Right after the charge."""
        if not moment.charge or moment.taken.transition is None:
            return self, True
        charged = moment.taken.transition.charged
        return self, charged.meter[moment.user or ""] > charged.v


@dataclass(frozen=True)
class SameShare:
    """E-SHARE: B waits throughout and A sends one request at a time ⇒ from any moment since A's first request to any
    other of its requests, W_B − W_A ≤ 2 c_max, c_max the largest charge so far.
    """

    sending: bool = False
    behind: Fraction = ZERO
    """The greatest W_B − W_A over all such intervals that have not ended."""
    c_max: Fraction = ZERO

    def see(self, moment: Moment) -> tuple[SameShare, bool]:
        """Of a run in which A sends more, or B does not wait, it says nothing."""
        if "B" not in moment.after.queues or len(moment.after.queues.get("A", ())) > 1:
            return replace(self, sending=False, behind=ZERO, c_max=max(self.c_max, moment.charge)), True
        arrives = isinstance(moment.event, Arrive) and moment.user == "A"
        behind = max(self.behind - moment.signed(moment.charge), ZERO) if self.sending else ZERO
        grown = SameShare(self.sending or arrives, behind, max(self.c_max, moment.charge))
        return grown, not arrives or behind <= 2 * grown.c_max


@dataclass(frozen=True)
class BackAtTheBaseline:
    """E-LONG: A returns after so many dispatches of others ⇒ it rejoins at v; the article: after a long idle period."""

    long: int = 2
    away: int = 0
    """Dispatches since A's queue is empty."""

    def see(self, moment: Moment) -> tuple[BackAtTheBaseline, bool]:
        """At A's return."""
        s = moment.after.competition
        returns = "A" in moment.after.queues and "A" not in moment.before.queues
        away = 0 if "A" in moment.after.queues or moment.user == "A" else self.away + (moment.charge > 0)
        return replace(self, away=away), not (returns and self.away >= self.long) or s.meter["A"] == s.v


@dataclass(frozen=True)
class KeepsItsResidue:
    """E-DELIBERATE: nothing that a user does with its own requests lowers its residue, max(S − v, 0)."""

    def see(self, moment: Moment) -> tuple[KeepsItsResidue, bool]:
        """A user arrives and cancels; dispatches are the scheduler's."""
        user = moment.user
        if not isinstance(moment.event, Arrive | Cancel) or user is None:
            return self, True
        return self, _residue(moment.after, user) >= _residue(moment.before, user)


def _residue(state: Machine, user: str) -> Fraction:
    s = state.competition
    return max(s.meter.get(user, s.v) - s.v, ZERO)


@dataclass(frozen=True)
class OthersAsBefore:
    """E-ONLY: had A1 another cost, the requests of other users would go in the same order among themselves."""

    instead: Fraction = Fraction(3)
    beside: Machine = field(default_factory=Machine, compare=False)
    """The same run with that cost."""
    key: Any = None
    here: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    """What has been dispatched of others in one run and not yet in the other; one of the two is empty."""

    def see(self, moment: Moment) -> tuple[OthersAsBefore, bool]:
        """Both runs, side by side."""
        event = moment.event
        if isinstance(event, Arrive) and event.request == "A1":
            event = Arrive(event.user, event.request, self.instead)
        beside = take(self.beside, event)
        here, there = self.here, self.there
        if isinstance(event, Dispatch):
            here, there = _others(here, moment.taken), _others(there, beside)
        while here and there and here[0] == there[0]:
            here, there = here[1:], there[1:]
        s = beside.state.competition
        key = (s.v, frozenset(s.meter.items()), tuple(beside.state.queues.items()))
        return OthersAsBefore(self.instead, beside.state, key, here, there), not (here and there)


def _others(so_far: tuple[str, ...], taken: Taken) -> tuple[str, ...]:
    request = taken.request
    return so_far if request is None or request.user == "A" else (*so_far, request.request)
