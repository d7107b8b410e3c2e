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
        return any(waiting is request for waiting in self.queues.get(request.user, ()))

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
    cost = _positive(event.cost, InvalidCost)
    if event.request in state.live:
        raise DuplicateRequest(event.request)
    request = Request(event.user, event.request, cost)
    state = meet(state, event.user)
    joined = rules.arrive(state.logic, rules, state.competition, event.user, cost)
    queue = (*state.queues.get(event.user, ()), request)
    live = {**state.live, event.request: request}
    return Taken(_with_queue(state, joined, event.user, queue, live), Answer(), request, joined)


def _dispatch(state: Machine, rules: Rules) -> Taken:
    found = _first(state, rules)
    if found is None:
        return Taken(state, Answer(dispatched=None))
    user, sent = found
    request, *rest = state.queues[user]
    answer = Answer(dispatched=request.request, user=user, cost=request.cost)
    return Taken(_with_queue(state, sent, user, tuple(rest), state.live), answer, request, sent)


def _cancel(state: Machine, event: Cancel, rules: Rules) -> Taken:
    request = _waiting(state, event.request)
    user = request.user
    queue = tuple(r for r in state.queues[user] if r is not request)
    left = rules.cancel(state.logic, rules, state.competition, user, request.cost, not queue)
    live = _without(state.live, event.request)
    return Taken(_with_queue(state, left, user, queue, live), Answer(), request, left)


def _complete(state: Machine, event: Complete, rules: Rules) -> Taken:
    request = state.live.get(event.request)
    if request is None or state.is_waiting(request):
        return Taken(state)
    ended = rules.complete(state.logic, rules, state.competition, request.user, request.cost)
    after = replace(state, competition=ended.after, live=_without(state.live, event.request))
    return Taken(after, Answer(), request, ended)


def _reweigh(state: Machine, event: SetWeight, rules: Rules) -> Taken:
    weight = _positive(event.weight, InvalidWeight)
    state = meet(state, event.user)
    weighed = rules.reweigh(state.logic, rules, state.competition, event.user, weight)
    return Taken(replace(state, competition=weighed.after), transition=weighed)


def _recost(state: Machine, event: Recost) -> Taken:
    cost = _positive(event.cost, InvalidCost)
    old = _waiting(state, event.request)
    new = replace(old, cost=cost)
    queue = tuple(new if r is old else r for r in state.queues[old.user])
    after = replace(state, queues={**state.queues, old.user: queue}, live={**state.live, event.request: new})
    return Taken(after, Answer(), old)


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


def _with_queue(
    state: Machine,
    taken: ExactStep,
    user: str,
    queue: tuple[Request, ...],
    live: Mapping[str, Request],
) -> Machine:
    queues = {**state.queues, user: queue}
    if not queue:
        del queues[user]
    return replace(state, competition=taken.after, queues=queues, live=live)


def _without(live: Mapping[str, Request], ended: str) -> dict[str, Request]:
    left = dict(live)
    del left[ended]
    return left


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
