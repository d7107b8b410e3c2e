"""Two things at the same moment, and input that is wrong: each was a fault once, or would be an easy one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Fifo, Policy, RoundRobin, Sfq, Usage
from sfq_impl.fleet.recording import Memory
from sfq_impl.fleet.request import Expired, NoServer, Outcome, Request, ShuttingDown, TurnedAway
from sfq_impl.fleet.simulation.loop import VirtualLoop
from sfq_impl.fleet.simulation.loop import run as run_on
from sfq_spec.trace import DuplicateRequest, InvalidCost, InvalidWeight, SetWeight


def run(main: Coroutine[Any, Any, None]) -> VirtualLoop:
    """In asyncio's order, on a clock that does not wait. Nothing may be left."""
    loop = VirtualLoop(0, shuffle=False)
    run_on(loop, main)
    assert loop.left == []
    return loop


def fleet(*servers: Server, policy: Policy | None = None, wait: float | None = None) -> Dispatcher:
    return Dispatcher(Placement(servers or [Server("one", 1)]), policy, limits=Limits(wait=wait))


async def hold(dispatcher: Dispatcher, seconds: float, tokens: int = 0, user: str = "A") -> None:
    async with dispatcher.slot(user, 1, tokens=tokens):
        await asyncio.sleep(seconds)


async def started(*mains: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(main) for main in mains]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


def assert_empty(dispatcher: Dispatcher) -> None:
    assert not dispatcher.in_flight
    assert not dispatcher._turns
    assert dispatcher.queue.requests == dispatcher.queue.cost == 0
    assert all(not server.held and server.tokens == 0 for server in dispatcher.placement.servers.values())


def test_who_is_cancelled_in_the_moment_of_expiry_is_cancelled() -> None:
    async def main() -> None:
        dispatcher = fleet(wait=1)
        first, second = await started(hold(dispatcher, 5), hold(dispatcher, 5))
        dispatcher._expire(*next(iter(dispatcher._turns.values())))
        second.cancel()
        await asyncio.wait([first, second])
        assert second.cancelled()
        assert_empty(dispatcher)

    assert not run(main()).problems


def test_a_task_that_is_thrown_away_while_it_waits_leaves_its_place() -> None:
    async def main() -> None:
        dispatcher = fleet()
        [first] = await started(hold(dispatcher, 1))
        request = Request("A-0", "A", 1)
        waiting = dispatcher._turn(request, dispatcher._admit(request))
        waiting.send(None)
        assert dispatcher.queue.requests == 1
        waiting.close()
        assert dispatcher.queue.requests == 0
        await first
        await hold(dispatcher, 1)
        assert_empty(dispatcher)

    run(main())


@pytest.mark.parametrize("policy", [Sfq, Fifo, RoundRobin])
def test_an_id_that_is_in_use_is_refused_whatever_the_policy(policy: type[Policy]) -> None:
    async def main() -> None:
        dispatcher = fleet(policy=policy())
        for _ in range(2):
            async with dispatcher.slot("A", 1, request_id="same"):
                waiting = asyncio.create_task(hold(dispatcher, 0))
                await asyncio.sleep(0)
                with pytest.raises(DuplicateRequest):
                    async with dispatcher.slot("B", 1, request_id="same"):
                        pass
            await waiting
        assert_empty(dispatcher)

    run(main())


@pytest.mark.parametrize("policy", [Sfq, Fifo, RoundRobin])
@pytest.mark.parametrize("cost", [0, -1, float("nan")])
def test_a_cost_that_is_none_is_refused_whatever_the_policy(policy: type[Policy], cost: int) -> None:
    async def main() -> None:
        dispatcher = fleet(policy=policy())
        with pytest.raises(InvalidCost):
            async with dispatcher.slot("A", cost):
                pass
        assert_empty(dispatcher)

    run(main())


def test_an_id_that_is_made_up_is_never_one_that_is_in_use() -> None:
    async def main() -> None:
        dispatcher = fleet(Server("one", 3))
        async with dispatcher.slot("A", 1, request_id="A-1"), dispatcher.slot("A", 1) as slot:
            assert slot.request.id == "A-2"

    run(main())


def test_closing_ends_although_the_last_that_waited_went_during_a_change() -> None:
    async def main() -> None:
        server = Server("one", 1, state="down")
        dispatcher = fleet(server)
        [waiting] = await started(hold(dispatcher, 1))
        waiting.cancel()
        dispatcher.changed()
        await asyncio.wait([waiting])
        async with asyncio.timeout(1):
            await dispatcher.close()

    run(main())


def test_closing_is_no_promise_of_another_server() -> None:
    async def main() -> None:
        server = Server("one", 1)
        dispatcher = fleet(server)

        async def moving() -> None:
            async with dispatcher.slot("A", 1) as slot:
                server.state = "down"
                await slot.move()

        [moves] = await started(moving())
        await dispatcher.close(patience=3)
        with pytest.raises(NoServer, match="shutting down"):
            await moves
        assert_empty(dispatcher)

    run(main())


