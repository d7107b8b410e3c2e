"""What the heap scheduler keeps: who waits and in what order, what it remembers, and how that is put in order.

The events are in `sfq_impl.heap`. What must hold between them is written down in `sfq_impl.representation`.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from heapq import heapify, heappop

import msgspec

from sfq_impl.quantities import Number, as_float, difference, rate, rebased, simplest

SLACK = 64
"""Records that may be kept beyond two for each user who waits or is in debt."""


class Request(msgspec.Struct, gc=False, eq=False):
    """One inference call: its id, whose it is, and the cost that is charged when it is dispatched."""

    request: str
    user: str
    cost: Number
    waits: bool = True
    """Neither dispatched nor cancelled."""


class User:
    """What is remembered of a user."""

    __slots__ = ("meter", "name", "queue", "rate", "withdrawn")

    def __init__(
        self, name: str, meter: Number, rate: int | Fraction, queue: deque[Request], withdrawn: int = 0
    ) -> None:
        self.name = name
        self.meter = meter
        """S, the start tag of the user's next request, in units of 1/scale."""
        self.rate = rate
        """What one unit of cost adds to the meter: scale / weight."""
        self.queue = queue
        """The requests that wait, in order of arrival. Some behind the first may be withdrawn already."""
        self.withdrawn = withdrawn
        """How many these are: at most half."""


