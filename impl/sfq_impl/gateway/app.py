"""The gateway as one ASGI application: paths, what it is made of, and how it begins, changes and ends."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import LeastLoaded, Placement, Strategy
from sfq_impl.fleet.recording import Recording
from sfq_impl.fleet.strategies import PrefixAffine
from sfq_impl.gateway import passing
from sfq_impl.gateway.asking import NOT_READ
from sfq_impl.gateway.config import FIXED, LimitSettings, PlacementSettings, RecordSettings, Settings
from sfq_impl.gateway.errors import Refusal
from sfq_impl.gateway.identity import Identity, bearer
from sfq_impl.gateway.logs import tell
from sfq_impl.gateway.metrics import CONTENT_TYPE, Metrics
from sfq_impl.gateway.pricing import Pricing
from sfq_impl.gateway.proxy import Proxy
from sfq_impl.gateway.servers import Servers
from sfq_impl.gateway.shadowing import Shadow

CHARGED = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")
MODEL_SECONDS = 5.0


class Models(msgspec.Struct):
    """A server's list of models."""

    data: list[dict[str, Any]]


_models = msgspec.json.Decoder(Models)


class Exact(Route):
    """A path as it is written; a line break after it is not the same path."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is this one."""
        return super().matches(scope) if scope["path"] == self.path else (Match.NONE, {})


class Gateway:
    """Everything behind one address."""

    def __init__(self, settings: Settings) -> None:
        """Raises `NoShadow` where one is asked for and its command cannot be found."""
        self.settings = settings
        self.closing = False
        self.metrics = Metrics(settings.metrics_users, settings.weights)
        self.servers = Servers(settings)
        self.recording = None if settings.record is None else _recording(settings.record)
        self.shadow = None if settings.shadow is None else Shadow(settings.shadow, settings.placement.mode)
        placement = Placement((), placed_by(settings.placement))
        placement.servers = self.servers.servers
        self.dispatcher = Dispatcher(
            placement,
            settings.policy.policy(settings.placement.mode),
            limits=_limits(settings.limits),
            observers=[each for each in (self.recording, self.shadow, self.metrics) if each is not None],
            mode=settings.placement.mode,
        )
        self.metrics.watch(self.dispatcher, self.recording, self.shadow)
        self.servers.changed = self.dispatcher.changed
        if isinstance(placement.strategy, PrefixAffine):
            self.servers.returned = placement.strategy.forget
        self.proxy = Proxy(settings, self.dispatcher, self.servers, Pricing(settings.cost), self.metrics)
        self._weigh(settings)
        self.app = Starlette(
            routes=[
                *(Exact(path, self.proxy, methods=["POST"]) for path in CHARGED),
                Exact("/v1/models", self.models),
                Exact("/health", self.health),
                Exact("/ready", self.ready),
                Exact("/metrics", self.page),
            ],
            exception_handlers={404: _no_path, 405: _no_method, Refusal: _refused},
            lifespan=self.lifespan,
        )
        self.app.router.redirect_slashes = False

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """From the first look at the servers to the end of the last answer."""
        if self.shadow is not None:
            self.shadow.start()
        await self.servers.start()
        keeping = asyncio.create_task(self.proxy.pricing.keep())
        try:
            yield
        finally:
            await self.close(0)
            keeping.cancel()
            self.proxy.pricing.save()
            await self.servers.close()
            if self.recording is not None:
                self.recording.close()
            if self.shadow is not None:
                await self.shadow.close()

    async def close(self, patience: float | None = None) -> None:
        """Take nothing more, serve what waits for so many seconds, answer the rest; wait for what is on a server."""
        self.closing = True
        await self.dispatcher.close(self.settings.drain if patience is None else patience)

    def apply(self, settings: Settings) -> list[str]:
        """Use these settings from now on, without a request lost. Returns what needs a new start."""
        old = self.settings
        kept = [name for name in FIXED if getattr(old, name) != getattr(settings, name)]
        settings = replace(settings, **{name: getattr(old, name) for name in kept})
        self.proxy.pricing.apply(settings.cost)  # the first two read files: they raise before anything has changed
        self.servers.apply(settings)
        self.settings = settings
        self.dispatcher.queue.limits = _limits(settings.limits)
        self.proxy.settings = settings
        self.proxy.identity = Identity(settings.naming)
        self._weigh(settings, old)
        return kept

    def _weigh(self, settings: Settings, old: Settings | None = None) -> None:
        for user in {*settings.weights, *(old.weights if old else ())}:
            self.dispatcher.set_weight(user, settings.weights.get(user, 1))

    async def models(self, request: Request) -> Response:
        """The models of all servers that are up, each once."""
        self.proxy.identity.admit(bearer(_headers(request)))
        told = await asyncio.gather(*(self._models_of(name) for name in self.servers.up))
        if all(each is None for each in told):
            raise Refusal(503, "no_server", "no server is up", retry_after=self.settings.health.interval)
        found = {str(model.get("id")): model for models in told for model in models or ()}
        return _json({"object": "list", "data": list(found.values())})

    async def _models_of(self, name: str) -> list[dict[str, Any]] | None:
        try:
            async with asyncio.timeout(MODEL_SECONDS):
                response = await self.servers.send(name, "GET", "/v1/models", [("accept-encoding", "identity")])
                async with response:
                    return _models.decode(await response.read()).data
        except (aiohttp.ClientError, OSError, TimeoutError, KeyError, *NOT_READ) as error:
            tell(logging.WARNING, "no models", server=name, why=type(error).__name__)
            return None

    async def health(self, _: Request) -> Response:
        """The process runs."""
        return _json({"status": "ok", "servers": {s.name: s.state for s in self.servers.servers.values()}})

    async def ready(self, _: Request) -> Response:
        """Whether requests should be sent here: a server is up, and the end has not begun."""
        why = "shutting down" if self.closing else None if self.servers.up else "no server is up"
        return _json({"status": why or "ready"}, 503 if why else 200)

    async def page(self, request: Request) -> Response:
        """For Prometheus."""
        key = self.settings.metrics_key
        if key is not None and not hmac.compare_digest(
            (bearer(_headers(request)) or "").encode(), key.reveal().encode()
        ):
            raise Refusal(401, "invalid_api_key", "the metrics want their own key; send `Authorization: Bearer …`")
        return Response(self.metrics.page(), media_type=CONTENT_TYPE)


