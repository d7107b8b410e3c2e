"""The process: sockets, signals, and the configuration read again while requests are on their way."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sfq_impl.gateway.app import Gateway
from sfq_impl.gateway.config import LimitSettings, Settings, ShadowSettings, load
from sfq_impl.gateway.errors import Refusal
from sfq_impl.gateway.listening import listen
from sfq_impl.gateway.logs import Format, log, tell
from sfq_impl.gateway.reading import ConfigError

LOOK_AGAIN = 1.0
"""Seconds between two looks at the file of the configuration."""
HEAD_SECONDS = 30.0
KEEP_ALIVE = 75
"""Seconds that a connection may be idle: longer than proxies keep theirs, so that none is closed as it is used."""
PROBES = frozenset({b"/health", b"/ready"})
"""Answered on any number of connections: who asks them may end a process that does not answer."""
LAST_WORDS = 5.0
"""Seconds in which clients may read the end of their answers when everything else is done."""


def protocol(limits: Callable[[], LimitSettings]) -> type[asyncio.Protocol]:
    """HTTP with limits: on the bytes of a request's head and the seconds for it, and on connections.

    A refusal never gets in between the bytes of an answer that is on its way to the same client: that one is sent to
    its end, and the connection closed then.
    """

    class Limited(HttpToolsProtocol):
        head: int | None = 0
        """How many bytes of a head have come; None within a body."""
        alarm: asyncio.TimerHandle | None = None
        """For a head, and for what comes of a body that has been answered already."""
        refused = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.alarm = self.loop.call_later(HEAD_SECONDS, self._late)

        def connection_lost(self, exc: Exception | None) -> None:
            self._calm()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.refused:
                return
            if self.head is not None:
                self.head += len(data)
            if self.alarm is None and (self.head is not None or self._is_idle()):
                self.alarm = self.loop.call_later(HEAD_SECONDS, self._late)
            super().data_received(data)
            if self.head is not None:
                self._check(self.head)

        def on_headers_complete(self) -> None:
            self.head = None
            self._calm()
            most = limits().connections
            self._check(sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url))
            if most is not None and len(self.connections) > most and self.url not in PROBES:
                self._refuse(Refusal(503, "too_many_connections", f"more than {most:,} connections", retry_after=1))
            has_body = bool({b"content-length", b"transfer-encoding"} & dict(self.headers).keys())
            if self.parser.should_upgrade() and (has_body or self._get_upgrade() != b"h2c"):  # h2c may be ignored
                said = "another protocol is not served here; send HTTP/1.1 without `Upgrade`"
                self._refuse(Refusal(400, "no_upgrade", said))
            if not self.refused:
                super().on_headers_complete()

        def _unsupported_upgrade_warning(self) -> None:
            """Says nothing in the log: whoever asks for another protocol has its answer."""

        def on_body(self, body: bytes) -> None:
            if not self.refused:
                super().on_body(body)

        def on_message_complete(self) -> None:
            self.head = 0
            self._calm()
            if not self.refused:
                super().on_message_complete()

        def send_400_response(self, msg: str) -> None:
            self._refuse(Refusal(400, "invalid_http", "this is no request of HTTP/1.1"))

        def _is_idle(self) -> bool:
            """Whether no answer is on its way."""
            return self.cycle is None or self.cycle.response_complete

        def _check(self, size: int) -> None:
            if size > (most := limits().headers) and not self.transport.is_closing():
                self._refuse(Refusal(431, "headers_too_large", f"the headers are larger than {most:,} bytes"))

        def _late(self) -> None:
            if self.head is None:  # it has its answer, and is still sending its request
                self.transport.close()
            else:
                self._refuse(Refusal(408, "headers_timeout", f"the headers did not come within {HEAD_SECONDS:.0f} s"))

        def _calm(self) -> None:
            if self.alarm is not None:
                self.alarm.cancel()
                self.alarm = None

        def _refuse(self, refusal: Refusal) -> None:
            if self.refused:
                return
            self.refused = True
            own_fault = self._is_idle() or (self.cycle.more_body and not self.cycle.response_started)
            if not own_fault or self.pipeline:
                self.cycle.keep_alive = False
                return
            lines = [f"{name}: {value}" for name, value in refusal.answer.headers.items()]
            lines += [f"content-length: {len(refusal.body)}", "connection: close"]
            head = STATUS_LINE[refusal.status] + "".join(f"{line}\r\n" for line in lines).encode()
            self.transport.write(head + b"\r\n" + refusal.body)
            self.transport.close()

    return Limited


class Server(uvicorn.Server):
    """One gateway on one address. The first signal to stop lets what waits be served; a second one does not wait."""

    def __init__(self, gateway: Gateway) -> None:
        settings = gateway.settings
        self.gateway = gateway
        host, port = settings.address
        super().__init__(
            uvicorn.Config(
                gateway.app,
                host=host,
                port=port,
                http=protocol(lambda: self.gateway.settings.limits),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                proxy_headers=False,
                timeout_graceful_shutdown=LAST_WORDS,  # type: ignore[arg-type]
                ssl_certfile=settings.tls.certificate if settings.tls else None,
                ssl_keyfile=settings.tls.key if settings.tls else None,
            )
        )
        self._stopping = False
        self._closing: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        """A signal to stop."""
        if not self._stopping:
            self._stopping = True
            asyncio.get_running_loop().call_soon_threadsafe(self.stop)
        else:
            tell(logging.WARNING, "stopping at once")
            self.should_exit = self.force_exit = True

    def stop(self) -> None:
        """Begin the end."""
        tell(logging.INFO, "stopping", drain=self.gateway.settings.drain)
        self._closing = asyncio.ensure_future(self._close())

    async def _close(self) -> None:
        try:
            await self.gateway.close()
        finally:
            self.should_exit = True

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens, once it does."""
        host, port, *_ = self.servers[0].sockets[0].getsockname()
        return host, port


