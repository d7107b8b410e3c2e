"""Exceptions out of nowhere, memory and effort of the heap scheduler, each with the faults that it must find."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfq_proofs.scheduler import atomic, effort, memory
from sfq_proofs.scheduler.atomic import Interrupting, interrupted
from sfq_proofs.scheduler.faults import ATOMIC, BY_NAME, MEMORY, Fault
from sfq_proofs.scheduler.implementation import CHECKS, scheduler
from sfq_proofs.scheduler.refinement import explore
from sfq_proofs.scheduler.worlds import World
from sfq_proofs.solver.induction import prove, refuted

IN_NO_SUCH_STATE = {
    "cancel: refused while busy": "nothing is refused in that world",
    "recover: the reset": "it takes four events to come to a last user who withdraws while another is in debt",
}
"""Faults that only the hand-made runs of tests/impl/test_heap_atomic.py find."""


@pytest.mark.claims("IMPL-ATOMIC")
@pytest.mark.parametrize("fault", ATOMIC, ids=lambda fault: fault.name)
def test_a_fault_in_the_handlers_is_found(fault: Fault) -> None:
    raising = Interrupting()
    found = explore(atomic.WORLD, scheduler(atomic.WORLD, fault), raising)
    assert bool(found.difference) == (fault.name not in IN_NO_SUCH_STATE)
    assert raising.raised > 0


@pytest.mark.claims("IMPL-ATOMIC")
def test_exceptions_between_calls() -> None:
    """Finer than lines: wherever CPython lets an exception through."""
    world = replace(atomic.WORLD, deepest=2)
    lines, calls = Interrupting(), Interrupting("calls")
    assert explore(world, scheduler(world), lines).difference == ""
    assert explore(world, scheduler(world), calls).difference == ""
    assert calls.raised > lines.raised > 1_000


@pytest.mark.claims("IMPL-ATOMIC")
@pytest.mark.deep
@pytest.mark.parametrize("world", atomic.DEEP, ids=lambda world: world.name)
def test_exceptions_in_larger_worlds(world: World) -> None:
    raising = Interrupting()
    assert explore(world, scheduler(world), raising).difference == ""
    assert raising.raised > 50_000


def test_an_exception_is_raised_before_each_line_in_turn() -> None:
    reached: list[int] = []
    for number in range(100):
        make = scheduler(atomic.WORLD)()
        if not interrupted(number, make.upkeep):
            break
        reached.append(number)
    assert 10 < len(reached) < 100


@pytest.mark.claims("IMPL-MEMORY")
def test_the_count_of_records_is_bounded() -> None:
    for obligation in memory.obligations():
        assert prove(obligation).holds, obligation.name
    assert [o.name for o in memory.obligations(twice=3) if refuted(o)] == [
        "memory, one too many",
        "memory, upkeep",
        "memory, forgetting is paid for",
    ]


@pytest.mark.claims("IMPL-LOG")
def test_an_event_compares_few_entries() -> None:
    assert effort.too_much() == ""


@pytest.mark.claims("IMPL-LOG")
@pytest.mark.parametrize("fault", effort.LINEAR, ids=lambda fault: fault.name)
def test_a_scheduler_that_does_too_much_is_found(fault: Fault) -> None:
    assert effort.too_much(fault)


def test_checks_and_faults_have_names_of_their_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert len(BY_NAME) >= 30 + len(ATOMIC) + len(MEMORY)
