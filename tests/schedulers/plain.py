"""Two schedulers that conform, in parts that a variant can replace: a scan by key, and a heap."""

from __future__ import annotations

from fractions import Fraction
from heapq import heapify, heappush
from typing import Any

from schedulers.linear_scan import LinearScan


class LeastFirst(LinearScan):
    """`LinearScan` with the choice among the waiting users in a method of its own."""

    def key(self, user: str) -> Any:
        return self.meters[user], user

    def selected(self) -> str | None:
        return min((user for user, queue in self.queues.items() if queue), key=self.key, default=None)

    def charge(self, user: str, request: str) -> Any:
        return Fraction(self.costs.pop(request)) / self.weights.get(user, 1)

    def dispatch(self) -> str | None:
        user = self.selected()
        if user is None:
            return None
        request: str = self.queues[user].popleft()
        self.v = self.meters[user]
        self.meters[user] += self.charge(user, request)
        self.in_flight.add(request)
        self._reset()
        return request


class Heap(LeastFirst):
    """The waiting users in a heap of (meter, user), each once."""

    def __init__(self) -> None:
        super().__init__()
        self.heap: list[tuple[Any, str]] = []

    def arrive(self, user: str, request: str, cost: Any) -> None:
        waits = bool(self.queues.get(user))
        super().arrive(user, request, cost)
        if not waits:
            self.enter(user)

    def dispatch(self) -> str | None:
        sent = super().dispatch()
        if sent is not None:
            self.leave(self.owners[sent])
            if self.queues[self.owners[sent]]:
                self.enter(self.owners[sent])
        return sent

    def cancel(self, request: str) -> None:
        super().cancel(request)
        for user, queue in self.queues.items():
            if not queue:
                self.leave(user)

    def selected(self) -> str | None:
        return self.heap[0][1] if self.heap else None

    def enter(self, user: str) -> None:
        heappush(self.heap, (self.meters[user], user))

    def leave(self, user: str) -> None:
        self.heap = [entry for entry in self.heap if entry[1] != user]
        heapify(self.heap)