class Reloading:
    """The file of a running gateway, read again when it has changed or a signal says so."""

    def __init__(self, gateway: Gateway, path: Path, formatter: Format | None = None) -> None:
        self.gateway, self.path, self.formatter = gateway, path, formatter
        self._seen = self._stamp()

    def reload(self) -> bool:
        """Use the file as it is now. Where it cannot be used, everything stays as it was, and the log tells why."""
        self._seen = self._stamp()
        try:
            settings = load(self.path)
            if self.gateway.settings.shadow_by_option:
                settings = shadowed(settings)
            if self.formatter is not None:
                self.formatter.hide(settings.secrets)
            waiting = self.gateway.apply(settings)
        except ConfigError as error:
            return self._refused(error.complaints)
        except Exception as error:  # a file that was right when it was read, and is not any more
            log.exception("fault of the gateway")
            return self._refused([f"{self.path}: {error}"])
        logging.getLogger("sfq_gateway").setLevel(settings.logging.level.upper())
        tell(logging.INFO, "configuration read again", needs_a_new_start=waiting or None)
        self.gateway.metrics.reloads.labels("done").inc()
        return True

    def _refused(self, complaints: list[str]) -> bool:
        tell(logging.ERROR, "configuration refused, the old one stays", complaints=complaints)
        self.gateway.metrics.reloads.labels("refused").inc()
        return False

    async def watch(self) -> None:
        """Look at the file now and then."""
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            if self.gateway.settings.watch and self._stamp() != self._seen:
                self.reload()

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def shadowed(settings: Settings) -> Settings:
    """The same with the specification beside it, as the option asks. Raises `ConfigError`."""
    if settings.policy.name != "sfq":
        raise ConfigError([f"--shadow: the specification follows the policy sfq only, not {settings.policy.name}"])
    shadow = settings.shadow or ShadowSettings(settings.folder / ShadowSettings.path)
    return replace(settings, shadow=shadow, shadow_by_option=True)


def ready(server: Server) -> None:
    """Say where it is to be found, also where the port was free to choose."""
    host, port = server.address
    scheme = "https" if server.gateway.settings.tls else "http"
    where = f"[{host}]" if ":" in host else host
    tell(logging.INFO, "listening", url=f"{scheme}://{where}:{port}", policy=server.gateway.settings.policy.name)


async def serve(settings: Settings, path: Path, formatter: Format | None = None) -> None:
    """Run until a signal says stop. Raises `CannotListen`, and then nothing has been written."""
    with ExitStack() as sockets:
        bound = [sockets.enter_context(each) for each in listen(*settings.address)]
        await _serve(Gateway(settings), bound, path, formatter)


async def _serve(gateway: Gateway, sockets: list[socket], path: Path, formatter: Format | None) -> None:
    server = Server(gateway)
    reloading = Reloading(gateway, path, formatter)
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloading.reload)
    watching = [asyncio.ensure_future(reloading.watch()), asyncio.ensure_future(_announce(server))]
    try:
        await server.serve(sockets)
    finally:
        for task in watching:
            task.cancel()


async def _announce(server: Server) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    ready(server)
