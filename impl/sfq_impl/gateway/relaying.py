"""An answer on its way back: from the first piece to the end, byte for byte, no faster than its client reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any

import aiohttp

from sfq_impl.fleet.dispatcher import Slot
from sfq_impl.gateway import passing, usage
from sfq_impl.gateway.errors import Refusal
from sfq_impl.gateway.exchange import Exchange
from sfq_impl.gateway.logs import tell

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class BrokenOff(Exception):
    """An answer that had begun has no end: why."""

    def __init__(self, why: str, silent: str, *, lost: bool) -> None:
        super().__init__(why)
        self.by_server = silent == "server"
        self.lost = lost
        """Whether the server's connection is."""


async def relay(
    slot: Slot, response: aiohttp.ClientResponse, piece: bytes, send: Send, exchange: Exchange, idle: float
) -> None:
    """The answer, from its first piece to its end. Raises `BrokenOff` where it has none.

    Neither the server nor the client may keep the other one waiting for more than `idle` seconds, at the end neither.
    Whether the client can be told of a break is in `exchange`.
    """
    reader = usage.reader(response.content_type)
    broken, silent, end, takes_events = None, "client", b"", _takes_events(response)
    try:
        with _watched(response):
            async with asyncio.timeout(idle):
                kept = passing.back(response.raw_headers, exchange.id)
                await send({"type": "http.response.start", "status": response.status, "headers": kept})
                exchange.status = response.status
            while piece:
                reader.feed(piece)
                end = (end + piece)[-4:] if len(piece) < 4 else piece[-4:]
                async with asyncio.timeout(idle):
                    silent = "client"
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    exchange.between_events = takes_events and end.endswith((b"\n\n", b"\r\n\r\n"))
                    silent = "server"
                    piece = await response.content.readany()
        async with asyncio.timeout(idle):
            silent = "client"
            slot.outcome = "completed" if response.status < 400 else "failed"
            exchange.between_events = False
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (aiohttp.ClientError, ConnectionError) as error:
        said = f"the server broke off its answer ({type(error).__name__})"
        broken = BrokenOff(said, silent, lost=True)
    except TimeoutError:
        broken = BrokenOff(f"the {silent} was silent for {idle:g} s", silent, lost=False)
    finally:
        slot.usage = reader.usage
        if not response.content.is_eof() or broken:
            response.close()
    if broken:
        slot.outcome = "failed"
        tell(logging.WARNING, "answer broken off", id=exchange.id, server=slot.server.name, why=str(broken))
        raise broken


async def last_event(refusal: Refusal, send: Send, exchange: Exchange, patience: float) -> None:
    """Tell within a stream why it breaks off, where it can be told and its client takes it within so many seconds.

    Then, as in every other case, the connection is closed without the mark of an end.
    """
    if exchange.between_events:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(patience):
                await send({"type": "http.response.body", "body": refusal.event, "more_body": True})
                exchange.between_events = False


def _takes_events(response: aiohttp.ClientResponse) -> bool:
    """Whether events of the gateway's own can be put in: not into what is encoded, or of a told length."""
    plain = not {"content-length", "content-encoding"} & {name.lower() for name in response.headers}
    return plain and response.content_type == "text/event-stream"


@contextmanager
def _watched(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Where the server's connection is lost, the answer is at its end, or broken off: nobody waits for more of it.

    Of an answer whose framing is wrong the connection is closed, and its reader is told nothing.
    """
    connection = response.connection
    closed = None if connection is None or connection.protocol is None else connection.protocol.closed
    if closed is None:
        yield
        return

    def lost(_: object) -> None:
        if not response.content.is_eof() and response.content.exception() is None:
            response.content.set_exception(aiohttp.ClientPayloadError("no proper end"))

    closed.add_done_callback(lost)
    try:
        yield
    finally:
        closed.remove_done_callback(lost)
