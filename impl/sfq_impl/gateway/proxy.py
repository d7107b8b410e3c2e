"""A request on its way: read, put in order, sent to a server, and its answer passed back byte for byte.

The client has gone: what it asked for is withdrawn, or the server's connection is closed, and the room is free. The
server has gone: another one is tried, as long as the client has got nothing; after that the answer is broken off, and
the client can tell.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import aiohttp

from sfq_impl.fleet.dispatcher import Dispatcher, Slot
from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Expired, NoServer, QueueFull, ShuttingDown, TurnedAway
from sfq_impl.fleet.strategies import prompt_blocks
from sfq_impl.gateway import asking, usage
from sfq_impl.gateway.config import Settings
from sfq_impl.gateway.errors import Answer, Refusal
from sfq_impl.gateway.identity import Identity
from sfq_impl.gateway.logs import log, tell
from sfq_impl.gateway.metrics import Metrics
from sfq_impl.gateway.pricing import Pricing
from sfq_impl.gateway.servers import Servers

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

OF_A_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer")
) | {"transfer-encoding", "upgrade"}
"""Headers that are about one connection, and not passed on."""
OURS = OF_A_CONNECTION | {"host", "content-length", "expect", "accept-encoding", "authorization", "x-api-key", "cookie"}
"""Headers of a request that the gateway answers for itself; keys of its clients are none of the servers' business."""
ELSEWHERE = frozenset({502, 503})
"""Answers of a server that cannot serve now: another may."""
READ_ON = 4
"""How many times the limit of a body is read and thrown away, so that the client gets to read why it was refused."""
BODY_SECONDS = 60.0
STALE = 0.5
"""Seconds: a connection that fails sooner may have been closed while it was idle, so the server is tried once more."""


@dataclass
class Exchange:
    """What is told of a request when it has ended; never what is in it."""

    path: str
    id: str
    began: float = field(default_factory=time.monotonic)
    user: str | None = None
    source: str | None = None
    model: str | None = None
    cost: int | None = None
    server: str | None = None
    waited: float | None = None
    first_byte: float | None = None
    """Seconds from the dispatch."""
    status: int | None = None
    """As the client got it; None where it got nothing."""
    retries: int = 0
    """How often it had to leave a server."""
    again: bool = False
    """Whether it was sent to a server a second time, as an idle connection was closed just then."""
    usage: Usage | None = None
    error: str | None = None

    def tell(self) -> None:
        """A line in the log."""
        seconds = {"waited": self.waited, "first_byte": self.first_byte, "took": time.monotonic() - self.began}
        told = {name: round(value, 4) for name, value in seconds.items() if value is not None}
        tokens = {} if self.usage is None else {"input": self.usage.input_tokens, "output": self.usage.output_tokens}
        fields = {name: getattr(self, name) for name in ("path", "user", "source", "model", "cost", "server", "status")}
        tell(
            logging.INFO,
            "request",
            id=self.id,
            **fields,
            **told,
            **tokens,
            retries=self.retries or None,
            error=self.error,
        )


class Failed(Exception):
    """A server has not begun to answer: why."""


class BrokenOff(Exception):
    """An answer that had begun has no end."""


