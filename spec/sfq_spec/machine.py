"""The machine: requests, FIFO queues and refusals over a competition (article §2.6).

`step` is the whole specification of a scheduler. States are frozen; an invalid event raises and leaves the state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.logic import Exact
from sfq_spec.refusals import InvalidCost, InvalidWeight, Refused
from sfq_spec.requests import Book, Request, admit, end, in_flight, positive, reprice, send, waiting, withdraw
from sfq_spec.trace import (
    Answer,
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Recost,
    SetWeight,
    Upkeep,
)

ExactCompetition = Competition[str, Fraction, bool]
ExactStep = Step[str, Fraction, bool]


@dataclass(frozen=True)
class Machine(Book[Request]):
    """A state of the scheduler."""

    competition: ExactCompetition = field(default_factory=lambda: Competition(Fraction(0), {}, {}, {}))

    @property
    def logic(self) -> Exact:
        """The exact reading over the users that the machine has met."""
        return Exact(self.competition.meter.keys())

    @property
    def lag(self) -> dict[str, Fraction]:
        """S − v of every user that the machine has met."""
        return {user: meter - self.competition.v for user, meter in self.competition.meter.items()}


@dataclass(frozen=True)
class Taken:
    """A step that was taken: the state and answer that it gave, and the transition of the competition inside it."""

    state: Machine
    answer: Answer = Answer()
    request: Request | None = None
    """The request that the event was about, as it was then; None where there was none."""
    transition: ExactStep | None = None


def step(state: Machine, event: Event, rules: Rules = SFQ) -> tuple[Machine, Answer]:
    """The state after an event, and the answer.

    Raises a `Refused` where the event is invalid (R-REFUSE). A cost or weight is checked before the request is
    looked up. Completion is accepted for any id: it changes nothing but that the id is free again.
    """
    taken = take(state, event, rules)
    return taken.state, taken.answer


def take(state: Machine, event: Event, rules: Rules = SFQ) -> Taken:
    """As `step`, for observers who want to see the transition as well."""
    match event:
        case Arrive():
            return _arrive(state, event, rules)
        case Dispatch():
            return _dispatch(state, rules)
        case Cancel():
            return _cancel(state, event, rules)
        case Complete():
            return _complete(state, event, rules)
        case SetWeight():
            return _reweigh(state, event, rules)
        case Recost():
            return _recost(state, event)
        case Upkeep():
            upkept = rules.upkeep(state.logic, rules, state.competition)
            return Taken(replace(state, competition=upkept.after), transition=upkept)


def answer(state: Machine, event: Event, rules: Rules = SFQ) -> tuple[Machine, Answer]:
    """As `step`, with a refusal as the answer instead of an exception."""
    try:
        return step(state, event, rules)
    except Refused as refusal:
        return state, Answer(refused=refusal.code)


def selected(state: Machine, rules: Rules = SFQ) -> Request | None:
    """The request that a dispatch would send now; None where nobody waits."""
    found = _first(state, rules)
    return state.queues[found[0]][0] if found else None


def meet(state: Machine, user: str) -> Machine:
    """A new user has meter 0 and weight 1 until its first request makes it join at v."""
    s = state.competition
    if user in s.meter:
        return state
    known = replace(
        s,
        meter={**s.meter, user: Fraction(0)},
        waiting={**s.waiting, user: False},
        weight={**s.weight, user: Fraction(1)},
    )
    return replace(state, competition=known)


def _arrive(state: Machine, event: Arrive, rules: Rules) -> Taken:
    request = Request(event.user, event.request, positive(event.cost, InvalidCost))
    state = meet(admit(state, request), event.user)
    joined = rules.arrive(state.logic, rules, state.competition, event.user, request.cost)
    return Taken(replace(state, competition=joined.after), Answer(), request, joined)


def _dispatch(state: Machine, rules: Rules) -> Taken:
    found = _first(state, rules)
    if found is None:
        return Taken(state, Answer(dispatched=None))
    user, sent = found
    request = state.queues[user][0]
    answer = Answer(dispatched=request.request, user=user, cost=request.cost)
    return Taken(replace(send(state, request), competition=sent.after), answer, request, sent)


def _cancel(state: Machine, event: Cancel, rules: Rules) -> Taken:
    request = waiting(state, event.request)
    drains = state.is_last(request)
    left = rules.cancel(state.logic, rules, state.competition, request.user, request.cost, drains)
    return Taken(replace(withdraw(state, request), competition=left.after), Answer(), request, left)


def _complete(state: Machine, event: Complete, rules: Rules) -> Taken:
    request = in_flight(state, event.request)
    if request is None:
        return Taken(state)
    ended = rules.complete(state.logic, rules, state.competition, request.user, request.cost)
    return Taken(replace(end(state, request), competition=ended.after), Answer(), request, ended)


def _reweigh(state: Machine, event: SetWeight, rules: Rules) -> Taken:
    weight = positive(event.weight, InvalidWeight)
    state = meet(state, event.user)
    weighed = rules.reweigh(state.logic, rules, state.competition, event.user, weight)
    return Taken(replace(state, competition=weighed.after), transition=weighed)


def _recost(state: Machine, event: Recost) -> Taken:
    cost = positive(event.cost, InvalidCost)
    old = waiting(state, event.request)
    return Taken(reprice(state, old, replace(old, cost=cost)), Answer(), old)


def _first(state: Machine, rules: Rules) -> tuple[str, ExactStep] | None:
    """The user for whom a dispatch is enabled. The search only proposes; the rule R-SELECT decides.

    Of users that do not wait nothing is asked, so the logic speaks of the others alone.
    """
    s, logic = state.competition, Exact(state.queues.keys())
    head = {user: queue[0].cost for user, queue in state.queues.items()}
    for user in sorted(state.queues, key=lambda user: (s.meter[user], user)):
        sent: ExactStep = rules.dispatch(logic, rules, s, user, head, len(state.queues[user]) == 1)
        if sent.enabled:
            return user, sent
    return None
