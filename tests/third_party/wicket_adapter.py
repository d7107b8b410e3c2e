"""wicket behind the adapter protocol: a pool in memory that grants by fair share alone.

A tenant is a user, a ticket a request. A dispatch is a permit of the pool, and a completion is the end of its block.
Every ticket weighs one, so a run with two different costs is skipped. The clock of the store moves by one second at
every event, as that of a real store does; leases outlast every run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

from serve import Event, Number, Refused, Skipped, number, serve
from wicket import (
    AlreadyLeased,
    FairShare,
    Gone,
    MemoryBacklog,
    MemoryLedger,
    MemoryState,
    Permit,
    Pool,
    Priority,
    Ticket,
)

POOL = "sfq"
LONG = timedelta(days=365)
FIRST = datetime(2000, 1, 1, tzinfo=UTC)


class Scheduler:
    """One pool of the library, in an event loop of its own."""

    def __init__(self, events: Sequence[Event]) -> None:
        costs = {number(event["cost"]) for event in events if event["event"] == "arrive"}
        if len(costs) > 1 or not all(0 < cost < float("inf") for cost in costs):
            raise Skipped("every ticket weighs one")
        self._ticks = 0
        state = MemoryState(retention=LONG, clock=self._now)
        self._backlog, self._ledger = MemoryBacklog(state), MemoryLedger(state)
        self._pool = Pool(
            self._ledger, POOL, priority=Priority((FairShare(), 1)), lease=LONG, poll=timedelta(seconds=1)
        )
        self._blocks: dict[str, AbstractAsyncContextManager[Permit]] = {}
        self._loop = asyncio.new_event_loop()

    def arrive(self, user: str, request: str, cost: Number) -> None:
        self._ticks += 1
        view = self._loop.run_until_complete(self._ledger.view(POOL))
        known = {waiting.ticket.id for waiting in view.waiting} | {permit.waiting.ticket.id for permit in view.leased}
        self._loop.run_until_complete(self._backlog.submit(POOL, Ticket(request, user)))
        if request in known:  # "changes nothing", the library says
            raise Refused("duplicate-request")

    def dispatch(self) -> str | None:
        self._ticks += 1
        if not self._loop.run_until_complete(self._ledger.view(POOL)).waiting:
            return None  # a worker would wait here
        block = self._pool.permit()
        request: str = self._loop.run_until_complete(_entered(block)).waiting.ticket.id
        self._blocks[request] = block
        return request

    def cancel(self, request: str) -> None:
        self._ticks += 1
        match self._loop.run_until_complete(self._backlog.withdraw(POOL, request)):
            case AlreadyLeased():
                raise Refused("not-waiting")
            case Gone():
                raise Refused("unknown-request")

    def complete(self, request: str) -> None:
        if block := self._blocks.pop(request, None):
            self._loop.run_until_complete(_left(block))

    def close(self) -> None:
        for request in list(self._blocks):
            self.complete(request)
        self._loop.close()

    def _now(self) -> datetime:
        return FIRST + timedelta(seconds=self._ticks)


async def _entered(block: AbstractAsyncContextManager[Permit]) -> Permit:
    return await block.__aenter__()


async def _left(block: AbstractAsyncContextManager[Permit]) -> None:
    await block.__aexit__(None, None, None)


if __name__ == "__main__":
    serve("wicket", {"cancel": True, "ties": "any", "numbers": "integer"}, Scheduler)