class Proxy:
    """The paths that cost something, as an ASGI application."""

    def __init__(
        self, settings: Settings, dispatcher: Dispatcher, servers: Servers, pricing: Pricing, metrics: Metrics
    ) -> None:
        self.settings, self.dispatcher, self.servers = settings, dispatcher, servers
        self.pricing, self.metrics = pricing, metrics
        self.identity = Identity(settings.naming)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever comes of it."""
        headers = {name.decode("latin-1"): _text(value) for name, value in scope["headers"]}
        exchange = Exchange(scope["path"], _id(headers.get("x-request-id")))
        try:
            body = await self._body(headers, receive)
            work = asyncio.create_task(self._serve(scope, headers, body, send, exchange))
            await _unless_gone(work, receive)
        except Refusal as refusal:
            exchange.error = refusal.code
            await self._answer(refusal.answer, send, exchange, close=refusal.status == 413)
        except (asyncio.CancelledError, ConnectionError):
            exchange.error = exchange.error or "client_gone"
        except BrokenOff as broken:
            exchange.error = str(broken)
        except Exception:
            log.exception("fault of the gateway", extra={"fields": {"id": exchange.id}})
            exchange.error = "internal_error"
            if exchange.status is None:
                fault = Refusal(500, "internal_error", f"a fault of the gateway; its log tells more of {exchange.id}")
                await self._answer(fault.answer, send, exchange)
        self.metrics.answers.labels(exchange.path, str(exchange.status or exchange.error)).inc()
        if self.settings.logging.requests:
            exchange.tell()

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """All of it. Raises `Refusal` where it is too long or too slow, `ConnectionError` where the client has gone."""
        most, pieces, size = self.settings.limits.body, list[bytes](), 0
        told = headers.get("content-length", "0")
        too_long = told.isdecimal() and int(told) > most
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while size <= READ_ON * most:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionResetError
                    size += len(message.get("body", b""))
                    too_long = too_long or size > most
                    if too_long:
                        pieces.clear()
                    else:
                        pieces.append(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Refusal(408, "body_timeout", f"the body did not come within {BODY_SECONDS:.0f} s") from None
        if too_long:
            raise Refusal(413, "body_too_large", f"the body is larger than {most:,} bytes, the limit here")
        return b"".join(pieces)

    async def _serve(
        self, scope: Scope, headers: Mapping[str, str], body: bytes, send: Send, exchange: Exchange
    ) -> None:
        asked = asking.read(exchange.path, body)
        caller = self.identity.caller(headers, asked.user)
        exchange.user, exchange.source, exchange.model = caller.user, caller.source, asked.model[:256] or None
        price = self.pricing.price(caller.user, asked)
        exchange.cost = price.units
        try:
            async with self.dispatcher.slot(
                caller.user,
                price.units,
                tokens=price.tokens,
                prefix=self._prefix(asked),
                priority=self.identity.priority(headers),
            ) as slot:
                exchange.waited = (slot.request.dispatched or 0.0) - slot.request.arrived
                exchange.server = slot.server.name
                slot.outcome = "failed"
                try:
                    await self._forward(slot, scope, headers, body, send, exchange)
                finally:
                    exchange.usage = slot.usage
                if exchange.usage is not None and exchange.status is not None and exchange.status < 400:
                    self.pricing.learn(price, exchange.usage)
        except TurnedAway as reason:
            raise self._refusal(reason, caller.user) from None
        finally:
            self.servers.forget()

    def _prefix(self, asked: asking.Asked) -> tuple[str, ...]:
        affine = self.settings.placement.strategy == "prefix-affine"
        return prompt_blocks(asked.prompt, asked.model) if affine else ()

    def _refusal(self, reason: TurnedAway, user: str) -> Refusal:
        queue = self.dispatcher.queue
        match reason:
            case QueueFull():
                place = {"waiting": queue.requests, "waiting_of_user": queue.requests_of[user]}
                more = {"place": queue.requests + 1, **place}
                return Refusal(429, "queue_full", str(reason), retry_after=reason.retry_after, more=more)
            case Expired() if self.servers.up:
                more = {"place": reason.place + 1}
                return Refusal(504, "queue_timeout", str(reason), retry_after=1, more=more)
            case ShuttingDown():
                return Refusal(503, "shutting_down", str(reason), retry_after=5)
            case NoServer():
                return Refusal(400, "request_too_large", str(reason))
        return Refusal(503, "no_server", "no server is up", retry_after=self.settings.health.interval)

    async def _forward(
        self, slot: Slot, scope: Scope, headers: Mapping[str, str], body: bytes, send: Send, exchange: Exchange
    ) -> None:
        """Send the request on, to another server where one fails before it answers, and pass the answer back."""
        hops = {name.strip().lower() for name in headers.get("connection", "").split(",")}
        passed = {name: value for name, value in headers.items() if name not in OURS | hops}
        passed |= {"accept-encoding": "identity", "x-request-id": exchange.id}
        path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
        target = f"{path}?{query}" if query else path
        while True:
            exchange.server = slot.server.name
            try:
                response, first = await self._begin(slot.server.name, target, passed, body, exchange)
            except Failed as failed:
                self.servers.failed(slot.server.name, str(failed))
                await self._move(slot, exchange, str(failed))
            else:
                return await self._relay(slot, response, first, send, exchange)

    async def _begin(
        self, name: str, target: str, headers: Mapping[str, str], body: bytes, exchange: Exchange
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """A server's answer and its first piece. Raises `Failed` where another one may do better, or else `Refusal`."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        while True:
            try:
                async with asyncio.timeout(self.settings.timeouts.first_byte):
                    response = await self.servers.send(name, "POST", target, headers, body)
                    first = await _first_piece(response)
            except (aiohttp.ClientError, ConnectionError) as error:
                refused = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
                if refused or exchange.again or clock() - begun > STALE:
                    raise Failed(type(error).__name__) from None
                exchange.again = True
            except TimeoutError:
                raise Refusal(504, "server_timeout", "the server did not begin to answer in time") from None
            else:
                break
        others = exchange.retries < self.settings.retries and len(self.servers.up) > 1
        if response.status in ELSEWHERE and others:
            response.close()
            raise Failed(f"answers {response.status}")
        exchange.first_byte = clock() - begun
        self.metrics.first_bytes.observe(exchange.first_byte)
        return response, first

    async def _move(self, slot: Slot, exchange: Exchange, why: str) -> None:
        """Another server for the request, which is not charged again. Raises `Refusal` where there is none in time."""
        exchange.retries += 1
        self.metrics.retries.labels(slot.server.name).inc()
        if exchange.retries > self.settings.retries:
            raise Refusal(502, "server_failed", f"the server failed ({why})")
        try:
            await slot.move()
        except NoServer:
            raise Refusal(503, "no_server", "no server is up", retry_after=self.settings.health.interval) from None

    async def _relay(
        self, slot: Slot, response: aiohttp.ClientResponse, piece: bytes, send: Send, exchange: Exchange
    ) -> None:
        """The answer, from its first piece to its end. Raises `BrokenOff` where it has none.

        A stream that breaks off between two events gets a last one, which tells why. Then, as in every other case, the
        connection is closed without the mark of an end.
        """
        reader = usage.reader(response.content_type)
        stream = isinstance(reader, usage.StreamReader)
        idle = self.settings.timeouts.idle
        why, silent, end = None, "server", b""
        try:
            raw = [(name.lower(), value) for name, value in response.raw_headers]
            kept = [
                (name, value) for name, value in raw if name.decode("latin-1") not in OF_A_CONNECTION | {"x-request-id"}
            ]
            kept.append((b"x-request-id", exchange.id.encode()))
            exchange.status = response.status
            await send({"type": "http.response.start", "status": response.status, "headers": kept})
            while piece:
                reader.feed(piece)
                end = (end + piece)[-4:] if len(piece) < 4 else piece[-4:]
                async with asyncio.timeout(idle):
                    silent = "client"
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    silent = "server"
                    piece = await response.content.readany()
        except (aiohttp.ClientError, ConnectionError) as error:
            why = f"the server broke off its answer ({type(error).__name__})"
        except TimeoutError:
            why = f"the {silent} was silent for {idle:g} s"
        finally:
            slot.usage = reader.usage
            if not response.content.is_eof() or why:
                response.close()
        if why:
            tell(logging.WARNING, "answer broken off", id=exchange.id, server=slot.server.name, why=why)
            if stream and silent == "server" and end.endswith((b"\n\n", b"\r\n\r\n")):
                refusal = Refusal(502, "server_failed", f"{why}; what came before is not complete")
                await send({"type": "http.response.body", "body": refusal.event, "more_body": True})
            raise BrokenOff("broken_off")
        slot.outcome = "completed" if response.status < 400 else "failed"
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(self, answer: Answer, send: Send, exchange: Exchange, *, close: bool = False) -> None:
        """An answer of the gateway's own."""
        exchange.status = answer.status
        headers = {**answer.headers, "content-length": str(len(answer.body)), "x-request-id": exchange.id}
        if close:
            headers["connection"] = "close"
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        with suppress(ConnectionError):
            await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
            await send({"type": "http.response.body", "body": answer.body})


async def _unless_gone(work: asyncio.Task[None], receive: Receive) -> None:
    """The work, cancelled as soon as the client has gone; it is over in any case when this returns or raises."""
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
    await work


async def _first_piece(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.content.readany()
    except BaseException:
        response.close()
        raise


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _id(sent: str | None) -> str:
    """The id of a request in logs: the client's own where it is fit to be written there."""
    return sent if sent and len(sent) <= 128 and sent.isascii() and sent.isprintable() else uuid4().hex
