"""The scheduler that one would deploy: Start-time Fair Queueing on a heap (article §7.1).

**Cost.** The heap holds the users who wait, by (meter, user id). An arrival or a dispatch takes time that grows with
the logarithm of their number; so does a cancel, on average: what is cancelled keeps its place until it comes up, or
until half of what stands there has been cancelled.

**Exactness.** Meters are integers that count in units of 1/scale, where the scale is a common multiple of the
numerators of all weights. So the charge c / w with w = p/q is c · (scale · q / p), a product of integers. A weight that
the scale does not fit changes the scale, once, and no choice. Costs that are fractions are exact too, and slow: give
them in whole units. Costs that are floats are charged in floating point. There a charge can be too small for the meter
to grow: that raises `ChargeVanishes`, and `upkeep` helps.

**Memory.** A user who does not wait and whose meter is not above virtual time might as well be new (article §7.2).
Such users are forgotten whenever the table has doubled, and in `upkeep`: there are never more than 2 · m + 64 records,
where m is the most users that have waited or been in debt at one time since the last `upkeep`. Weights are kept until
they are set to 1 again.

**Failure.** A refused call changes nothing. Any other exception, an interrupt for instance, leaves the state before the
call or the state after it. If a second one comes while the first is being undone, the scheduler refuses all calls.

**Threads.** Any thread may call, one at a time: share the scheduler under a lock. A call that begins within another
one, in a second thread or from a signal handler or finalizer, raises `Overlapping` and changes nothing. That relies on
the GIL; without it there is only the lock. Views may be read at any time; they are of one moment if nothing else runs.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace

from sfq_impl.quantities import (
    ChargeOverflows,
    ChargeVanishes,
    Number,
    charge_lost,
    finish_tag,
    rate,
    read_cost,
    read_weight,
)
from sfq_impl.state import Request, State
from sfq_spec.trace import DuplicateRequest, NotWaiting, Outcome, UnknownRequest

__all__ = ["ChargeOverflows", "ChargeVanishes", "HeapScheduler", "Overlapping", "Request"]


class Overlapping(RuntimeError):
    """A call that began before another one had ended."""

    def __init__(self) -> None:
        super().__init__("the scheduler is in the middle of another call: share it between threads under a lock")


class HeapScheduler(State):
    """Start-time Fair Queueing. Starts empty, with virtual time 0 and all weights 1."""

    __slots__ = ()

    # No refusal is raised while `_busy` is set: what stops a call then was not foreseen, and is undone. The path of
    # integers is written out in `arrive` and `dispatch`: at this rate a call is a cost.

    def arrive(self, user: str, request: str, cost: Number) -> None:
        """A request joins the end of its user's queue; a user who did not wait joins at max(S, v) (article §2.4).

        Raises `InvalidCost` unless the cost is a finite number above zero, `DuplicateRequest` where a request of
        this id waits or is in flight, and `TypeError` where an id is not a `str`.
        """
        if type(cost) is not int or cost <= 0:
            cost = self._read_cost(cost)
        if type(user) is not str or type(request) is not str:
            user, request = _text("user", user), _text("request", request)
        if self._busy:
            raise Overlapping
        live = self._live
        new = None
        try:
            self._busy = True
            if request not in live:
                record = self._users.get(user) or self._meet(user)
                live[request] = new = Request(request, user, cost)
                queue = record.queue
                if not queue:
                    if user in self._gone:
                        self._gone.remove(user)
                    else:
                        if record.meter < self._virtual:
                            record.meter = self._virtual
                        heappush(self._heap, (record.meter, user, record))
                queue.append(new)
                self._busy = False
                return
            self._busy = False
        except BaseException:
            if live.get(request) is new:
                live.pop(request, None)
            self._recover()
            raise
        raise DuplicateRequest(request)

    def dispatch(self) -> Request | None:
        """The request that goes next, charged to its user; None where nobody waits (article §2.3).

        Of the users who wait, it is the first request of the one of least (meter, user id).

        Raises `ChargeVanishes` or `ChargeOverflows` where a float cannot hold the charge; the request waits on.
        """
        if self._busy:
            raise Overlapping
        request = None
        try:
            self._busy = True
            heap = self._heap
            if not heap:
                self._busy = False
                return None
            virtual = self._virtual
            start, user, record = heap[0]
            queue = record.queue
            request = queue[0]
            cost, per_cost = request.cost, record.rate
            finish = start + cost * per_cost if self._integral else finish_tag(start, cost, per_cost)
            if finish is not None:
                queue.popleft()
                request.waits = False
                self._virtual = start
                record.meter = finish
                if record.withdrawn:
                    queue = self._skip_withdrawn(record)
                if queue:
                    heapreplace(heap, (finish, user, record))
                    if self._gone:
                        self._skip_gone()
                else:
                    heappop(heap)
                    self._leave(finish)
                self._busy = False
                return request
            self._busy = False
        except BaseException:
            if request is not None:
                self._virtual, record.meter, request.waits = virtual, start, True
                if not record.queue or record.queue[0] is not request:
                    record.queue.appendleft(request)
            self._recover()
            raise
        raise charge_lost(request.request, start, cost, per_cost)

    def cancel(self, request: str) -> None:
        """A request that waits is withdrawn, uncharged. If nobody waits then, the competition is over.

        Raises `NotWaiting` for a request in flight, and `UnknownRequest` for any other that does not wait.
        """
        request = _text("request", request)
        if self._busy:
            raise Overlapping
        try:
            self._busy = True
            found = self._live.get(request)
            if found is not None and found.waits:
                record = self._users[found.user]
                del self._live[request]
                found.waits = False
                record.withdrawn += 1
                if not self._skip_withdrawn(record):
                    self._gone.add(record.name)
                    self._leave(record.meter)
                self._busy = False
                return
            self._busy = False
        except BaseException:
            self._recover()
            raise
        raise _refusal(request, found)

    def complete(self, request: str, outcome: Outcome = "completed") -> None:
        """A dispatched request has ended, one way or another: its id is free again, and no meter moves (article §5.1).

        Any other id is passed over. This may overlap with any other call.
        """
        live = self._live
        if request in live and not live[request].waits:
            del live[request]

    def set_weight(self, user: str, weight: Number) -> None:
        """The user's share, from the next charge on: charges are divided by it (article §4.4).

        A float is read as the decimal that it is written as. Raises `InvalidWeight` unless the weight is a finite
        number above zero, and `TypeError` where the user id is not a `str`.
        """
        user, exact = _text("user", user), read_weight(weight)
        if self._busy:
            raise Overlapping
        try:
            self._busy = True
            if self._scale % exact.numerator:
                self._rebase(exact.numerator)
            if exact == 1:
                self._weights.pop(user, None)
            else:
                self._weights[user] = exact
            if user in self._users:
                self._users[user].rate = rate(self._scale, exact)
            self._busy = False
        except BaseException:
            self._recover()
            raise

    def recost(self, request: str, cost: Number) -> None:
        """A request that waits gets a new cost; the one that it has when it is dispatched is charged.

        Raises `InvalidCost` unless the cost is a finite number above zero, `NotWaiting` for a request in flight,
        and `UnknownRequest` for any other that does not wait.
        """
        cost, request = self._read_cost(cost), _text("request", request)
        if self._busy:
            raise Overlapping
        found = self._live.get(request)
        if found is None or not found.waits:
            raise _refusal(request, found)
        found.cost = cost

    def upkeep(self) -> None:
        """Forget users, and make the meters small again; no choice changes, now or later (article §7.2).

        The time is in proportion to the records. A good moment is when nobody waits, or now and then. Floats need it
        when their meters have grown large; for integers it saves memory and, after many different weights, time.
        """
        if self._busy:
            raise Overlapping
        try:
            self._busy = True
            self._rebase()
            self._busy = False
        except BaseException:
            self._recover()
            raise

    def _read_cost(self, cost: object) -> Number:
        """A cost as it is charged; from the first one on that is not an integer, sums are looked at."""
        number = read_cost(cost)
        if type(number) is not int:
            self._integral = False
        return number


def _text(field: str, value: object) -> str:
    """An id, as a plain `str`. Raises `TypeError` for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{field}: an id is a str, not {type(value).__name__}")
    return str.__str__(value)


def _refusal(request: str, found: Request | None) -> UnknownRequest | NotWaiting:
    return UnknownRequest(request) if found is None else NotWaiting(request)
