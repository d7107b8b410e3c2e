"""The policies side by side, as the dispatcher has them, on servers that are only a clock.

Run as `python tests/policy/figures.py`: the table as docs/program-aware.md has it. It is the same each time.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Request
from sfq_impl.policy.configuration import made
from sfq_impl.policy.interfaces import SECOND
from sfq_impl.policy.queue_policy import QueuePolicy

POLICIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "`global-strict-fairness`": ("global-strict-fairness", {}),
    "`round-robin-fairness`": ("round-robin-fairness", {}),
    "`sfq-fairness`": ("sfq-fairness", {}),
    "`program-aware-fairness`": ("program-aware-fairness", {}),
    "… no half-life": ("program-aware-fairness", {"lasHalfLifeSeconds": 0}),
    "… half-life 10 s": ("program-aware-fairness", {"lasHalfLifeSeconds": 10}),
    "… half-life 600 s": ("program-aware-fairness", {"lasHalfLifeSeconds": 600}),
    "… weights 0.6 and 0.4": ("program-aware-fairness", {"lasWeightService": 0.6, "lasWeightHeadWait": 0.4}),
    "… weights 0.4 and 0.6": ("program-aware-fairness", {"lasWeightService": 0.4, "lasWeightHeadWait": 0.6}),
    "… release 0.10": ("program-aware-fairness", {"compatibility": "release-0.10"}),
    "`program-aware-settled-fairness`": ("program-aware-settled-fairness", {}),
}
INPUT_SECONDS, OUTPUT_SECONDS = 0.0002, 0.02
"""What a token takes on a server."""
Size = tuple[int, int]


@dataclass
class Loop:
    """A program that keeps so many requests under way, from one time to another, and is idle otherwise."""

    user: str
    size: Size
    outstanding: int
    spans: tuple[tuple[float, float], ...]
    fresh: bool = False
    """Whether it takes a new id for each request."""


@dataclass
class Sent:
    """A request that was dispatched."""

    loop: str
    at: float
    wait: float
    tokens: int


class Run:
    """A simulation; `policy` is set before it is played."""

    policy: QueuePolicy

    def __init__(self, loops: list[Loop], rooms: int, until: float) -> None:
        self.loops, self.until, self.free = loops, until, rooms
        self.now = 0.0
        self.sent: list[Sent] = []
        self._of: dict[str, tuple[Loop, float]] = {}
        """Whose the requests that wait are, and until when it goes on."""
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def clock(self) -> int:
        return round(self.now * SECOND)

    def play(self) -> list[Sent]:
        for loop in self.loops:
            for begin, end in loop.spans:
                for _ in range(loop.outstanding):
                    self._later(begin, lambda loop=loop, end=end: self._arrive(loop, end))
        while self._events and self._events[0][0] <= self.until:
            self.now, _, happen = heapq.heappop(self._events)
            happen()
            if not self._events or self._events[0][0] > self.now:
                self._fill()
        return self.sent

    def _later(self, at: float, happen: Any) -> None:
        self._count += 1
        heapq.heappush(self._events, (at, self._count, happen))

    def _arrive(self, loop: Loop, end: float) -> None:
        if self.now >= end:
            return
        self._count += 1
        user = f"{loop.user}-{self._count:06}" if loop.fresh else loop.user
        read, wrote = loop.size
        request = Request(f"r{self._count}", user, read + 2 * wrote)
        request.arrived = self.now
        self._of[request.id] = loop, end
        self.policy.arrive(request)

    def _fill(self) -> None:
        while self.free and (request := self.policy.next()) is not None:
            self.policy.dispatch(request)
            self.free -= 1
            loop, end = self._of.pop(request.id)
            self.sent.append(Sent(loop.user, self.now, self.now - request.arrived, request.cost))
            read, wrote = loop.size
            took = INPUT_SECONDS * read + OUTPUT_SECONDS * wrote
            self._later(self.now + took, lambda r=request, p=loop, e=end: self._end(r, p, e))

    def _end(self, request: Request, loop: Loop, end: float) -> None:
        self.free += 1
        self.policy.complete(request, "completed", Usage(*loop.size))
        self._arrive(loop, end)


def played(name: str, loops: list[Loop], *, rooms: int = 4, until: float = 600) -> list[Sent]:
    """What was sent under a policy."""
    type, parameters = POLICIES[name]
    run = Run(loops, rooms, until)
    run.policy = QueuePolicy(made(type, parameters=parameters, clock=run.clock), clock=run.clock)
    return run.play()


def share(sent: list[Sent], user: str, begin: float = 0, end: float = 1e9) -> float:
    """A program's part of the tokens that were sent between two times."""
    tokens = Counter[str]()
    for each in sent:
        if begin <= each.at < end:
            tokens[each.loop] += each.tokens
    return tokens[user] / total if (total := sum(tokens.values())) else 0.0


