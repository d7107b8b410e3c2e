"""How much the heap scheduler does for an event (IMPL-LOG): comparisons, which are counted, not time, which is not.

The entries of its heap count how often they are compared. While T users wait, an arrival compares at most log2(T) + 1
entries, a dispatch at most 2 · log2(T) + 2, and a cancel, on average over a run, no more than a dispatch.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from sfq_proofs.scheduler.faults import Fault, plant

COUNTING = (
    Fault(
        "entries that count",
        "heap",
        "class Overlapping(RuntimeError):",
        "class Counted(tuple):\n    count = 0\n\n    def __lt__(self, other):\n        Counted.count += 1\n"
        "        return tuple.__lt__(self, other)\n\n\nclass Overlapping(RuntimeError):",
    ),
    Fault(
        "pushed",
        "heap",
        "(self._heap, (record.meter, user, record))",
        "(self._heap, Counted((record.meter, user, record)))",
    ),
    Fault("replaced", "heap", "(heap, (finish, user, record))", "(heap, Counted((finish, user, record)))"),
)
"""No faults: what is in the heap, so that it can be counted."""

LINEAR = (
    Fault(
        "a dispatch puts all in order",
        "heap",
        "heapreplace(heap, Counted(",
        "(lambda h, e: (h.__setitem__(0, e), h.sort()))(heap, Counted(",
    ),
    Fault(
        "an arrival puts all in order",
        "heap",
        "heappush(self._heap, Counted(",
        "(lambda h, e: (h.append(e), h.sort()))(self._heap, Counted(",
    ),
    Fault("a leaver is searched for", "heap", "heappop(heap)\n", "heap.remove(min(heap)); heap.sort()\n"),
    Fault("each who is gone is dropped at once", "state", "if 2 * len(gone) > len(heap):", "if gone:"),
)
"""Schedulers that do right, and too much."""

SIZES = (16, 128, 1_024)


def too_much(*faults: Fault) -> str:
    """Where a scheduler compares more than it may; empty where it never does."""
    make = plant(*COUNTING, *faults)
    for size in SIZES:
        if wrong := _too_much(make, size):
            return f"{size} users: {wrong}"
    return ""


def _too_much(make: Callable[[], Any], size: int) -> str:
    rng, scheduler = random.Random(size), make()
    entry = make.arrive.__globals__["Counted"]  # type: ignore[attr-defined]
    log = math.log2(size)

    def compared(call: Callable[..., object], *arguments: Any) -> int:
        before = entry.count
        call(*arguments)
        return int(entry.count - before)

    users = [f"u{number}" for number in range(size)]
    rng.shuffle(users)
    for request, user in enumerate((*users, *users)):
        if (count := compared(scheduler.arrive, user, str(request), rng.randint(1, 99))) > log + 1:
            return f"an arrival compares {count} entries"
    for _ in range(size + size // 4):
        if (count := compared(scheduler.dispatch)) > 2 * log + 2:
            return f"a dispatch compares {count} entries"
    left = [request.request for request in scheduler._live.values() if request.waits]
    rng.shuffle(left)
    total = sum(compared(scheduler.cancel, request) for request in left)
    if total > len(left) * (2 * log + 2):
        return f"{len(left)} cancels compare {total} entries"
    return ""
