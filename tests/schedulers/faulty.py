"""Schedulers with a fault each, of kinds that are no mutant of the rules: they come from data structures and numbers.

Each is a scheduler that conforms, with the smallest change that has the fault.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from schedulers import faulty_heaps, faulty_ids, faulty_linked
from schedulers.linear_scan import LinearScan, Refusal
from schedulers.plain import LeastFirst

# Queues with a fault


class CancelledStays(LinearScan):
    """Lazy deletion without the test: a cancelled request is marked, and sent all the same."""

    def cancel(self, request: str) -> None:
        self._need_waiting(request)
        del self.owners[request]

    def dispatch(self) -> str | None:
        for request in (queue[0] for queue in self.queues.values() if queue):
            self.costs.setdefault(request, 1)
        sent = super().dispatch()
        self.in_flight &= self.owners.keys()
        return sent


# Numbers with a fault


def float32(number: Any) -> float:
    value: float = struct.unpack("f", struct.pack("f", float(number)))[0]
    return value


class Float32(LeastFirst):
    """Meters of single precision: above 2**24 a charge of 1 vanishes."""

    def dispatch(self) -> str | None:
        sent = super().dispatch()
        self.meters = {user: float32(meter) for user, meter in self.meters.items()}
        self.v = float32(self.v)
        return sent

    def charge(self, user: str, request: str) -> float:
        return float32(super().charge(user, request))


class WrapsOnRebase(LinearScan):
    """Upkeep subtracts v from unsigned meters of 64 bits: those of idle users below v become huge."""

    def upkeep(self) -> None:
        self.meters = {user: meter - self.v if meter >= self.v else 2**64 - 1 for user, meter in self.meters.items()}
        self.v = 0


class ClampsOnRebase(LinearScan):
    """Upkeep subtracts the greatest meter, not v, and clamps what is below zero: debts are gone."""

    def upkeep(self) -> None:
        level = max(self.meters.values(), default=0)
        self.meters = {user: max(0, meter - level) for user, meter in self.meters.items()}
        self.v = 0


class Signed32(LeastFirst):
    """Meters of 32 bits, with a sign: they wrap at 2**31."""

    def key(self, user: str) -> Any:
        meter = int(self.meters[user])
        return (meter + 2**31) % 2**32 - 2**31, user


class WholeMeters(LeastFirst):
    """Integer division: the meter, not the charge, is rounded up after each charge."""

    def charge(self, user: str, request: str) -> int:
        return -int(-super().charge(user, request) // 1)


class AtLeastOne(LeastFirst):
    """Integer division with a floor of one, so that no request is free."""

    def charge(self, user: str, request: str) -> int:
        return max(1, int(super().charge(user, request)))


# Choices with a fault


class FirstComeFirstServed(LeastFirst):
    """The order of arrival, whoever it is."""

    def selected(self) -> str | None:
        order = list(self.owners)
        return min(
            (user for user, queue in self.queues.items() if queue),
            key=lambda user: order.index(self.queues[user][0]),
            default=None,
        )


class RoundRobin(LeastFirst):
    """Users in turn, whatever their requests cost."""

    def charge(self, user: str, request: str) -> int:
        del self.costs[request]
        return 1


class RandomTies(LeastFirst):
    """A tie goes to anybody, by lot."""

    def __init__(self) -> None:
        super().__init__()
        self.lot = random.Random(5)

    def key(self, user: str) -> Any:
        return self.meters[user], self.lot.random()


class TiesByInsertion(LeastFirst):
    """A tie goes to the user that was seen first."""

    def key(self, user: str) -> Any:
        return self.meters[user]


class TiesByUtf16(LeastFirst):
    """Ids are compared by UTF-16 units, as in JavaScript, Java and C#."""

    def key(self, user: str) -> Any:
        return self.meters[user], user.encode("utf-16-be", "surrogatepass")


class TiesWithoutCase(LeastFirst):
    """Ids are compared without case."""

    def key(self, user: str) -> Any:
        return self.meters[user], user.casefold()


class LastInFirstOut(LeastFirst):
    """A user's newest request is sent first; cancels and costs find theirs all the same."""

    def dispatch(self) -> str | None:
        user = self.selected()
        if user is not None:
            self.queues[user].rotate(1)
        return super().dispatch()


class FrozenPriority(LeastFirst):
    """The place of a request is its user's meter at arrival: all of a burst get the same."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, Any] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, cost)
        self.tags[request] = self.meters[user]

    def key(self, user: str) -> Any:
        return self.tags[self.queues[user][0]], user


# Charges with a fault


class ChargesOnArrival(LinearScan):
    """The charge is made at arrival, and kept where the request is cancelled."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, cost)
        self.meters[user] += Fraction(cost) / self.weights.get(user, 1)
        self.costs[request] = 0


