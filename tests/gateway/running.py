"""What the tests of the gateway start: a gateway on a free port, and servers that misbehave in ways no engine can."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sfq_impl.gateway.app import Gateway
from sfq_impl.gateway.config import HealthSettings, LoggingSettings, ServerSettings, Settings
from sfq_impl.gateway.serving import Server

T = TypeVar("T")


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, awaitable: Any, patience: float = 20) -> Any:
        """The result of a coroutine that runs there."""
        return asyncio.run_coroutine_threadsafe(awaitable, self.loop).result(patience)

    def call(self, function: Callable[[], T]) -> T:
        """The result of a call that is made there."""

        async def called() -> T:
            return function()

        return self.run(called())  # type: ignore[no-any-return]

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()


class Running:
    """A gateway that serves."""

    def __init__(self, settings: Settings) -> None:
        self.loop = Loop()
        self.gateway, self.server = self.loop.call(lambda: self._made(settings))
        self._serving = asyncio.run_coroutine_threadsafe(self.server.serve(), self.loop.loop)
        self.eventually(lambda: self.server.started or self._serving.done())
        host, port = self.server.address
        self.url = f"http://{host}:{port}"
        self.port = port

    @staticmethod
    def _made(settings: Settings) -> tuple[Gateway, Server]:
        gateway = Gateway(settings)
        return gateway, Server(gateway)

    def eventually(self, true: Callable[[], Any], patience: float = 10) -> None:
        """Wait until something is so; fails where it does not become so."""

        async def wait() -> None:
            async with asyncio.timeout(patience):
                while not true():
                    await asyncio.sleep(0.005)

        self.loop.run(wait(), patience + 5)

    def over(self) -> None:
        """Wait until no request is being served any more: a client has its answer somewhat before that."""
        self.eventually(lambda: not self.server.server_state.tasks)

    @property
    def in_flight(self) -> int:
        return len(self.gateway.dispatcher.in_flight)

    @property
    def waiting(self) -> int:
        return self.gateway.dispatcher.queue.requests

    def stop(self) -> None:
        """As the first signal does."""
        self.loop.call(self.server.stop)

    def close(self) -> None:
        self.server.config.timeout_graceful_shutdown = 0.1  # type: ignore[assignment]
        self.server.should_exit = True
        self._serving.result(10)
        self.loop.close()

    def figures(self) -> str:
        return self.gateway.metrics.page().decode()


@contextmanager
def running(urls: Sequence[str], *, requests: int = 4, **more: Any) -> Iterator[Running]:
    """A gateway before these servers."""
    more = {"health": HealthSettings(interval=0.05, timeout=1.0), "logging": LoggingSettings("debug")} | more
    servers = tuple(ServerSettings(url, f"server-{index}", requests) for index, url in enumerate(urls))
    gateway = Running(Settings(servers, listen="127.0.0.1:0", **more))  # type: ignore[arg-type]
    try:
        yield gateway
    finally:
        gateway.close()


def chunk(payload: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(payload), payload)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Tee:
    """Between a gateway and a server: passes every byte on, and keeps those of the answers."""

    def __init__(self, url: str) -> None:
        self._host, _, port = url.removeprefix("http://").partition(":")
        self._port = int(port)
        self.loop = Loop()
        self.answers: list[bytearray] = []
        self.server = self.loop.run(self._start())
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._pass, "127.0.0.1", 0)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(self._host, self._port)
        answer = bytearray()
        self.answers.append(answer)
        await asyncio.gather(pump(reader, behind_writer, bytearray()), pump(behind_reader, writer, answer))

    def close(self) -> None:
        self.loop.call(self.server.close)
        self.loop.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(1 << 16):
            kept += piece
            writer.write(piece)
            await writer.drain()
    writer.close()


class FaultServer:
    """A server that does what the `model` of a request says. It is well whenever it is asked."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.closed = 0
        """Connections that their clients closed in the middle of an answer."""
        self.sent = 0
        """Bytes of the flood that have left."""
        self.ill = False
        self.server = self.loop.run(self._start())
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    def close(self) -> None:
        self.loop.call(self.server.close)
        self.loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")[:-2]
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, path, _ = first.split(" ")
                if method == "GET":
                    await self.look(writer)
                    continue
                self.got.append((path, headers, body))
                await getattr(self, "do_" + json.loads(body)["model"])(reader, writer, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def look(self, writer: Any) -> None:
        """The answer to who asks how it is."""
        status = "503 Ill" if self.ill else "200 OK"
        writer.write(f'HTTP/1.1 {status}\r\ncontent-length: 12\r\n\r\n{{"data": []}}'.encode())

    async def do_echo(self, reader: Any, writer: Any, body: bytes) -> None:
        """The body, back."""
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        )

    async def do_raw(self, reader: Any, writer: Any, body: bytes) -> None:
        """Whatever the prompt holds, cut into pieces of three bytes."""
        text = json.loads(body)["prompt"].encode()
        writer.write(HEAD)
        for start in range(0, len(text), 3):
            writer.write(chunk(text[start : start + 3]))
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    async def do_script(self, reader: Any, writer: Any, body: bytes) -> None:
        """Whatever bytes the parts of the prompt hold, one after another; then it is for its client to leave."""
        for part in json.loads(body)["prompt"]:
            writer.write(part.encode("latin-1"))
            await writer.drain()
            await asyncio.sleep(0.02)
        await self._gone(reader)

    async def do_count(self, reader: Any, writer: Any, body: bytes) -> None:
        """So many bytes as are asked for, as fast as they are taken."""
        left = json.loads(body)["max_tokens"]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % left)
        while left:
            writer.write(b"x" * min(left, 1 << 16))
            await writer.drain()
            left -= min(left, 1 << 16)

    async def do_slow(self, reader: Any, writer: Any, body: bytes) -> None:
        """The body, back, after a while."""
        await asyncio.sleep(0.5)
        await self.do_echo(reader, writer, body)

    async def do_hang(self, reader: Any, writer: Any, body: bytes) -> None:
        """Nothing, until the client has gone."""
        await self._gone(reader)

    async def do_stall(self, reader: Any, writer: Any, body: bytes) -> None:
        """A first event, and nothing more."""
        writer.write(HEAD + chunk(b'data: {"choices":[]}\n\n'))
        await self._gone(reader)

    async def do_die(self, reader: Any, writer: Any, body: bytes) -> None:
        """No answer at all."""
        writer.close()
        raise ConnectionResetError

    async def do_die_after_head(self, reader: Any, writer: Any, body: bytes) -> None:
        """The head of an answer, and no byte of it."""
        writer.write(HEAD)
        await writer.drain()
        raise ConnectionResetError

    async def do_die_in_the_middle(self, reader: Any, writer: Any, body: bytes) -> None:
        """An event, and no end."""
        writer.write(HEAD + chunk(b'data: {"choices":[]}\n') + chunk(b"\n"))
        await writer.drain()
        raise ConnectionResetError

    async def do_die_within_an_event(self, reader: Any, writer: Any, body: bytes) -> None:
        """Half an event."""
        writer.write(HEAD + chunk(b'data: {"choices":[]}\n\n') + chunk(b'data: {"cho'))
        await writer.drain()
        raise ConnectionResetError

    async def do_unavailable(self, reader: Any, writer: Any, body: bytes) -> None:
        """Not now."""
        writer.write(b"HTTP/1.1 503 Loading\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")

    async def do_flood(self, reader: Any, writer: Any, body: bytes) -> None:
        """More than anybody could keep, as fast as it is taken."""
        writer.write(HEAD)
        piece = chunk(b": " + b"x" * 65_532 + b"\n\n")
        for _ in range(1_000):
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)
        writer.write(b"0\r\n\r\n")

    async def _gone(self, reader: asyncio.StreamReader) -> None:
        if not await reader.read(1):
            self.closed += 1
        raise ConnectionResetError
