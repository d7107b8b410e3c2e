"""State is bounded by the users who wait or are in debt, and by nobody else (IMPL-MEMORY)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws
from sfq_impl.state import SLACK


def in_use(scheduler: HeapScheduler) -> int:
    """How many users wait or are in debt."""
    return sum(1 for user in scheduler._users.values() if user.queue or user.meter > scheduler._virtual)


def wrong_with_memory(make: Callable[[], HeapScheduler], seed: int) -> str | None:
    """What goes wrong first while crowds come, are served, give up, and come back in debt; None if nothing does."""
    rng, scheduler = random.Random(seed), make()
    waiting: list[str] = []
    number = peak = looked_at = 0
    while number < 6_000:
        kind = rng.choice(["come", "come", "serve", "serve", "pass by", "give up", "upkeep"])
        for _ in range(rng.randrange(400) if kind != "upkeep" else 1):
            number += 1
            records = scheduler._users
            if kind in ("come", "pass by"):
                user = f"new {number}" if rng.random() < 0.7 else f"old {rng.randrange(400)}"
                scheduler.arrive(user, str(number), rng.choice([1, 1, 1, 50]))
                waiting.append(str(number))
            if kind in ("serve", "pass by"):
                scheduler.dispatch()
            elif kind == "upkeep":
                scheduler.upkeep()
                peak = 0
            elif kind == "give up" and waiting:
                request = scheduler._live.get(waiting.pop(rng.randrange(len(waiting))))
                if request is not None and request.waits:
                    scheduler.cancel(request.request)
            peak = max(peak, in_use(scheduler))
            if scheduler.remembered_users > 2 * peak + SLACK:
                return f"event {number}: {scheduler.remembered_users} records, and only {peak} users mattered"
            if kind != "upkeep" and scheduler._users is not records:
                looked_at += len(records)
    if looked_at > 3 * number:
        return f"{looked_at} records were looked at in {number} events"
    return next(flaws(scheduler), None)


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


FAULTS = [
    ("nobody is ever forgotten", "if len(self._users) >= self._limit:", "if False:"),
    ("more are allowed", "2 * len(self._users) + SLACK", "3 * len(self._users) + SLACK"),
    ("fewer are allowed, and it looks too often", "2 * len(self._users) + SLACK", "len(self._users) + 1"),
    ("upkeep forgets nobody", "        self._forget()\n        base", "        base"),
    ("the idle are kept", "if user.queue or user.meter > v", "if user.queue or user.meter >= v"),
]


@pytest.mark.parametrize("fault", [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_seen(
    planted: Callable[[str, str, str], Callable[[], HeapScheduler]], fault: tuple[str, str]
) -> None:
    make = planted("state", *fault)
    assert any(wrong_with_memory(make, seed) for seed in range(12))
