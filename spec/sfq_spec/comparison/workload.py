"""A workload: who sends which requests and when, and the servers that serve them; the same for every method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from sfq_spec.importers.pool import Happened, Pool, Prices, Service
from sfq_spec.importers.rows import SECOND, Arrival
from sfq_spec.scheduler import Scheduler


class BadWorkload(ValueError):
    """A workload that cannot be served. The message names what is wrong, and the fix."""


@dataclass(frozen=True)
class Loop:
    """A client that sends its next request because of what became of the one before."""

    requests: tuple[Arrival, ...]
    """In order. The time of the first is when it is sent; the times of the others do not count."""
    after: Happened = "completed"
    """What it waits for."""
    pause: int = 0
    """Microseconds that it then waits."""


Group = Literal["light", "heavy"]


@dataclass(frozen=True)
class Workload:
    """Requests, weights and servers. A run of it depends on the method alone."""

    name: str
    title: str
    """In a few words."""
    about: str
    """What it shows, in a sentence or two."""
    sent: Sequence[Arrival]
    """Requests whose time is known beforehand, in order of arrival; those of loops are not among them."""
    loops: tuple[Loop, ...] = ()
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """Of users; 1 for all others."""
    pool: Pool = field(default_factory=Pool)
    prices: Prices = field(default_factory=Prices)
    until: int | None = None
    """When it ends, in microseconds: nothing happens then or later. None: when every request has been served."""
    returning: str | None = None
    """The request with which a user returns from idle; None: the run of the first method tells."""

    def __post_init__(self) -> None:
        if not self.arrivals:
            raise BadWorkload(f"{self.name}: there are no requests: a comparison needs at least one")
        both = {loop.requests[0].user for loop in self.loops} & {arrival.user for arrival in self.sent}
        if both:
            raise BadWorkload(f"{self.name}: {min(both)!r} sends requests of its own and in a loop")
        if strange := sorted(self.weights.keys() - set(self.users)):
            raise BadWorkload(
                f"{self.name}: a weight is given to {strange[0]!r}, who sends nothing: "
                f"the users are {_some(self.users)}"
            )

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """The requests whose time is known beforehand, in order of arrival."""
        firsts = [loop.requests[0] for loop in self.loops]
        return tuple(sorted((*self.sent, *firsts), key=lambda arrival: arrival.time))

    @cached_property
    def requests(self) -> tuple[Arrival, ...]:
        """All requests that there may be."""
        return (*self.sent, *(request for loop in self.loops for request in loop.requests))

    @cached_property
    def users(self) -> tuple[str, ...]:
        """The users, those first that ask for most in relation to their weights."""
        return tuple(sorted(self.asked, key=lambda user: (-self.asked[user], user)))

    @cached_property
    def asked(self) -> Mapping[str, Fraction]:
        """What each user would be charged if all its requests were served."""
        asked: dict[str, Fraction] = {}
        for request in self.requests:
            charge = self.prices.cost(request) / self.weights.get(request.user, 1)
            asked[request.user] = asked.get(request.user, Fraction(0)) + charge
        return asked

    @cached_property
    def groups(self) -> Mapping[str, Group]:
        """Light is who asks for less than an equal share of all, in relation to its weight; the others are heavy."""
        share = sum(self.asked.values()) / len(self.asked)
        return {user: "light" if asked < share else "heavy" for user, asked in self.asked.items()}

    @property
    def largest(self) -> Fraction:
        """The greatest cost of a request."""
        return max(map(self.prices.cost, self.requests))

    @cached_property
    def rate(self) -> Fraction:
        """Cost that the servers do in a second while all are busy, rounded to a whole number above zero."""
        service = Fraction(sum(map(self.pool.service, self.requests)), SECOND)
        return Fraction(max(1, round(sum(map(self.prices.cost, self.requests)) * self.servers / service)))

    @cached_property
    def servers(self) -> int:
        """Requests that are served at a time."""
        return self.pool.size(self.arrivals)

    def service(self, scheduler: Scheduler) -> Service:
        """A run of it, not yet begun."""
        pool = replace(self.pool, servers=self.servers)
        follow = self._follow if self.loops else None
        return Service(
            self.arrivals,
            pool,
            self.prices,
            scheduler=scheduler,
            weights=self.weights,
            follow=follow,
            until=self.until,
        )

    def _follow(self, arrival: Arrival, number: int, happened: Happened, now: int) -> Arrival | None:
        for loop in self.loops:
            if loop.requests[0].user == arrival.user and loop.after == happened and number < len(loop.requests):
                return replace(loop.requests[number], time=now + loop.pause)
        return None


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    rest = f" and {len(names) - most:,} others" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
