"""Maps with a fault each: of ids that are used again, of costs, and of weights."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from schedulers.linear_scan import LinearScan, Refusal
from schedulers.plain import LeastFirst

# Ids that are used again


class KeepsFailed(LinearScan):
    """Only a request that was completed gives its id back; one that failed or was cancelled on its way keeps it."""

    def complete(self, request: str, outcome: str) -> None:
        if outcome == "completed":
            super().complete(request, outcome)


class KeepsCompleted(LinearScan):
    """The id of a completed request stays taken."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: set[str] = set()

    def arrive(self, user: str, request: str, cost: Any) -> None:
        if request in self.ended:
            raise Refusal("duplicate-request")
        super().arrive(user, request, cost)

    def complete(self, request: str, outcome: str) -> None:
        self.ended |= {request} & self.in_flight
        super().complete(request, outcome)


class FreesWhatWaits(LinearScan):
    """A completion gives the id back, also where the request waits: another may come under it."""

    def complete(self, request: str, outcome: str) -> None:
        super().complete(request, outcome)
        if request in self.owners and request not in self.in_flight:
            self.queues[self.owners.pop(request)].remove(request)


class OldCost(LinearScan):
    """The cost of a cancelled request stays, and is that of the next one under its id."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        old = self.costs.get(request) if request not in self.owners else None
        super().arrive(user, request, cost)
        if old is not None:
            self.costs[request] = old


class OldOwner(LinearScan):
    """A request under the id of a cancelled one goes to the queue of that one's user."""

    def __init__(self) -> None:
        super().__init__()
        self.first_owner: dict[str, str] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(self.first_owner.get(request, user), request, cost)
        self.first_owner[request] = self.owners[request]

    def complete(self, request: str, outcome: str) -> None:
        if request in self.in_flight:
            self.first_owner.pop(request, None)
        super().complete(request, outcome)


class _Tombstones(deque[str]):
    """A queue in which what was cancelled stays, marked, until it would be sent."""

    lifts = False

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: set[str] = set()

    def __bool__(self) -> bool:
        return any(request not in self.cancelled for request in self)

    def append(self, request: str) -> None:
        super().append(request)
        if self.lifts:
            self.cancelled.discard(request)

    def remove(self, request: str) -> None:
        self.cancelled.add(request)

    def popleft(self) -> str:
        while (request := super().popleft()) in self.cancelled:
            pass
        return request


class _Lifting(_Tombstones):
    lifts = True


class TombstoneStays(LinearScan):
    """Lazy deletion by id: who comes under the id of a cancelled request is taken for it, and passed over."""

    def new_queue(self) -> Any:
        return _Tombstones()


class TombstoneLifted(LinearScan):
    """Lazy deletion by id: who comes under the id of a cancelled request has its old place besides its own."""

    def new_queue(self) -> Any:
        return _Lifting()

    def dispatch(self) -> str | None:
        for request in self.owners:
            self.costs.setdefault(request, 1)
        return super().dispatch()


# Costs and weights that are noted


class CostOfTheHead(LeastFirst):
    """The cost of a head is noted when it gets there: a new cost does not count, and a cancel leaves it to the next."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: dict[str, Any] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        waits = bool(self.queues.get(user))
        super().arrive(user, request, cost)
        if not waits:
            self.noted[user] = cost

    def charge(self, user: str, request: str) -> Any:
        self.costs[request] = self.noted[user]
        if self.queues[user]:
            self.noted[user] = self.costs[self.queues[user][0]]
        return super().charge(user, request)


class WeightOfTheEntry(LeastFirst):
    """The weight is read when a user begins to wait, and holds until its queue is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: dict[str, Any] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        waits = bool(self.queues.get(user))
        super().arrive(user, request, cost)
        if not waits:
            self.noted[user] = self.weights.get(user, 1)

    def charge(self, user: str, request: str) -> Any:
        return Fraction(self.costs.pop(request)) / self.noted[user]


class NewCostMoves(LinearScan):
    """A new cost moves the user's meter by the difference, though nothing of the old one was charged."""

    def cost(self, request: str, cost: Any) -> None:
        old = self.costs.get(request, 0)
        super().cost(request, cost)
        user = self.owners[request]
        self.meters[user] += Fraction(cost - old) / self.weights.get(user, 1)


class NewCostToTheEnd(LinearScan):
    """A request with a new cost is taken out of the queue and put at its end."""

    def cost(self, request: str, cost: Any) -> None:
        super().cost(request, cost)
        queue = self.queues[self.owners[request]]
        queue.remove(request)
        queue.append(request)


FAULTY: tuple[Callable[[], Any], ...] = (
    KeepsFailed,
    KeepsCompleted,
    FreesWhatWaits,
    OldCost,
    OldOwner,
    TombstoneStays,
    TombstoneLifted,
    CostOfTheHead,
    WeightOfTheEntry,
    NewCostMoves,
    NewCostToTheEnd,
)
"""Every faulty scheduler here."""
