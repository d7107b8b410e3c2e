"""The servers: whether each is up, what is sent to it, and how the list is changed while requests are on their way."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress

import aiohttp

from sfq_impl.fleet.placement import Server
from sfq_impl.gateway.config import ServerSettings, Settings
from sfq_impl.gateway.logs import log, tell

KEEP_ALIVE = 4.0
"""Seconds; servers close idle connections after five or more."""
READ_AT_ONCE = 1 << 16
"""Bytes of an answer that may lie here while its client is slow; then the server is not read from."""


class Servers:
    """What is behind each name in `servers`, which a placement shares."""

    def __init__(self, settings: Settings, changed: Callable[[], None] = lambda: None) -> None:
        self.settings = settings
        self.changed = changed
        """Called when requests may be placed that could not be."""
        self.returned: Callable[[Server], None] = lambda server: None
        """Called when a server has come up: whatever it remembered before may be gone."""
        self.servers: dict[str, Server] = {}
        self.behind: dict[str, ServerSettings] = {}
        self._trust: dict[str, ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None
        self._anew: aiohttp.ClientSession | None = None
        """Uses each connection once."""
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._looks: dict[str, asyncio.Event] = {}
        """Set where a server is to be looked at without delay."""
        self._suspected: set[str] = set()
        """Those that have broken off an answer since they were looked at last."""
        self._removed: set[str] = set()
        self._seen: set[str] = set()
        """Those of which the log has told once how they are."""
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """Use these from now on. A server that is gone keeps what it has, and is forgotten when that has ended."""
        trusted = {each.called: trust for each in settings.servers if (trust := each.trust()) is not None}
        self.settings, self._trust = settings, self._trust | trusted
        wanted = {each.called: each for each in settings.servers}
        for name, each in wanted.items():
            server = self.servers.setdefault(name, Server(name, each.requests, state="down"))
            moved = name in self.behind and self.behind[name].url != each.url
            server.most_requests, server.most_tokens = each.requests, each.tokens
            self.behind[name] = each
            if each.ca is None:
                self._trust.pop(name, None)
            if each.drain:
                server.state = "draining"
            elif server.state == "draining" or moved:
                server.state = "down"
            self._look(name)
        self._removed = set(self.servers) - set(wanted)
        for name in self._removed:
            self.servers[name].state, self.servers[name].most_requests = "draining", 0  # nothing waits for its room
        self._watch()
        self.forget()
        self.changed()

    def forget(self) -> None:
        """Forget the servers that have been removed and hold nothing any more."""
        for name in [name for name in self._removed if not self.servers[name].held]:
            self._removed.discard(name)
            del self.servers[name], self.behind[name]
            self._trust.pop(name, None)
            self._looks.pop(name, None)
            self._seen.discard(name)
            self._suspected.discard(name)

    @property
    def up(self) -> list[str]:
        """The names of those that get new requests."""
        return sorted(name for name, server in self.servers.items() if server.state == "up")

    async def start(self) -> None:
        """Open for business: look at every server, and go on doing so."""
        self._session = _session(aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE))
        self._anew = _session(aiohttp.TCPConnector(limit=0, force_close=True))
        self._watch()
        await asyncio.gather(*(self._check(name) for name in self.behind))

    async def close(self) -> None:
        """No more watching, no more connections."""
        for watcher in self._watchers.values():
            watcher.cancel()
        await asyncio.gather(*self._watchers.values(), return_exceptions=True)
        self._watchers.clear()
        for session in (self._session, self._anew):
            if session is not None:
                await session.close()

    async def send(
        self,
        name: str,
        method: str,
        path: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        anew: bool = False,
    ) -> aiohttp.ClientResponse:
        """The beginning of a server's answer. Raises `aiohttp.ClientError` where it cannot be had.

        `anew` makes a connection of its own: one that was kept may turn out to be closed, and so may the next one.
        A client's key is not among the headers; the server's own is added here.
        """
        session = self._anew if anew else self._session
        assert session is not None, "start() comes first"
        behind = self.behind[name]
        sent = [*headers]
        if behind.key is not None:
            sent.append(("authorization", f"Bearer {behind.key.reveal()}"))
        return await session.request(
            method,
            behind.base + path,
            data=body,
            headers=sent,
            ssl=self._trust.get(name, True),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.settings.timeouts.connect),
        )

    def failed(self, name: str, why: str) -> None:
        """A server has not taken a request, or died over it: it is down until it answers a check."""
        server = self.servers.get(name)
        if server is not None and server.state == "up":
            self._down(server, why)
            if self.behind[name].health:
                self._look(name)

    def broke_off(self, name: str) -> None:
        """A server has broken off an answer: it is looked at without delay, and this counts as one failed check.

        That alone takes no server down: the answer may be what was wrong, and others be served well.
        """
        server = self.servers.get(name)
        if server is not None and server.state == "up":
            self._suspected.add(name)
            self._look(name)

    def _watch(self) -> None:
        """A watcher for each server that is in the settings, once there is a session."""
        if self._session is None:
            return
        for name in [name for name in self._watchers if name in self._removed or name not in self.servers]:
            self._watchers.pop(name).cancel()
        for name in self.servers:
            if name not in self._removed and name not in self._watchers:
                self._watchers[name] = asyncio.create_task(self._watching(name))

    async def _watching(self, name: str) -> None:
        failures, look = 0, self._looks.setdefault(name, asyncio.Event())
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.settings.health.interval):
                    await look.wait()
            look.clear()
            failures += name in self._suspected
            self._suspected.discard(name)
            try:
                failures = 0 if await self._check(name, failures + 1) else failures + 1
            except Exception:  # whatever it is, the server is looked at again
                log.exception("fault of the gateway", extra={"fields": {"server": name}})

    async def _check(self, name: str, attempt: int = 1) -> bool:
        """Look at a server, and see it as up or down; the latter only where it has failed to answer often enough."""
        server, behind = self.servers[name], self.behind[name]
        why = await self._ill(name)
        moved = self.servers.get(name) is not server or self.behind[name].url != behind.url
        if server.state == "draining" or moved:
            return why is None
        if why is None and server.state == "down":
            self.returned(server)
            server.state = "up"
            tell(logging.INFO, "server up", server=name)
            self.changed()
        elif why is not None and server.state == "up" and attempt >= self.settings.health.down_after:
            self._down(server, why)
        elif why is not None and name not in self._seen:
            tell(logging.WARNING, "server down", server=name, why=why)
        self._seen.add(name)
        return why is None

    def _down(self, server: Server, why: str) -> None:
        server.state = "down"
        tell(logging.WARNING, "server down", server=server.name, why=why)

    async def _ill(self, name: str) -> str | None:
        """Why a server is not taken to be up; None where it is."""
        path = self.behind[name].health
        if not path:
            return None
        try:
            async with asyncio.timeout(self.settings.health.timeout):
                response = await self.send(name, "GET", path)
                response.release()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return type(error).__name__
        return None if response.status == 200 else f"answers {response.status}"

    def _look(self, name: str) -> None:
        self._looks.setdefault(name, asyncio.Event()).set()


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        read_bufsize=READ_AT_ONCE,
        skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
    )