class State:
    """The representation, its views, and the work behind the events that nobody can observe.

    Any of that work may be interrupted anywhere: `_recover` puts things right.
    """

    __slots__ = (
        "_busy", "_gone", "_greatest", "_heap", "_integral", "_limit", "_live", "_origin", "_scale", "_users",
        "_virtual", "_weights",
    )  # fmt: skip

    def __init__(self) -> None:
        self._virtual: Number = 0
        """v, counted from the origin in units of 1/scale, as all meters are."""
        self._origin = Fraction(0)
        self._scale = 1
        self._integral = True
        """No cost has been anything but an integer."""
        self._users: dict[str, User] = {}
        self._weights: dict[str, Fraction] = {}
        """The weights that are not 1."""
        self._live: dict[str, Request] = {}
        """The requests that wait or are in flight, by id."""
        self._heap: list[tuple[Number, str, User]] = []
        """The users who wait, and a few who are gone; the first one always waits."""
        self._gone: set[str] = set()
        """Users who withdrew all they had and whose entry has not come up yet: at most half of the heap."""
        self._greatest: Number = 0
        """The greatest meter with which anybody has left: where the next reset leads (article §2.5)."""
        self._limit = SLACK
        """How many records there may be until it is time to forget."""
        self._busy = False
        """A call is under way."""

    @property
    def virtual_time(self) -> Number:
        """v. It never decreases, whatever `upkeep` does to the meters."""
        exact = simplest(self._origin + Fraction(self._virtual) / self._scale)
        return as_float(exact) if isinstance(self._virtual, float) else exact

    @property
    def lag(self) -> dict[str, Number]:
        """S − v of every user who is remembered. Of a user who is not, it is at most 0."""
        v, scale, lag = self._virtual, self._scale, dict[str, Number]()
        for name, user in list(self._users.items()):
            exact = simplest(Fraction(difference(user.meter, v), scale))
            lag[name] = as_float(exact) if isinstance(user.meter, float) else exact
        return lag

    @property
    def next_request(self) -> Request | None:
        """The request that a dispatch would send now; None where nobody waits."""
        heap = self._heap
        queue = heap[0][2].queue if heap else None
        return queue[0] if queue else None

    @property
    def waiting_users(self) -> tuple[str, ...]:
        """The users who wait, by (meter, user id)."""
        return tuple(name for _, name, user in sorted(self._heap) if user.queue)

    @property
    def waiting_requests(self) -> int:
        """How many requests wait."""
        return sum(len(user.queue) - user.withdrawn for _, _, user in self._heap)

    @property
    def requests_in_flight(self) -> int:
        """How many requests have been dispatched and not completed."""
        return len(self._live) - self.waiting_requests

    @property
    def remembered_users(self) -> int:
        """How many users there are records of."""
        return len(self._users)

    def weight(self, user: str) -> int | Fraction:
        """The user's weight: 1 unless it was set."""
        return simplest(self._weights.get(user, Fraction(1)))

    def _meet(self, name: str) -> User:
        """A record of a user who is not remembered, or no longer."""
        if len(self._users) >= self._limit:
            self._forget()
        user = self._users[name] = User(name, self._virtual, self._rate(name, self._scale), deque())
        return user

    def _rate(self, name: str, scale: int) -> int | Fraction:
        weight = self._weights.get(name)
        return scale if weight is None else rate(scale, weight)

    def _leave(self, meter: Number) -> None:
        """A user has left, with this meter. If it was the last one, reset (article §2.5)."""
        if meter > self._greatest:
            self._greatest = meter
        if self._gone:
            self._skip_gone()
        if not self._heap:
            self._virtual = max(self._virtual, self._greatest)

    def _skip_withdrawn(self, user: User) -> deque[Request]:
        """The user's queue, once its first request is alive and at most half of it is withdrawn."""
        queue = user.queue
        while queue and not queue[0].waits:
            queue.popleft()
            user.withdrawn -= 1
        if 2 * user.withdrawn > len(queue):
            user.queue, user.withdrawn = deque(request for request in queue if request.waits), 0
        return user.queue

    def _skip_gone(self) -> None:
        """Let the first user in the heap be one who waits, and at most half of all be gone."""
        heap, gone = self._heap, self._gone
        while heap and heap[0][1] in gone:
            gone.remove(heappop(heap)[1])
        if 2 * len(gone) > len(heap):
            self._drop_gone()

    def _drop_gone(self) -> None:
        heap = [entry for entry in self._heap if entry[2].queue]
        heapify(heap)
        self._heap, self._gone = heap, set()

    def _forget(self) -> None:
        """Keep records of the users who wait or are in debt, and of nobody else (article §7.2).

        The time is in proportion to the records, of which there were only half as many the last time, and as many new
        ones since.
        """
        if self._gone:
            self._drop_gone()
        v = self._virtual
        self._users = {name: user for name, user in self._users.items() if user.queue or user.meter > v}
        self._greatest = max([v, *(user.meter for user in self._users.values() if not user.queue)])
        self._limit = 2 * len(self._users) + SLACK

    def _rebase(self, numerator: int = 1) -> None:
        """Count from the meter of the first user, in a unit that fits all meters, all weights and one more numerator.

        So the next charge is added to zero, and cannot vanish.
        """
        self._forget()
        base = self._heap[0][0] if self._heap else self._virtual
        (virtual, greatest, *meters), scale = rebased(
            [self._virtual, self._greatest, *(user.meter for user in self._users.values())],
            base,
            self._scale,
            (numerator, *(weight.numerator for weight in self._weights.values())),
        )
        users = {
            name: User(name, meter, self._rate(name, scale), user.queue, user.withdrawn)
            for meter, (name, user) in zip(meters, self._users.items(), strict=True)
        }
        heap = [(users[name].meter, name, users[name]) for _, name, _ in self._heap]
        origin = self._origin + Fraction(base) / self._scale
        self._users, self._heap, self._virtual, self._origin, self._scale = users, heap, virtual, origin, scale
        self._greatest = greatest

    def _recover(self) -> None:
        """Derive everything anew from v, meters, weights, and the requests that wait."""
        live, users = self._live, {}
        for name, user in self._users.items():
            queue = deque(request for request in user.queue if live.get(request.request) is request)
            users[name] = User(name, user.meter, self._rate(name, self._scale), queue)
        heap = [(user.meter, name, user) for name, user in users.items() if user.queue]
        heapify(heap)
        v = self._virtual if heap else max([self._virtual, *(user.meter for user in users.values())])
        self._users, self._heap, self._gone, self._virtual = users, heap, set(), v
        self._forget()
        self._busy = False
