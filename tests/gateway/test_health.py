"""How a gateway looks at its servers: who is up, who is not, and who is looked at again."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from http.client import HTTPConnection, IncompleteRead
from typing import Any

import pytest

from gateway.asking import begun, post
from gateway.running import FaultServer, Running, running
from sfq_impl.gateway.config import HealthSettings

ECHO = {"model": "echo"}


class ThinkingServer(FaultServer):
    """A server that takes its time to say that it is well, and then to say so again."""

    def __init__(self) -> None:
        self.asked = 0
        self.waits = 0.0
        super().__init__()

    async def look(self, writer: Any) -> None:
        self.asked += 1
        await asyncio.sleep(self.waits)
        await super().look(writer)


def apply(gateway: Running, **changes: Any) -> None:
    """The only server, changed in the running gateway."""
    server = replace(gateway.gateway.settings.servers[0], **changes)
    settings = replace(gateway.gateway.settings, servers=(server,))
    gateway.loop.call(lambda: gateway.gateway.apply(settings))


def test_a_server_that_falls_ill_gets_nothing_until_it_is_well(fault: FaultServer) -> None:
    other = FaultServer()
    with running([fault.url, other.url], health=HealthSettings(0.02, 1.0, down_after=2)) as gateway:
        fault.ill = True
        gateway.eventually(lambda: gateway.gateway.servers.up == ["server-1"])
        for _ in range(3):
            assert post(gateway, {"model": "echo"})[0].status == 200
        assert len(other.got) == 3
        assert not fault.got
        fault.ill = False
        gateway.eventually(lambda: gateway.gateway.servers.up == ["server-0", "server-1"])
    other.close()


class BreakingServer(ThinkingServer):
    """A server that dies over an answer, or only breaks it off."""

    dies = True

    async def do_die_in_the_middle(self, reader: Any, writer: Any, body: bytes) -> None:
        self.ill = self.dies
        await super().do_die_in_the_middle(reader, writer, body)


@pytest.mark.parametrize(("dies", "down_after", "up"), [(True, 1, 0), (True, 2, 0), (True, 3, 1), (False, 1, 1)])
def test_a_server_that_breaks_off_an_answer_is_looked_at_at_once(dies: bool, down_after: int, up: int) -> None:
    """And is down where the break and that look are enough; a break alone takes no server down."""
    server = BreakingServer()
    server.dies = dies
    with running([server.url], health=HealthSettings(30.0, 1.0, down_after=down_after)) as gateway:
        looked, asked = gateway.gateway.servers, server.asked
        with pytest.raises(IncompleteRead):
            post(gateway, {"model": "die_in_the_middle"})
        gateway.eventually(lambda: server.asked > asked, 5)
        gateway.eventually(lambda: len(looked.up) == up, 5)
        time.sleep(0.1)
        assert len(looked.up) == up
        server.ill = False
        if up:
            assert post(gateway, ECHO)[0].status == 200
    server.close()


def test_a_client_that_leaves_makes_nobody_look_at_the_server() -> None:
    server = BreakingServer()
    with running([server.url], health=HealthSettings(30.0, 1.0)) as gateway:
        asked = server.asked
        connection = begun(gateway, {"model": "stall"})
        gateway.eventually(lambda: gateway.in_flight)
        connection.close()
        gateway.over()
        time.sleep(0.1)
        assert (server.asked, gateway.gateway.servers.up) == (asked, ["server-0"])
    server.close()


def test_a_server_that_is_never_checked_comes_back_by_itself(fault: FaultServer) -> None:
    with running([fault.url], retries=0) as gateway:
        apply(gateway, health="")
        assert post(gateway, {"model": "die"})[0].status == 502
        assert post(gateway, {"model": "echo"})[0].status == 200


def test_an_answer_of_where_a_server_was_says_nothing_of_where_it_is(fault: FaultServer) -> None:
    """The address changes while the old one is asked: its answer, that it is well, comes late and is of another."""
    old = ThinkingServer()
    fault.ill = True
    with running([old.url], health=HealthSettings(0.02, 1.0)) as gateway:
        old.waits = 0.3
        asked = old.asked
        gateway.eventually(lambda: old.asked > asked + 1)
        apply(gateway, url=fault.url)
        for _ in range(30):
            assert gateway.gateway.servers.up == []
            time.sleep(0.02)
        fault.ill = False
        gateway.eventually(lambda: gateway.gateway.servers.up == ["server-0"])
    old.close()


def test_a_fault_of_the_gateway_itself_does_not_end_the_looking(
    fault: FaultServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with running([fault.url], health=HealthSettings(0.02, 1.0)) as gateway:
        looks = gateway.gateway.servers
        monkeypatch.setattr(looks, "_ill", None)
        gateway.eventually(lambda: "fault of the gateway" in caplog.text)
        monkeypatch.undo()
        fault.ill = True
        gateway.eventually(lambda: not looks.up)


@pytest.mark.integration
def test_a_connection_may_be_idle_for_longer_than_engines_let_it(fault: FaultServer) -> None:
    """Engines close after five seconds; a proxy that keeps its connections for a minute would run into that."""
    with running([fault.url]) as gateway:
        connection = HTTPConnection("127.0.0.1", gateway.port, timeout=20)
        for wait in (0, 6):
            time.sleep(wait)
            connection.request("POST", "/v1/completions", body=json.dumps(ECHO))
            assert json.loads(connection.getresponse().read()) == ECHO
        connection.close()
