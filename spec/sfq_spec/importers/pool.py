"""A simple pool of servers: it decides when a dispatch becomes possible (article §1.2, §2.6).

A server holds one request at a time, for as long as its tokens take. Whenever a server is free and somebody
waits there is a dispatch. Which request it takes, and so how long the server is held, the machine decides: any
scheduler that conforms finds the script consistent. At one instant, completions come first, then arrivals, then
dispatches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil

from msgspec import Raw

from sfq_spec.importers.rows import SECOND, Arrival
from sfq_spec.scheduler import MachineScheduler
from sfq_spec.trace import Arrive, Complete, Dispatch, Entry, Event


@dataclass(frozen=True)
class Prices:
    """The cost of a request: weighted tokens, and at least 1, so that an empty request is charged too."""

    input_weight: int = 1
    output_weight: int = 2

    def cost(self, arrival: Arrival) -> int:
        """An integer above zero."""
        weighted = self.input_weight * arrival.input_tokens + self.output_weight * arrival.output_tokens
        return max(1, weighted)


@dataclass(frozen=True)
class Pool:
    """How many requests are served at a time, and for how long."""

    servers: int | None = None
    """None: as many as the requests of the file keep busy on average, rounded up."""
    input_seconds: Fraction = Fraction(1, 5_000)
    output_seconds: Fraction = Fraction(1, 50)

    def service(self, arrival: Arrival) -> int:
        """Microseconds for which the request holds a server: rounded up, and at least 1."""
        seconds = arrival.input_tokens * self.input_seconds + arrival.output_tokens * self.output_seconds
        return max(1, ceil(seconds * SECOND))

    def size(self, arrivals: Sequence[Arrival]) -> int:
        """The number of servers for these requests, which are in order of arrival."""
        if self.servers is not None:
            return self.servers
        span = arrivals[-1].time - arrivals[0].time if arrivals else 0
        return max(1, ceil(Fraction(sum(map(self.service, arrivals)), span))) if span else 1


@dataclass
class Congestion:
    """What was seen of the waiting queue. Times in microseconds."""

    longest: int = 0
    """Requests waiting at once, after the dispatches of an instant."""
    congested: int = 0
    """Time during which somebody waited."""
    waited: int = 0
    """Waiting times of all requests together."""
    elapsed: int = 0
    """From the first arrival to the last completion."""

    def pass_time(self, microseconds: int, waiting: int) -> None:
        """So much time has passed with so many requests waiting."""
        self.elapsed += microseconds
        self.congested += microseconds if waiting else 0
        self.waited += microseconds * waiting
        self.longest = max(self.longest, waiting)


@dataclass
class Service:
    """The script of events that serves the requests of a file, in order of arrival, with a pool."""

    arrivals: Sequence[Arrival]
    pool: Pool = field(default_factory=Pool)
    prices: Prices = field(default_factory=Prices)
    congestion: Congestion = field(default_factory=Congestion)

    def __post_init__(self) -> None:
        self.servers = self.pool.size(self.arrivals)
        self._scheduler = MachineScheduler()
        self._waiting: dict[str, Arrival] = {}
        # when the service ends, in which order it began, and whose it is
        self._busy: list[tuple[int, int, str]] = []
        self._counts: dict[str, int] = {}

    def script(self) -> Iterator[Entry]:
        """The events, each with its `time` in seconds; every request is served to the end."""
        arrived = dispatched = 0
        before = self.arrivals[0].time if self.arrivals else 0
        while self._busy or arrived < len(self.arrivals):
            ends = [self._busy[0][0]] if self._busy else []
            now = min(ends + [arrival.time for arrival in self.arrivals[arrived : arrived + 1]])
            self.congestion.pass_time(now - before, len(self._waiting))
            before = now
            while self._busy and self._busy[0][0] == now:
                _, _, request = heappop(self._busy)
                self._scheduler.complete(request)
                yield _at(now, Complete(request))
            while arrived < len(self.arrivals) and self.arrivals[arrived].time == now:
                yield _at(now, self._arrive(self.arrivals[arrived]))
                arrived += 1
            while self._waiting and len(self._busy) < self.servers:
                self._dispatch(now, dispatched)
                dispatched += 1
                yield _at(now, Dispatch())

    def _arrive(self, arrival: Arrival) -> Arrive:
        """The arrival, under the user's name and a number that counts the user's requests from 1."""
        number = self._counts[arrival.user] = self._counts.get(arrival.user, 0) + 1
        request = f"{arrival.user}-{number}"
        cost = self.prices.cost(arrival)
        self._scheduler.arrive(arrival.user, request, cost)
        self._waiting[request] = arrival
        return Arrive(arrival.user, request, Fraction(cost))

    def _dispatch(self, now: int, order: int) -> None:
        request = self._scheduler.dispatch().dispatched
        assert isinstance(request, str), "somebody waits (ORDER-WORK)"
        heappush(self._busy, (now + self.pool.service(self._waiting.pop(request)), order, request))


def _at(time: int, event: Event) -> Entry:
    """The event with the time that it happens, in seconds, written as the exact decimal."""
    whole, rest = divmod(time, SECOND)
    text = f"{whole}.{rest:06}".rstrip("0") if rest else str(whole)
    return Entry(event, extra={"time": Raw(text.encode())})
