"""A scheduler that conforms, written plainly: a scan over all users. It refuses by exceptions of its own."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from typing import Any


class Refusal(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class LinearScan:
    def __init__(self) -> None:
        self.v: Any = 0
        self.meters: dict[str, Any] = {}
        self.weights: dict[str, Any] = {}
        self.queues: dict[str, Any] = {}
        self.costs: dict[str, Any] = {}
        self.owners: dict[str, str] = {}
        self.in_flight: set[str] = set()

    def new_queue(self) -> Any:
        """What holds the requests of one user."""
        return deque[str]()

    def arrive(self, user: str, request: str, cost: Any) -> None:
        self._check(cost, "invalid-cost")
        if request in self.owners:
            raise Refusal("duplicate-request")
        queue = self.queues.setdefault(user, self.new_queue())
        if not queue:
            self.meters[user] = max(self.meters.get(user, 0), self.v)
        queue.append(request)
        self.owners[request] = user
        self.costs[request] = cost

    def dispatch(self) -> str | None:
        waiting = [user for user, queue in self.queues.items() if queue]
        if not waiting:
            return None
        user = min(waiting, key=lambda user: (self.meters[user], user))
        request: str = self.queues[user].popleft()
        self.v = self.meters[user]
        self.meters[user] += Fraction(self.costs.pop(request)) / self.weights.get(user, 1)
        self.in_flight.add(request)
        self._reset()
        return request

    def cancel(self, request: str) -> None:
        self._need_waiting(request)
        self.queues[self.owners.pop(request)].remove(request)
        self._reset()

    def complete(self, request: str, outcome: str) -> None:
        if request in self.in_flight:
            self.in_flight.remove(request)
            del self.owners[request]

    def weight(self, user: str, weight: Any) -> None:
        self._check(weight, "invalid-weight")
        self.weights[user] = weight

    def cost(self, request: str, cost: Any) -> None:
        self._check(cost, "invalid-cost")
        self._need_waiting(request)
        self.costs[request] = cost

    def lag(self) -> dict[str, Any]:
        return {user: meter - self.v for user, meter in self.meters.items()}

    def _reset(self) -> None:
        if not any(self.queues.values()):
            self.v = max([self.v, *self.meters.values()])

    def _need_waiting(self, request: str) -> None:
        if request not in self.owners:
            raise Refusal("unknown-request")
        if request in self.in_flight:
            raise Refusal("not-waiting")

    def _check(self, number: Any, code: str) -> None:
        if not math.isfinite(number) or number <= 0:
            raise Refusal(code)
