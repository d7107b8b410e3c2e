"""The dispatcher: a request waits its turn, gets a room on a server, and gives it back (article §2.6, §7.1).

Event-driven, in one event loop: on each arrival and each end, one fresh selection per dispatch while placement is
possible. Three things are kept apart: the order (`policy`), the place (`placement`), what is taken in (`admission`).

If the selected request can be placed nowhere, there are two modes. `stall`: everybody waits for it, and placement never
changes the order (PLACE-STALL). `overtake`: whoever can be placed goes first; for the others that is as if they had
left, and they rejoin when they can be placed again (PLACE-OVERTAKE). In neither does anybody go first by accident.

Every request ends exactly once (FLEET-ONCE), and its room is released on every path, cancellation included.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Literal, TypeVar

from sfq_impl.fleet.admission import Limits, Queue
from sfq_impl.fleet.holding import Held
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Holding, OvertakingSfq, Policy, Sfq, Usage
from sfq_impl.fleet.request import Ending, Expired, NoServer, Outcome, Request, ShuttingDown, TurnedAway
from sfq_impl.fleet.watching import Observer, WeightObserver
from sfq_spec.trace import DuplicateRequest, InvalidCost

T = TypeVar("T")
Turn = asyncio.Future[Server]
Mode = Literal["stall", "overtake"]
PACE = 0.1
"""How much the latest dispatch counts in the pace."""


class Slot:
    """A room on a server, for one request."""

    def __init__(self, dispatcher: Dispatcher, request: Request, server: Server) -> None:
        self.request = request
        self.server = server
        self.outcome: Outcome = "completed"
        """Set it before the slot is left where the request has failed without an exception."""
        self.usage: Usage | None = None
        """What the server told; set it before the slot is left."""
        self._dispatcher = dispatcher

    async def move(self) -> Server:
        """Another room, where the server has died before it answered. The request is not charged again.

        It goes before everything that waits, as it has had its turn. Raises `NoServer` where no server is left, or
        none has had room for it for as long as a request may wait, or until the dispatcher was closed.
        """
        return await self._dispatcher._move(self)


class Dispatcher:
    """Requests in, rooms out.

    `async with dispatcher.slot(user, cost) as slot:` waits for the request's turn; inside, it is on `slot.server`.
    """

    def __init__(
        self,
        placement: Placement,
        policy: Policy | None = None,
        *,
        limits: Limits | None = None,
        observers: Iterable[Observer] = (),
        mode: Mode = "stall",
    ) -> None:
        if mode not in ("stall", "overtake"):
            raise ValueError(f"mode {mode!r}: the modes are stall and overtake")
        self.placement = placement
        self.policy = policy or (Sfq() if mode == "stall" else OvertakingSfq())
        self._holding: Holding | None = None
        if mode == "overtake":
            if not isinstance(self.policy, Holding):
                raise ValueError(f"mode overtake: {type(self.policy).__name__} cannot hold a user; take OvertakingSfq")
            self._holding = self.policy
        self.mode = mode
        self.queue = Queue(limits or Limits())
        self.observers = list(observers)
        self.in_flight: dict[str, Request] = {}
        self._turns: dict[str, tuple[Request, Turn]] = {}
        """Requests that wait for their turn, by id."""
        self._moving: deque[tuple[Request, Turn]] = deque()
        """Requests that have had their turn and need another server, oldest first."""
        self._held = Held()
        self._has_more_room = False
        """Some room has been given back, or has been added, since somebody was held."""
        self._count = 0
        self._closed = False
        self._out_of_patience = False
        self._last_dispatch: float | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def slot(
        self,
        user: str,
        cost: int,
        *,
        request_id: str | None = None,
        tokens: int = 0,
        prefix: tuple[str, ...] = (),
        priority: int = 0,
    ) -> AsyncIterator[Slot]:
        """A room for one request of a user, once it is its turn; it is given back when the block is left, however.

        Raises a `TurnedAway` (`QueueFull`, `Expired`, `NoServer`, `ShuttingDown`), and then nothing was charged;
        `InvalidCost` for a cost that is not above zero, `DuplicateRequest` where a request of the id has not ended.
        """
        request = Request(request_id or self._new_id(user), user, cost, tokens, prefix, priority)
        turn = self._admit(request)
        server = await self._turn(request, turn)
        slot = Slot(self, request, server)
        outcome: Outcome = "failed"
        try:
            yield slot
            outcome = slot.outcome
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "cancelled"
            raise
        finally:
            self._end(slot, outcome)

    async def submit(self, user: str, cost: int, call: Callable[[Slot], Awaitable[T]], *, tokens: int = 0) -> T:
        """The result of a call that is made when it is its turn. Raises as `slot` does, and what the call raises."""
        async with self.slot(user, cost, tokens=tokens) as slot:
            return await call(slot)

    def changed(self) -> None:
        """Servers have been added or removed, or have come up: whoever can be placed now is.

        Whoever no server could hold any more is turned away (`NoServer`), as everybody would wait for it.
        """
        self._has_more_room = True
        for request, turn in [*self._turns.values(), *self._moving]:
            if not self.placement.could_place(request) and not turn.done():
                reason = NoServer(f"no server is left that could hold a request of {request.tokens:,} tokens")
                if request.dispatched is None:
                    self._withdraw(request, "refused")
                turn.set_exception(reason)
        self._settle()

    def set_weight(self, user: str, weight: float) -> None:
        """The share of a user from its next charge on. Raises `InvalidWeight` unless it is above zero and finite."""
        self.policy.set_weight(user, weight)
        for observer in self.observers:
            if isinstance(observer, WeightObserver):
                observer.weighed(user, weight)

    async def close(self, patience: float | None = None) -> None:
        """Take nothing more; wait until all has been served, or so many seconds; then turn away what still waits.

        Whatever is on a server is waited for in any case; what has lost its server waits for no other one then.
        """
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._idle.wait()
        self._out_of_patience = True
        for request, turn in list(self._turns.values()):
            self._turn_away(request, turn, "refused", ShuttingDown())
        for _, found in self._moving:
            _give_up(found, "shutting down: no other server is waited for")
        self._settle()
        await self._idle.wait()

    def _new_id(self, user: str) -> str:
        while True:
            self._count += 1
            request_id = f"{user}-{self._count}"
            if request_id not in self._turns and request_id not in self.in_flight:
                return request_id

    def _admit(self, request: Request) -> Turn:
        loop = asyncio.get_running_loop()
        request.arrived = loop.time()
        if request.id in self._turns or request.id in self.in_flight:
            raise DuplicateRequest(request.id)
        if not request.cost > 0:
            raise InvalidCost(request.cost)
        try:
            if self._closed:
                raise ShuttingDown
            if not self.placement.could_place(request):
                raise NoServer(f"no server can hold a request of {request.tokens:,} tokens")
            self.queue.check(request)
        except TurnedAway as reason:
            request.ended, told = "refused", reason
            self._tell(lambda observer: observer.refused(request, told))
            raise
        self.policy.arrive(request)
        self.queue.join(request)
        self._idle.clear()
        turn: Turn = loop.create_future()
        self._turns[request.id] = request, turn
        self._tell(lambda observer: observer.arrived(request))
        self._pump()
        return turn

    async def _turn(self, request: Request, turn: Turn) -> Server:
        """Wait for the request's turn. Whatever interrupts that, the request is either withdrawn or ended."""
        timer = self._later(self._expire, request, turn)
        try:
            return await turn
        except BaseException:
            if request.id in self.in_flight and request.ended is None:
                self._finish(request, turn.result(), "cancelled", None)
            elif request.ended is None:
                self._withdraw(request, "cancelled")
                self._settle()
            elif not turn.cancelled():
                turn.exception()
            raise
        finally:
            if timer:
                timer.cancel()

    def _later(self, act: Callable[..., None], *arguments: object) -> asyncio.TimerHandle | None:
        """Do something when a request has waited as long as it may."""
        wait = self.queue.limits.wait
        return None if wait is None else asyncio.get_running_loop().call_later(wait, act, *arguments)

    def _expire(self, request: Request, turn: Turn) -> None:
        if request.dispatched is None and request.ended is None:
            waited = turn.get_loop().time() - request.arrived
            self._turn_away(request, turn, "expired", Expired(waited, self.queue.requests - 1))
            self._settle()

    def _turn_away(self, request: Request, turn: Turn, ending: Ending, reason: TurnedAway) -> None:
        self._withdraw(request, ending)
        if not turn.done():
            turn.set_exception(reason)

    def _pump(self) -> None:
        """Dispatch while placement is possible: first whoever needs another server, then one fresh choice at a time."""
        if not self._move_those_who_can() and self.mode == "stall":
            return
        self._release_those_who_can()
        room = math.inf
        while (first := self.policy.next()) is not None:
            if self._turns[first.id][1].cancelled():
                self._withdraw(first, "cancelled")
            elif first.tokens <= room and (server := self.placement.place(first)) is not None:
                self._dispatch(first, server)
            elif self._holding:
                room = min(room, self.placement.room()) if first.tokens <= room else room
                if room < self.queue.least_tokens:
                    return
                self._held.hold(first)
                self._holding.hold()
            else:
                return

    def _move_those_who_can(self) -> bool:
        """Whether nobody is left who waits for another server. In `stall` each waits for the one before it."""
        left = deque[tuple[Request, Turn]]()
        while self._moving:
            request, found = self._moving.popleft()
            if found.done():
                continue
            server = None if left and self.mode == "stall" else self.placement.place(request)
            if server is None:
                left.append((request, found))
            else:
                server.take(request)
                found.set_result(server)
        self._moving = left
        return not left

    def _release_those_who_can(self) -> None:
        """Those who are held and could be placed take part again, where there may be more room than there was."""
        if self._holding and self._has_more_room and self._held.requests:
            for user in self._held.release(self.placement.room()):
                self._holding.release(user)
        self._has_more_room = False

    def _dispatch(self, request: Request, server: Server) -> None:
        self.policy.dispatch(request)
        self.queue.leave(request)
        now = asyncio.get_running_loop().time()
        if self._last_dispatch is not None and request.arrived < self._last_dispatch:  # somebody waited all the while
            self.queue.pace += PACE * (now - self._last_dispatch - self.queue.pace)
        self._last_dispatch = request.dispatched = now
        request.overtook = self._held.users
        server.take(request)
        self.in_flight[request.id] = request
        turn = self._turns.pop(request.id)[1]
        self._tell(lambda observer: observer.dispatched(request, server))
        turn.set_result(server)

    def _withdraw(self, request: Request, ending: Ending) -> None:
        del self._turns[request.id]
        self.policy.cancel(request)
        self._held.drop(request.user)
        self.queue.leave(request)
        request.ended = ending
        self._tell(lambda observer: observer.withdrawn(request))

    def _end(self, slot: Slot, outcome: Outcome) -> None:
        self._finish(slot.request, slot.server, outcome, slot.usage)

    def _finish(self, request: Request, server: Server, outcome: Outcome, usage: Usage | None) -> None:
        self._free(server, request)
        del self.in_flight[request.id]
        self.policy.complete(request, outcome, usage)
        request.ended = outcome
        self._tell(lambda observer: observer.ended(request, outcome, usage))
        self._settle()

    def _free(self, server: Server, request: Request) -> None:
        """The request is on the server no more, if it was."""
        if server.held.get(request.id) is request:
            server.release(request)
            self._has_more_room = True

    async def _move(self, slot: Slot) -> Server:
        request = slot.request
        self._free(slot.server, request)
        found: Turn = asyncio.get_running_loop().create_future()
        if self.placement.could_place(request):
            self._moving.append((request, found))
        else:
            _give_up(found, "no server is left that could take the request")
        self._pump()
        if self._out_of_patience:
            _give_up(found, "shutting down: no other server is waited for")
        timer = self._later(self._abandon, found)
        try:
            slot.server = await found
        except BaseException:
            if found.done() and not found.cancelled() and found.exception() is None:
                slot.server = found.result()
            found.cancel()
            self._pump()
            raise
        finally:
            if timer:
                timer.cancel()
        return slot.server

    def _abandon(self, found: Turn) -> None:
        """A request has waited for another server for as long as it may."""
        _give_up(found, "no server has had room for the request, which had lost its own")
        self._pump()

    def _settle(self) -> None:
        """Somebody has left: others may go."""
        self._pump()
        if not self._turns and not self.in_flight:
            self._idle.set()

    def _tell(self, tell: Callable[[Observer], None]) -> None:
        """What happens is told to all observers; a fault of one of them is nobody else's."""
        for observer in self.observers:
            try:
                tell(observer)
            except Exception as error:
                context = {"message": f"{type(observer).__name__} failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)


def _give_up(found: Turn, reason: str) -> None:
    """Who waits for another server waits no more."""
    if not found.done():
        found.set_exception(NoServer(reason))
