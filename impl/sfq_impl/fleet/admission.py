"""What is taken in: limits of the queue, checked before a request becomes an event. Who is refused is not charged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush

from sfq_impl.fleet.request import QueueFull, Request

SLACK = 64
"""Sizes that may be remembered beyond two for each request that waits."""


@dataclass(frozen=True)
class Limits:
    """Each may be None: no limit."""

    requests: int | None = 10_000
    """Requests that wait, of all users."""
    requests_of_a_user: int | None = None
    cost: int | None = None
    """What those that wait cost together."""
    cost_of_a_user: int | None = None
    wait: float | None = 60.0
    """Seconds that a request may wait."""


class Queue:
    """How much waits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.requests = 0
        self.cost = 0
        self.requests_of: Counter[str] = Counter()
        self.cost_of: Counter[str] = Counter()
        self._of_size: Counter[int] = Counter()
        self._sizes: list[int] = []
        """The sizes of requests that wait, least first, and some of which none waits any more."""
        self.pace = 0.0
        """Seconds from one dispatch to the next, lately; what `Retry-After` is guessed from."""

    @property
    def least_tokens(self) -> int:
        """No request that waits has fewer tokens."""
        while self._sizes and not self._of_size[self._sizes[0]]:
            del self._of_size[heappop(self._sizes)]
        return self._sizes[0] if self._sizes else 0

    def check(self, request: Request) -> None:
        """Raises `QueueFull` where the request would pass a limit. It is not counted yet."""
        limits, user = self.limits, request.user
        for name, now, most in (
            ("the queue", self.requests + 1, limits.requests),
            (f"the queue of {user!r}", self.requests_of[user] + 1, limits.requests_of_a_user),
            ("the queue, by cost,", self.cost + request.cost, limits.cost),
            (f"the queue of {user!r}, by cost,", self.cost_of[user] + request.cost, limits.cost_of_a_user),
        ):
            if most is not None and now > most:
                raise QueueFull(name, most, max(1.0, self.pace * self.requests))

    def join(self, request: Request) -> None:
        """The request waits."""
        self._count(request, 1)
        if request.tokens not in self._of_size:
            heappush(self._sizes, request.tokens)
        self._of_size[request.tokens] += 1
        if len(self._sizes) > 2 * self.requests + SLACK:
            self._of_size = +self._of_size
            self._sizes = sorted(self._of_size)

    def leave(self, request: Request) -> None:
        """The request waits no more."""
        self._count(request, -1)
        self._of_size[request.tokens] -= 1

    def _count(self, request: Request, sign: int) -> None:
        self.requests += sign
        self.cost += sign * request.cost
        for counter, amount in ((self.requests_of, 1), (self.cost_of, request.cost)):
            counter[request.user] += sign * amount
            if not counter[request.user]:
                del counter[request.user]
