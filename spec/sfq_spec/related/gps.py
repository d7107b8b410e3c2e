"""Generalized processor sharing: the fluid that WFQ follows (Parekh and Gallager, ToN 1(3) 1993; article §6.1).

At each instant the server divides its rate among the users that have work, in proportion to their weights; each user's
requests are done in order of arrival. Exact, by virtual time: it grows by the work done over the sum of those weights,
so that a request is done at a virtual time that no later arrival changes.

GPS sends no whole requests, so it is a reference and not a policy: to send the request that it would finish first, if
nothing else arrived, is WFQ. From idle a user has its share at once, and nothing beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

ZERO, ONE = Fraction(0), Fraction(1)
Weight = Callable[[str], Fraction]


class Part(NamedTuple):
    """What is left of a request in the fluid."""

    key: int
    finish: Fraction
    """The virtual time at which it is done, with the weights of now."""


class Done(NamedTuple):
    """A request that the fluid has done."""

    user: str
    key: int
    finish: Fraction
    """In virtual time."""
    work: Fraction
    """What the server had done by then, of the work that it was given."""


@dataclass(frozen=True)
class Fluid:
    """The work that is left, and virtual time."""

    v: Fraction = ZERO
    queues: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    """Of users that have work, in order of arrival."""


def flow(fluid: Fluid, work: Fraction, weight: Weight) -> tuple[Fluid, tuple[Done, ...]]:
    """The server works: what is left then, and what was done on the way. Work for which nobody is there is lost."""
    v, queues, done, spent = fluid.v, dict(fluid.queues), list[Done](), ZERO
    while queues:
        weights = sum(map(weight, queues), ZERO)
        next_v = min(queue[0].finish for queue in queues.values())
        if (spent_then := spent + (next_v - v) * weights) > work:
            v += (work - spent) / weights
            break
        v, spent = next_v, spent_then
        for user in sorted(queues):
            later = tuple(part for part in queues[user] if part.finish > v)
            ended = queues[user][: len(queues[user]) - len(later)]
            done += (Done(user, part.key, part.finish, spent) for part in ended)
            queues[user] = later
            if not later:
                del queues[user]
    return Fluid(v, queues), tuple(done)


def add(fluid: Fluid, user: str, key: int, work: Fraction, weight: Fraction) -> Fluid:
    """More work for a user, after what it has."""
    queue = fluid.queues.get(user, ())
    begins = queue[-1].finish if queue else fluid.v
    return replace(fluid, queues={**fluid.queues, user: (*queue, Part(key, begins + work / weight))})


def left(fluid: Fluid, user: str, weight: Fraction) -> dict[int, Fraction]:
    """How much work is left of each of a user's requests."""
    works, begins = dict[int, Fraction](), fluid.v
    for key, finish in fluid.queues.get(user, ()):
        works[key] = (finish - begins) * weight
        begins = finish
    return works


def refill(fluid: Fluid, user: str, works: Mapping[int, Fraction], weight: Fraction) -> Fluid:
    """The fluid with other work, or another weight, for one user."""
    fluid = replace(fluid, queues={other: queue for other, queue in fluid.queues.items() if other != user})
    for key, work in works.items():
        if work > 0:
            fluid = add(fluid, user, key, work, weight)
    return fluid


def backlog(fluid: Fluid, weight: Weight) -> dict[str, Fraction]:
    """How much work is left of each user that has any."""
    return {user: (queue[-1].finish - fluid.v) * weight(user) for user, queue in fluid.queues.items()}


class Arrival(NamedTuple):
    """Work that arrives; the weight is the user's from that instant on."""

    time: Fraction
    user: str
    work: Fraction
    weight: Fraction = ONE


def finishing_times(arrivals: Sequence[Arrival], rate: Fraction = ONE) -> tuple[Fraction, ...]:
    """When each of the arrivals, which come in order of time, is done by a server of that rate (work a second).

    Raises `ValueError` where they are out of order, or a work, weight or rate is not above zero.
    """
    times: dict[int, Fraction] = {}
    for _, _, ended in _course(arrivals, rate, None):
        times |= ended
    return tuple(times[key] for key in range(len(arrivals)))


def work_done(arrivals: Sequence[Arrival], until: Fraction, rate: Fraction = ONE) -> dict[str, Fraction]:
    """How much work each user has been given by that time. Raises as `finishing_times` does."""
    before = [arrival for arrival in arrivals if arrival.time <= until]
    done = dict.fromkeys((arrival.user for arrival in before), ZERO)
    for arrival in before:
        done[arrival.user] += arrival.work
    for fluid, weights, _ in _course(before, rate, until):
        waiting = backlog(fluid, weights.__getitem__)
    return {user: work - waiting.get(user, ZERO) for user, work in done.items()} if before else {}


Moment = tuple[Fluid, Mapping[str, Fraction], Mapping[int, Fraction]]


def _course(arrivals: Sequence[Arrival], rate: Fraction, until: Fraction | None) -> Iterator[Moment]:
    """The fluid, the weights and what was done: before each arrival, and at a time or when all is done."""
    fluid, now, weights = Fluid(), ZERO, dict[str, Fraction]()
    if rate <= 0:
        raise ValueError(f"rate is {rate}: it must be above zero")
    for key, (time, user, work, weight) in enumerate(arrivals):
        if work <= 0 or weight <= 0:
            raise ValueError(f"arrival {key}: work {work} and weight {weight} must be above zero")
        if key and time < now:
            raise ValueError(f"arrival {key}: time {time} comes before {now}: sort the arrivals by time")
        fluid, ended = flow(fluid, (time - now) * rate, weights.__getitem__)
        yield fluid, weights, {done.key: now + done.work / rate for done in ended}
        works = left(fluid, user, weights.get(user, weight))
        fluid, now, weights = refill(fluid, user, {**works, key: work}, weight), time, {**weights, user: weight}
    rest = sum(backlog(fluid, weights.__getitem__).values(), ZERO)
    fluid, ended = flow(fluid, rest if until is None else (until - now) * rate, weights.__getitem__)
    yield fluid, weights, {done.key: now + done.work / rate for done in ended}
