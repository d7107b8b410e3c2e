"""Is this the machine's trace? A replay that keeps up with long traces, and the judge where it meets anything odd.

The replay keeps virtual time, meters and queues in a form that is cheap to change (article §2.6, §7.2). It passes
over an event only where the answer is plainly the machine's. Anything else goes before the judge, with the
machine's own state at that moment: the judge alone says that an answer is wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.competition import Competition
from sfq_spec.conformance.audit.records import Record, Unreadable, exact, missing
from sfq_spec.conformance.judge import Judge, Wrong
from sfq_spec.machine import Machine
from sfq_spec.requests import Request
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

LATEST = 100_000
"""How many ids of ended requests are remembered, to tell a request sent after its end from one never seen."""


@dataclass(eq=False, slots=True)
class Player:
    """A user in the replay."""

    name: str
    S: int = 0
    """Its meter, in units."""
    weight: int | Fraction = 1
    waiting: int = 0
    queue: deque[Held] = field(default_factory=deque)
    """Its requests in order of arrival; those that no longer wait are passed over when they are at the head."""

    def head(self) -> Held:
        """Its oldest waiting request; there is one."""
        queue = self.queue
        while not queue[0].waits:
            queue.popleft()
        return queue[0]


@dataclass(eq=False, slots=True)
class Held:
    """A request that waits or is in flight."""

    player: Player
    request: str
    cost: int | Fraction
    waits: bool = True


class Order:
    """Follows a trace from its first event on."""

    def __init__(self, *, any_tie: bool = False) -> None:
        self.any_tie = any_tie
        self.events = 0
        self.dispatched = 0
        self.refused = 0
        self.unit = 1
        """Meters are told in fractions of one: so many units are 1."""
        self.v = 0
        self.greatest = 0
        """The greatest meter."""
        self.players: dict[str, Player] = {}
        self.live: dict[str, Held] = {}
        self.waiting = 0
        """Users that wait."""
        self._heap: list[tuple[int, str]] = []
        self._ended: set[str] = set()
        self._ended_in_order: deque[str] = deque()
        self._take: Mapping[str, Callable[[Record], bool]] = {
            "arrive": self._arrive,
            "dispatch": self._dispatch,
            "cancel": self._cancel,
            "complete": self._complete,
            "weight": self._weigh,
            "cost": self._recost,
            "upkeep": lambda record: record.refused is UNSET,
        }

    def take(self, records: Iterable[Record]) -> Wrong | None:
        """Note some events, up to the first whose answer is wrong; then the replay must not go on.

        Raises `Unreadable`, without a place, where the trace has gaps. `events` tells which event it was.
        """
        take = self._take
        for record in records:
            self.events += 1
            if not take[record.event](record):
                if wrong := self._judge(_event(record), _answer(record)):
                    return wrong
                raise Unreadable("the replay and the machine part here: a fault of sfq-spec, please report it")
            if record.refused is not UNSET:
                self.refused += 1
            if record.lag is not UNSET and not self._lags_are_right(record.lag):
                return self._judge(Upkeep(), Answer(lag=exact_lags(record.lag)))
        return None

    def machine(self) -> Machine:
        """The state of the machine now."""
        players = self.players.values()
        meter = {player.name: Fraction(player.S, self.unit) for player in players}
        competition = Competition(
            Fraction(self.v, self.unit),
            meter,
            {player.name: player.waiting > 0 for player in players},
            {player.name: Fraction(player.weight) for player in players},
        )
        live = {id: Request(held.player.name, id, Fraction(held.cost)) for id, held in self.live.items()}
        queues = {
            player.name: tuple(live[held.request] for held in player.queue if held.waits)
            for player in players
            if player.waiting
        }
        return Machine(queues, live, competition)

    # Each of these carries out an event if its answer is plainly right, and says whether it is.

    def _arrive(self, record: Record) -> bool:
        name, request, cost = record.user, record.request, record.cost
        if name is None or request is None or cost is None:
            raise Unreadable(f"field `{missing(record)}`: is missing")
        if type(cost) is not int:
            cost = _number("cost", cost)
        if cost is None or cost <= 0:
            return record.refused == "invalid-cost"
        if request in self.live:
            return record.refused == "duplicate-request"
        if record.refused is not UNSET:
            return False
        player = self.players.get(name)
        if player is None:
            player = self.players[name] = Player(name)
        held = self.live[request] = Held(player, request, cost)
        player.queue.append(held)
        player.waiting += 1
        if player.waiting == 1:
            self.waiting += 1
            if self.v > player.S:
                player.S = self.v
            heappush(self._heap, (player.S, name))
        return True

    def _dispatch(self, record: Record) -> bool:
        sent = record.dispatched
        if record.refused is not UNSET:
            return False
        if sent is UNSET:
            raise Unreadable(
                "field `dispatched`: is missing: a trace tells what each dispatch sent, or null; "
                "a script of events becomes a trace by `sfq-spec run`"
            )
        if sent is None:
            return not self.waiting
        held = self.live.get(sent)
        if held is None:
            if sent not in self._ended:
                raise Unreadable(f"request {sent!r} is dispatched, and its arrival is missing: begin with all arrivals")
            return False
        player, cost = held.player, held.cost
        if record.user != player.name or record.cost != cost:
            self._check_what_is_told(record, held)
        if not held.waits or player.head() is not held or not self._may_go(player):
            return False
        if self.unit != 1 or player.weight != 1 or type(cost) is not int:
            cost = self._units(cost, player.weight)
        held.waits = False
        player.queue.popleft()
        player.waiting -= 1
        self.dispatched += 1
        self.v = player.S
        player.S += cost
        if self.greatest < player.S:
            self.greatest = player.S
        if player.waiting:
            heappush(self._heap, (player.S, player.name))
        else:
            self._left()
        return True

    def _cancel(self, record: Record) -> bool:
        held = self._held(record)
        if (code := self._unwilling(held)) is not None or held is None:
            return record.refused == code
        if record.refused is not UNSET:
            return False
        held.waits = False
        self._end(held.request)
        held.player.waiting -= 1
        if not held.player.waiting:
            held.player.queue.clear()
            self._left()
        return True

    def _complete(self, record: Record) -> bool:
        held = self._held(record)
        if record.refused is not UNSET:
            return False
        if held and not held.waits:
            self._end(held.request)
        return True

    def _weigh(self, record: Record) -> bool:
        if record.user is None or record.weight is None:
            raise Unreadable(f"field `{missing(record)}`: is missing")
        weight = _number("weight", record.weight)
        if weight is None or weight <= 0:
            return record.refused == "invalid-weight"
        if record.refused is not UNSET:
            return False
        if record.user not in self.players:
            self.players[record.user] = Player(record.user)
        self.players[record.user].weight = weight
        return True

    def _recost(self, record: Record) -> bool:
        held = self._held(record)
        if record.cost is None:
            raise Unreadable("field `cost`: is missing")
        cost = _number("cost", record.cost)
        if cost is None or cost <= 0:
            return record.refused == "invalid-cost"
        if (code := self._unwilling(held)) is not None or held is None:
            return record.refused == code
        if record.refused is not UNSET:
            return False
        held.cost = cost
        return True

    def _may_go(self, player: Player) -> bool:
        """Whether the rules let this waiting user go next; if so its entry is off the heap."""
        heap, players = self._heap, self.players
        while True:
            S, name = heap[0]
            first = players[name]
            if first.S == S and first.waiting:
                break
            heappop(heap)
        if first is player:
            heappop(heap)
            return True
        return self.any_tie and player.S == S

    def _left(self) -> None:
        """A user waits no more; with nobody left the next period of congestion begins level."""
        self.waiting -= 1
        if not self.waiting:
            self.v = max(self.v, self.greatest)
            self._heap.clear()

    def _held(self, record: Record) -> Held | None:
        if record.request is None:
            raise Unreadable("field `request`: is missing")
        return self.live.get(record.request)

    def _unwilling(self, held: Held | None) -> str | None:
        """The code with which an event about a waiting request must be refused."""
        if held is None:
            return "unknown-request"
        return None if held.waits else "not-waiting"

    def _end(self, request: str) -> None:
        del self.live[request]
        if request not in self._ended:
            self._ended.add(request)
            self._ended_in_order.append(request)
            if len(self._ended) > LATEST:
                self._ended.discard(self._ended_in_order.popleft())

    def _check_what_is_told(self, record: Record, held: Held) -> None:
        """The user and the cost beside a dispatch must be those of the request, or the trace is not one."""
        if record.user is not None and record.user != held.player.name:
            raise Unreadable(
                f"request {held.request!r} arrived for {held.player.name!r} and is dispatched for {record.user!r}"
            )
        if record.cost is not None and record.cost != held.cost and _number("cost", record.cost) != held.cost:
            raise Unreadable(
                f"request {held.request!r} has the cost {numbers.write(Fraction(held.cost))} and is dispatched with "
                f"{record.cost}: a new estimate is an event `cost` before the dispatch"
            )

    def _units(self, cost: int | Fraction, weight: int | Fraction) -> int:
        charge = Fraction(cost) / weight * self.unit
        factor = charge.denominator
        if factor != 1:
            self.unit *= factor
            self.v *= factor
            self.greatest *= factor
            self._heap = [(S * factor, name) for S, name in self._heap]
            for player in self.players.values():
                player.S *= factor
        return charge.numerator

    def _lags_are_right(self, told: Mapping[str, object]) -> bool:
        lags = exact_lags(told)
        right = {player.name: player.S - self.v for player in self.players.values() if self.v < player.S}
        ahead = {user: lag * self.unit for user, lag in lags.items() if lag > 0}
        below = any(lag < 0 and user in self.players and self.players[user].waiting for user, lag in lags.items())
        return right == ahead and not below

    def _judge(self, event: Event, told: Answer) -> Wrong | None:
        return Judge(self.any_tie, True, self.machine(), self.events - 1).see(event, told)


def _number(name: str, value: object) -> int | Fraction | None:
    """The number; None where it is not finite. Raises `Unreadable` where it is none at all."""
    try:
        return exact(value)
    except numbers.NotANumber as error:
        raise Unreadable(f"field `{name}`: {error}") from None


def exact_lags(told: Mapping[str, object]) -> dict[str, Fraction | float]:
    """The lags as numbers. Raises `Unreadable` where one is none."""
    try:
        return {user: numbers.read(lag) for user, lag in told.items()}
    except numbers.NotANumber as error:
        raise Unreadable(f"field `lag`: {error}") from None


def _event(record: Record) -> Event:
    """The event of a record whose fields have been looked at."""
    user, request = record.user or "", record.request or ""
    match record.event:
        case "arrive":
            return Arrive(user, request, numbers.read(record.cost))
        case "dispatch":
            return Dispatch()
        case "cancel":
            return Cancel(request)
        case "complete":
            return Complete(request)
        case "weight":
            return SetWeight(user, numbers.read(record.weight))
        case "cost":
            return Recost(request, numbers.read(record.cost))
        case _:
            return Upkeep()


def _answer(record: Record) -> Answer:
    return Answer(dispatched=record.dispatched, refused=record.refused)
