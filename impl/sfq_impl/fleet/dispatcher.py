"""The dispatcher: a request waits its turn, gets a room on a server, and gives it back (article §2.6, §7.1).

Event-driven, in one event loop: on each arrival and each end, one fresh selection per dispatch while placement is
possible. Three things are kept apart: the order (`policy`), the place (`placement`), what is taken in (`admission`). If
the selected request can be placed nowhere, everybody waits for it (PLACE-STALL): placement never changes the order.

Every request ends exactly once (FLEET-ONCE), and its room is released on every path, cancellation included.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from sfq_impl.fleet.admission import Limits, Queue
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Policy, Sfq, Usage
from sfq_impl.fleet.request import Ending, Expired, NoServer, Outcome, Request, ShuttingDown, TurnedAway
from sfq_impl.fleet.watching import Observer

T = TypeVar("T")
Turn = asyncio.Future[Server]
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

        It goes before everything that waits, as it has had its turn. Raises `NoServer` where no server is left.
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
    ) -> None:
        self.placement = placement
        self.policy = policy or Sfq()
        self.queue = Queue(limits or Limits())
        self.observers = list(observers)
        self.in_flight: dict[str, Request] = {}
        self._turns: dict[str, tuple[Request, Turn]] = {}
        """Requests that wait for their turn, by id."""
        self._moving: deque[tuple[Request, Turn]] = deque()
        """Requests that have had their turn and need another server, oldest first."""
        self._count = 0
        self._closed = False
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
        `InvalidCost` for a cost that is not above zero, `DuplicateRequest` where the id is in use.
        """
        self._count += 1
        request = Request(request_id or f"{user}-{self._count}", user, cost, tokens, prefix, priority)
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
        """Servers have been added, or have come up: whoever can be placed now is."""
        self._pump()

    async def close(self, patience: float | None = None) -> None:
        """Take nothing more; wait until all has been served, or so many seconds; then turn away what still waits.

        Whatever is on a server is waited for in any case.
        """
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._idle.wait()
        for request, turn in list(self._turns.values()):
            self._turn_away(request, turn, "refused", ShuttingDown())
        self._settle()
        await self._idle.wait()

    def _admit(self, request: Request) -> Turn:
        loop = asyncio.get_running_loop()
        request.arrived = loop.time()
        try:
            if self._closed:
                raise ShuttingDown
            if not self.placement.could_place(request):
                raise NoServer(f"no server can hold a request of {request.tokens:,} tokens")
            self.queue.check(request)
            self.policy.arrive(request)
        except TurnedAway as reason:
            request.ended = "refused"
            for observer in self.observers:
                observer.refused(request, reason)
            raise
        self.queue.join(request)
        self._idle.clear()
        turn: Turn = loop.create_future()
        self._turns[request.id] = request, turn
        for observer in self.observers:
            observer.arrived(request)
        self._pump()
        return turn

    async def _turn(self, request: Request, turn: Turn) -> Server:
        """Wait for the request's turn. Whatever interrupts that, the request is either withdrawn or ended."""
        wait = self.queue.limits.wait
        timer = None if wait is None else turn.get_loop().call_later(wait, self._expire, request, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.done():
                self._finish(request, turn.result(), "cancelled", None)
            elif request.ended is None:
                self._withdraw(request, "cancelled")
                self._settle()
            raise
        finally:
            if timer:
                timer.cancel()

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
        while self._moving:
            request, found = self._moving[0]
            if found.done():
                self._moving.popleft()
            elif (server := self.placement.place(request)) is not None:
                self._moving.popleft()
                server.take(request)
                found.set_result(server)
            else:
                return
        while (first := self.policy.next()) is not None:
            if self._turns[first.id][1].cancelled():
                self._withdraw(first, "cancelled")
            elif (server := self.placement.place(first)) is not None:
                self._dispatch(first, server)
            else:
                return

    def _dispatch(self, request: Request, server: Server) -> None:
        self.policy.dispatch(request)
        self.queue.leave(request)
        now = asyncio.get_running_loop().time()
        if self._last_dispatch is not None:
            self.queue.pace += PACE * (now - self._last_dispatch - self.queue.pace)
        self._last_dispatch = request.dispatched = now
        server.take(request)
        self.in_flight[request.id] = request
        for observer in self.observers:
            observer.dispatched(request, server)
        self._turns.pop(request.id)[1].set_result(server)

    def _withdraw(self, request: Request, ending: Ending) -> None:
        del self._turns[request.id]
        self.policy.cancel(request)
        self.queue.leave(request)
        request.ended = ending
        for observer in self.observers:
            observer.withdrawn(request)

    def _end(self, slot: Slot, outcome: Outcome) -> None:
        self._finish(slot.request, slot.server, outcome, slot.usage)

    def _finish(self, request: Request, server: Server, outcome: Outcome, usage: Usage | None) -> None:
        if request.id in server.held:
            server.release(request)
        del self.in_flight[request.id]
        self.policy.complete(request, outcome, usage)
        request.ended = outcome
        for observer in self.observers:
            observer.ended(request, outcome, usage)
        self._settle()

    async def _move(self, slot: Slot) -> Server:
        request = slot.request
        slot.server.release(request)
        if not self.placement.could_place(request):
            raise NoServer("no server is left that could take the request")
        found: Turn = asyncio.get_running_loop().create_future()
        self._moving.append((request, found))
        self._pump()
        try:
            slot.server = await found
        except BaseException:
            if found.done() and not found.cancelled():
                slot.server = found.result()
            self._moving = deque(entry for entry in self._moving if entry[1] is not found)
            raise
        return slot.server

    def _settle(self) -> None:
        """Somebody has left: others may go."""
        self._pump()
        if not self._turns and not self.in_flight:
            self._idle.set()
