"""State is bounded by the users who wait or are in debt, and by nobody else (IMPL-MEMORY)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws
from sfq_impl.state import SLACK


def excess(scheduler: HeapScheduler) -> int:
    """Records beyond what is allowed."""
    kept = sum(1 for user in scheduler._users.values() if user.queue or user.meter > scheduler._virtual)
    return scheduler.remembered_users - 2 * kept - SLACK


def crowd(make: Callable[[], HeapScheduler], seed: int, steps: int = 4_000) -> int:
    """The worst excess after any event, while crowds come, are served, give up, and come back in debt."""
    rng, scheduler, worst = random.Random(seed), make(), 0
    waiting: list[str] = []
    number, most = 0, rng.choice([200, 1_000])
    while number < steps:
        kind, length = rng.choice(["come", "come", "serve", "serve", "give up", "rush"]), rng.randrange(most)
        for _ in range(length):
            number += 1
            if kind == "come" or kind == "rush":
                user = f"new {number}" if rng.random() < 0.7 else f"old {rng.randrange(most)}"
                scheduler.arrive(
                    user, str(number), rng.choice([1, 1, 1, 50]) if kind == "come" else rng.randint(90, 99)
                )
                waiting.append(str(number))
            elif kind == "serve":
                scheduler.dispatch()
            elif waiting:
                request = waiting.pop(rng.randrange(len(waiting)))
                if request in scheduler._live and scheduler._live[request].waits:
                    scheduler.cancel(request)
            worst = max(worst, excess(scheduler))
    assert list(flaws(scheduler)) == []
    return worst


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_holds_after_every_event(seed: int) -> None:
    assert crowd(HeapScheduler, seed) <= 0


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
    """They are remembered while they are in debt, and forgotten at the dispatch that ends it."""
    scheduler = HeapScheduler()
    for number in range(100_000):
        scheduler.arrive(f"once {number}", f"o{number}", 7)
        scheduler.arrive("busy", f"b{number}", 1)
    for _ in range(100_000 + 7):
        scheduler.dispatch()
    assert (scheduler.waiting_users, scheduler.remembered_users) == (("busy",), 100_001)
    scheduler.dispatch()
    assert scheduler.remembered_users <= 2 + SLACK


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
    assert scheduler.remembered_users <= 2 + SLACK


FAULTS = [
    ("nobody is forgotten", "state", "            self._look_around()", "            pass"),
    ("all are kept at a reset", "state", "if len(self._users) > SLACK // 2:", "if False:"),
    ("nobody watches for debts", "heap", "if self._watch is not None", "if False"),
    ("most of the debts may be over", "state", "debts[len(debts) // 4]", "debts[-1]"),
    ("too many may leave", "state", "(len(self._users) + SLACK) // 4", "4 * len(self._users) + SLACK"),
    ("who waits is counted twice", "state", "len(self._heap) - len(self._gone)", "2 * len(self._heap)"),
]


@pytest.mark.parametrize("fault", [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_seen(
    planted: Callable[[str, str, str], Callable[[], HeapScheduler]], fault: tuple[str, str, str]
) -> None:
    make = planted(*fault)
    assert any(crowd(make, seed) > 0 for seed in range(12))