def test_who_loses_its_server_after_that_is_told_at_once() -> None:
    async def main() -> None:
        server = Server("one", 1)
        dispatcher = fleet(server)

        async def moving() -> None:
            async with dispatcher.slot("A", 1) as slot:
                await asyncio.sleep(10)
                server.state = "down"
                await slot.move()

        [moves] = await started(moving())
        await dispatcher.close(patience=3)
        with pytest.raises(NoServer, match="shutting down"):
            await moves

    run(main())


def test_a_closing_that_is_cancelled_can_be_begun_again() -> None:
    async def main() -> None:
        dispatcher = fleet()
        first, second, closing = await started(hold(dispatcher, 5), hold(dispatcher, 5), dispatcher.close())
        closing.cancel()
        await asyncio.wait([closing])
        await dispatcher.close(patience=1)
        await asyncio.wait([first, second])
        assert isinstance(second.exception(), ShuttingDown)
        assert_empty(dispatcher)

    run(main())


def test_nobody_waits_for_another_server_for_longer_than_for_a_first_one() -> None:
    async def main() -> None:
        servers = [Server("one", 1), Server("two", 1)]
        dispatcher = fleet(*servers, wait=2)

        async def moving() -> None:
            async with dispatcher.slot("A", 1) as slot:
                slot.server.state = "down"
                await slot.move()

        other, moves = await started(hold(dispatcher, 9), moving())
        [_, after] = await started(hold(dispatcher, 1), asyncio.sleep(2.5))
        with pytest.raises(NoServer, match="no server has had room"):
            await moves
        assert asyncio.get_running_loop().time() == 2
        await asyncio.wait([other, after, _])

    run(main())


def test_a_move_may_be_tried_again_after_it_has_failed() -> None:
    async def main() -> None:
        one, two = Server("one", 1), Server("two", 1)
        dispatcher = fleet(one, two)
        [other] = await started(hold(dispatcher, 2))
        async with dispatcher.slot("A", 1) as slot:
            assert slot.server is two
            two.state = "down"
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await slot.move()
            assert await slot.move() is one
        await other
        assert_empty(dispatcher)

    run(main())


def test_others_go_on_when_somebody_gives_up_a_move() -> None:
    async def main() -> None:
        small, large = Server("small", 1, 10), Server("large", 1, 100)
        dispatcher = fleet(small, large)
        async with dispatcher.slot("A", 1, tokens=50) as slot:
            large.state = "down"
            [waiting] = await started(hold(dispatcher, 0, tokens=5))
            moving = asyncio.create_task(slot.move())
            await asyncio.sleep(1)
            moving.cancel()
            await asyncio.wait([moving])
            [other] = await started(hold(dispatcher, 0, tokens=5))
            await asyncio.wait([waiting, other])
        assert_empty(dispatcher)

    run(main())


def test_who_fits_on_no_server_after_a_change_is_turned_away() -> None:
    async def main() -> None:
        small, large = Server("small", 1, 10), Server("large", 1, 100, state="down")
        dispatcher = fleet(small, large)
        big, little = await started(hold(dispatcher, 1, tokens=50), hold(dispatcher, 1, tokens=5))
        assert not small.held
        del dispatcher.placement.servers["large"]
        dispatcher.changed()
        await asyncio.wait([big, little])
        assert isinstance(big.exception(), NoServer)
        assert little.exception() is None
        assert_empty(dispatcher)

    run(main())


class Faulty(Memory):
    def arrived(self, request: Request) -> None:
        raise ValueError("no room for a metric")


def test_the_fault_of_an_observer_is_told_and_nobody_elses() -> None:
    memory = Memory()

    async def main() -> None:
        dispatcher = fleet()
        dispatcher.observers += [Faulty(), memory]
        await hold(dispatcher, 1)
        assert_empty(dispatcher)

    loop = run(main())
    assert [str(problem["exception"]) for problem in loop.problems] == ["no room for a metric"]
    assert len(memory.entries) == 3


class Plain:
    """Wants to know nothing of weights."""

    def arrived(self, request: Request) -> None: ...

    def refused(self, request: Request, reason: TurnedAway) -> None: ...

    def dispatched(self, request: Request, server: Server) -> None: ...

    def withdrawn(self, request: Request) -> None: ...

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None: ...


def test_a_weight_counts_and_is_told_to_whoever_wants_to_know() -> None:
    memory = Memory()
    dispatcher = fleet()
    dispatcher.observers += [Plain(), memory]
    dispatcher.set_weight("A", 0.5)
    with pytest.raises(InvalidWeight):
        dispatcher.set_weight("A", 0)
    assert [entry.event for entry in memory.entries] == [SetWeight("A", 0.5)]
    assert isinstance(dispatcher.policy, Sfq)
    assert dispatcher.policy.scheduler.weight("A") == 0.5


def test_an_expiry_tells_how_many_others_wait() -> None:
    async def main() -> None:
        dispatcher = fleet(wait=1)
        tasks = await started(hold(dispatcher, 5), hold(dispatcher, 5), hold(dispatcher, 5))
        await asyncio.wait(tasks)
        told = tasks[1].exception()
        assert isinstance(told, Expired)
        assert str(told) == "waited 1.0 s for a server, as long as it may; others that wait: 1"

    run(main())
