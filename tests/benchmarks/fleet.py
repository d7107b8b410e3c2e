"""What the dispatcher costs, beside its goals: `python tests/benchmarks/fleet.py [--quick]`.

A step is the end of one request, the dispatch of another and the arrival of a third, each in a task of its own, with
the timers of the longest wait. The reference is the same tasks before a bare semaphore, which knows neither users nor
costs. Ratios are medians of processor time; the time of one step depends on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import io
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.measures import Goal
from benchmarks.timing import Work, clock, compare
from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher, Mode
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Fifo, Policy, RoundRobin, Sfq
from sfq_impl.fleet.recording import Recorder
from sfq_impl.fleet.request import Request
from sfq_impl.fleet.simulation.loop import VirtualLoop, run
from sfq_impl.fleet.watching import Observer
from sfq_spec.trace import Entry, encode

SERVERS, ROOMS = 8, 4
SMALL, LARGE = 10, 1_000
"""Tokens of a request that always fits, and of one that needs a whole server."""
SIZES = ((10, 100), (100, 1_000), (1_000, 10_000))
"""Users, and requests of theirs that wait."""

Enter = Callable[[str, int], AbstractAsyncContextManager[object]]


@dataclass(frozen=True)
class Result:
    """A value that was measured, beside its goal."""

    name: str
    users: int
    requests: int
    value: float
    unit: str = ""
    goal: Goal = field(default_factory=Goal)

    def __str__(self) -> str:
        mark = {"missed": " *", "alarm": " !"}.get(self.goal.verdict(self.value), "")
        size = f"{self.users:7,}{self.requests:9,}"
        return f"{self.name:52}{size}{self.value:10,.2f} {self.unit:8}{self.goal!s:>8}{mark}"


class Written(Recorder):
    """A trace that is written to nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = io.BytesIO()

    def put(self, entry: Entry) -> None:
        """Encoded as in a file."""
        self.stream.seek(0)
        self.stream.write(encode(entry))


def fleet(mode: Mode = "stall", observers: Iterable[Observer] = (), tokens: int | None = None) -> Dispatcher:
    """Some servers, and no limit but that of the wait."""
    servers = [Server(f"server-{number}", ROOMS, tokens) for number in range(SERVERS)]
    return Dispatcher(Placement(servers), limits=Limits(requests=None, wait=60), mode=mode, observers=observers)


def through(dispatcher: Dispatcher) -> Enter:
    """Requests of different costs, by the dispatcher."""
    return lambda user, number: dispatcher.slot(user, 1 + number % 7, tokens=SMALL)


def past_the_large(dispatcher: Dispatcher) -> Enter:
    """The same, where nine in ten users have a next request that fits nowhere as long as anything runs."""

    def enter(user: str, number: int) -> AbstractAsyncContextManager[object]:
        return dispatcher.slot(user, 1 + number % 7, tokens=SMALL if int(user[5:]) % 10 == 0 else LARGE)

    return enter


def semaphore() -> Enter:
    """Whoever comes first goes first."""
    rooms = asyncio.Semaphore(SERVERS * ROOMS)
    return lambda user, number: rooms


def steps(make: Callable[[], Enter], users: int, waiting: int, count: int) -> Work:
    """So many steps with so many requests waiting all the time."""

    async def sender(enter: Enter, user: str, left: list[int], began: list[int]) -> None:
        while left[0] > 0:
            async with enter(user, left[0]):
                if left[0] == count:
                    began.append(clock())
                left[0] -= 1
                if left[0] == 0:
                    began.append(clock())
                await asyncio.sleep(0)

    async def main() -> int:
        enter, left, began = make(), [count], list[int]()
        tasks = [
            asyncio.create_task(sender(enter, f"user-{number % users}", left, began))
            for number in range(waiting + SERVERS * ROOMS)
        ]
        while left[0] > 0:
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return began[1] - began[0]

    return Work(count, lambda: run(VirtualLoop(1, shuffle=False, most_steps=10**9), main()))


