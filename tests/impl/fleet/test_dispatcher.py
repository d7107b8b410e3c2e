"""The dispatcher, on one event loop: order, room, limits, and that every request ends exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Fifo, Policy, RoundRobin, Sfq
from sfq_impl.fleet.request import Expired, NoServer, QueueFull, ShuttingDown


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(main)


async def send(dispatcher: Dispatcher, user: str, cost: int, order: list[str], hold: float = 0.0) -> None:
    async with dispatcher.slot(user, cost):
        order.append(user)
        await asyncio.sleep(hold)


def fleet(rooms: int = 1, policy: Policy | None = None, limits: Limits | None = None) -> Dispatcher:
    return Dispatcher(Placement([Server("one", rooms)]), policy, limits=limits)


def assert_empty(dispatcher: Dispatcher) -> None:
    assert not dispatcher.in_flight
    assert dispatcher.queue.requests == dispatcher.queue.cost == 0
    assert all(not server.held and server.tokens == 0 for server in dispatcher.placement.servers.values())


@pytest.mark.parametrize(
    ("policy", "order"), [(Sfq(), "AABBBABBB"), (Fifo(), "AAABBBBBB"), (RoundRobin(), "AABABBBBB")]
)
def test_the_policy_decides_the_order(policy: Policy, order: str) -> None:
    async def main() -> None:
        dispatcher, sent = fleet(policy=policy), list[str]()
        waiting = [send(dispatcher, "A", 3, sent) for _ in range(3)] + [
            send(dispatcher, "B", 1, sent) for _ in "123456"
        ]
        await asyncio.gather(*waiting)
        assert "".join(sent) == order
        assert_empty(dispatcher)

    run(main())


def test_a_request_that_waits_too_long_expires_and_is_not_charged() -> None:
    async def main() -> None:
        dispatcher, sent = fleet(limits=Limits(wait=0.02)), list[str]()
        results = await asyncio.gather(
            *(send(dispatcher, user, 5, sent, hold=0.05) for user in "AAB"), return_exceptions=True
        )
        assert [type(result) for result in results] == [type(None), Expired, Expired]
        assert isinstance(dispatcher.policy, Sfq)
        assert dispatcher.policy.scheduler.virtual_time == 5
        assert_empty(dispatcher)

    run(main())


def test_tasks_that_are_cancelled_leave_nothing_behind() -> None:
    async def main() -> None:
        dispatcher, sent = fleet(rooms=2), list[str]()
        tasks = [asyncio.create_task(send(dispatcher, "A", 3, sent, hold=1)) for _ in range(8)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        assert_empty(dispatcher)

    run(main())


def test_who_is_cancelled_at_the_moment_of_its_turn_does_not_take_it_along() -> None:
    async def main() -> None:
        dispatcher, sent = fleet(), list[str]()
        first = asyncio.create_task(send(dispatcher, "A", 3, sent))
        second = asyncio.create_task(send(dispatcher, "B", 3, sent))
        third = asyncio.create_task(send(dispatcher, "C", 3, sent))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, second, third, return_exceptions=True)
        assert sent == ["A", "C"]
        assert_empty(dispatcher)

    run(main())


@pytest.mark.parametrize(
    "limits",
    [
        Limits(requests=2), Limits(requests_of_a_user=2), Limits(cost=6), Limits(cost_of_a_user=6)
    ],
)  # fmt: skip
def test_a_full_queue_refuses_without_a_charge(limits: Limits) -> None:
    async def main() -> None:
        dispatcher, sent = fleet(limits=limits), list[str]()
        results = await asyncio.gather(
            *(send(dispatcher, "A", 3, sent, hold=0.01) for _ in range(5)), return_exceptions=True
        )
        assert [type(result) for result in results] == [type(None)] * 3 + [QueueFull] * 2
        assert_empty(dispatcher)

    run(main())


def test_a_request_that_no_server_could_hold_is_refused_at_once() -> None:
    async def main() -> None:
        dispatcher = Dispatcher(Placement([Server("small", 4, most_tokens=100)]))
        with pytest.raises(NoServer):
            async with dispatcher.slot("A", 1, tokens=101):
                pass
        assert_empty(dispatcher)

    run(main())


def test_a_request_whose_server_dies_moves_and_is_charged_once() -> None:
    async def main() -> None:
        first, second = Server("first", 1), Server("second", 1)
        dispatcher = Dispatcher(Placement([first, second]))
        async with dispatcher.slot("A", 7) as slot:
            assert slot.server is first
            first.state = "down"
            assert await slot.move() is second
            assert slot.request.servers == ["first", "second"]
            assert not first.held
        assert isinstance(dispatcher.policy, Sfq)
        assert dispatcher.policy.scheduler.virtual_time == 7
        assert_empty(dispatcher)

    run(main())


def test_who_moves_goes_before_those_who_wait() -> None:
    async def main() -> None:
        first, second, sent = Server("first", 1), Server("second", 1), list[str]()
        dispatcher = Dispatcher(Placement([first, second]))
        other = asyncio.create_task(send(dispatcher, "B", 1, sent, hold=0.02))

        async def moving() -> None:
            async with dispatcher.slot("A", 1) as slot:
                slot.server.state = "down"
                await slot.move()
                sent.append("A")

        mover = asyncio.create_task(moving())
        waiting = asyncio.create_task(send(dispatcher, "B", 1, sent))
        await asyncio.gather(other, mover, waiting)
        assert sent == ["B", "A", "B"]
        assert_empty(dispatcher)

    run(main())


def test_closing_serves_what_waits_and_then_turns_away() -> None:
    async def main() -> None:
        dispatcher, sent = fleet(), list[str]()
        tasks = [asyncio.create_task(send(dispatcher, user, 1, sent, hold=0.02)) for user in "ABC"]
        await asyncio.sleep(0)
        await dispatcher.close(patience=0.03)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [type(None), type(None), ShuttingDown]
        assert sent == ["A", "B"]
        with pytest.raises(ShuttingDown):
            async with dispatcher.slot("A", 1):
                pass
        assert_empty(dispatcher)

    run(main())