def _headers(request: Request) -> Mapping[str, str]:
    return passing.lookup(passing.pairs(request.headers.raw))


def placed_by(settings: PlacementSettings) -> Strategy:
    """Which of the servers that have room."""
    if settings.strategy == "prefix-affine":
        return PrefixAffine(settings.factor, settings.blocks)
    return LeastLoaded()


def _recording(settings: RecordSettings) -> Recording:
    def failed(error: OSError) -> None:
        tell(logging.WARNING, "trace cannot be written", why=error.strerror or str(error))

    return Recording(settings.path, size=settings.bytes, keep=settings.files, failed=failed)


def _limits(settings: LimitSettings) -> Limits:
    return Limits(settings.requests, settings.requests_of_a_user, settings.cost, settings.cost_of_a_user, settings.wait)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _refused(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    answer = refusal.answer
    return Response(answer.body, answer.status, dict(answer.headers))


async def _no_path(request: Request, _: Exception) -> Response:
    known = ", ".join((*CHARGED, "/v1/models"))
    said = f"{request.scope['path']} is not served here; there are: {known}"
    return await _refused(request, Refusal(404, "unknown_path", said))


async def _no_method(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    refusal = Refusal(405, "wrong_method", f"{request.method} does not go with this path")
    response = await _refused(request, refusal)
    response.headers.update(error.headers or {})
    return response
