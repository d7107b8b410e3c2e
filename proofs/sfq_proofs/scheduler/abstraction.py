"""Whether the code does what `simulation` says that it does: event by event, on runs.

What is proved there is proved of a description of the scheduler. Here the description is read exactly: what it makes of
the state before an event must be the state after it. Queues, ids and refusals have no part in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from itertools import islice

from sfq_impl.heap import HeapScheduler
from sfq_proofs.scheduler.simulation import RIGHT, Kept, arrive, cancel, dispatch, forget, is_top, reweigh, skipped
from sfq_spec.logic import Exact
from sfq_spec.scheduler import play
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event, SetWeight, Upkeep

Concrete = Kept[str, Fraction, bool]
UNKNOWN = Fraction(-1)
"""The meter of a user of whom there is no record: it is never read."""


def kept(scheduler: HeapScheduler, names: Collection[str]) -> Concrete:
    """What a scheduler keeps of these users, in the terms of the description."""
    origin, scale, users = scheduler._origin, scheduler._scale, scheduler._users

    def meant(meter: int | float | Fraction) -> Fraction:
        return origin + Fraction(meter) / scale

    return Kept(
        meant(scheduler._virtual),
        meant(scheduler._greatest),
        {name: meant(users[name].meter) if name in users else UNKNOWN for name in names},
        {name: name in users and bool(users[name].queue) for name in names},
        {name: Fraction(scheduler.weight(name)) for name in names},
        {name: name in users for name in names},
        {name: name in scheduler._gone for name in names},
        scheduler._heap[0][1] if scheduler._heap else min(names),
    )


def unexplained(scheduler: HeapScheduler, event: Event, names: Collection[str]) -> str:
    """Play an event. What the description does not say of its effect, a sentence; empty where it says all."""
    before, user = kept(scheduler, names), _user(scheduler, event)
    head = scheduler.next_request
    cost = Fraction(head.cost) if head else Fraction(0)
    said = play(scheduler, event)
    after = kept(scheduler, names)
    if said.refused or (isinstance(event, Dispatch) and said.dispatched is None):
        return _apart(before, after)
    reasons = [_apart(expected, after) for expected in _effects(before, after, event, user, cost)]
    return "" if "" in reasons else f"{event}: {reasons[0]}"


def _user(scheduler: HeapScheduler, event: Event) -> str:
    if isinstance(event, Arrive | SetWeight):
        return event.user
    found = scheduler._live.get(event.request) if isinstance(event, Cancel) else None
    return found.user if found else ""


def _effects(before: Concrete, after: Concrete, event: Event, user: str, cost: Fraction) -> Iterator[Concrete]:
    """The states to which an event may lead: records may be forgotten, and users who are gone be skipped."""
    logic = Exact(before.meter.keys())
    less = forget(logic, RIGHT, before)
    match event:
        case Arrive():
            yield from (_moved(arrive(logic, RIGHT, h, user), after) for h in (before, less))
        case Dispatch():
            sent = dispatch(logic, RIGHT, before, cost, not after.waiting[before.first])
            yield from _skipping(sent, after)
        case Cancel():
            yield from _skipping(cancel(logic, RIGHT, before, user, not after.waiting[user]), after)
        case SetWeight():
            yield from (_moved(reweigh(logic, h, user, Fraction(event.weight)), after) for h in (before, less))
        case Upkeep():
            yield _moved(less, after)
        case _:
            yield before


def _moved(expected: Concrete, after: Concrete) -> Concrete:
    """The same, with whoever `heapq` has put first, if it may."""
    logic = Exact(expected.meter.keys())
    first = Kept(**{**vars(expected), "first": after.first})
    return first if is_top(logic, first) else expected


def _skipping(expected: Concrete, after: Concrete) -> Iterator[Concrete]:
    """The same, with whoever is skipped now, if they may be."""
    logic = Exact(expected.meter.keys())
    moved = Kept(**{**vars(expected), "first": after.first, "gone": after.gone})
    yield moved if skipped(logic, RIGHT, expected, moved) else expected


def _apart(expected: Concrete, after: Concrete) -> str:
    """What first tells two states apart; of users without a record only that they have none."""
    for name in ("v", "greatest", "waiting", "weight", "known", "gone", "first"):
        if (wanted := getattr(expected, name)) != (found := getattr(after, name)):
            return f"{name} is {found} instead of {wanted}"
    for user, known in after.known.items():
        if known and after.meter[user] != expected.meter[user]:
            return f"the meter of {user} is {after.meter[user]} instead of {expected.meter[user]}"
    return ""


RUNS, LENGTH = 6, 250
EVENTS = RUNS * LENGTH
USERS = tuple(f"u{number}" for number in range(9))


def unlike(make: Callable[[], HeapScheduler]) -> str:
    """What the description does not say of a scheduler on random runs; empty where it says all."""
    for seed in range(RUNS):
        scheduler = make()
        for number, event in enumerate(islice(run(seed), LENGTH)):
            try:
                reason = unexplained(scheduler, event, USERS)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            if reason:
                return f"run {seed}, event {number}: {reason}"
    return ""


def run(seed: int) -> Iterator[Event]:
    """A run without end; users come and go, and equal meters are likely."""
    rng, requests = random.Random(seed), list[str]()
    while True:
        user = rng.choice(USERS)
        match rng.choices(("arrive", "dispatch", "cancel", "weight", "upkeep"), (12, 11, 6, 1, 1))[0]:
            case "arrive":
                requests.append(f"{user}-{len(requests)}")
                yield Arrive(user, requests[-1], rng.choice((1, 1, 2, 3, Fraction(1, 3))))
            case "dispatch":
                yield Dispatch()
            case "cancel" if requests:
                yield Cancel(rng.choice(requests[-12:]))
            case "weight":
                yield SetWeight(user, rng.choice((Fraction(1), Fraction(2), Fraction(3, 2), Fraction(5))))
            case _:
                yield Upkeep()
