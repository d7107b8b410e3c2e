"""The same work by other means: SFQ on other structures, and other methods by a simulator.

Of SFQ on other structures there is only what its rules need: no request ids, no refusals, no cancels, nothing that
survives an exception, no limit on memory. So they are a little faster here than they would be in use.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from heapq import heappop, heappush, heapreplace
from typing import Protocol

import msgspec
import simpy
from ns.packet.packet import Packet
from ns.scheduler.drr import DRRServer
from ns.scheduler.wfq import WFQServer
from pqdict import pqdict
from sortedcontainers import SortedList


class Sent(Protocol):
    """What goes next."""

    @property
    def user(self) -> str:
        """Whose it is."""

    @property
    def request(self) -> str:
        """Its id."""


class Rival(Protocol):
    """What can be timed step by step."""

    def arrive(self, user: str, request: str, cost: int) -> object:
        """A request joins the end of its user's queue."""

    def dispatch(self) -> Sent | None:
        """The request that goes next."""


class Job(msgspec.Struct, gc=False):
    """A request."""

    request: str
    user: str
    cost: int


class Sfq(ABC):
    """SFQ on a structure that gives the least of what was put into it."""

    def __init__(self) -> None:
        self.v = 0
        self.greatest = 0
        self.users_waiting = 0
        self.meters: dict[str, int] = {}
        self.queues: dict[str, deque[Job]] = {}

    @abstractmethod
    def put(self, meter: int, user: str) -> None:
        """A user waits, or goes on waiting, with this meter."""

    @abstractmethod
    def take(self) -> tuple[int, str]:
        """The least meter and its user, who is no longer in the structure."""

    def arrive(self, user: str, request: str, cost: int) -> None:
        """A request joins the end of its user's queue."""
        queue = self.queues.get(user)
        if queue is None:
            queue = self.queues[user] = deque()
            self.meters[user] = self.v
        if not queue:
            meter = self.meters[user] = max(self.meters[user], self.v)
            self.put(meter, user)
            self.users_waiting += 1
        queue.append(Job(request, user, cost))

    def dispatch(self) -> Job | None:
        """The request that goes next."""
        if not self.users_waiting:
            return None
        self.v, user = self.take()
        queue = self.queues[user]
        job = queue.popleft()
        finish = self.meters[user] = self.v + job.cost
        if queue:
            self.put(finish, user)
        else:
            self.users_waiting -= 1
            self.greatest = max(self.greatest, finish)
            if not self.users_waiting:
                self.v = self.greatest
        return job


class OnPriorityQueue(Sfq):
    """On the standard library's queue for tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: asyncio.PriorityQueue[tuple[int, str]] = asyncio.PriorityQueue()

    def put(self, meter: int, user: str) -> None:
        self.waiting.put_nowait((meter, user))

    def take(self) -> tuple[int, str]:
        return self.waiting.get_nowait()


class OnSortedList(Sfq):
    """On a list that is kept sorted."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = SortedList()

    def put(self, meter: int, user: str) -> None:
        self.waiting.add((meter, user))

    def take(self) -> tuple[int, str]:
        return self.waiting.pop(0)  # type: ignore[no-any-return]


class OnPqdict(Sfq):
    """On a heap whose keys can be changed, in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = pqdict()

    def put(self, meter: int, user: str) -> None:
        self.waiting.additem(user, (meter, user))

    def take(self) -> tuple[int, str]:
        return self.waiting.popitem()[1]  # type: ignore[no-any-return]


class OnScan(Sfq):
    """On a dictionary, looked through for the least each time."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[str, tuple[int, str]] = {}

    def put(self, meter: int, user: str) -> None:
        self.waiting[user] = (meter, user)

    def take(self) -> tuple[int, str]:
        least = min(self.waiting.values())
        del self.waiting[least[1]]
        return least


class Record:
    """What the bare heap knows of a user."""

    __slots__ = ("meter", "queue")

    def __init__(self, meter: int) -> None:
        self.meter = meter
        self.queue: deque[Job] = deque()


class OnHeap:
    """On a heap, with nothing but the rules: what they cost alone."""

    __slots__ = ("greatest", "heap", "users", "v")

    def __init__(self) -> None:
        self.v = 0
        self.greatest = 0
        self.heap: list[tuple[int, str, Record]] = []
        self.users: dict[str, Record] = {}

    def arrive(self, user: str, request: str, cost: int) -> None:
        """A request joins the end of its user's queue."""
        record = self.users.get(user)
        if record is None:
            record = self.users[user] = Record(self.v)
        if not record.queue:
            if record.meter < self.v:
                record.meter = self.v
            heappush(self.heap, (record.meter, user, record))
        record.queue.append(Job(request, user, cost))

    def dispatch(self) -> Job | None:
        """The request that goes next."""
        if not self.heap:
            return None
        start, user, record = self.heap[0]
        job = record.queue.popleft()
        self.v, record.meter = start, start + job.cost
        if record.queue:
            heapreplace(self.heap, (record.meter, user, record))
        else:
            heappop(self.heap)
            if record.meter > self.greatest:
                self.greatest = record.meter
            if not self.heap:
                self.v = self.greatest
        return job


STRUCTURES: dict[str, type[Rival]] = {
    "asyncio.PriorityQueue": OnPriorityQueue,
    "SortedList": OnSortedList,
    "pqdict": OnPqdict,
    "linear scan": OnScan,
}


class Sink:
    """Counts what was served."""

    def __init__(self) -> None:
        self.served = 0

    def put(self, packet: Packet) -> None:
        """A packet has been served."""
        self.served += 1


def served_by_ns(server: type[DRRServer] | type[WFQServer], users: int, costs: list[int]) -> int:
    """How many requests a server of ns.py serves, where all arrive at once and go in turn to the users."""
    env, sink = simpy.Environment(), Sink()
    scheduler = server(env, rate=8.0, weights=[1] * users)
    scheduler.out = sink
    for number, cost in enumerate(costs):
        scheduler.put(Packet(0.0, cost, number, flow_id=number % users))
    env.run()
    return sink.served


SIMULATED = {"ns.py DRR": DRRServer, "ns.py WFQ": WFQServer}
