"""A configuration that changes while requests are on their way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.asking import FAIRNESS, aside, begun, post
from gateway.running import FaultServer, Running, running
from sfq_impl.fleet.policy import Sfq
from sfq_impl.fleet.strategies import PrefixAffine
from sfq_impl.gateway.config import PlacementSettings, ServerSettings, Settings
from sfq_impl.gateway.ordering import Ordering
from sfq_impl.gateway.serving import Reloading


def change(gateway: Running, **what: Any) -> list[str]:
    settings = replace(gateway.gateway.settings, **what)
    return gateway.loop.call(lambda: gateway.gateway.apply(settings))


def test_a_server_that_is_removed_ends_what_it_has_and_gets_nothing_new(fault: FaultServer) -> None:
    other = FaultServer()
    with running([fault.url], requests=1) as gateway:
        held = [begun(gateway, {"model": "hang"})]
        gateway.eventually(lambda: gateway.in_flight == 1)
        waiting = aside(post, gateway, {"model": "echo"})
        gateway.eventually(lambda: gateway.waiting == 1)
        change(gateway, servers=(ServerSettings(other.url, "other", 1),))
        assert waiting.result(10)[0].status == 200
        assert len(other.got) == 1
        gateway.gateway.servers.servers["server-0"].most_requests = 2
        held += [begun(gateway, {"model": "hang"}) for _ in range(2)]
        gateway.eventually(lambda: len(other.got) == 2 and gateway.waiting == 1)
        assert len(fault.got) == 1
        assert set(gateway.gateway.servers.servers) == {"server-0", "other"}
        for connection in reversed(held):
            connection.close()
        gateway.eventually(lambda: set(gateway.gateway.servers.servers) == {"other"})
    other.close()


def test_a_server_that_drains_and_comes_back(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        server = gateway.gateway.settings.servers[0]
        change(gateway, servers=(replace(server, drain=True),))
        assert gateway.gateway.servers.up == []
        waiting = aside(post, gateway, {"model": "echo"})
        gateway.eventually(lambda: gateway.waiting == 1)
        change(gateway, servers=(server,))
        assert waiting.result(10)[0].status == 200


def test_more_room_is_used_at_once(fault: FaultServer) -> None:
    with running([fault.url], requests=1) as gateway:
        held = [begun(gateway, {"model": "hang"}) for _ in range(3)]
        gateway.eventually(lambda: gateway.waiting == 2)
        change(gateway, servers=(replace(gateway.gateway.settings.servers[0], requests=3),))
        gateway.eventually(lambda: gateway.in_flight == 3)
        for connection in held:
            connection.close()


def test_weights_change_from_the_next_charge_on(fault: FaultServer) -> None:
    with running([fault.url], weights={"ann": 2.0}) as gateway:
        policy = gateway.gateway.dispatcher.policy
        assert isinstance(policy, Sfq)
        assert policy.scheduler.weight("ann") == 2
        change(gateway, weights={"bob": 3.0})
        assert (policy.scheduler.weight("ann"), policy.scheduler.weight("bob")) == (1, 3)


def test_what_cannot_change_is_named(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        assert change(gateway, policy=Ordering("fifo"), drain=1.0) == ["policy"]
        assert isinstance(gateway.gateway.dispatcher.policy, Sfq)


def test_what_cannot_change_stays_as_it_was_and_is_named_each_time(fault: FaultServer) -> None:
    with running([fault.url], placement=PlacementSettings("prefix-affine")) as gateway:
        for _ in range(2):
            told = change(gateway, policy=Ordering("fifo"), placement=PlacementSettings("least-loaded"), drain=2.0)
            assert told == ["policy", "placement"]
        settings = gateway.gateway.settings
        assert (settings.policy.name, settings.placement.strategy, settings.drain) == ("sfq", "prefix-affine", 2.0)
        assert gateway.gateway.proxy.settings is settings


def written(path: Path, url: str, more: str = "") -> Path:
    path.write_text(f"servers:\n  - url: {url}\n    name: one\nlisten: 127.0.0.1:0\n{more}")
    return path


def from_file(path: Path, gateway: Running) -> Callable[[], bool]:
    reloading = Reloading(gateway.gateway, path)
    return lambda: gateway.loop.call(reloading.reload)


def test_a_file_that_is_wrong_changes_nothing(fault: FaultServer, tmp_path: Path) -> None:
    path = written(tmp_path / "fleet.yaml", fault.url)
    with running([fault.url]) as gateway:
        reload = from_file(path, gateway)
        assert reload()
        before: Settings = gateway.gateway.settings
        for bad in ("polcy: sfq", "weights: {ann: 0}", "["):
            written(path, fault.url, bad)
            assert not reload()
            assert gateway.gateway.settings is before
        path.unlink()
        assert not reload()
        assert post(gateway, {"model": "echo"})[0].status == 200
        assert 'sfq_config_reloads_total{result="refused"} 4.0' in gateway.figures()


def test_a_file_that_cannot_be_used_all_the_same_changes_nothing_and_is_looked_at_again(
    fault: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate, say, that is taken away between the look at it and its use."""
    path = written(tmp_path / "fleet.yaml", fault.url)
    with running([fault.url]) as gateway:
        reload = from_file(path, gateway)
        assert reload()
        before: Settings = gateway.gateway.settings
        written(path, fault.url, "limits: {wait: 5}\n")
        looks = iter([None])
        with monkeypatch.context() as patched:
            patched.setattr(ServerSettings, "trust", lambda self: next(looks))
            assert not reload()
        assert gateway.gateway.settings is before
        assert gateway.gateway.dispatcher.queue.limits.wait == before.limits.wait
        assert reload()
        assert gateway.gateway.dispatcher.queue.limits.wait == 5


def test_no_request_is_dropped_while_servers_come_and_go(fault: FaultServer) -> None:
    other = FaultServer()
    both = [ServerSettings(fault.url, "a", 2), ServerSettings(other.url, "b", 2)]
    with running([fault.url], requests=2) as gateway:

        def ask(user: str) -> list[int]:
            body = {"model": "echo"}
            answers = [post(gateway, body, headers={FAIRNESS: user}) for _ in range(40)]
            assert all(json.loads(got) == body for _, got in answers)
            return [response.status for response, _ in answers]

        asking = [aside(ask, user) for user in "xyz"]
        turn = 0
        while not all(each.done() for each in asking):
            change(gateway, servers=(both[turn % 2],) if turn % 3 else tuple(both), weights={"x": float(1 + turn % 4)})
            turn += 1
        assert turn > 3
        assert [each.result() for each in asking] == [[200] * 40] * 3
        gateway.over()
        assert len(fault.got) + len(other.got) == 120
    other.close()


def test_a_server_that_comes_back_remembers_no_prompt(fault: FaultServer) -> None:
    placement = PlacementSettings("prefix-affine")
    long = {"model": "echo", "prompt": "the same beginning " * 200}
    with running([fault.url], placement=placement) as gateway:
        post(gateway, long)
        strategy = gateway.gateway.dispatcher.placement.strategy
        assert isinstance(strategy, PrefixAffine)
        [server] = gateway.gateway.servers.servers.values()
        assert len(strategy._remembered[server]) == 3
        drained = (replace(gateway.gateway.settings.servers[0], drain=True),)
        change(gateway, servers=drained)
        change(gateway, servers=(replace(drained[0], drain=False),))
        gateway.eventually(lambda: server.state == "up")
        assert server not in strategy._remembered
