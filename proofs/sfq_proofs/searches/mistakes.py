"""What runs send: the right constructions beside the rules, and the same deliberately wrong, one named change each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sfq_proofs.searches.witness import in_short
from sfq_spec import competition, variants
from sfq_spec import placement as placing
from sfq_spec.competition import SFQ, Rules, Step
from sfq_spec.machine import Machine, take
from sfq_spec.related.method import MethodScheduler
from sfq_spec.related.stride import Joins, StrideScheduling
from sfq_spec.trace import Arrive, Dispatch, Event

Offer = frozenset[str]
"""A dispatch at which only the next requests of these users can be placed."""
Run = Sequence[Any]
"""Events and offers, in order."""
Sent = tuple[str | None, ...]
"""The request that each dispatch sent."""


def apart(run: Run, right: Callable[[Run], Sent], wrong: Callable[[Run], Sent]) -> str:
    """The run in short with what either sends; empty where that is the same."""
    instead, as_it_should = wrong(run), right(run)
    told = " ".join("D{" + "".join(sorted(x)) + "}" if isinstance(x, frozenset) else in_short(x) for x in run)
    return "" if instead == as_it_should else f"{told}: sends {_listed(instead)} instead of {_listed(as_it_should)}"


def _listed(sent: Sent) -> str:
    return " ".join(request or "nothing" for request in sent)


def sent(run: Run, rules: Rules = SFQ, how: placing.Dispatch = placing.stall) -> Sent:
    """What a machine sends; `how` says what it does where an offer leaves somebody out."""
    state, out = Machine(), list[str | None]()
    for event in run:
        if isinstance(event, frozenset):
            taken = take(state, Dispatch(), placing.placing(how, event.__contains__, rules))
        else:
            taken = take(state, event, rules)
        state = taken.state
        if isinstance(event, Dispatch | frozenset):
            out.append(taken.request.request if taken.request else None)
    return tuple(out)


def allocated(run: Run, joins: Joins = "at the global pass") -> Sent:
    """What stride scheduling sends."""
    scheduler, out = MethodScheduler(StrideScheduling(joins=joins)), list[str | None]()
    for event in run:
        answer = scheduler.step(event)
        if isinstance(event, Dispatch):
            out.append(answer.dispatched or None)
    return tuple(out)


# Upkeep and reset.


def reset_after_joining(rules: Rules) -> Rules:
    """The late reset is done when the newcomer has joined."""
    lazy = variants.lazily(rules)

    def arrive(logic: Any, lazy: Rules, s: Any, user: Any, cost: Any) -> Any:
        after = replace(rules.arrive(logic, rules, s, user, cost).after, v=variants.reset_now(logic, rules, s).v)
        return Step(logic.true(), after, after)

    return replace(lazy, arrive=arrive)


def rebase_who_waits(logic: Any, rules: Rules, s: Any) -> Any:
    """v is subtracted from the meters of those who wait alone."""
    whole = variants.rebase(logic, rules, s).after
    meter = logic.put_each(s.meter, lambda u: logic.choose(s.waiting[u], whole.meter[u], s.meter[u]))
    after = replace(whole, meter=meter)
    return Step(logic.true(), after, after)


def forget_who_is_idle(logic: Any, rules: Rules, s: Any) -> Any:
    """Whoever does not wait is forgotten, with its debt."""
    meter = logic.put_each(s.meter, lambda u: logic.choose(s.waiting[u], s.meter[u], s.v))
    after = replace(s, meter=meter)
    return Step(logic.true(), after, after)


def dearer(run: Run) -> Sent:
    """The run with 10 added to every cost."""
    return sent([Arrive(e.user, e.request, e.cost + 10) if isinstance(e, Arrive) else e for e in run])


# Batches.


def arrivals_after(run: Run) -> Sent:
    """Every arrival right before a dispatch is handled after it."""
    events = list(run)
    for at in range(len(events) - 1):
        if isinstance(events[at], Arrive) and isinstance(events[at + 1], Dispatch):
            events[at], events[at + 1] = events[at + 1], events[at]
    return sent(events)


def in_pairs(run: Run) -> Sent:
    """At every other dispatch two users are picked, by what their meters are then."""
    state, out = Machine(), list[str | None]()
    second: str | None = None
    for event in run:
        if isinstance(event, Dispatch):
            s = state.competition
            order = sorted(state.queues, key=lambda user: (s.meter[user], user))
            chosen, second = (second, None) if second else (order[0], order[1] if order[1:] else None)
            taken = take(state, event, replace(SFQ, is_first=lambda logic, s, u, head, chosen=chosen: u == chosen))
            out.append(taken.request.request if taken.request else None)
        else:
            taken = take(state, event)
        state = taken.state
    return tuple(out)


# Placement.


def overtake_naively(logic: Any, rules: Rules, s: Any, *of_dispatch: Any) -> Any:
    """Who cannot be placed is passed over, and that is all."""
    return placing.overtake(logic, replace(rules, join=lambda S, v, maximum: S), s, *of_dispatch)


def overtake_in_secret(logic: Any, rules: Rules, s: Any, user: Any, head: Any, drains: Any, placeable: Any) -> Any:
    """Who overtakes does not move v."""
    step = placing.overtake(logic, rules, s, user, head, drains, placeable)
    first = rules.dispatch(logic, rules, s, user, head, drains).enabled
    hidden = replace(step.charged, v=logic.choose(first, step.charged.v, s.v))
    return replace(step, after=competition.settle(logic, rules, hidden, user), charged=hidden)


def overtake_and_close(logic: Any, rules: Rules, s: Any, user: Any, head: Any, drains: Any, placeable: Any) -> Any:
    """The competition is closed as soon as nobody is left who can be placed."""
    step = rules.dispatch(logic, rules, placing.field(logic, rules, s, placeable), user, head, drains)
    queued = logic.put(s.waiting, user, logic.no(drains))
    return replace(step, after=replace(step.after, waiting=queued), charged=replace(step.charged, waiting=queued))


def commit(selected: Any) -> placing.Dispatch:
    """Stall for one user that was first once, whoever is first now."""

    def dispatch(logic: Any, rules: Rules, s: Any, user: Any, head: Any, drains: Any, placeable: Any) -> Any:
        step = rules.dispatch(logic, rules, s, user, head, drains)
        return replace(step, enabled=logic.both(s.waiting[user], logic.same(user, selected), placeable(user)))

    return dispatch


def committed(run: Run) -> Sent:
    """What a machine sends that waits for the request which it has selected."""
    state, out = Machine(), list[str | None]()
    selected: str | None = None
    for event in run:
        if not isinstance(event, frozenset):
            state = take(state, event).state
            continue
        s = state.competition
        selected = selected or min(state.queues, key=lambda user: (s.meter[user], user), default=None)
        taken = take(state, Dispatch(), placing.placing(commit(selected), event.__contains__))
        state, selected = taken.state, None if taken.request else selected
        out.append(taken.request.request if taken.request else None)
    return tuple(out)


# Replicas.


def replicas() -> str:
    """Two schedulers; B waits on the first throughout, and A is served on the second."""
    sends = Dispatch()
    first = [*arrivals("A1", "B1"), sends]
    second = [*arrivals("A1", "A2", "A3", "A4", "A5"), sends, sends, sends, sends]
    lead = len(sent(first)) + len(sent(second))
    most = 2 * 2 * 1
    told = " ".join(in_short(event) for event in first), " ".join(in_short(event) for event in second)
    return f"{told[0]} | {told[1]}: a lead of {lead}, where twice 2 c_max is {most}" if lead > most else ""


def arrivals(*requests: str, cost: int = 1) -> list[Event]:
    """Requests that arrive one after another, each with its user as the first letter."""
    return [Arrive(request[0], request, cost) for request in requests]
