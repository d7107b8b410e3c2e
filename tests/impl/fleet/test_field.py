"""Faults of dispatchers in the field, as public reports tell of them, each as a short run of this one."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Coroutine
from typing import Any

import pytest

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher, Mode
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Fifo, OvertakingSfq, Policy, RoundRobin, Sfq
from sfq_impl.fleet.recording import Memory
from sfq_impl.fleet.request import Expired, ShuttingDown
from sfq_impl.fleet.simulation.loop import VirtualLoop
from sfq_impl.fleet.simulation.loop import run as run_on
from sfq_impl.policy.configuration import made
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_proofs.fleet.judge import follow
from sfq_spec.conformance.audit.findings import audit_order
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import batches


def run(main: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop(0, shuffle=False)
    run_on(loop, main)
    assert loop.left == []
    assert loop.problems == []


def fleet(rooms: int = 1, mode: Mode = "stall", tokens: int | None = None, wait: float | None = None) -> Dispatcher:
    return Dispatcher(Placement([Server("one", rooms, tokens)]), limits=Limits(wait=wait), mode=mode)


async def send(
    dispatcher: Dispatcher, user: str, sent: list[str], cost: int = 1, seconds: float = 0.0, tokens: int = 0
) -> None:
    async with dispatcher.slot(user, cost, tokens=tokens):
        sent.append(user)
        await asyncio.sleep(seconds)


async def begin(*mains: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(main) for main in mains]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


def order(memory: Memory) -> str:
    return audit_order(batches("trace", io.BytesIO(memory.lines)), Order()).verdict


def test_a_request_that_timed_out_is_neither_dispatched_nor_in_the_way() -> None:
    """litellm #20866, #20059; dynamo #12156: it stays in the heap, and blocks or is dispatched."""

    async def main() -> None:
        dispatcher, sent, memory = fleet(), list[str](), Memory()
        dispatcher.observers.append(memory)
        [running] = await begin(send(dispatcher, "B", sent, seconds=9))
        late = [asyncio.wait_for(send(dispatcher, "A", sent, cost=9), 1), send(dispatcher, "A", sent, cost=9)]
        [gone, stays, *others] = await begin(*late, *(send(dispatcher, "B", sent) for _ in range(3)))
        await asyncio.wait([running, gone, stays, *others])
        assert isinstance(gone.exception(), TimeoutError)
        assert "".join(sent) == "BABBB"
        assert order(memory) == "conforms"

    run(main())


def test_one_that_has_waited_for_too_long_is_neither() -> None:
    """The same, where the queue itself gives up."""

    async def main() -> None:
        dispatcher, sent = fleet(wait=1), list[str]()
        tasks = await begin(*(send(dispatcher, user, sent, seconds=9) for user in "AAB"))
        await asyncio.wait(tasks)
        assert [type(task.exception()) for task in tasks] == [type(None), Expired, Expired]
        await asyncio.wait(await begin(*(send(dispatcher, "B", sent) for _ in range(2))))
        assert sent == ["A", "B", "B"]

    run(main())


@pytest.mark.parametrize("end", ["cancelled", "timed out", "failed"])
def test_whatever_ends_a_request_its_room_is_free(end: str) -> None:
    """litellm #20256, #27955: the count of requests in flight is not given back, and all is locked for ever."""

    async def ends(dispatcher: Dispatcher) -> None:
        async with asyncio.timeout(1 if end == "timed out" else 9), dispatcher.slot("A", 1):
            await asyncio.sleep(2)
            if end == "failed":
                raise ConnectionError
            await asyncio.sleep(20)

    async def main() -> None:
        dispatcher, sent = fleet(rooms=2), list[str]()
        for _ in range(2):
            [task] = await begin(ends(dispatcher))
            if end == "cancelled":
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert not dispatcher.in_flight
        async with asyncio.timeout(1):
            await asyncio.gather(send(dispatcher, "A", sent), send(dispatcher, "B", sent), send(dispatcher, "C", sent))

    run(main())


def test_a_long_stream_keeps_its_room_as_long_as_it_lasts() -> None:
    """llm-d-router #2295: a reaper gives back what live requests hold, and there is room that is not there."""

    async def main() -> None:
        dispatcher, sent = fleet(rooms=2), list[str]()
        streams = await begin(send(dispatcher, "A", sent, seconds=9_000), send(dispatcher, "B", sent, seconds=9_000))
        [third] = await begin(send(dispatcher, "C", sent))
        await asyncio.sleep(8_000)
        assert not third.done()
        assert len(dispatcher.placement.servers["one"].held) == 2
        await asyncio.wait([*streams, third])
        assert sent == ["A", "B", "C"]

    run(main())


