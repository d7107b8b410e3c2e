"""State is bounded by the users who wait or are in debt, and by nobody else (IMPL-MEMORY)."""

from __future__ import annotations

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_impl.state import SLACK
from sfq_proofs.scheduler.faults import MEMORY, Fault, plant
from sfq_proofs.scheduler.memory import wrong_with_memory


@pytest.mark.claims("IMPL-MEMORY")
@pytest.mark.parametrize("seed", range(12))
def test_crowds_come_and_go(seed: int) -> None:
    assert wrong_with_memory(HeapScheduler, seed) is None


def test_a_hundred_thousand_who_come_once() -> None:
    """One state record for each caller for ever (llm-d-router 707, kthena 1613): here they leave no trace."""
    scheduler = HeapScheduler()
    for number in range(100_000):
        scheduler.arrive("busy", f"b{number}", 1)
        scheduler.arrive(f"once {number}", f"o{number}", 1)
        for _ in range(2):
            request = scheduler.dispatch()
            assert request is not None
            scheduler.complete(request.request)
    assert scheduler.remembered_users <= 2 * 2 + SLACK
    assert (len(scheduler._live), len(scheduler._gone), len(scheduler._heap)) == (0, 0, 0)


def test_a_hundred_thousand_at_once() -> None:
    """What a crowd has left behind goes with the next `upkeep`."""
    scheduler = HeapScheduler()
    for number in range(100_000):
        scheduler.arrive(f"once {number}", f"o{number}", 1)
    while scheduler.dispatch():
        pass
    assert scheduler.remembered_users == 100_000
    scheduler.upkeep()
    assert scheduler.remembered_users == 0


def test_those_who_give_up_leave_nothing_behind() -> None:
    """A flood of a hundred thousand requests is withdrawn again, in an order that is the worst for a queue."""
    scheduler = HeapScheduler()
    scheduler.arrive("A", "first", 1)
    for number in range(100_000):
        scheduler.arrive("flood", f"f{number}", 1)
    for number in range(50_000):
        scheduler.arrive(f"user {number}", f"u{number}", 1)
    for number in reversed(range(100_000)):
        scheduler.cancel(f"f{number}")
    for number in reversed(range(50_000)):
        scheduler.cancel(f"u{number}")
    assert (scheduler.waiting_users, scheduler.waiting_requests) == (("A",), 1)
    assert len(scheduler._heap) <= 2
    scheduler.upkeep()
    assert scheduler.remembered_users == 1


@pytest.mark.claims("IMPL-MEMORY")
@pytest.mark.parametrize("fault", MEMORY, ids=lambda fault: fault.name)
def test_a_planted_fault_is_seen(fault: Fault) -> None:
    make = plant(fault)
    assert any(wrong_with_memory(make, seed) for seed in range(12))