class ChargesOnCompletion(LeastFirst):
    """The charge is made at completion, by the cost of the request and the weight of then."""

    def __init__(self) -> None:
        super().__init__()
        self.flying: dict[str, Any] = {}

    def charge(self, user: str, request: str) -> int:
        self.flying[request] = self.costs.pop(request)
        return 0

    def complete(self, request: str, outcome: str) -> None:
        if request in self.in_flight:
            user = self.owners[request]
            self.meters[user] += Fraction(self.flying[request]) / self.weights.get(user, 1)
        super().complete(request, outcome)


class ClockOnCompletion(LinearScan):
    """The charge is made at dispatch, and v follows at the next completion."""

    def __init__(self) -> None:
        super().__init__()
        self.started: Any = 0

    def dispatch(self) -> str | None:
        before = self.v
        sent = super().dispatch()
        if sent is not None and any(self.queues.values()):
            self.started, self.v = self.v, before
        return sent

    def complete(self, request: str, outcome: str) -> None:
        self.v = max(self.v, self.started)
        super().complete(request, outcome)


class ChargesAnEmptyDispatch(LeastFirst):
    """Where nobody waits, the user of the latest request is charged again."""

    def __init__(self) -> None:
        super().__init__()
        self.latest = ""

    def dispatch(self) -> str | None:
        sent = super().dispatch()
        if sent is not None:
            self.latest = self.owners[sent]
        elif self.latest:
            self.meters[self.latest] += 1
        return sent


class ReleasesTwice(LinearScan):
    """A second cancel of the same request releases the head of its user's queue."""

    def __init__(self) -> None:
        super().__init__()
        self.left: dict[str, str] = {}

    def cancel(self, request: str) -> None:
        if request in self.owners:
            self.left[request] = self.owners[request]
        elif self.queues.get(self.left.get(request, "")):
            super().cancel(self.queues[self.left[request]][0])
        super().cancel(request)


class RefundsFailures(LinearScan):
    """A request that failed is not paid for."""

    def __init__(self) -> None:
        super().__init__()
        self.paid: dict[str, Any] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, cost)
        self.paid[request] = Fraction(cost) / self.weights.get(user, 1)

    def complete(self, request: str, outcome: str) -> None:
        if request in self.in_flight and outcome == "failed":
            self.meters[self.owners[request]] -= self.paid[request]
        super().complete(request, outcome)


# Refusals with a fault


class JoinsBeforeItRefuses(LinearScan):
    """A cost that is refused has made its user join already."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        if not self.queues.get(user):
            self.meters[user] = max(self.meters.get(user, 0), self.v) + 1
        super().arrive(user, request, cost)
        if len(self.queues[user]) == 1:
            self.meters[user] -= 1


class ChargesRefusals(LinearScan):
    """A request that is refused for its id is paid for all the same, where its user is known."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        try:
            super().arrive(user, request, cost)
        except Refusal as refusal:
            if refusal.code == "duplicate-request" and user in self.meters:
                self.meters[user] += cost
            raise


class FloorsCosts(LinearScan):
    """A cost below one is taken for one."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, 1 if cost < 1 else cost)


class ReentersCancelled(LinearScan):
    """The id of a cancelled request stays taken."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: set[str] = set()

    def arrive(self, user: str, request: str, cost: Any) -> None:
        if request in self.cancelled:
            raise Refusal("duplicate-request")
        super().arrive(user, request, cost)

    def cancel(self, request: str) -> None:
        super().cancel(request)
        self.cancelled.add(request)


class AcceptsDuplicates(LinearScan):
    """An id that is in flight is taken for a new request."""

    def arrive(self, user: str, request: str, cost: Any) -> None:
        if request in self.in_flight:
            self.complete(request, "completed")
        super().arrive(user, request, cost)


class ZeroWeight(LinearScan):
    """A weight of zero is taken for one."""

    def weight(self, user: str, weight: Any) -> None:
        super().weight(user, 1 if weight == 0 else weight)


# Upkeep with a fault


class ForgetsWeights(LinearScan):
    """Upkeep forgets users that do not wait, with the weights that they have been given."""

    def upkeep(self) -> None:
        for user in [user for user in self.weights if not self.queues.get(user)]:
            del self.weights[user]


FAULTY: tuple[Callable[[], Any], ...] = (
    CancelledStays,
    Float32,
    WrapsOnRebase,
    ClampsOnRebase,
    Signed32,
    WholeMeters,
    AtLeastOne,
    FirstComeFirstServed,
    RoundRobin,
    RandomTies,
    TiesByInsertion,
    TiesByUtf16,
    TiesWithoutCase,
    LastInFirstOut,
    FrozenPriority,
    ChargesOnArrival,
    ChargesOnCompletion,
    ClockOnCompletion,
    ChargesAnEmptyDispatch,
    ReleasesTwice,
    RefundsFailures,
    ChargesRefusals,
    FloorsCosts,
    JoinsBeforeItRefuses,
    ReentersCancelled,
    AcceptsDuplicates,
    ZeroWeight,
    ForgetsWeights,
    *faulty_heaps.FAULTY,
    *faulty_linked.FAULTY,
    *faulty_ids.FAULTY,
)
"""Every faulty scheduler, here and beside."""