def longest_gap(sent: list[Sent], users: str, begin: float, end: float) -> float:
    """For how long nothing of some programs was sent, at most."""
    times = [begin, *(each.at for each in sent if each.loop in users and begin <= each.at < end), end]
    return max(after - before for before, after in pairwise(times))


LARGE, SMALL, MIDDLE = (2000, 500), (100, 20), (500, 100)
ALWAYS = ((0.0, 600.0),)


def sizes(name: str) -> str:
    """The part of the program with large requests, which are 21 times as heavy; half would be even."""
    return f"{share(played(name, [Loop('L', LARGE, 8, ALWAYS), Loop('S', SMALL, 8, ALWAYS)]), 'L', 60):.0%}"


def among_nine(name: str) -> str:
    """The part of a program with large requests beside eight with small ones; 11 % would be even."""
    light = [Loop(f"S{number}", SMALL, 2, ALWAYS) for number in range(8)]
    return f"{share(played(name, [Loop('L', LARGE, 8, ALWAYS), *light], until=300), 'L', 60):.0%}"


def returning(name: str) -> str:
    """The part of a program in the first minute after its return, where another was alone for five."""
    spans = ((0.0, 100.0), (400.0, 600.0))
    return f"{share(played(name, [Loop('A', MIDDLE, 8, ALWAYS), Loop('B', MIDDLE, 8, spans)]), 'B', 400, 460):.0%}"


def newcomer(name: str) -> str:
    """For how long two programs get nothing when a third comes for the first time, in seconds."""
    loops = [Loop("A", MIDDLE, 8, ALWAYS), Loop("B", MIDDLE, 8, ALWAYS), Loop("N", MIDDLE, 8, ((300.0, 600.0),))]
    return f"{longest_gap(played(name, loops), 'AB', 300, 600):.0f} s"


def fresh(name: str) -> str:
    """The part of a program beside another that takes a new id for each request; half would be even."""
    loops = [Loop("A", MIDDLE, 8, ALWAYS), Loop("x", MIDDLE, 8, ALWAYS, fresh=True)]
    return f"{share(played(name, loops), 'A', 60):.0%}"


def rooms(name: str) -> str:
    """Of 64 rooms that are free at once, how many each of two programs gets that both have 100 waiting."""
    once = ((0.0, 0.5),)
    sent = played(name, [Loop("A", MIDDLE, 100, once), Loop("B", MIDDLE, 100, once)], rooms=64, until=0.1)
    got = Counter(each.loop for each in sent)
    return f"{got['A']} : {got['B']}"


COLUMNS: Mapping[str, Callable[[str], str]] = {
    "large requests": sizes,
    "among nine": among_nine,
    "back from a rest": returning,
    "newcomer": newcomer,
    "fresh ids": fresh,
    "64 rooms": rooms,
}


def table() -> Iterator[str]:
    """The figures, as a table."""
    yield f"| policy | {' | '.join(COLUMNS)} |"
    yield f"|---|{'---|' * len(COLUMNS)}"
    for name in POLICIES:
        yield f"| {name} | {' | '.join(column(name) for column in COLUMNS.values())} |"


if __name__ == "__main__":
    print("\n".join(table()))
