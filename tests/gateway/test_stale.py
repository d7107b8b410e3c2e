"""Connections that were kept open and are closed just as they are used again are no fault of their server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import aside, post
from gateway.running import FaultServer, running

ONCE = {"model": "once"}


class OnceServer(FaultServer):
    """A server that serves one request on each connection, says nothing of it, and closes at the next one."""

    def __init__(self) -> None:
        self.used = set[Any]()
        super().__init__()

    async def do_once(self, reader: Any, writer: Any, body: bytes) -> None:
        if writer in self.used:
            raise ConnectionResetError
        self.used.add(writer)
        await asyncio.sleep(0.1)
        await self.do_echo(reader, writer, body)


@pytest.fixture
def once() -> Iterator[OnceServer]:
    server = OnceServer()
    yield server
    server.close()


def test_however_many_are_closed_the_server_is_not_taken_for_down(once: OnceServer) -> None:
    with running([once.url], requests=4) as gateway:
        for _ in range(3):
            asked = [aside(post, gateway, ONCE) for _ in range(4)]
            assert [each.result(20)[0].status for each in asked] == [200] * 4
        assert 'sfq_server_retries_total{server="server-0"} 0.0' in gateway.figures()
        assert gateway.gateway.servers.up == ["server-0"]
