"""Heaps with a fault each, in the way in which users enter and leave them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from schedulers.linear_scan import LinearScan
from schedulers.plain import Heap


class StaleKey(Heap):
    """The key in the heap is the meter before the charge."""

    def enter(self, user: str) -> None:
        heappush(self.heap, (self.v, user))


class ActivatedTwice(Heap):
    """Every arrival enters the user, also where it waits already; one entry is taken out."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        LinearScan.arrive(self, user, request, cost)
        self.enter(user)

    def selected(self) -> str | None:
        while self.heap and not self.queues[self.heap[0][1]]:
            heappop(self.heap)
        return super().selected()

    def leave(self, user: str) -> None:
        entries = [entry for entry in self.heap if entry[1] == user]
        if entries:
            self.heap.remove(entries[0])
            heapify(self.heap)


class StalePlace(Heap):
    """Lazy deletion: who leaves by a cancel keeps an entry, which is passed over until its user waits again."""

    def cancel(self, request: str) -> None:
        LinearScan.cancel(self, request)

    def selected(self) -> str | None:
        while self.heap and not self.queues[self.heap[0][1]]:
            heappop(self.heap)
        return super().selected()

    def leave(self, user: str) -> None:
        self.heap.remove(min(entry for entry in self.heap if entry[1] == user))
        heapify(self.heap)


class WrongUserRemoved(Heap):
    """Where a user leaves by a cancel, the last entry of the heap is taken out instead of its own."""

    def cancel(self, request: str) -> None:
        user = self.owners.get(request, "")
        LinearScan.cancel(self, request)
        if not self.queues[user]:
            self.heap.pop()

    def selected(self) -> str | None:
        waiting = [user for _, user in sorted(self.heap) if self.queues[user]]
        return waiting[0] if waiting else None


class HoleNotSifted(Heap):
    """The last entry takes the place of the one removed, and is not moved up or down."""

    def leave(self, user: str) -> None:
        at = next((place for place, entry in enumerate(self.heap) if entry[1] == user), None)
        if at is not None:
            last = self.heap.pop()
            if at < len(self.heap):
                self.heap[at] = last
