"""The measures, each with its goal, and the order in which they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from benchmarks import rivals, workloads
from benchmarks.timing import Timed, compare
from benchmarks.workloads import Kind, floor
from sfq_impl.heap import HeapScheduler
from sfq_impl.state import SLACK

Verdict = Literal["reached", "missed", "alarm", "reported"]


@dataclass(frozen=True)
class Goal:
    """A bound that is wished for; beyond `alarm` something has gone wrong."""

    at_most: float | None = None
    at_least: float | None = None
    alarm: float | None = None

    def verdict(self, value: float) -> Verdict:
        """What is to be said of a value."""
        if self.at_least is not None:
            return "reached" if value >= self.at_least else "missed"
        if self.at_most is None:
            return "reported"
        if value <= self.at_most:
            return "reached"
        return "alarm" if self.alarm is not None and value > self.alarm else "missed"

    def __str__(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return "" if self.at_most is None else f"≤ {self.at_most:g}"


@dataclass(frozen=True)
class Result:
    """A value that was measured; a ratio, unless the measure says otherwise."""

    table: str
    measure: str
    users: int
    value: float
    goal: Goal = Goal()
    timed: Timed | None = None

    @property
    def verdict(self) -> Verdict:
        """How it stands to its goal."""
        return self.goal.verdict(self.value)


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    sizes: tuple[int, ...]
    rival_sizes: tuple[int, ...]
    steps: int
    repetitions: int
    passers_by: int


FULL = Extent((2, 10, 100, 1_000, 10_000, 100_000), (10, 100, 1_000), 20_000, 7, 100_000)
QUICK = Extent((2, 10, 100, 1_000), (10, 100), 4_000, 5, 10_000)

STEP = "a step, in terms of the floor"
OTHERS = "the same work by others, in terms of the scheduler"
REST = "growth and memory"

ALONE = ", the rules alone"

_NONE: dict[int, Goal] = {}
_CHURN = {10: Goal(3.2, alarm=4.0), 100: Goal(2.4, alarm=3.0), 1_000: Goal(2.4, alarm=3.0)}
STEPS: dict[str, tuple[Kind, dict[int, Goal]]] = {
    "backlogged": (
        workloads.backlogged,
        {10: Goal(2.5, alarm=3.0), 100: Goal(2.0, alarm=2.5), 1_000: Goal(2.0, alarm=2.5)},
    ),
    "churn: drain and rejoin": (workloads.drain_and_rejoin, _CHURN),
    "churn: rotation": (workloads.rotation, _CHURN),
    "churn: waves": (workloads.waves, _CHURN),
    "backlogged, with completion": (workloads.with_completion, _NONE),
}
SCAN = {100: Goal(at_least=5), 1_000: Goal(at_least=25)}
FASTER = Goal(at_least=1)


def measure(extent: Extent) -> Iterator[str | Result]:
    """The results, each kind after a line that says what is being done."""
    backlog: dict[int, float] = {}
    for users in extent.sizes:
        for name, (kind, goals) in STEPS.items():
            yield f"{name}, {users:,} users"
            timed = _against_floor(kind, HeapScheduler, users, extent)
            yield Result(STEP, name, users, timed.ratio, goals.get(users, Goal()), timed)
            if kind is workloads.backlogged:
                backlog[users] = timed.nanoseconds
            if goals:
                timed = _against_floor(kind, rivals.OnHeap, users, extent)
                yield Result(STEP, f"{name}{ALONE}", users, timed.ratio, timed=timed)
    yield from _others(extent)
    yield "growth"
    yield Result(REST, "growth of the step from 10 users", 1_000, backlog[1_000] / backlog[10], Goal(2.0))
    yield f"{extent.passers_by:,} users who come once"
    kept, needed = workloads.most_records(extent.passers_by)
    yield Result(REST, "records kept, of users who come once", extent.passers_by, kept, Goal(2 * needed + SLACK))


def _others(extent: Extent) -> Iterator[str | Result]:
    steps = extent.steps // 10
    for users in extent.rival_sizes:
        for name, make in rivals.STRUCTURES.items():
            yield f"SFQ on {name}, {users:,} users"
            own = workloads.backlogged(HeapScheduler, users, extent.steps)
            timed = compare(workloads.backlogged(make, users, steps), own, extent.repetitions)
            goal = SCAN.get(users, FASTER) if name == "linear scan" else FASTER
            yield Result(OTHERS, f"SFQ on {name}", users, timed.ratio, goal, timed)
        for name, server in rivals.SIMULATED.items():
            yield f"{name}, {users:,} users"
            requests = max(2 * users, steps)
            own = workloads.all_at_once(HeapScheduler, users, requests)
            other = workloads.all_at_once_simulated(partial(rivals.served_by_ns, server), users, requests)
            timed = compare(other, own, extent.repetitions)
            yield Result(OTHERS, name, users, timed.ratio, FASTER, timed)


def _against_floor(kind: Kind, make: Callable[[], rivals.Rival], users: int, extent: Extent) -> Timed:
    return compare(kind(make, users, extent.steps), floor(users, extent.steps), extent.repetitions)
