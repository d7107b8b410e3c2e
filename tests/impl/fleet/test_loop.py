"""The loop of simulated runs: its time, its order, and how it tells that a run has gone wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sfq_impl.fleet.simulation.engine import Broken, Engine, Pace, Work
from sfq_impl.fleet.simulation.loop import Deadlock, Endless, VirtualLoop, run


async def three(order: list[str]) -> None:
    async def steps(name: str) -> None:
        for number in range(3):
            order.append(f"{name}{number}")
            await asyncio.sleep(0)

    await asyncio.gather(*map(steps, "abc"))


def order_of(loop: VirtualLoop) -> str:
    order: list[str] = []
    run(loop, three(order))
    assert [name for name in order if name[0] == "b"] == ["b0", "b1", "b2"]
    return " ".join(order)


def test_without_shuffling_the_order_is_asyncios() -> None:
    order: list[str] = []
    asyncio.run(three(order))
    assert order_of(VirtualLoop(1, shuffle=False)) == " ".join(order)


def test_with_shuffling_each_seed_has_an_order_and_all_orders_come() -> None:
    orders = [order_of(VirtualLoop(seed)) for seed in range(3_000)]
    assert orders[:50] == [order_of(VirtualLoop(seed)) for seed in range(50)]
    possible = 1680  # 9! / 3!³: each task keeps its own order
    assert possible * 0.6 < len(set(orders)) <= possible


def test_time_stands_still_and_then_jumps() -> None:
    loop = VirtualLoop(1)

    async def main() -> float:
        await asyncio.gather(*(asyncio.sleep(seconds) for seconds in (3_600, 86_400 * 3, 0.25)))
        return loop.time()

    assert run(loop, main()) == 86_400 * 3


def test_no_timer_is_early_and_none_overtakes_another() -> None:
    for seed in range(100):
        loop, rang = VirtualLoop(seed), list[tuple[float, float]]()

        async def sleep(seconds: float, loop: VirtualLoop = loop, rang: list[tuple[float, float]] = rang) -> None:
            await asyncio.sleep(seconds)
            rang.append((seconds, loop.time()))

        async def main(sleep: Any = sleep) -> None:
            await asyncio.gather(*(sleep(number / 10) for number in range(20)))

        run(loop, main())
        assert all(seconds == at for seconds, at in rang)
        assert rang == sorted(rang)


def failing(main: Coroutine[Any, Any, Any], loop: VirtualLoop, kind: type[Exception]) -> Exception:
    with pytest.raises(kind) as caught:
        run(loop, main)
    return caught.value


def test_a_run_that_waits_for_nothing_is_told() -> None:
    loop = VirtualLoop(1)

    async def main() -> None:
        other = loop.create_task(asyncio.Event().wait(), name="other")
        await other

    assert "main, other" in str(failing(main(), loop, Deadlock))
    assert loop.left == ["main", "other"]


def test_a_run_without_end_is_told() -> None:
    async def main() -> None:
        while True:
            await asyncio.sleep(1)

    loop = VirtualLoop(1, most_steps=1_000)
    assert "1,000 steps" in str(failing(main(), loop, Endless))


def test_a_task_that_is_left_and_an_exception_that_nobody_takes_are_told() -> None:
    loop = VirtualLoop(1)

    async def fail() -> None:
        raise ValueError("lost")

    async def main() -> None:
        loop.create_task(asyncio.sleep(9), name="left")
        loop.create_task(fail())
        await asyncio.sleep(1)

    run(loop, main())
    assert loop.left == ["left"]
    assert [str(problem["exception"]) for problem in loop.problems] == ["lost"]


def test_something_can_be_done_before_any_step() -> None:
    for step in range(1, 15):
        loop, seen = VirtualLoop(3), list[int]()
        loop.at_step(step, lambda loop=loop, seen=seen: seen.append(loop.steps))  # type: ignore[misc]
        run(loop, three([]))
        assert seen == [step]


def served(engine: Engine, *works: Work) -> list[float]:
    """When each of some requests that are sent together has been served."""
    loop = VirtualLoop(1)
    ends = dict[int, float]()

    async def one(number: int) -> None:
        await engine.serve(works[number], lambda tokens: None)
        ends[number] = loop.time()

    async def main() -> None:
        await asyncio.gather(*map(one, range(len(works))))

    run(loop, main())
    return [round(ends[number], 6) for number in range(len(works))]


def test_a_server_reads_then_writes_and_a_crowd_slows_it_down() -> None:
    pace = Pace(connect=1, prefill=0.5, decode=2, crowd=0.5)
    assert served(Engine("one", pace), Work(4, 3, 1)) == [1 + 2 + 6]
    alone, both = served(Engine("one", pace), Work(4, 3, 1)), served(Engine("one", pace), Work(4, 3, 1), Work(4, 3, 1))
    assert both[0] > alone[0]
    slow = Engine("one", pace)
    slow.mood = "slow"
    assert served(slow, Work(4, 3, 1)) == [9 * pace.slow]


def test_a_server_can_refuse_hang_and_die_at_any_time() -> None:
    for moment in (0.5, 1.5, 3.5, 6.5):
        engine, loop, heard = Engine("one", Pace(1, 0.5, 2, 0)), VirtualLoop(1), list[int]()

        async def main(
            engine: Engine = engine, loop: VirtualLoop = loop, at: float = moment, heard: Any = heard
        ) -> None:
            loop.call_later(at, engine.die)
            with pytest.raises(Broken, match="has died"):
                await engine.serve(Work(4, 3, 1), heard.append)
            with pytest.raises(Broken, match="is dead"):
                await engine.serve(Work(4, 3, 1), heard.append)
            engine.revive()
            engine.mood = "refuses"
            with pytest.raises(Broken, match="refuses"):
                await engine.serve(Work(4, 3, 1), heard.append)
            engine.mood = "hangs"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(engine.serve(Work(4, 3, 1), heard.append), 9)

        run(loop, main())
        assert not engine.active
        assert len(heard) == max(0, int((moment - 3) / 2) if moment > 3 else 0)
