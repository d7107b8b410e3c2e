"""Is this a trace of the mode in which others overtake whoever fits nowhere (PLACE-OVERTAKE, article §5.2)?

A dispatch tells in its field `held` which users were passed over, as their next request could be placed nowhere. The
trace is taken at its word for that. For all else it is followed as ever: among the others the least meter goes, and
whoever is held no more rejoins at max(S, v).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from heapq import heappop, heappush

from msgspec import UNSET

from sfq_spec.conformance.audit.order import Order, Player, exact_lags
from sfq_spec.conformance.audit.records import Record, Unreadable
from sfq_spec.conformance.judge import Judge, Wrong
from sfq_spec.machine import Machine
from sfq_spec.trace import Answer, Dispatch, Event, Upkeep


class OvertakingOrder(Order):
    """Follows such a trace; without `held` it is the order itself, event for event."""

    def __init__(self, *, any_tie: bool = False) -> None:
        super().__init__(any_tie=any_tie)
        self.held: frozenset[str] = frozenset()
        """The users who wait, and were passed over at the latest dispatch."""

    def among(self) -> Machine:
        """The state among those who take part: whoever is held has left, with its requests (article §5.2)."""
        whole = self.machine()
        queues = {user: queue for user, queue in whole.queues.items() if user not in self.held}
        waiting = {user: waits and user not in self.held for user, waits in whole.competition.waiting.items()}
        return replace(whole, queues=queues, competition=replace(whole.competition, waiting=waiting))

    def _dispatch(self, record: Record) -> bool:
        self._hold(_names(record.held))
        sent = self.live.get(record.dispatched) if isinstance(record.dispatched, str) else None
        if sent is not None and sent.waits and sent.player.name in self.held:
            return False
        if record.dispatched is None and record.refused is UNSET and self.held:
            return all(player.name in self.held for player in self.players.values() if player.waiting)
        return super()._dispatch(record)

    def _hold(self, names: Iterable[str]) -> None:
        """From this dispatch on these are held, and all others take part."""
        waiting = frozenset(name for name in names if name in self.players and self.players[name].waiting)
        for name in self.held - waiting:
            player = self.players[name]
            if player.waiting:
                player.S = max(player.S, self.v)
                heappush(self._heap, (player.S, name))
        self.held = waiting

    def _may_go(self, player: Player) -> bool:
        """Entries of those who are held are passed over; they get new ones when they take part again."""
        heap = self._heap
        while heap and not self._stands(*heap[0]):
            heappop(heap)
        return super()._may_go(player)

    def _stands(self, S: int, name: str) -> bool:
        player = self.players[name]
        return name not in self.held and player.S == S and player.waiting > 0

    def _left(self) -> None:
        super()._left()
        if not self.waiting:
            self.held = frozenset()

    def _judge(self, event: Event, told: Answer) -> Wrong | None:
        sent = self.live.get(told.dispatched) if isinstance(told.dispatched, str) else None
        if isinstance(event, Dispatch) and sent is not None and sent.waits and sent.player.name in self.held:
            said = f"{told.dispatched} was sent, and its user {sent.player.name!r} is told to be held"
            return Wrong(self.events - 1, said, (), ("PLACE-OVERTAKE",))
        if not isinstance(event, Dispatch | Upkeep):
            return super()._judge(event, told)
        return Judge(self.any_tie, True, self.among(), self.events - 1).see(event, told)

    def _lags_are_right(self, told: Mapping[str, object]) -> bool:
        """Whoever is held may be behind v."""
        lags = exact_lags(told)
        return super()._lags_are_right({user: lag for user, lag in lags.items() if user not in self.held or lag > 0})


def _names(held: object) -> list[str]:
    if held is None:
        return []
    if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
        raise Unreadable("field `held`: is not a list of users")
    return held
