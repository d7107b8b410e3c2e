"""A request on its way: read, put in order, sent to a server, and its answer passed back byte for byte.

The client has gone: what it asked for is withdrawn, or the server's connection is closed, and the room is free. The
server has gone: another one is tried, as long as the client has got nothing; after that the answer is broken off, and
the client can tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import aiohttp

from sfq_impl.fleet.dispatcher import Dispatcher, Slot
from sfq_impl.fleet.request import Expired, NoServer, QueueFull, ShuttingDown, TurnedAway
from sfq_impl.fleet.strategies import BLOCK, PrefixAffine, prompt_blocks
from sfq_impl.gateway import asking, passing
from sfq_impl.gateway.bodies import UNREAD, Bodies
from sfq_impl.gateway.config import Settings
from sfq_impl.gateway.errors import Answer, Refusal
from sfq_impl.gateway.exchange import Exchange, fit_id
from sfq_impl.gateway.identity import Identity
from sfq_impl.gateway.logs import log
from sfq_impl.gateway.metrics import Metrics
from sfq_impl.gateway.pricing import Pricing
from sfq_impl.gateway.relaying import BrokenOff, Message, Send, last_event, relay
from sfq_impl.gateway.servers import Servers

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

ELSEWHERE = frozenset({502, 503})
"""Answers of a server that cannot serve now: another may."""
STALE = 0.5
"""Seconds: a connection that fails sooner may have been closed while it was idle, so the server is tried once more."""

LAST_WORD = 1.0
"""Seconds in which a client may take the last event of its stream when the end does not wait for it."""


class Failed(Exception):
    """A server has not begun to answer: why."""


class Proxy:
    """The paths that cost something, as an ASGI application."""

    def __init__(
        self, settings: Settings, dispatcher: Dispatcher, servers: Servers, pricing: Pricing, metrics: Metrics
    ) -> None:
        self.settings, self.dispatcher, self.servers = settings, dispatcher, servers
        self.pricing, self.metrics = pricing, metrics
        self.identity = Identity(settings.naming)
        self.bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever comes of it."""
        pairs = passing.pairs(scope["headers"])
        headers = passing.lookup(pairs)
        exchange = Exchange(scope["path"], fit_id(headers.get("x-request-id")))
        try:
            async with self.bodies.of(headers, receive, self.settings.limits) as body:
                work = asyncio.create_task(self._serve(scope, pairs, body, send, exchange))
                await _unless_gone(work, receive)
        except Refusal as refusal:
            exchange.error = refusal.code
            await self._answer(refusal.answer, send, exchange, close=refusal.code in UNREAD)
        except ConnectionError:
            exchange.error = exchange.error or "client_gone"
        except asyncio.CancelledError:  # the end does not wait for it any longer
            exchange.error = "shutting_down"
            ending = self._refusal(ShuttingDown(), "")
            if exchange.status is None:
                await self._answer(ending.answer, send, exchange)
            else:
                await last_event(ending, send, exchange, LAST_WORD)
        except BrokenOff:
            exchange.error = "broken_off"
        except Exception:
            log.exception("fault of the gateway", extra={"fields": {"id": exchange.id}})
            exchange.error = "internal_error"
            if exchange.status is None:
                fault = Refusal(500, "internal_error", f"a fault of the gateway; its log tells more of {exchange.id}")
                await self._answer(fault.answer, send, exchange)
        self.metrics.answers.labels(exchange.path, str(exchange.status or exchange.error)).inc()
        if self.settings.logging.requests:
            exchange.tell()

    async def _serve(self, scope: Scope, pairs: passing.Pairs, body: bytes, send: Send, exchange: Exchange) -> None:
        headers = passing.lookup(pairs)
        asked = asking.read(exchange.path, body)
        caller = self.identity.caller(headers, asked.user)
        exchange.user, exchange.source, exchange.model = caller.user, caller.source, asked.model or None
        tokens, prefix = await self.pricing.count(asked), self._prefix(asked)
        price = self.pricing.price(caller.user, asked, tokens, self._remembered(prefix))
        exchange.cost = price.units
        learns = asked.choices == 1  # of several some servers tell the tokens of one
        del asked  # its copy of the prompt need not wait
        try:
            async with self.dispatcher.slot(
                caller.user,
                price.units,
                tokens=price.tokens,
                prefix=prefix,
                priority=self.identity.priority(headers),
            ) as slot:
                exchange.waited = (slot.request.dispatched or 0.0) - slot.request.arrived
                exchange.server = slot.server.name
                slot.outcome = "failed"
                try:
                    await self._forward(slot, scope, passing.onward(pairs, exchange.id), body, send, exchange)
                finally:
                    exchange.usage = slot.usage
                if learns and exchange.usage is not None and exchange.status is not None and exchange.status < 400:
                    self.pricing.learn(price, exchange.usage)
        except TurnedAway as reason:
            raise self._refusal(reason, caller.user) from None
        finally:
            self.servers.forget()

    def _prefix(self, asked: asking.Asked) -> tuple[str, ...]:
        affine = self.settings.placement.strategy == "prefix-affine"
        return prompt_blocks(asked.prompt, asked.model) if affine else ()

    def _remembered(self, prefix: tuple[str, ...]) -> int:
        """How many bytes of a prompt are taken to be remembered somewhere, where that makes it cheaper."""
        strategy = self.dispatcher.placement.strategy
        if self.settings.cost.cached_weight is None or not isinstance(strategy, PrefixAffine):
            return 0
        return strategy.known_somewhere(prefix) * BLOCK

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
        self, slot: Slot, scope: Scope, headers: passing.Pairs, body: bytes, send: Send, exchange: Exchange
    ) -> None:
        """Send the request on, to another server where one fails before it answers, and pass the answer back."""
        path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
        target = f"{path}?{query}" if query else path
        while True:
            exchange.server = slot.server.name
            try:
                response, first = await self._begin(slot.server.name, target, headers, body, exchange)
            except Failed as failed:
                self.servers.failed(slot.server.name, str(failed))
                await self._move(slot, exchange, str(failed))
            else:
                idle = self.settings.timeouts.idle
                try:
                    return await relay(slot, response, first, send, exchange, idle)
                except BrokenOff as broken:
                    if broken.lost:
                        self.servers.broke_off(slot.server.name)
                    if broken.by_server:
                        told = Refusal(502, "server_failed", f"{broken}; what came before is not complete")
                        await last_event(told, send, exchange, idle)
                    raise

    async def _begin(
        self, name: str, target: str, headers: passing.Pairs, body: bytes, exchange: Exchange
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """A server's answer and its first piece. Raises `Failed` where another one may do better, or else `Refusal`."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        while True:
            try:
                async with asyncio.timeout(self.settings.timeouts.first_byte):
                    response = await self.servers.send(name, "POST", target, headers, body, anew=exchange.again)
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
        _check_fit(response)
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
    """The work, cancelled as soon as the client has gone; it is over in any case when this returns or raises.

    Raises `ConnectionError` where the client has gone, and what the work raises.
    """
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
    if work.cancelled():
        raise ConnectionResetError
    work.result()


def _check_fit(response: aiohttp.ClientResponse) -> None:
    """Raises `Failed` where an answer is none that could be passed on."""
    try:
        if not 200 <= response.status < 600:
            raise ValueError(f"answers {response.status}")
        passing.back(response.raw_headers, "")
    except ValueError as error:
        response.close()
        raise Failed(str(error)) from None


async def _first_piece(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.content.readany()
    except BaseException:
        response.close()
        raise
