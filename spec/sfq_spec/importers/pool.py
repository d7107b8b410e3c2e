"""A simple pool of servers: it decides when a dispatch becomes possible (article §1.2, §2.6).

A server holds one request at a time, for as long as its tokens take: first the input, then one output token after the
other. Whenever a server is free and somebody waits there is a dispatch. Which request it takes, and so how long the
server is held, the scheduler decides: the machine, or any other. At one instant, completions come first, then
arrivals, then dispatches; what a client sends because of a dispatch comes before the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Any, Literal

from msgspec import Raw

from sfq_spec.importers.rows import SECOND, Arrival
from sfq_spec.running import Run
from sfq_spec.scheduler import Broken, MachineScheduler, Scheduler
from sfq_spec.trace import Answer, Arrive, Complete, Dispatch, Entry, Event, SetWeight

Happened = Literal["dispatched", "completed"]
Follow = Callable[[Arrival, int, Happened, int], Arrival | None]
"""What a client sends because something has happened to its n-th request (from 1), now or later; None: nothing."""


@dataclass(frozen=True)
class Prices:
    """The cost of a request: weighted tokens, and at least 1, so that an empty request is charged too."""

    input_weight: int = 1
    output_weight: int = 2

    def cost(self, arrival: Arrival) -> Fraction:
        """Above zero; an integer, unless the request has a cost of its own."""
        if arrival.cost is not None:
            return arrival.cost
        weighted = self.input_weight * arrival.input_tokens + self.output_weight * arrival.output_tokens
        return Fraction(max(1, weighted))


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

    def produced(self, arrival: Arrival, elapsed: int) -> int:
        """Output tokens that are complete so many microseconds after the request was dispatched."""
        # (elapsed / SECOND - input_tokens * input_seconds) / output_seconds, in integers
        a, b = self.input_seconds.as_integer_ratio()
        c, d = self.output_seconds.as_integer_ratio()
        since = elapsed * b * d - arrival.input_tokens * a * d * SECOND
        if since < 0:
            return 0
        return min(arrival.output_tokens, since // (SECOND * b * c)) if c else arrival.output_tokens

    def size(self, arrivals: Sequence[Arrival]) -> int:
        """The number of servers for these requests, which are in order of arrival."""
        if self.servers is not None:
            return self.servers
        span = arrivals[-1].time - arrivals[0].time if arrivals else 0
        return max(1, ceil(Fraction(sum(map(self.service, arrivals)), span))) if span else 1


@dataclass
class Congestion:
    """What was seen of the waiting queue and the servers. Times in microseconds."""

    longest: int = 0
    """Requests waiting at once, after the dispatches of an instant."""
    congested: int = 0
    """Time during which somebody waited."""
    waited: int = 0
    """Waiting times of all requests together."""
    elapsed: int = 0
    """From the first arrival to the last completion."""
    busy: int = 0
    """Time of all servers together during which they served."""
    withheld: int = 0
    """Time of all servers together during which they were free and somebody waited."""

    def pass_time(self, microseconds: int, waiting: int, busy: int, free: int) -> None:
        """So much time has passed with so many requests waiting, and so many servers busy and free."""
        self.elapsed += microseconds
        self.congested += microseconds if waiting else 0
        self.waited += microseconds * waiting
        self.longest = max(self.longest, waiting)
        self.busy += microseconds * busy
        self.withheld += microseconds * free if waiting else 0


@dataclass
class InFlight:
    """A request on a server."""

    arrival: Arrival
    number: int
    """How many requests its user had sent, this one included."""
    since: int
    produced: int = 0
    """Output tokens that have been told."""


@dataclass
class Service:
    """Requests, in order of arrival, are served by a pool whose free places a scheduler fills. One run."""

    arrivals: Sequence[Arrival]
    pool: Pool = field(default_factory=Pool)
    prices: Prices = field(default_factory=Prices)
    congestion: Congestion = field(default_factory=Congestion)
    scheduler: Scheduler = field(default_factory=MachineScheduler)
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """Of users; they are told before the first request."""
    follow: Follow | None = None
    """What clients send beside `arrivals`, because of what happens."""
    until: int | None = None
    """When it ends, in microseconds: nothing happens then or later. None: when every request has been served."""

    def __post_init__(self) -> None:
        self.servers = self.pool.size(self.arrivals)
        self.now = self.arrivals[0].time if self.arrivals else 0
        """Microseconds."""
        self._run = Run(self.scheduler)
        self._tells = callable(getattr(self.scheduler, "given", None))
        self._coming = [(arrival.time, place, arrival) for place, arrival in enumerate(self.arrivals)]
        heapify(self._coming)
        self._sent = len(self._coming)
        self._waiting: dict[str, tuple[Arrival, int]] = {}
        # when the service ends, in which order it began, and whose it is
        self._busy: list[tuple[int, int, str]] = []
        self._flying: dict[str, InFlight] = {}
        self._counts: dict[str, int] = {}
        self._dispatched = 0

    def script(self) -> Iterator[Entry]:
        """The events, each with its `time` in seconds."""
        return (replace(entry, answer=Answer()) for entry in self.trace())

    def trace(self) -> Iterator[Entry]:
        """The events with their answers, each with its `time` in seconds.

        A scheduler that has `given` is also told the tokens of a request, those produced so far, and its prefix.
        Raises a `SchedulerError` where the scheduler does not answer, or sends nothing and nothing else will happen.
        """
        for user, weight in self.weights.items():
            yield self._play(SetWeight(user, weight))
        while (then := self._next()) is not None:
            self._pass(then)
            while self._busy and self._busy[0][0] == self.now:
                yield self._complete()
            yield from self._arrivals()
            while self._waiting and len(self._busy) < self.servers:
                entry = self._dispatch()
                yield entry
                if entry.answer.dispatched is None:
                    break
                yield from self._arrivals()
        if self.until is not None:
            self._pass(max(self.now, self.until))
        elif self._waiting:
            raise Broken(f"`dispatch` returned None, all servers are free, and {len(self._waiting):,} requests wait")

    def _next(self) -> int | None:
        """When something happens next."""
        then = min((heap[0][0] for heap in (self._busy, self._coming) if heap), default=None)
        return None if then is None or (self.until is not None and then >= self.until) else then

    def _pass(self, then: int) -> None:
        busy = len(self._busy)
        self.congestion.pass_time(then - self.now, len(self._waiting), busy, self.servers - busy)
        self.now = then

    def _arrivals(self) -> Iterator[Entry]:
        while self._coming and self._coming[0][0] == self.now:
            yield self._arrive(heappop(self._coming)[2])

    def _arrive(self, arrival: Arrival) -> Entry:
        """The arrival, under the user's name and a number that counts the user's requests from 1."""
        number = self._counts[arrival.user] = self._counts.get(arrival.user, 0) + 1
        request = f"{arrival.user}-{number}"
        self._waiting[request] = (arrival, number)
        event = Arrive(arrival.user, request, self.prices.cost(arrival))
        prefix = {"prefix": arrival.prefix} if arrival.prefix else {}
        return self._play(event, {"input_tokens": arrival.input_tokens} | prefix)

    def _dispatch(self) -> Entry:
        entry = self._play(Dispatch())
        request = entry.answer.dispatched
        if request is None:
            return entry
        if not isinstance(request, str) or request not in self._waiting:
            raise Broken(f"`dispatch` answered {request or entry.answer.refused!r}, which is no request that waits")
        arrival, number = self._waiting.pop(request)
        heappush(self._busy, (self.now + self.pool.service(arrival), self._dispatched, request))
        self._flying[request] = InFlight(arrival, number, self.now)
        self._dispatched += 1
        self._react(arrival, number, "dispatched")
        return entry

    def _complete(self) -> Entry:
        request = heappop(self._busy)[2]
        arrival = self._flying[request].arrival
        told = {"input_tokens": arrival.input_tokens, "output_tokens": arrival.output_tokens}
        entry = self._play(Complete(request), told)
        ended = self._flying.pop(request)
        self._react(arrival, ended.number, "completed")
        return entry

    def _react(self, arrival: Arrival, number: int, happened: Happened) -> None:
        if self.follow and (sent := self.follow(arrival, number, happened, self.now)):
            heappush(self._coming, (max(self.now, sent.time), self._sent, sent))
            self._sent += 1

    def _play(self, event: Event, told: Mapping[str, Any] | None = None) -> Entry:
        """The event with its answer."""
        extra: dict[str, Any] = {"time": _seconds(self.now)}
        if self._tells:
            produced = self._produced()
            extra |= {**(told or {}), **({"produced": produced} if produced else {})}
        return self._run.play(Entry(event, extra=extra))

    def _produced(self) -> dict[str, int]:
        """Output tokens since the event before, by request."""
        produced = {}
        for request, flying in self._flying.items():
            tokens = self.pool.produced(flying.arrival, self.now - flying.since)
            if tokens > flying.produced:
                produced[request] = tokens - flying.produced
                flying.produced = tokens
        return produced


def _seconds(time: int) -> Raw:
    """A time in seconds, written as the exact decimal."""
    whole, rest = divmod(time, SECOND)
    text = f"{whole}.{rest:06}".rstrip("0") if rest else str(whole)
    return Raw(text.encode())
