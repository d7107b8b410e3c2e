"""The worst lead of one user over another that waits throughout, over all pairs and all intervals, exactly.

W_i is what user i has been charged (cost over weight). The lead of i over j in an interval is W_i − W_j there, and
counts while j waits throughout; i need not. Of all intervals that end now and have had j waiting, the one with the
greatest lead begins where j joined or was dispatched: only there W_i − W_j has a new minimum. So per waiting j and
any i one number suffices, the level of W_i at which the lead would be zero:

    lead = W_i − level        and when j is charged δ        level := min(W_i, level + δ)

Between two dispatches of j the lead only grows, so it is looked at when j is dispatched next, when j stops waiting,
and at the end. All users i are lanes of one integer (`packed`), so a dispatch costs a dozen operations on integers,
not a loop over users. When nobody waits there is nothing to be remembered: what is kept depends on the users of one
period of congestion, not on the length of the log.

The same for FAIR-LEAD, where the question is by how much a lead exceeds last_i(t2) + last_j(t1): of the end there
counts W_i before its last charge, and of the beginning what j was charged before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sfq_spec.conformance.audit.packed import SPARE, Lanes

MOST_USERS = 3_000
"""Users in one period of congestion, above which their pairs are too many."""
ROOM = 8
"""Lanes at first."""


@dataclass(frozen=True)
class Moment:
    """The state after an event; event 0 is the beginning. Its time as the log has it."""

    event: int
    time: object = None


@dataclass(frozen=True)
class Interval:
    """One user ahead of another that waits throughout."""

    ahead: str
    behind: str
    begin: Moment
    end: Moment
    lead: int
    last_ahead: int
    """last_i(t2): the latest charge of the one ahead, at the end."""
    last_behind: int
    """last_j(t1): the latest charge of the one behind, at the beginning."""

    @property
    def bound(self) -> int:
        """What FAIR-LEAD allows in this interval."""
        return self.last_ahead + self.last_behind


@dataclass
class Player:
    """What is kept of a user in one period of congestion."""

    name: str
    lane: int
    total: int = 0
    """What it has been charged in this period."""
    last: int = 0
    """Its latest charge, in this period or before."""
    dispatched: int = 0
    """The event of its latest dispatch."""
    time: object = None
    """When that was."""
    begin: int = 0
    """The latest event at which an interval may begin in which it waits throughout: it joined, or was charged."""
    begun: dict[int, tuple[int, object]] = field(default_factory=dict)
    """All such events that may still matter, with its latest charge then, and the time."""


class WorstLead:
    """The greatest lead so far, with the interval that shows it.

    With `beyond` the greatest excess of a lead over the bound of FAIR-LEAD instead, where there is one.
    """

    def __init__(self, *, beyond: bool = False, most_users: int = MOST_USERS) -> None:
        self.beyond = beyond
        self.most_users = most_users
        self.given_up = 0
        """The event at which there were too many users; 0 while that has not happened."""
        self.worst: Interval | None = None
        self.greatest = 0
        """The greatest lead, or excess; 0 where there is none."""
        self._lanes = Lanes(ROOM)
        self._bar = 0
        self._players: dict[str, Player] = {}
        self._by_lane: list[Player] = []
        self._totals = 0
        """What every user has been charged in this period."""
        self._reach = 0
        """The same without its latest charge; `_reached` one by one. Only with `beyond`."""
        self._reached: list[int] = []
        self._level: dict[int, int] = {}
        """Per waiting user, by its lane: at which totals of the others the leads over it would be zero."""
        self._since: dict[int, int] = {}
        """Per waiting user: the event after which the interval with the greatest lead over it begins."""
        self._begin_period()

    def join(self, name: str, last: int, now: int, time: object) -> None:
        """A user begins to wait. `last` is its latest charge, 0 if there was none."""
        if self.given_up or not (player := self._player(name, now)):
            return
        self._fit(max(now, last))
        player.last, player.begin, player.begun = last, now, {now: (last, time)}
        self._level[player.lane] = self._totals
        self._since[player.lane] = now * self._lanes.ones

    def charge(self, name: str, charge: int, now: int, time: object, *, stays: bool) -> None:
        """A waiting user is dispatched; `stays` tells whether it has another request waiting."""
        if self.given_up:
            return
        player = self._players[name]
        self._look(player)
        self._fit(max(player.total + charge, now))
        lanes, lane = self._lanes, player.lane
        leads = self._totals - self._level[lane] | lanes.guards
        self._totals += charge << lane * lanes.width
        if self.beyond:
            self._reach += player.total - self._reached[lane] << lane * lanes.width
            self._reached[lane] = player.total
        if stays:
            less = leads - (player.last if self.beyond else charge) * lanes.ones
            kept = lanes.kept(less)
            here = now * lanes.ones
            self._level[lane] = self._totals - (less & kept)
            self._since[lane] = here ^ ((here ^ self._since[lane]) & kept)
            self._remember(player, charge, now, time)
        player.total += charge
        player.last, player.dispatched, player.time = charge, now, time
        if not stays:
            self._forget(player)

    def leave(self, name: str) -> None:
        """A user stops waiting without being dispatched."""
        if not self.given_up:
            self._look(self._players[name])
            self._forget(self._players[name])

    def look(self) -> None:
        """Look at the leads over all users that wait now: at the end of the log."""
        for lane in self._level:
            self._look(self._by_lane[lane])

    def now(self) -> int:
        """The greatest lead in an interval that ends now."""
        return max((max(self._lanes.unpack(self._totals - level)) for level in self._level.values()), default=0)

    def multiply(self, factor: int) -> None:
        """From now on charges are told in a unit that is smaller by this factor."""
        self._fit(factor * max((self.greatest, *(player.total + player.last for player in self._by_lane))))
        self._totals, self._reach, self.greatest = self._totals * factor, self._reach * factor, self.greatest * factor
        self._level = {lane: level * factor for lane, level in self._level.items()}
        self._reached = [total * factor for total in self._reached]
        for player in self._by_lane:
            player.total, player.last = player.total * factor, player.last * factor
            player.begun = {event: (last * factor, time) for event, (last, time) in player.begun.items()}
        if worst := self.worst:
            scaled = {name: getattr(worst, name) * factor for name in ("lead", "last_ahead", "last_behind")}
            self.worst = replace(worst, **scaled)
        self._set_bar()

    def _begin_period(self) -> None:
        self._lanes = Lanes(ROOM)
        self._players, self._by_lane = {}, []
        self._totals = self._reach = 0
        self._reached = [0] * ROOM
        self._level, self._since = {}, {}
        self._set_bar()

    def _set_bar(self) -> None:
        self._fit(self.greatest + 1)
        self._bar = (self.greatest + 1) * self._lanes.ones

    def _player(self, name: str, now: int) -> Player | None:
        player = self._players.get(name)
        if player is None:
            if len(self._by_lane) == self.most_users:
                self.look()
                self.given_up = now
                self._begin_period()
                return None
            if len(self._by_lane) == self._lanes.count:
                self._make_room()
            player = self._players[name] = Player(name, len(self._by_lane))
            self._by_lane.append(player)
        return player

    def _look(self, player: Player) -> None:
        """Whether anybody is further ahead of this user than has been seen."""
        lanes, level = self._lanes, self._level[player.lane]
        if not self.beyond:
            found = (self._totals - level | lanes.guards) - self._bar
        else:
            self._fit(player.last + self.greatest + 1)
            lanes, level = self._lanes, self._level[player.lane]
            found = (self._reach | lanes.guards) - level - self._bar - player.last * lanes.ones
        if found & lanes.guards:
            self._note(player)

    def _note(self, behind: Player) -> None:
        leads = self._lanes.unpack(self._totals - self._level[behind.lane])
        own = behind.last if self.beyond else 0
        best, lane = max(
            (leads[player.lane] - (player.last + own if self.beyond else 0), -player.lane) for player in self._by_lane
        )
        ahead = self._by_lane[-lane]
        event = self._lanes.unpack(self._since[behind.lane])[-lane]
        last, time = behind.begun[event]
        lead = best + (last + ahead.last if self.beyond else 0)
        self.greatest = best
        end = Moment(ahead.dispatched, ahead.time)
        self.worst = Interval(ahead.name, behind.name, Moment(event, time), end, lead, ahead.last, last)
        self._set_bar()

    def _remember(self, player: Player, charge: int, now: int, time: object) -> None:
        player.begin = now
        player.begun[now] = (charge, time)
        if len(player.begun) > 2 * self._lanes.count + ROOM:
            needed = {now, *self._lanes.unpack(self._since[player.lane])}
            player.begun = {event: kept for event, kept in player.begun.items() if event in needed}

    def _forget(self, player: Player) -> None:
        player.begun = {}
        del self._level[player.lane], self._since[player.lane]
        if not self._level:
            self._begin_period()

    def _make_room(self) -> None:
        old = self._lanes
        self._lanes = Lanes(old.count + max(ROOM, old.count // 4), old.width)
        more = self._lanes.ones - old.ones
        self._since = {lane: since + self._by_lane[lane].begin * more for lane, since in self._since.items()}
        self._reached += [0] * (self._lanes.count - old.count)
        self._set_bar()

    def _fit(self, number: int) -> None:
        """Make the lanes wide enough for a number."""
        old = self._lanes
        if number < old.limit:
            return
        width = old.width
        while number >= 1 << width - SPARE:
            width *= 2
        self._lanes = new = Lanes(old.count, width)
        self._totals, self._reach = new.pack(old.unpack(self._totals)), new.pack(old.unpack(self._reach))
        self._level = {lane: new.pack(old.unpack(level)) for lane, level in self._level.items()}
        self._since = {lane: new.pack(old.unpack(since)) for lane, since in self._since.items()}
        self._bar = (self.greatest + 1) * new.ones
