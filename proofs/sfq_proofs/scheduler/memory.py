"""How many records the heap scheduler keeps (IMPL-MEMORY): an argument by counting, and crowds that try it.

It forgets users when a new one would exceed the limit, and then the limit is twice what is left, and `SLACK`. So there
are never more records than 2 · m + SLACK, where m is the most users that have waited or been in debt at one time since
the last `upkeep`; and a record is looked at no more than twice for each user that is met.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import z3

from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws
from sfq_impl.state import SLACK
from sfq_proofs.solver.induction import Obligation

CLAIMS = ("IMPL-MEMORY",)


def obligations(twice: int = 2) -> Iterator[Obligation]:
    """The bound holds at first and after whatever may happen to the number of records; the work is paid for.

    `spent` is what has been looked at, `met` how many users; `left` were left over when it last forgot.
    """
    records, limit, most, use, left = z3.Ints("records limit most use left")
    slack, spent, met, then = z3.Ints("slack spent met then")

    def holds(records: z3.ArithRef, limit: z3.ArithRef, most: z3.ArithRef) -> z3.BoolRef:
        return z3.And(records <= limit, limit <= 2 * most + slack)

    def paid(
        records: z3.ArithRef, limit: z3.ArithRef, left: z3.ArithRef, spent: z3.ArithRef, met: z3.ArithRef
    ) -> z3.BoolRef:
        """Since it last forgot, every record beyond those left over is of a user that was met."""
        return z3.And(limit == 2 * left + slack, records >= left, spent + 2 * (records - left) <= 2 * met)

    known = (slack >= 1, use >= 0, use <= records, use <= most, left >= 0, holds(records, limit, most))
    grown = twice * use + slack
    yield Obligation("memory, at first", CLAIMS, (slack >= 1,), holds(z3.IntVal(0), slack, z3.IntVal(0)))
    yield Obligation("memory, a new user", CLAIMS, (*known, records < limit), holds(records + 1, limit, most))
    yield Obligation("memory, one too many", CLAIMS, (*known, records >= limit), holds(use + 1, grown, most))
    yield Obligation("memory, upkeep", CLAIMS, known, holds(use, grown, use))
    yield Obligation("memory, more in use", CLAIMS, (*known, then >= most), holds(records, limit, then))
    before = (*known, paid(records, limit, left, spent, met))
    goal = paid(records + 1, limit, left, spent, met + 1)
    yield Obligation("memory, a new user is paid for", CLAIMS, (*before, records < limit), goal)
    goal = paid(use + 1, grown, use, spent + records, met + 1)
    yield Obligation("memory, forgetting is paid for", CLAIMS, (*before, records >= limit), goal)


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