@pytest.mark.parametrize("first", ["cancel", "expiry"])
def test_two_ways_of_ending_at_once_give_back_once(first: str) -> None:
    """llm-d-router #2382, #1739: two paths give the same back, and a counter falls below zero."""

    async def main() -> None:
        dispatcher, sent, memory = fleet(wait=1), list[str](), Memory()
        dispatcher.observers.append(memory)
        running, waiting = await begin(*(send(dispatcher, "A", sent, seconds=5) for _ in range(2)))
        request, turn = next(iter(dispatcher._turns.values()))
        for act in (waiting.cancel, lambda: dispatcher._expire(request, turn))[:: 1 if first == "cancel" else -1]:
            act()
        await asyncio.wait([running, waiting])
        queue, server = dispatcher.queue, dispatcher.placement.servers["one"]
        assert (queue.requests, queue.cost, len(server.held), server.tokens) == (0, 0, 0, 0)
        assert not queue.requests_of
        kinds = [entry.event.__struct_config__.tag for entry in memory.entries]
        assert kinds == ["arrive", "dispatch", "arrive", "cancel", "complete"]

    run(main())


async def large_and_small(mode: Mode) -> tuple[list[str], Memory]:
    """A's request of 100 tokens, with room for 10, and behind it, by their meters, three of B with 5 each."""
    dispatcher, sent, memory = fleet(rooms=9, mode=mode, tokens=110), list[str](), Memory()
    dispatcher.observers.append(memory)
    running = await begin(send(dispatcher, "C", sent, seconds=9, tokens=100))
    small = (send(dispatcher, "B", sent, cost=50, seconds=1, tokens=5) for _ in range(3))
    tasks = await begin(send(dispatcher, "A", sent, seconds=1, tokens=100), *small)
    await asyncio.wait([*running, *tasks])
    return sent, memory


def test_in_stall_a_head_that_does_not_fit_is_waited_for() -> None:
    """vllm #40004, #33499: a head that does not fit blocks smaller ones, or is overtaken, by accident."""

    async def main() -> None:
        sent, memory = await large_and_small("stall")
        assert "".join(sent) == "CABBB"
        assert order(memory) == "conforms"

    run(main())


def test_in_overtake_it_is_passed_over_and_loses_nothing() -> None:
    """The same, where that is wanted: who passes is told, and who was passed rejoins where the others are."""

    async def main() -> None:
        sent, memory = await large_and_small("overtake")
        assert "".join(sent) == "CBBBA"
        assert order(memory) == "does not conform"
        assert follow(memory.entries) == []
        assert [entry.extra["held"] for entry in memory.entries if "held" in entry.extra] == [["A"]] * 3
        assert "overtake" not in memory.lines.decode()

    run(main())


def test_stall_is_the_default_and_a_mode_must_be_one() -> None:
    placement = Placement([Server("one", 1)])
    assert Dispatcher(placement).mode == "stall"
    assert type(Dispatcher(placement).policy) is Sfq
    assert isinstance(Dispatcher(placement, mode="overtake").policy, OvertakingSfq)
    with pytest.raises(ValueError, match="the modes are stall and overtake"):
        Dispatcher(placement, mode="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", [Sfq(), Fifo(), RoundRobin(), QueuePolicy(made("round-robin-fairness"))])
def test_others_overtake_only_where_the_policy_can_hold_a_user(policy: Policy) -> None:
    name = type(policy).__name__
    with pytest.raises(ValueError, match=f"mode overtake: {name} cannot hold a user; take OvertakingSfq"):
        Dispatcher(Placement([Server("one", 1)]), policy, mode="overtake")


def test_closing_answers_everybody_who_waits() -> None:
    """kthena #1377: shutdown leaves callers waiting for ever."""

    async def main() -> None:
        dispatcher, sent = fleet(), list[str]()
        tasks = await begin(*(send(dispatcher, user, sent, seconds=5) for user in "ABCD"))
        await dispatcher.close(patience=1)
        assert asyncio.get_running_loop().time() == 5
        await asyncio.wait(tasks)
        assert [type(task.exception()) for task in tasks] == [type(None)] + [ShuttingDown] * 3
        assert sent == ["A"]

    run(main())
