"""What a dispatch asks of whom, counted: neither of all requests nor of all users, however many wait."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from sfq_impl.fleet.admission import Limits, Queue
from sfq_impl.fleet.dispatcher import Dispatcher, Mode
from sfq_impl.fleet.holding import Held
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import OvertakingSfq, Sfq
from sfq_impl.fleet.request import Request
from sfq_impl.fleet.simulation.loop import VirtualLoop, run

ASKED = Counter[str]()


class CountingSfq(Sfq):
    def next(self) -> Request | None:
        ASKED["next"] += 1
        return super().next()


class CountingOvertaking(OvertakingSfq):
    def next(self) -> Request | None:
        ASKED["next"] += 1
        return super().next()

    def hold(self) -> None:
        ASKED["hold"] += 1
        super().hold()


class CountingPlacement(Placement):
    def place(self, request: Request) -> Server | None:
        ASKED["place"] += 1
        return super().place(request)


def asked(mode: Mode, users: int, waiting: int, large: int) -> dict[str, float]:
    """How often something is asked for each of 500 dispatches with so many waiting. One in `large` users is small."""
    placement = CountingPlacement([Server(f"s{number}", 4, 1_000) for number in range(4)])
    policy = CountingSfq() if mode == "stall" else CountingOvertaking()
    dispatcher = Dispatcher(placement, policy, limits=Limits(requests=None, wait=None), mode=mode)
    left = 600

    async def sender(number: int) -> None:
        nonlocal left
        user = number % users
        while left:
            async with dispatcher.slot(f"user-{user}", 1 + number % 7, tokens=1_000 if user % large else 1):
                left -= left > 0
                if left == 500:
                    ASKED.clear()
                await asyncio.sleep(0)

    async def main() -> dict[str, float]:
        tasks = [asyncio.create_task(sender(number)) for number in range(waiting)]
        while left:
            await asyncio.sleep(0)
        found = {name: count / 500 for name, count in ASKED.items()}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert not dispatcher.in_flight
        return found

    return run(VirtualLoop(1, shuffle=False), main())


@pytest.mark.parametrize("mode", ["stall", "overtake"])
def test_a_dispatch_asks_as_much_whoever_waits(mode: Mode) -> None:
    few, many = asked(mode, 20, 100, 1), asked(mode, 500, 2_500, 1)
    assert few["next"] > 0.9
    assert max(few.values()) <= 6, few
    assert max(many.values()) <= 6, many


def test_where_many_are_held_and_come_to_fit_users_are_asked_and_not_requests() -> None:
    few, many = asked("overtake", 500, 1_000, 10), asked("overtake", 500, 5_000, 10)
    assert few["hold"] > 6
    assert many["place"] < 2 * few["place"]
    assert many["place"] < 500 / 4


def test_it_can_be_seen_when_all_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "least_tokens", 0)
    monkeypatch.setattr(Placement, "room", lambda placement: 1_000)
    assert asked("overtake", 500, 2_500, 1)["hold"] > 100


def test_the_least_size_of_what_waits_is_known() -> None:
    queue, requests = Queue(Limits()), [Request(f"r{n}", "A", 1, tokens=(n * 37) % 101) for n in range(300)]
    waiting = list[Request]()
    for number, request in enumerate(requests):
        queue.join(request)
        waiting.append(request)
        if number % 3:
            queue.leave(waiting.pop((number * 7) % len(waiting)))
        assert queue.least_tokens == min((request.tokens for request in waiting), default=0)
    for request in waiting:
        queue.leave(request)
    assert queue.least_tokens == 0


def test_sizes_that_nobody_has_any_more_are_forgotten() -> None:
    queue, smallest = Queue(Limits()), Request("first", "A", 1, tokens=0)
    queue.join(smallest)
    for size in range(1, 5_000):
        request = Request(f"r{size}", "A", 1, tokens=size)
        queue.join(request)
        queue.leave(request)
    assert len(queue._sizes) < 100
    assert len(queue._of_size) < 100


def test_who_is_held_is_found_by_size_and_forgotten() -> None:
    held = Held()
    for size in range(100):
        held.hold(Request(f"r{size}", f"user-{size:03}", 1, tokens=size))
    assert held.users == tuple(f"user-{size:03}" for size in range(100))
    held.drop("user-005")
    assert held.release(9) == [f"user-{size:03}" for size in range(10) if size != 5]
    assert held.release(9) == []
    for number in range(5_000):
        held.hold(Request(f"again-{number}", "user-050", 1, tokens=50))
    assert len(held._by_size) < 400
    assert held.release(50)[-1] == "user-050"
    assert "user-050" not in held.users
