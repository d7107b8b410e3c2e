"""The scheduler for a dispatcher that lets others go first where a request fits on no server (article §5.2).

Whoever is next and cannot be placed is held: it has left the competition, though it waits. Once it may be placed again
it is released, and rejoins at max(S, v) as anybody who returns (article §2.4). So nobody pays for being overtaken, and
nobody saves anything up by it. A period of congestion still ends only when nobody waits at all, held or not.

Hold whoever is next for as long as its request cannot be placed, then dispatch; release whoever might be placed again,
at the latest before the next dispatch. That is the dispatch of the rules among those who can be placed.
"""

from __future__ import annotations

from heapq import heappop, heappush

from sfq_impl.heap import HeapScheduler, Overlapping
from sfq_impl.quantities import Number

__all__ = ["OvertakingScheduler"]


class OvertakingScheduler(HeapScheduler):
    """The heap scheduler, with users who are held. With nobody held it is the same, call for call.

    `next_request` and `dispatch` know only of those who are not held; what is told of those who wait, of all.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        super().__init__()
        self._held: set[str] = set()
        """The users who wait and stand in the heap no more. Their meters may be below v."""

    @property
    def held_users(self) -> frozenset[str]:
        """Those who are held."""
        return frozenset(self._held)

    @property
    def waiting_users(self) -> tuple[str, ...]:
        """The users who wait: those who are not held by (meter, user id), then the others by user id."""
        return (*super().waiting_users, *sorted(self._held))

    @property
    def waiting_requests(self) -> int:
        """How many requests wait."""
        held = (self._users[name] for name in self._held)
        return super().waiting_requests + sum(len(user.queue) - user.withdrawn for user in held)

    def hold(self) -> str | None:
        """The user who is next, and takes no part until it is released; None where there is none."""
        if self._busy:
            raise Overlapping
        try:
            self._busy = True
            if not self._heap:
                self._busy = False
                return None
            name = self._heap[0][1]
            self._held.add(name)
            heappop(self._heap)
            if self._gone:
                self._skip_gone()
            self._busy = False
            return name
        except BaseException:
            self._recover()
            raise

    def release(self, user: str) -> None:
        """A user who is held rejoins at max(S, v); one who is not is passed over."""
        if self._busy:
            raise Overlapping
        if user not in self._held:
            return
        try:
            self._busy = True
            record = self._users[user]
            if record.meter < self._virtual:
                record.meter = self._virtual
            heappush(self._heap, (record.meter, user, record))
            self._held.remove(user)
            self._busy = False
        except BaseException:
            self._recover()
            raise

    def cancel(self, request: str) -> None:
        """As ever; a user who is held is released, as its next request may be another one now."""
        found = self._live.get(request)
        if found is not None and found.waits:
            self.release(found.user)
        super().cancel(request)

    def _leave(self, meter: Number) -> None:
        """A user has left. It is not over while others are held (article §2.5)."""
        if not self._held:
            super()._leave(meter)
            return
        if meter > self._greatest:
            self._greatest = meter
        if self._gone:
            self._skip_gone()

    def _recover(self) -> None:
        """Nobody is held any more: who still cannot be placed will be again."""
        for name in self._held:
            record = self._users[name]
            if record.meter < self._virtual:
                record.meter = self._virtual
        self._held = set()
        super()._recover()
