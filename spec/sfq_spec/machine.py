"""The machine: requests, FIFO queues and refusals over a competition (article §2.6).

`step` is the whole specification of a scheduler. States are frozen; an invalid event raises and leaves the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.logic import Exact
from sfq_spec.refusals import (
    DuplicateRequest,
    InvalidCost,
    InvalidWeight,
    NotWaiting,
    Refused,
    UnknownRequest,
)
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
class Request:
    """One inference call: whose it is, its id, and the cost that will be charged when it is dispatched."""

    user: str
    request: str
    cost: Fraction


@dataclass(frozen=True)
class Machine:
    """A state of the scheduler."""

    competition: ExactCompetition = field(default_factory=lambda: Competition(Fraction(0), {}, {}, {}))
    queues: Mapping[str, tuple[Request, ...]] = field(default_factory=dict)
    """The waiting requests of each user, in order of arrival; users with none are left out."""
    live: Mapping[str, Request] = field(default_factory=dict)
    """Requests that wait or are in flight, by id. An id is free again once its request has ended."""

    @property
    def logic(self) -> Exact:
        """The exact reading over the users that the machine has met."""
        return Exact(self.competition.meter.keys())

    def is_waiting(self, request: Request) -> bool:
        """Whether the request is in its user's queue."""
        return request in self.queues.get(request.user, ())

    @property
    def lag(self) -> dict[str, Fraction]:
        """S − v of every user that the machine has met."""
        return {user: meter - self.competition.v for user, meter in self.competition.meter.items()}


def step(state: Machine, event: Event, rules: Rules = SFQ) -> tuple[Machine, Answer]:
    """The state after an event, and the answer.

    Raises a `Refused` where the event is invalid (R-REFUSE). A cost or weight is checked before the request is
    looked up. Completion is accepted for any id: it changes nothing but that the id is free again.
    """
    match event:
        case Arrive():
            return _arrive(state, event, rules), Answer()
        case Dispatch():
            return _dispatch(state, rules)
        case Cancel():
            return _cancel(state, event, rules), Answer()
        case Complete():
            return _complete(state, event, rules), Answer()
        case SetWeight():
            return _reweigh(state, event, rules), Answer()
        case Recost():
            return _recost(state, event), Answer()
        case Upkeep():
            after = rules.upkeep(state.logic, rules, state.competition).after
            return replace(state, competition=after), Answer()


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


def _arrive(state: Machine, event: Arrive, rules: Rules) -> Machine:
    cost = _positive(event.cost, InvalidCost)
    if event.request in state.live:
        raise DuplicateRequest(event.request)
    request = Request(event.user, event.request, cost)
    state = _meet(state, event.user)
    after = rules.arrive(state.logic, rules, state.competition, event.user, cost).after
    queue = (*state.queues.get(event.user, ()), request)
    return _with_queue(state, after, event.user, queue, {**state.live, event.request: request})


def _dispatch(state: Machine, rules: Rules) -> tuple[Machine, Answer]:
    found = _first(state, rules)
    if found is None:
        return state, Answer(dispatched=None)
    user, taken = found
    request, *rest = state.queues[user]
    after = _with_queue(state, taken.after, user, tuple(rest), state.live)
    return after, Answer(dispatched=request.request, user=user, cost=request.cost)


def _cancel(state: Machine, event: Cancel, rules: Rules) -> Machine:
    request = _waiting(state, event.request)
    user = request.user
    queue = tuple(r for r in state.queues[user] if r is not request)
    taken = rules.cancel(state.logic, rules, state.competition, user, request.cost, not queue)
    live = {id: r for id, r in state.live.items() if id != event.request}
    return _with_queue(state, taken.after, user, queue, live)


def _complete(state: Machine, event: Complete, rules: Rules) -> Machine:
    request = state.live.get(event.request)
    if request is None or state.is_waiting(request):
        return state
    after = rules.complete(state.logic, rules, state.competition, request.user, request.cost).after
    return replace(state, competition=after, live={id: r for id, r in state.live.items() if id != event.request})


def _reweigh(state: Machine, event: SetWeight, rules: Rules) -> Machine:
    weight = _positive(event.weight, InvalidWeight)
    state = _meet(state, event.user)
    after = rules.reweigh(state.logic, rules, state.competition, event.user, weight).after
    return replace(state, competition=after)


def _recost(state: Machine, event: Recost) -> Machine:
    cost = _positive(event.cost, InvalidCost)
    old = _waiting(state, event.request)
    new = replace(old, cost=cost)
    queue = tuple(new if r is old else r for r in state.queues[old.user])
    return replace(state, queues={**state.queues, old.user: queue}, live={**state.live, event.request: new})


def _first(state: Machine, rules: Rules) -> tuple[str, ExactStep] | None:
    """The user for whom a dispatch is enabled. The search only proposes; the rule R-SELECT decides."""
    s = state.competition
    head = {user: queue[0].cost for user, queue in state.queues.items()}
    for user in sorted(state.queues, key=lambda user: (s.meter[user], user)):
        taken: ExactStep = rules.dispatch(state.logic, rules, s, user, head, len(state.queues[user]) == 1)
        if taken.enabled:
            return user, taken
    return None


def _meet(state: Machine, user: str) -> Machine:
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


def _with_queue(
    state: Machine,
    after: ExactCompetition,
    user: str,
    queue: tuple[Request, ...],
    live: Mapping[str, Request],
) -> Machine:
    queues = {**state.queues, user: queue}
    if not queue:
        del queues[user]
    return replace(state, competition=after, queues=queues, live=live)


def _waiting(state: Machine, request: str) -> Request:
    found = state.live.get(request)
    if found is None:
        raise UnknownRequest(request)
    if not state.is_waiting(found):
        raise NotWaiting(request)
    return found


def _positive(number: Fraction | float, refusal: type[InvalidCost] | type[InvalidWeight]) -> Fraction:
    if isinstance(number, float) or number <= 0:
        raise refusal(number)
    return number
