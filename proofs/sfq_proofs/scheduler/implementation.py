"""What is shown of the scheduler that runs, each with the faults that it finds (IMPL-…)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sfq_impl.heap import HeapScheduler
from sfq_impl.state import SLACK
from sfq_proofs.scheduler import abstraction, atomic, effort, memory, simulation
from sfq_proofs.scheduler.atomic import Interrupting
from sfq_proofs.scheduler.faults import BY_NAME, MEMORY, Fault, Make, plant, slack
from sfq_proofs.scheduler.memory import wrong_with_memory
from sfq_proofs.scheduler.refinement import Found, explore
from sfq_proofs.scheduler.worlds import WORLDS, World
from sfq_proofs.solver import induction


class Shown(NamedTuple):
    """What a check came to."""

    holds: bool
    says: str
    refuted: tuple[str, ...]
    """The faults that it was asked to find, and did."""


@dataclass(frozen=True)
class Check:
    """A check of one claim, to be run."""

    name: str
    claim: str
    run: Callable[[], Shown]


def scheduler(world: World, *faults: Fault) -> Make:
    """The scheduler that is searched in a world, with these faults."""
    spare = () if world.slack == SLACK else (slack(world.slack),)
    return plant(*faults, *spare) if faults or spare else HeapScheduler


def kills(world: World, fault: Fault) -> Found:
    """What the search of a world comes to with a fault."""
    return explore(world, scheduler(world, fault))


FOUND = {
    "2 users, every kind of event": (
        "v is advanced to the finish",
        "returns where it left",
        "debts are forgotten",
        "an id in flight may come again",
        "a new cost is not read",
    ),
    "2 users, weights that do not fit, all runs": (
        "the origin stays when meters move",
        "a weight is taken for its inverse",
    ),
    "3 users, all runs": ("v is not advanced", "the greatest is the latest"),
    "3 users": ("a dispatch leaves the heap out of order", "one who is gone comes back twice"),
    "6 users": ("no heap without those who are gone",),
}
"""The faults that are planted every time, by the world that finds them; the tests plant all."""


def _side_by_side(world: World) -> Shown:
    found = explore(world, scheduler(world))
    refuted = tuple(name for name in FOUND[world.name] if kills(world, BY_NAME[name]).difference)
    says = f"{found.states:,} states of both, {found.steps:,} events, up to {found.most_waiting} users waiting"
    return Shown(
        not found.difference and refuted == FOUND[world.name], f"{says}: {found.difference or 'no difference'}", refuted
    )


def _described() -> Shown:
    refuted = tuple(wrong.name for wrong in simulation.WRONG if wrong.falls)
    found = abstraction.unlike(HeapScheduler)
    small = abstraction.unlike(plant(slack(1)))
    says = f"{abstraction.EVENTS:,} events as described, {len(refuted)} wrong descriptions refuted"
    holds = not found and not small and len(refuted) == len(simulation.WRONG)
    return Shown(holds, found or small or says, refuted)


def _interrupted() -> Shown:
    raising = Interrupting()
    found = explore(atomic.WORLD, scheduler(atomic.WORLD), raising)
    refuted = tuple(
        name
        for name in INTERRUPTED
        if explore(atomic.WORLD, scheduler(atomic.WORLD, BY_NAME[name]), Interrupting()).difference
    )
    says = f"{found.states:,} states, {found.steps:,} events, an exception at every line of each"
    holds = not found.difference and refuted == INTERRUPTED and raising.raised > found.steps
    return Shown(holds, f"{says}: {found.difference or 'each as if before or after'}", refuted)


INTERRUPTED = ("arrive: the request stays", "dispatch: the charge stays", "recover: the rates", "recover: the heap")
"""Faults that are planted every time; the tests plant all."""


def _crowded() -> Shown:
    seeds = range(1, 3)
    found = next(filter(None, (wrong_with_memory(HeapScheduler, seed) for seed in seeds)), "")
    refuted = [fault.name for fault in MEMORY if any(wrong_with_memory(plant(fault), seed) for seed in seeds)]
    more = [obligation.name for obligation in memory.obligations(twice=3) if induction.refuted(obligation)]
    holds = not found and len(refuted) == len(MEMORY) and bool(more)
    return Shown(holds, found or "crowds come and go, and the bound holds after every event", tuple(refuted))


def _counted() -> Shown:
    found = effort.too_much()
    refuted = tuple(fault.name for fault in effort.LINEAR if effort.too_much(fault))
    says = f"comparisons are counted with {', '.join(f'{size:,}' for size in effort.SIZES)} users"
    return Shown(not found and len(refuted) == len(effort.LINEAR), found or f"{says}, never too many", refuted)


CHECKS = (
    *(Check(f"heap and machine, {world.name}", "IMPL-REFINE", partial(_side_by_side, world)) for world in WORLDS),
    Check("heap, as it is described", "IMPL-REFINE", _described),
    Check(f"heap, {atomic.WORLD.name}", "IMPL-ATOMIC", _interrupted),
    Check("heap, crowded", "IMPL-MEMORY", _crowded),
    Check("heap, comparisons", "IMPL-LOG", _counted),
)
