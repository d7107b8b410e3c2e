"""States of the machine and of the heap scheduler in a form that is the same for all that behave the same.

Kept are the meters' distances from v, and nothing of a user who neither waits nor is in debt; requests are named by
their place. That the machine cannot tell apart two states of one form is proved (KEEP-SHIFT, KEEP-FORGET). Of the
scheduler it is assumed, and tried: it goes on from each form at a virtual time at which it has not been, and with other
meters of those who are idle, and must do there what the machine does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sfq_impl.heap import HeapScheduler
from sfq_impl.quantities import simplest
from sfq_proofs.scheduler.faults import Make
from sfq_spec.competition import Competition
from sfq_spec.machine import Machine
from sfq_spec.requests import Request

ORIGIN, COUNTED = 11, 5
V = Fraction(ORIGIN + COUNTED)
"""Where v is when a state is taken up again: counted so far from the origin, and the origin so far from 0.

Where v was below its origin it is again, by as much.
"""
SETTLED = V - 3
"""The machine's meter of a user who neither waits nor is in debt."""


class Seat(NamedTuple):
    """What the machine knows of a user, in normal form."""

    lag: Fraction | None
    """S − v; None of a user who neither waits nor is in debt."""
    weight: Fraction
    costs: tuple[Fraction, ...]
    """The costs of the requests that wait, in order. They are named by user and place, from 1 on."""


class Room(NamedTuple):
    """The machine, in normal form."""

    seats: tuple[Seat, ...]
    flying: str | None
    """The user whose request is in flight. Its id is the user's with a 0."""


Inside = tuple[Any, ...]
"""The scheduler, in normal form."""


class View(NamedTuple):
    """All of the machine's state that can make a difference, for comparing."""

    v: Fraction
    queues: dict[str, list[tuple[str, Any]]]
    lags: dict[str, Any]
    weights: dict[str, Fraction]
    live: frozenset[str]


def room(names: Sequence[str], machine: Machine) -> Room:
    """The machine's normal form."""
    s = machine.competition
    seats = []
    for name in names:
        queue = machine.queues.get(name, ())
        lag = s.meter[name] - s.v if name in s.meter else Fraction(0)
        costs = tuple(request.cost for request in queue)
        seats.append(Seat(lag if queue or lag > 0 else None, s.weight.get(name, Fraction(1)), costs))
    waiting = {request.request for queue in machine.queues.values() for request in queue}
    flying = [request.user for request in machine.live.values() if request.request not in waiting]
    return Room(tuple(seats), flying[0] if flying else None)


def machine_at(names: Sequence[str], at: Room) -> Machine:
    """A machine of this normal form."""
    named = dict(zip(names, at.seats, strict=True))
    met = {name: seat for name, seat in named.items() if seat.lag is not None or seat.weight != 1}
    queues = {
        name: tuple(Request(name, f"{name}{place}", cost) for place, cost in enumerate(seat.costs, 1))
        for name, seat in named.items()
        if seat.costs
    }
    live = {request.request: request for queue in queues.values() for request in queue}
    if at.flying:
        live[f"{at.flying}0"] = Request(at.flying, f"{at.flying}0", Fraction(1))
    competition = Competition(
        V,
        {name: SETTLED if seat.lag is None else V + seat.lag for name, seat in met.items()},
        {name: bool(seat.costs) for name, seat in met.items()},
        {name: seat.weight for name, seat in met.items()},
    )
    return Machine(queues, live, competition)


def inside(scheduler: HeapScheduler) -> Inside:
    """The scheduler's normal form; weights, and which requests are live, are the machine's part of the key."""
    v = scheduler._virtual
    users = sorted(
        (
            name,
            max(user.meter - v, -1),
            user.rate,
            user.withdrawn,
            tuple([r.cost if r.waits else 0 for r in user.queue]),
        )
        for name, user in scheduler._users.items()
    )
    return (
        v < 0,
        tuple(users),
        tuple([(meter - v, name) for meter, name, _ in scheduler._heap]),
        tuple(sorted(scheduler._gone)),
        max(scheduler._greatest - v, 0),
        scheduler._limit,
        scheduler._scale,
        scheduler._integral,
    )


def scheduler_at(make: Make, names: Sequence[str], at: Room, form: Inside) -> HeapScheduler:
    """A scheduler of this normal form, at a virtual time of its own."""
    below, users, heap, gone, greatest, limit, scale, integral = form
    kept = make._meet.__globals__
    user_of, request_of = kept["User"], kept["Request"]
    counted = -COUNTED if below else COUNTED
    scheduler, v = make(), counted * scale
    records, live = {}, {}
    for name, lag, rate, withdrawn, costs in users:
        queue: deque[Any] = deque()
        place = 0
        for cost in costs:
            if cost:
                place += 1
                queue.append(request := request_of(f"{name}{place}", name, cost))
                live[request.request] = request
            else:
                queue.append(request_of("withdrawn", name, 1, False))
        records[name] = user_of(name, v + lag, rate, queue, withdrawn)
    if at.flying:
        live[f"{at.flying}0"] = request_of(f"{at.flying}0", at.flying, 1, False)
    scheduler._virtual, scheduler._origin, scheduler._scale = v, V - counted, scale
    scheduler._users, scheduler._live, scheduler._gone = records, live, set(gone)
    scheduler._heap = [(v + lag, name, records[name]) for lag, name in heap]
    scheduler._greatest, scheduler._integral = v + greatest, integral
    scheduler._limit = limit
    scheduler._weights = {n: seat.weight for n, seat in zip(names, at.seats, strict=True) if seat.weight != 1}
    return scheduler


def view(machine: Machine) -> View:
    """The machine's state as the scheduler's is compared with it."""
    s, queues = machine.competition, machine.queues
    return View(
        s.v,
        {name: [(r.request, simplest(r.cost)) for r in queue] for name, queue in queues.items()},
        {name: simplest(lag) for name, lag in machine.lag.items() if lag > 0 or name in queues},
        {name: weight for name, weight in s.weight.items() if weight != 1},
        frozenset(machine.live),
    )


def parted(scheduler: HeapScheduler, right: View) -> str:
    """Where the scheduler's state does not stand for the machine's, a sentence; empty where it does."""
    v, scale, lags, queues = scheduler._virtual, scheduler._scale, {}, {}
    if scheduler.virtual_time != right.v:
        return f"v is {scheduler.virtual_time} instead of {right.v}"
    for name, user in scheduler._users.items():
        if user.queue:
            queues[name] = [(request.request, request.cost) for request in user.queue if request.waits]
        if user.queue or user.meter > v:
            lags[name] = user.meter - v
    if queues != right.queues:
        return f"{queues} wait instead of {right.queues}"
    if lags != (right.lags if scale == 1 else {name: lag * scale for name, lag in right.lags.items()}):
        return f"the lags are {lags} instead of {right.lags}, in units of 1/{scale}"
    if scheduler._weights != right.weights:
        return f"the weights are {scheduler._weights} instead of {right.weights}"
    if scheduler._live.keys() != right.live:
        return f"{set(scheduler._live)} are live instead of {set(right.live)}"
    return ""
