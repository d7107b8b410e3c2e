"""When to come back, as a full queue tells it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.asking import aside, post
from gateway.running import FaultServer, running
from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.request import QueueFull
from sfq_impl.gateway.config import ServerSettings
from sfq_impl.gateway.errors import Refusal


async def served(dispatcher: Dispatcher, seconds: float) -> None:
    async with dispatcher.slot("ann", 1):
        await asyncio.sleep(seconds)


async def told(idle: float, busy: float) -> float:
    """How long to wait before a queue of a hundred, after an idle time, and dispatches so many seconds apart."""
    dispatcher = Dispatcher(Placement([Server("one", 1)]), limits=Limits(requests=100))
    await asyncio.gather(*(served(dispatcher, busy) for _ in range(20)))
    await asyncio.sleep(idle)
    waiting = [asyncio.create_task(served(dispatcher, 10)) for _ in range(101)]
    await asyncio.sleep(0)
    with pytest.raises(QueueFull) as full:
        await served(dispatcher, 0)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert f"try again in {-(-full.value.retry_after // 1):.0f} s" in str(full.value)
    return full.value.retry_after


def test_a_time_without_requests_says_nothing_of_how_long_a_queue_takes() -> None:
    assert asyncio.run(told(0.4, 0.001)) < 2


def test_a_slow_queue_says_so() -> None:
    assert asyncio.run(told(0.0, 0.03)) > 2


def test_what_only_a_removed_server_could_hold_keeps_nobody_waiting(fault: FaultServer) -> None:
    other = FaultServer()
    servers = (ServerSettings(fault.url, "large", 4, tokens=2_000), ServerSettings(other.url, "small", 4, tokens=100))
    with running([fault.url]) as gateway:

        def change(*servers: ServerSettings) -> None:
            settings = replace(gateway.gateway.settings, servers=servers)
            gateway.loop.call(lambda: gateway.gateway.apply(settings))

        change(*servers)
        gateway.eventually(lambda: len(gateway.gateway.servers.up) == 2)
        held = aside(post, gateway, {"model": "slow", "max_tokens": 6_000})
        gateway.eventually(lambda: len(fault.got) == 1)
        large = aside(post, gateway, {"model": "echo", "max_tokens": 6_000})
        gateway.eventually(lambda: gateway.waiting == 1)
        change(servers[1])
        assert large.result(5)[0].status == 400
        assert post(gateway, {"model": "echo", "max_tokens": 4})[0].status == 200
        assert post(gateway, {"model": "echo", "max_tokens": 6_000})[0].status == 400
        assert held.result(5)[0].status == 200
        gateway.eventually(lambda: list(gateway.gateway.servers.servers) == ["small"])
        change(*servers)
        assert post(gateway, {"model": "echo", "max_tokens": 6_000})[0].status == 200
    other.close()


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.2, "2"), (59.01, "60")])
def test_retry_after_is_whole_seconds_and_never_too_soon(seconds: float, told: str) -> None:
    assert Refusal(429, "queue_full", "later", retry_after=seconds).answer.headers["retry-after"] == told
