"""Did every request end once, and did no server hold more than it has room for (FLEET-ONCE, FLEET-CAP, article §5)?

For the trace of a dispatcher in front of servers. Besides the fields of the protocol it needs `server` at a dispatch,
and for rooms in tokens `tokens` at an arrival. A request that has changed servers says so at its end, in `moved`, but
not when that was; and one that failed or was cancelled may have lost its server before. So against the room of a server
counts what was completed there, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET

from sfq_spec.conformance.audit.findings import Verdict
from sfq_spec.conformance.audit.order import LATEST
from sfq_spec.conformance.audit.records import Unreadable
from sfq_spec.conformance.judge import Wrong
from sfq_spec.fleet import Room, once, within
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Entry


@dataclass(eq=False, slots=True)
class Way:
    """A request on its way."""

    tokens: int
    server: str | None = None
    """Where it was sent; None while it waits."""
    stayed: bool = False
    """It was completed where it was sent, and was there all the time."""


@dataclass(eq=False, slots=True)
class Crowd:
    """What a server seemed to hold at a moment: more than it has room for, unless some of it had left by then."""

    server: str
    held: list[Way]
    event: int
    place: str


@dataclass
class FleetFinding:
    """What became of the requests of a trace."""

    rooms: Mapping[str, Room]
    events: int = 0
    accepted: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    """How many in each way: completed, failed, cancelled, expired, refused."""
    begun_before: int = 0
    """Ends of requests that were on a server when the trace began."""
    on_their_way: int = 0
    """When it ended."""
    moved: int = 0
    servers: set[str] = field(default_factory=set)
    """Those that something was sent to."""
    undecided: str = ""
    """Where a server seemed to hold too much, and the trace ends before it is known what of it had left."""
    wrong: Wrong | None = None
    place: str = ""
    """File and line of the wrong event."""

    @property
    def not_seen(self) -> list[str]:
        """Servers with a room, and nothing was sent to them."""
        return sorted(self.rooms.keys() - self.servers)

    @property
    def not_told(self) -> list[str]:
        """Servers that something was sent to, and whose room is not known."""
        return sorted(self.servers - self.rooms.keys())

    @property
    def verdict(self) -> Verdict:
        """A trace in which nothing ends shows nothing; nor does one where a room may be that of another server."""
        if self.wrong:
            return "does not conform"
        is_open = self.undecided or (self.not_seen and self.not_told)
        return "conforms" if self.ended and not is_open else "no verdict"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        wrong = self.wrong and {
            "event": self.wrong.at + 1,
            "place": self.place,
            "sentence": self.wrong.sentence,
            "claims": list(self.wrong.claims),
        }
        return {
            "mode": "fleet",
            "verdict": self.verdict,
            "events": self.events,
            "accepted": self.accepted,
            "ended": dict(self.ended),
            "begun_before": self.begun_before,
            "on_their_way": self.on_their_way,
            "moved": self.moved,
            "servers": sorted(self.servers),
            "servers_not_seen": self.not_seen,
            "servers_without_room": self.not_told,
            "undecided": self.undecided or None,
            "rooms": {name: {"requests": room.requests, "tokens": room.tokens} for name, room in self.rooms.items()},
            "wrong": wrong,
        }


class Fleet:
    """Follows a trace from its first event on."""

    def __init__(self, rooms: Mapping[str, Room]) -> None:
        self.found = FleetFinding(rooms)
        self._live: dict[str, Way] = {}
        self._on: dict[str, dict[str, Way]] = {}
        """What is on each server, by request."""
        self._crowds: list[Crowd] = []
        self._ended: dict[str, None] = {}
        """The latest, the latest last."""

    def see(self, entry: Entry, place: str) -> Wrong | None:
        """Note one event; what is wrong with it. Raises `Unreadable`, without a place, where the trace has gaps."""
        self.found.events += 1
        if entry.answer.refused is not UNSET:
            return None
        match entry.event:
            case Arrive(request=request):
                return self._arrive(request, _tokens(entry))
            case Dispatch():
                sent = entry.answer.dispatched
                return self._dispatch(sent, _told(entry, "server"), place) if isinstance(sent, str) else None
            case Cancel(request=request):
                return self._end(request, str(_told(entry, "ended") or "cancelled"))
            case Complete(request=request, outcome=outcome):
                way = self._live.get(request)
                if way is not None and way.server is None:
                    return None  # it waits on, as the machine has it
                moved = bool(_told(entry, "moved"))
                self.found.moved += moved
                return self._end(request, outcome, stayed=outcome == "completed" and not moved)
            case _:
                return None

    def _arrive(self, request: str, tokens: int) -> Wrong | None:
        if not once(1 + (request in self._live), 0):
            return self._broken(f"{request} is accepted again, and has not ended")
        self._live[request] = Way(tokens)
        self._ended.pop(request, None)
        self.found.accepted += 1
        return None

    def _dispatch(self, request: str, server: object, place: str) -> Wrong | None:
        way = self._live.get(request)
        if way is None and request not in self._ended:
            raise Unreadable(f"{request} is dispatched, and its arrival is not in the trace")
        if way is None or way.server is not None:
            return self._broken(f"{request} is sent, and {'is on a server already' if way else 'has ended'}")
        if not isinstance(server, str):
            raise Unreadable("field `server`: is missing: the trace of a fleet tells where a request was sent")
        way.server = server
        self.found.servers.add(server)
        held = self._on.setdefault(server, {})
        held[request] = way
        room = self.found.rooms.get(server)
        if room and not within((other.tokens for other in held.values()), room):
            self._crowds.append(Crowd(server, list(held.values()), self.found.events, place))
        return None

    def _end(self, request: str, how: str, *, stayed: bool = False) -> Wrong | None:
        way = self._live.pop(request, None)
        if not once(way is not None, 1):
            if request in self._ended:
                return self._broken(f"{request} ends a second time")
            self.found.begun_before += 1
        self._remember(request)
        self.found.ended[how] += 1
        return self._leave(request, way, stayed=stayed) if way and way.server is not None else None

    def _leave(self, request: str, way: Way, *, stayed: bool) -> Wrong | None:
        """Whether a crowd that it was part of had been one."""
        del self._on[str(way.server)][request]
        way.stayed = stayed
        for crowd in self._crowds:
            if not stayed and way in crowd.held:
                crowd.held.remove(way)
        self._crowds = [crowd for crowd in self._crowds if not self._has_room(crowd, crowd.held)]
        for crowd in self._crowds:
            sure = [other for other in crowd.held if other.stayed]
            if not self._has_room(crowd, sure):
                self.found.place = crowd.place
                return Wrong(crowd.event - 1, self._crowded(crowd, sure), (), ("FLEET-CAP",))
        return None

    def _has_room(self, crowd: Crowd, held: Iterable[Way]) -> bool:
        return within((way.tokens for way in held), self.found.rooms[crowd.server])

    def _crowded(self, crowd: Crowd, sure: list[Way]) -> str:
        room = self.found.rooms[crowd.server]
        what, has, most = "requests", len(sure), room.requests
        if has <= most and room.tokens is not None:
            what, has, most = "tokens", sum(way.tokens for way in sure), room.tokens
        return f"{crowd.server} holds more {what} than it has room for: {has:,}, and not {most:,}"

    def _broken(self, said: str) -> Wrong:
        return Wrong(self.found.events - 1, said, (), ("FLEET-ONCE",))

    def _remember(self, request: str) -> None:
        self._ended[request] = None
        if len(self._ended) > LATEST:
            del self._ended[next(iter(self._ended))]

    def finish(self) -> FleetFinding:
        """What was found, when all has been seen."""
        self.found.on_their_way = len(self._live)
        self.found.undecided = next((f"{crowd.server} at {crowd.place}" for crowd in self._crowds), "")
        return self.found


def audit_fleet(entries: Iterable[tuple[str, Entry]], rooms: Mapping[str, Room]) -> FleetFinding:
    """Follow a trace, each event with its place, to its end or to the first one that is wrong. Raises `Unreadable`."""
    fleet = Fleet(rooms)
    for place, entry in entries:
        try:
            wrong = fleet.see(entry, place)
        except Unreadable as gap:
            raise Unreadable(f"{place}: {gap}") from None
        if wrong:
            found = fleet.finish()
            found.wrong, found.place = wrong, found.place or place
            return found
    return fleet.finish()


def _told(entry: Entry, name: str) -> Any:
    """A field beside those of the protocol; None where there is none."""
    value = entry.extra.get(name)
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


def _tokens(entry: Entry) -> int:
    value = _told(entry, "tokens") or 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unreadable("field `tokens`: is not a whole number of at least 0")
    return value
