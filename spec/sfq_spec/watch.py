"""A watch over a run: every claim, after every event, over every interval that has ended there.

An interval claim speaks of all moments t1 before now. The watch keeps, per user or pair of users, the t1 that is
worst for the claim, so that it costs no more than the number of users per event (article §3). The tests hold it
against `properties` with an account from every single moment.

FAIR-PAIR and FAIR-STARVE are FAIR-LEAD between users who both wait, or one of whom is not dispatched.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction

from sfq_spec import properties as claim
from sfq_spec.competition import nobody_waits
from sfq_spec.logic import Exact
from sfq_spec.machine import ExactCompetition, ExactStep, Machine, Taken, meet
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

ZERO = Fraction(0)


@dataclass
class Watch:
    """What is remembered of a run so far. Charges are normalised: cost divided by weight."""

    last: dict[str, Fraction] = field(default_factory=dict)
    """The latest charge of each user."""
    spent: dict[str, Fraction] = field(default_factory=dict)
    """Per user the greatest W + v(t1) over all t1."""
    floor: dict[str, Fraction] = field(default_factory=dict)
    """Per waiting user the least W + v(t1) + last(t1) over all t1 since when it waits."""
    lead: dict[str, dict[str, Fraction]] = field(default_factory=dict)
    """Per waiting j and any i the greatest W_i − W_j − last_j(t1) over all t1 since when j waits."""
    gap: dict[str, dict[str, Fraction]] = field(default_factory=dict)
    """Per waiting j and any i the greatest W_i − W_j."""
    prompt: dict[str, set[str]] = field(default_factory=dict)
    """Users that joined without residue and wait for their first turn, with those dispatched since."""
    order: dict[str, list[str]] = field(default_factory=dict)
    """The waiting requests of each user, in order of arrival."""
    worst: Fraction = ZERO
    """The greatest lead of one user over another that waited throughout, so far."""
    greatest: Fraction = ZERO
    """The greatest charge so far."""
    seen: dict[str, int] = field(default_factory=dict)
    """How often each claim was checked where it says something."""

    def copy(self) -> Watch:
        """A watch that goes on independently."""
        return deepcopy(self)

    def observe(self, before: Machine, event: Event, taken: Taken) -> list[str]:
        """Note one event; the claims that it breaks, none for the machine of the article."""
        broken = []
        for name, holds in self._checks(before, event, taken):
            self.seen[name] = self.seen.get(name, 0) + 1
            if not holds:
                broken.append(name)
        return broken

    def refused(self, before: Machine, after: Machine) -> list[str]:
        """Note a refusal, which leaves the state (R-REFUSE)."""
        self.seen["R-REFUSE"] = self.seen.get("R-REFUSE", 0) + 1
        return [] if before == after else ["R-REFUSE"]

    def _checks(self, before: Machine, event: Event, taken: Taken) -> Iterator[tuple[str, bool]]:
        step = taken.transition
        if isinstance(event, Dispatch):
            yield "ORDER-WORK", (step is None) == (not before.queues)
        if isinstance(event, Recost):
            yield "R-FINAL", taken.state.competition == before.competition
        if step is None:
            return
        yield from self._step(before, event, taken, step)
        if taken.request is not None and isinstance(event, Arrive | Dispatch | Cancel):
            yield from self._note(before.competition, event, taken, step.after)
        yield from self._state(step.after)

    def _step(self, before: Machine, event: Event, taken: Taken, step: ExactStep) -> Iterator[tuple[str, bool]]:
        if isinstance(event, Arrive):
            before = meet(before, event.user)
        logic, s, request = taken.state.logic, before.competition, taken.request
        yield "INV-MONO", claim.inv_mono(s, step)
        match event:
            case Dispatch() if request:
                user, others = request.user, before.queues
                yield "R-SELECT", all(claim.select_least(logic, s, user, other) for other in others)
                yield "R-FIFO", self.order[user][0] == request.request
                yield "DISP-BEFORE", claim.disp_before(logic, s, step, user, request.cost)
                yield "RESET-ALONE", claim.reset_alone(logic, step)
                yield "RESET-OWN", all(claim.reset_own(logic, step, user, other) for other in others)
            case Cancel() if request:
                yield "RESET-ALONE", claim.reset_alone(logic, step)
                yield "RESET-OWN", all(claim.reset_own(logic, step, request.user, u) for u in before.queues)
            case Arrive(user):
                yield "IDLE-FLOOR", claim.idle_floor(logic, s, step, user)
                yield "IDLE-PROMPT", all(claim.idle_prompt(logic, s, step, user, u) for u in before.queues)
            case Complete():
                yield "R-FINAL", all(claim.untouched(logic, s, step, user) for user in s.meter)
            case SetWeight():
                yield "R-WEIGHT", all(claim.untouched(logic, s, step, user) for user in s.meter)
            case Upkeep():
                yield "R-UPKEEP", all(claim.untouched(logic, s, step, user) for user in s.meter)

    def _note(
        self, before: ExactCompetition, event: Event, taken: Taken, after: ExactCompetition
    ) -> Iterator[tuple[str, bool]]:
        assert taken.request is not None
        user = taken.request.user
        request = event.request if isinstance(event, Cancel) else taken.request.request
        if isinstance(event, Dispatch):
            yield from self._dispatched(before, user, taken.request.cost / before.weight[user], after)
        if isinstance(event, Arrive):
            self._arrived(before, user, request, after)
        elif request in self.order.get(user, ()):
            self.order[user].remove(request)
        if not after.waiting[user]:
            for memory in (self.floor, self.lead, self.gap, self.prompt, self.order):
                memory.pop(user, None)

    def _arrived(self, before: ExactCompetition, user: str, request: str, after: ExactCompetition) -> None:
        self.last.setdefault(user, ZERO)
        self.order.setdefault(user, []).append(request)
        if not before.waiting.get(user, False):
            self.lead[user], self.gap[user] = {}, {}
            if before.meter.get(user, before.v) <= before.v:
                self.prompt[user] = set()

    def _dispatched(
        self, before: ExactCompetition, user: str, charge: Fraction, after: ExactCompetition
    ) -> Iterator[tuple[str, bool]]:
        old, self.last[user] = self.last[user], charge
        self.greatest = max(self.greatest, charge)
        self.spent[user] = max(self.spent.get(user, before.v), before.v) + charge
        yield "FAIR-UPPER", self.spent[user] <= after.v + charge
        for waiting, lead in self.lead.items():
            if waiting != user:
                lead[user] = lead.get(user, -self.last[waiting]) + charge
                self.gap[waiting][user] = self.gap[waiting].get(user, ZERO) + charge
                self.worst = max(self.worst, self.gap[waiting][user])
                yield "FAIR-LEAD", lead[user] <= charge
        own, gap = self.lead[user], self.gap[user]
        for other in own:
            own[other] = max(own[other] - charge, -charge)
            gap[other] = max(gap[other] - charge, ZERO)
        self.floor[user] = min(self.floor.get(user, before.v + old), before.v + old) + charge
        for joined, served in self.prompt.items():
            if joined != user:
                yield "FAIR-PROMPT", claim.fair_prompt(Exact(()), True, user in served)
                served.add(user)
        self.prompt.pop(user, None)

    def _state(self, s: ExactCompetition) -> Iterator[tuple[str, bool]]:
        logic = Exact(s.meter.keys())
        waiting = [user for user, waits in s.waiting.items() if waits]
        last = {user: self.last.get(user, ZERO) for user in s.meter}
        yield "INV-UPPER", all(claim.inv_upper(logic, s, last, user) for user in s.meter)
        yield "INV-LOWER", all(claim.inv_lower(logic, s, user) for user in waiting)
        yield "IDLE-RESIDUE", all(claim.idle_residue(logic, s, last, user) for user in s.meter)
        if waiting:
            least = min(waiting, key=lambda user: s.meter[user])
            yield "INV-SPREAD", all(claim.inv_spread(logic, s, last, user, least) for user in waiting)
        for user in waiting:
            self.floor[user] = min(self.floor.get(user, s.v + last[user]), s.v + last[user])
            yield "FAIR-LOWER", self.floor[user] >= s.v
        if nobody_waits(logic, s):
            yield "RESET-LEVEL", all(claim.reset_level(logic, s, user) for user in s.meter)