def timed(count: int, repetitions: int, sizes: tuple[tuple[int, int], ...] = SIZES) -> Iterable[Result]:
    """The time of a step, in all sizes and modes."""
    first = dict[str, float]()
    for users, waiting in sizes:
        kinds: dict[str, tuple[Callable[[], Enter], Goal, Goal]] = {
            "a step / with a semaphore": (lambda: through(fleet()), Goal(8, alarm=12), Goal(2, alarm=3)),
            "a step with a trace / with a semaphore": (
                lambda: through(fleet(observers=[Written()])),
                Goal(16, alarm=24),
                Goal(2, alarm=3),
            ),
            "a step in overtake, nobody held / with a semaphore": (
                lambda: through(fleet("overtake", tokens=LARGE)),
                Goal(10, alarm=15),
                Goal(2, alarm=3),
            ),
            "a step in overtake, 9 of 10 held / with a semaphore": (
                lambda: past_the_large(fleet("overtake", tokens=LARGE)),
                Goal(16, alarm=24),
                Goal(3, alarm=5),
            ),
        }
        for name, (make, goal, growth) in kinds.items():
            result = compare(steps(make, users, waiting, count), steps(semaphore, users, waiting, count), repetitions)
            yield Result(name, users, waiting, result.ratio, "×", goal)
            yield Result("  one step", users, waiting, result.nanoseconds / 1_000, "µs")
            first.setdefault(name, result.ratio)
            if (users, waiting) == sizes[-1]:
                yield Result("  growth", users, waiting, result.ratio / first[name], "×", growth)


def drained(make: Callable[[], Policy], waiting: int, count: int) -> Work:
    """So many dispatches, from queues of one user that each held so many requests when nothing had gone yet."""

    def one() -> int:
        policy = make()
        for number in range(waiting):
            policy.arrive(Request(f"r{number}", "user", 1))
        began = clock()
        while (request := policy.next()) is not None:
            policy.dispatch(request)
        return clock() - began

    return Work(waiting * (count // waiting), lambda: sum(one() for _ in range(count // waiting)))


def draining(count: int, repetitions: int) -> Iterable[Result]:
    """How much more a dispatch takes from a long queue of one user than from a short one."""
    for make in (Sfq, Fifo, RoundRobin):
        long, short = drained(make, count, count), drained(make, count // 100, count)
        result = compare(long, short, repetitions)
        name = f"{make.__name__}: a dispatch / from 1/100 of the queue"
        yield Result(name, 1, count, result.ratio, "×", Goal(3))


def memory(users: int, waiting: int) -> tuple[float, float]:
    """Bytes that each waiting request takes, and that each leaves behind when as many have waited before."""

    async def wave(dispatcher: Dispatcher) -> float:
        async def sender(number: int) -> None:
            async with dispatcher.slot(f"user-{number % users}", 1 + number % 7, tokens=SMALL):
                await asyncio.sleep(0)

        for server in dispatcher.placement.servers.values():
            server.state = "down"
        tasks = [asyncio.create_task(sender(number)) for number in range(waiting)]
        while dispatcher.queue.requests < waiting:
            await asyncio.sleep(0)
        full = traced()
        for server in dispatcher.placement.servers.values():
            server.state = "up"
        dispatcher.changed()
        await asyncio.wait(tasks)
        return full

    async def main() -> tuple[float, float]:
        dispatcher = fleet()
        empty = traced()
        full = await wave(dispatcher)
        await asyncio.sleep(0)
        once = traced()
        await wave(dispatcher)
        await asyncio.sleep(0)
        return (full - empty) / waiting, (traced() - once) / waiting

    tracemalloc.start()
    try:
        return run(VirtualLoop(1, shuffle=False, most_steps=10**9), main())
    finally:
        tracemalloc.stop()


def traced() -> int:
    """Bytes that are in use."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def measure(count: int, repetitions: int, sizes: tuple[tuple[int, int], ...] = SIZES) -> Iterable[Result]:
    """All of it."""
    for users, waiting in sizes[1:]:
        takes, leaves = memory(users, waiting)
        yield Result("memory of a request that waits, with its task", users, waiting, takes, "bytes", Goal(4_000))
        yield Result("memory that each later request leaves behind", users, waiting, leaves, "bytes", Goal(10))
    yield from draining(5 * count, repetitions)
    yield from timed(count, repetitions, sizes)


def main() -> None:
    """Measure and print. Timings never decide how it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps and repetitions")
    quick = parser.parse_args().quick
    print(f"{'':52}{'users':>7}{'waiting':>9}{'':>19}{'goal':>8}")
    for result in measure(2_000, 3) if quick else measure(20_000, 5):
        print(result, flush=True)


if __name__ == "__main__":
    main()
