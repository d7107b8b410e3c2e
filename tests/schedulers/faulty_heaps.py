"""Heaps with a fault each, in the way in which users enter and leave them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from schedulers.linear_scan import LinearScan
from schedulers.linked import FourWayHeap, IndexedHeap
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


# Heaps that know the place of each user


class OnlyDown(IndexedHeap):
    """The last entry takes the place of the one removed, and is moved down, but not up."""

    def sift(self, at: int) -> None:
        self.down(at)


class OnlyDownOfFour(FourWayHeap):
    """The same, in a heap with four children to each place."""

    def sift(self, at: int) -> None:
        self.down(at)


class OnlyUp(IndexedHeap):
    """The last entry takes the place of the one removed, and is moved up, but not down, unless it is the first."""

    def sift(self, at: int) -> None:
        if at:
            self.up(at)
        else:
            self.down(at)


class LeftChildOnly(IndexedHeap):
    """What moves down is held against the left of the two below it, and not against the right."""

    def least_below(self, at: int) -> int | None:
        return 2 * at + 1 if 2 * at + 1 < len(self.heap) else None


class OnlyChildMissed(IndexedHeap):
    """What moves down stops where there are not two below it."""

    def least_below(self, at: int) -> int | None:
        return super().least_below(at) if 2 * at + 2 < len(self.heap) else None


class PlaceNotNoted(IndexedHeap):
    """The last entry takes the place of the one removed, and where it then stays there its place is not noted."""

    def leave(self, user: str) -> None:
        at, last = self.place.pop(user), self.heap.pop()
        if at < len(self.heap):
            self.heap[at] = last
            self.sift(at)

    def withdraw(self, user: str) -> None:
        if self.place[user] < len(self.heap):
            self.leave(self.heap[self.place[user]])


class SwapNotesOne(IndexedHeap):
    """Where two entries change places, that of the one which moves up is noted, and the other's is not."""

    def swap(self, lower: int, upper: int) -> None:
        self.heap[lower], self.heap[upper] = self.heap[upper], self.heap[lower]
        self.place[self.heap[upper]] = upper

    def leave(self, user: str) -> None:
        at = min(self.place.pop(user), len(self.heap) - 1)
        last = self.heap.pop()
        if at < len(self.heap):
            self.put(at, last)
            self.sift(at)

    def selected(self) -> str | None:
        waiting = [user for user in self.heap if self.queues[user]]
        return waiting[0] if waiting else None


class PlaceKept(IndexedHeap):
    """A user that leaves by a cancel keeps its place in the map, and is taken for one that is there when it returns."""

    def enter(self, user: str) -> None:
        if user not in self.place:
            super().enter(user)

    def withdraw(self, user: str) -> None:
        at = self.place[user]
        self.leave(user)
        self.place[user] = at


class LastEntryStays(IndexedHeap):
    """A user that stands last in the heap is taken out of the map only, and is passed over until it waits again."""

    def withdraw(self, user: str) -> None:
        if self.heap[-1] == user:
            del self.place[user]
        else:
            self.leave(user)

    def selected(self) -> str | None:
        while self.heap and not self.queues[self.heap[0]]:
            self.place[self.heap[0]] = 0
            self.leave(self.heap[0])
        return super().selected()


FAULTY: tuple[Callable[[], Any], ...] = (
    StaleKey,
    ActivatedTwice,
    StalePlace,
    WrongUserRemoved,
    HoleNotSifted,
    OnlyDown,
    OnlyDownOfFour,
    OnlyUp,
    LeftChildOnly,
    OnlyChildMissed,
    PlaceNotNoted,
    SwapNotesOne,
    PlaceKept,
    LastEntryStays,
)
"""Every faulty scheduler here."""
