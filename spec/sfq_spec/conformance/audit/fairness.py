"""How unfair a scheduler was, from arrivals, dispatches and costs alone, whatever its rule (article §3.2, §3.3).

The order inside a user's queue does not matter here, nor what the scheduler meant by it. Charges are cost over
weight, exact, as integers in a unit that is made smaller when a charge needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.conformance.audit.certificate import Certificate, Meter
from sfq_spec.conformance.audit.records import Record, Unreadable, exact, missing
from sfq_spec.conformance.audit.timeline import Timeline
from sfq_spec.conformance.audit.worst_lead import MOST_USERS, WorstLead

NUMBER = (int, float)
"""Times that can be subtracted."""


@dataclass(frozen=True)
class Wait:
    """How long a request waited: from its arrival to its dispatch, or to the end of the log if it still waits."""

    user: str
    request: str
    events: int
    """Events in between, the dispatch included."""
    seconds: float | None
    """None where the log has no times that are numbers."""
    since: int
    """The event of its arrival."""
    is_over: bool


@dataclass(eq=False, slots=True)
class User:
    """What is kept of a user."""

    name: str
    meter: Meter = field(default_factory=Meter)
    weight: Fraction | int = 1
    waiting: int = 0
    """Its waiting requests."""
    dispatched: int = 0
    total: int = 0
    """All its charges."""
    last: int = 0
    """Its latest charge."""
    longest: Wait | None = None
    longest_seconds: float = 0
    longest_events: int = 0
    """Those of `longest`."""


Waiting = tuple[User, "int | Fraction", int, object]
"""A waiting request: its user, its cost, and the event and time of its arrival."""


class Fairness:
    """What is remembered of a log: its users, its waiting requests, and what `worst` needs."""

    def __init__(self, *, most_users: int = MOST_USERS, beyond: bool = False, timeline: Timeline | None = None) -> None:
        self.events = 0
        self.unit = 1
        """Charges are told in fractions of one: so many units are a charge of 1."""
        self.users: dict[str, User] = {}
        self.live: dict[str, Waiting] = {}
        self.greatest = 0
        """c_max, the greatest charge."""
        self.certificate = Certificate()
        self.worst = WorstLead(most_users=most_users)
        self.beyond = WorstLead(beyond=True, most_users=most_users) if beyond else None
        self.timeline = timeline
        self.withdrawn = 0
        """Requests that were cancelled while they waited."""
        self.refused = 0
        """Events that the scheduler refused."""
        self._time: object = None
        self._take: dict[str, Callable[[Record], None]] = {
            "arrive": self._arrive,
            "dispatch": self._dispatch,
            "cancel": self._cancel,
            "weight": self._weigh,
            "cost": self._recost,
            "complete": lambda record: None,
            "upkeep": lambda record: None,
        }

    def take(self, records: Iterable[Record]) -> None:
        """Note some events. Raises `Unreadable`, without a place, where the log contradicts itself or has gaps.

        Then `events` tells which one it was, counted from the beginning.
        """
        take = self._take
        for record in records:
            self.events += 1
            if record.refused is UNSET:
                take[record.event](record)
            else:
                self.refused += 1
            self._time = record.time

    def finish(self) -> int:
        """Look at whatever waits at the end; returns the certificate's bound on every lead. Once, at the end."""
        waiting: dict[str, User] = {}
        for request, (user, _, event, time) in self.live.items():
            waiting[user.name] = user
            self._waited(user, request, event, time, self._time, is_over=False)
        for worst in self._leads():
            worst.look()
        return self.certificate.look([user.meter for user in waiting.values()])

    @property
    def longest_wait(self) -> Wait | None:
        """The longest wait of any request."""
        waits = [user.longest for user in self.users.values() if user.longest]
        return max(waits, key=lambda wait: (wait.seconds or 0, wait.events), default=None)

    def _leads(self) -> list[WorstLead]:
        return [self.worst] if self.beyond is None else [self.worst, self.beyond]

    def _arrive(self, record: Record) -> None:
        name, request = record.user, record.request
        if name is None or request is None or record.cost is None:
            raise Unreadable(f"field `{missing(record)}`: is missing")
        if request in self.live:
            raise Unreadable(f"request {request!r} arrives while a request of that id waits: ids must differ")
        user = self._user(name)
        self.live[request] = (user, _positive("cost", record.cost), self.events, record.time)
        user.waiting += 1
        if user.waiting == 1:
            self.certificate.join(user.meter)
            self.worst.join(name, user.last, self.events, record.time)
            if self.beyond:
                self.beyond.join(name, user.last, self.events, record.time)

    def _dispatch(self, record: Record) -> None:
        request = record.dispatched
        if request is None:
            return
        if request is UNSET:
            raise Unreadable("field `dispatched`: is missing: a trace tells which request each dispatch sent, or null")
        if request not in self.live:
            raise Unreadable(
                f"request {request!r} is dispatched and does not wait: its arrival is missing, or it is sent twice; "
                "begin the log with every request that waits"
            )
        user, cost, event, time = self.live.pop(request)
        if record.user is not None and record.user != user.name:
            raise Unreadable(f"request {request!r} arrived for {user.name!r} and is dispatched for {record.user!r}")
        if record.cost is not None and record.cost != cost:
            cost = _positive("cost", record.cost)
        charge = cost if self.unit == 1 and user.weight == 1 and type(cost) is int else self._charge(cost, user.weight)
        if charge > self.greatest:
            self.greatest = charge
        user.waiting -= 1
        stays = user.waiting > 0
        self.certificate.charge(user.meter, charge, stays=stays)
        self.worst.charge(user.name, charge, self.events, record.time, stays=stays)
        if self.beyond:
            self.beyond.charge(user.name, charge, self.events, record.time, stays=stays)
        user.dispatched += 1
        user.total += charge
        user.last = charge
        seconds = self._waited(user, request, event, time, record.time, is_over=True)
        if self.timeline:
            wait = self.events - event if seconds is None else seconds
            self.timeline.charge(user.name, charge, wait, self.events, record.time)
            self.timeline.lead(self.events, record.time, self.certificate.waiting, self.worst.now)

    def _cancel(self, record: Record) -> None:
        waiting = self.live.pop(record.request or "", None)
        if waiting is None:
            return
        user = waiting[0]
        self.withdrawn += 1
        user.waiting -= 1
        if not user.waiting:
            self.certificate.leave(user.meter)
            for worst in self._leads():
                worst.leave(user.name)

    def _weigh(self, record: Record) -> None:
        if record.user is None or record.weight is None:
            raise Unreadable(f"field `{missing(record)}`: is missing")
        self._user(record.user).weight = _positive("weight", record.weight)

    def _recost(self, record: Record) -> None:
        if record.request in self.live:
            user, _, event, time = self.live[record.request]
            self.live[record.request] = (user, _positive("cost", record.cost), event, time)

    def _user(self, name: str) -> User:
        user = self.users.get(name)
        if user is None:
            user = self.users[name] = User(name)
        return user

    def _charge(self, cost: int | Fraction, weight: int | Fraction) -> int:
        """The charge in units. The unit becomes smaller where it is needed."""
        charge = Fraction(cost) / weight * self.unit
        if charge.denominator != 1:
            self._divide_unit(charge.denominator)
        return charge.numerator

    def _divide_unit(self, factor: int) -> None:
        self.unit *= factor
        self.greatest *= factor
        self.certificate.multiply(factor)
        for worst in self._leads():
            worst.multiply(factor)
        for user in self.users.values():
            user.total, user.last = user.total * factor, user.last * factor
            meter = user.meter
            meter.S, meter.low, meter.high = meter.S * factor, meter.low * factor, meter.high * factor
        if self.timeline:
            self.timeline.multiply(factor)

    def _waited(
        self, user: User, request: str, event: int, time: object, until: object, *, is_over: bool
    ) -> float | None:
        """Note a wait; returns its seconds."""
        seconds: float | None = None
        if isinstance(until, NUMBER) and isinstance(time, NUMBER):
            seconds = until - time
        events = self.events - event
        longest = user.longest_seconds
        if (seconds or 0) > longest or ((seconds or 0) == longest and events > user.longest_events):
            user.longest_seconds, user.longest_events = seconds or 0, events
            user.longest = Wait(user.name, request, events, seconds, event, is_over)
        return seconds


def _positive(name: str, value: object) -> int | Fraction:
    if type(value) is int and value > 0:
        return value
    try:
        number = exact(value)
    except numbers.NotANumber as error:
        raise Unreadable(f"field `{name}`: {error}") from None
    if number is None or number <= 0:
        raise Unreadable(f"field `{name}`: {value} is not above zero, and the scheduler did not refuse it")
    return number
