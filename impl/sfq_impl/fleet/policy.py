"""Who is next: the interface that the dispatcher asks, and the policies that need nothing but arrivals and costs.

A policy knows no server, no clock and no limit (article §5.2). Policies that pick among queues, with hooks along a
request's way, are in `sfq_impl.policy`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sfq_impl.fleet.request import Outcome, Request
from sfq_impl.heap import HeapScheduler
from sfq_impl.overtaking import OvertakingScheduler

MOST_TOKENS = 100_000_000
"""What is told to be more, of one request, is no count of tokens."""


@dataclass(frozen=True)
class Usage:
    """What a request has really taken, as its server told."""

    input_tokens: int = 0
    output_tokens: int = 0


class Policy(Protocol):
    """The order of dispatch."""

    def arrive(self, request: Request) -> None:
        """A request waits from now on."""

    def next(self) -> Request | None:
        """The request to dispatch now; None where nobody waits. Asking changes no later answer."""

    def dispatch(self, request: Request) -> None:
        """The request that `next` has named is on its way."""

    def cancel(self, request: Request) -> None:
        """A request that waited does not any more, and was not dispatched."""

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """A dispatched request has ended; what it used is None where nobody could tell."""

    def set_weight(self, user: str, weight: float) -> None:
        """The share of a user from now on. Raises `InvalidWeight`; does nothing where the policy has no shares."""


@runtime_checkable
class Holding(Policy, Protocol):
    """A policy that others may overtake under: what the mode `overtake` of the dispatcher needs (article §5.2)."""

    def hold(self) -> None:
        """The request that `next` has named fits nowhere: its user is passed over until it is released."""

    def release(self, user: str) -> None:
        """The user takes part again. A `cancel` of any of its requests releases it too."""


class Sfq:
    """Start-time Fair Queueing, by the scheduler that is proved (`sfq_impl.heap`)."""

    def __init__(self) -> None:
        self.scheduler = HeapScheduler()
        self._waiting: dict[str, Request] = {}

    def arrive(self, request: Request) -> None:
        """The user joins if it had nothing waiting."""
        self.scheduler.arrive(request.user, request.id, request.cost)
        self._waiting[request.id] = request

    def next(self) -> Request | None:
        """The first request of the user of least (meter, id)."""
        first = self.scheduler.next_request
        return None if first is None else self._waiting[first.request]

    def dispatch(self, request: Request) -> None:
        """It is charged, once and for good."""
        sent = self.scheduler.dispatch()
        assert sent is not None
        assert sent.request == request.id, f"{sent.request} is next, not {request.id}"
        del self._waiting[request.id]

    def cancel(self, request: Request) -> None:
        """It is not charged."""
        self.scheduler.cancel(request.id)
        del self._waiting[request.id]

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """No meter moves, whatever came of it (article §5.1)."""
        self.scheduler.complete(request.id, outcome)

    def set_weight(self, user: str, weight: float) -> None:
        """Charges are divided by it from now on."""
        self.scheduler.set_weight(user, weight)


class OvertakingSfq(Sfq):
    """The same, where others go first if a request fits nowhere (`sfq_impl.overtaking`)."""

    def __init__(self) -> None:
        super().__init__()
        self._overtaking = OvertakingScheduler()
        self.scheduler = self._overtaking

    def hold(self) -> None:
        """Whoever is next has left the competition."""
        self._overtaking.hold()

    def release(self, user: str) -> None:
        """It rejoins."""
        self._overtaking.release(user)


Queue = OrderedDict[str, Request]
"""Requests by id, oldest first. Unlike a plain one it finds its first entry at once, however many went before."""


class Fifo:
    """First come, first served, whoever it is: what a proxy without a policy does."""

    def __init__(self) -> None:
        self._waiting = Queue()

    def arrive(self, request: Request) -> None:
        """To the end of the one queue."""
        self._waiting[request.id] = request

    def next(self) -> Request | None:
        """The oldest of all."""
        return next(iter(self._waiting.values()), None)

    def dispatch(self, request: Request) -> None:
        """It leaves the queue."""
        del self._waiting[request.id]

    def cancel(self, request: Request) -> None:
        """It leaves the queue."""
        del self._waiting[request.id]

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """Nothing is remembered."""

    def set_weight(self, user: str, weight: float) -> None:
        """There are no shares."""


class RoundRobin:
    """One request of each user in turn, whatever it costs."""

    def __init__(self) -> None:
        self._queues = OrderedDict[str, Queue]()
        """Of the users who wait, the one whose turn it is first."""

    def arrive(self, request: Request) -> None:
        """A user that had nothing waiting has its turn after all others."""
        self._queues.setdefault(request.user, Queue())[request.id] = request

    def next(self) -> Request | None:
        """The oldest request of the user whose turn it is."""
        queue = next(iter(self._queues.values()), None)
        return None if queue is None else next(iter(queue.values()))

    def dispatch(self, request: Request) -> None:
        """Its user has had its turn, and if more of it waits is the last in line."""
        if self._leave(request):
            self._queues.move_to_end(request.user)

    def cancel(self, request: Request) -> None:
        """A user with nothing left loses its place."""
        self._leave(request)

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """Nothing is remembered."""

    def set_weight(self, user: str, weight: float) -> None:
        """There are no shares."""

    def _leave(self, request: Request) -> bool:
        """Whether more of its user waits."""
        queue = self._queues[request.user]
        del queue[request.id]
        if not queue:
            del self._queues[request.user]
        return bool(queue)
