"""The policies beside the program-aware one, and what any policy goes through on its way to the dispatcher."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Request
from sfq_impl.policy.configuration import TYPES, made
from sfq_impl.policy.interfaces import SECOND, FlowQueueAccessor, InferenceRequest, PriorityBandAccessor, Response
from sfq_impl.policy.others import GlobalStrictFairness, RoundRobinFairness, SfqFairness
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_proofs.related.las_play import Clock, Play, program_aware
from sfq_spec.related import policies
from sfq_spec.scheduler import play as ask
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, DuplicateRequest, InvalidCost, InvalidWeight, SetWeight


def played(policy: Any, **more: Any) -> Play:
    clock = Clock()
    policy.clock = clock
    return Play(policy, clock, **more)


def history(play: Play, model: str, seed: int, *, weights: bool = False) -> int:
    """The policy and its model, event by event; how many were sent."""
    rng, other, sent = Random(seed), policies.policy(model)(), 0
    for number in range(120):
        play.clock.now += 1
        match rng.randrange(8):
            case 0 | 1 | 2:
                id, cost = f"{rng.choice('ABC')}{number}", rng.choice([1, 2, 7, 300])
                ask(other, Arrive(id[0], id, cost))
                play.arrive(id, cost=cost)
            case 3 if play.waiting and rng.random() < 0.4:
                id = rng.choice(list(play.waiting))
                ask(other, Cancel(id))
                play.cancel(id)
            case 4 if play.in_flight:
                id = rng.choice(list(play.in_flight))
                ask(other, Complete(id))
                play.complete(id)
            case 5 if weights:
                user, weight = rng.choice("ABC"), rng.choice([1, 2, 5])
                ask(other, SetWeight(user, weight))
                play.policy.set_weight(user, weight)
            case _:
                assert play.next() == play.next()
                expected = ask(other, Dispatch()).dispatched
                assert play.send() == (expected or "-")
                sent += expected is not None
    return sent


def test_sfq_is_the_machine() -> None:
    assert sum(history(played(SfqFairness()), "sfq", seed, weights=True) for seed in range(150)) > 3000


def test_strict_order_is_first_come_first_served() -> None:
    assert sum(history(played(GlobalStrictFairness()), "fifo", seed) for seed in range(100)) > 2000


def test_a_policy_that_is_another_is_found() -> None:
    with pytest.raises(AssertionError):
        history(played(RoundRobinFairness()), "sfq", 1)


def test_sfq_forgets_a_request_that_has_ended() -> None:
    play = played(SfqFairness())
    for _ in range(3):
        play.arrive("A1")
        play.serve(1)
    assert play.fairness._flying == {}


def test_weights_hold_in_bands_to_come_and_wrong_ones_are_refused() -> None:
    play = played(SfqFairness())
    play.policy.set_weight("B", 3)
    play.arrive("A1", "A2", "B1", "B2", "B3", "B4", priority=5)
    assert play.send(6) == "A1 B1 B2 B3 A2 B4"
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidWeight):
            play.policy.set_weight("B", wrong)


def test_a_cost_that_is_refused_leaves_everything_as_it_was() -> None:
    play = played(SfqFairness())
    play.arrive("A1")
    for cost in (float("inf"), 0):
        with pytest.raises(InvalidCost):
            play.policy.arrive(Request("A2", "A", cost))  # type: ignore[arg-type]
    play.arrive("A2")
    assert play.send(3) == "A1 A2 -"


def test_round_robin_goes_around_the_ids() -> None:
    play = played(RoundRobinFairness())
    play.arrive("B1", "A1", "A2", "C1", "B2", "A3")
    assert play.send(7) == "A1 B1 C1 A2 B2 A3 -"
    play.arrive("C2", "A4")
    assert play.send(2) == "A4 C2", "where nobody waited the ring begins anew"


def test_round_robin_begins_anew_where_its_place_is_gone() -> None:
    play = played(RoundRobinFairness())
    play.arrive("A1", "B1", "C1", "D1")
    assert play.send(2) == "A1 B1"
    play.clock.at(301)
    play.arrive("A2")
    assert play.send(3) == "A2 C1 D1", "B's queue is registered no more"


def test_a_queue_that_is_shorter_and_not_empty_keeps_no_other_one_registered() -> None:
    play = played(RoundRobinFairness())
    play.arrive("A1", "A2", "B1")
    assert play.send(2) == "A1 B1"
    play.clock.at(301)
    play.arrive("C1")
    assert play.send() == "A2"
    [band] = play.policy._bands.values()
    assert [queue.flow_key.id for queue in band.queues()] == ["A", "C"]


def test_under_sfq_an_answer_that_goes_on_ends_nothing() -> None:
    """An id is free when the last piece has come, and not before."""
    play = played(SfqFairness())
    play.arrive("A1")
    assert play.send() == "A1"
    request = InferenceRequest("A1", "A", 1)
    play.fairness.response_body(request, Response(end_of_stream=False))
    play.fairness.response_body(request, None)
    with pytest.raises(DuplicateRequest):
        play.arrive("A1")
    play.fairness.response_body(request, Response(end_of_stream=True))
    play.arrive("A1")
    assert play.send() == "A1"


def test_bands_go_by_strict_priority_and_each_has_its_own_turn() -> None:
    clock = Clock()
    high = RoundRobinFairness(clock=clock)
    play = Play(GlobalStrictFairness(clock=clock), clock, {9: high})
    play.arrive("A1", "A2", "B1")
    play.arrive("A3", "A4", "B2", priority=9)
    play.arrive("C1", priority=-1)
    assert play.send(7) == "A3 B2 A4 A1 A2 B1 C1"


def test_a_program_has_one_account_at_all_priorities() -> None:
    play = program_aware()
    play.arrive("A1", priority=9)
    play.serve(1, tokens=(100, 0))
    play.arrive("A2", "B1")
    assert play.send(2) == "B1 A2"


def test_asking_takes_nothing() -> None:
    """In the release a pick lets idle programs decay; asking who would be next, with no room for it, does not."""
    play = program_aware(compatibility="release-0.10", lasDecayFactor=0.5)
    play.attain(A=100)
    play.arrive("B1")
    for _ in range(5):
        assert play.next() == "B1"
    assert play.service("A") == 100
    play.send()
    assert play.service("A") == 50


def test_asked_later_the_choice_is_that_of_then() -> None:
    """B is ahead while its service is less, and that decays as A's does; a sweep between changes who is next."""
    play = program_aware(evictionTtlSeconds=10, evictionSweepSeconds=10)
    play.attain(A=100)
    play.clock.at(9)
    play.attain(B=50)
    play.arrive("B1", "A1")
    assert play.next() == "B1"
    play.clock.at(20)
    assert play.next() == "A1", "A has been forgotten"


class Alternating:
    """A policy with nothing but a pick, which changes it."""

    name = "alternating"

    def __init__(self) -> None:
        self.picks = 0

    def new_state(self) -> None:
        return None

    def pick(self, band: PriorityBandAccessor | None) -> FlowQueueAccessor | None:
        self.picks += 1
        queues = [queue for queue in band.queues() if len(queue)] if band else []
        return queues[self.picks % len(queues)] if queues else None


def test_a_policy_with_nothing_but_a_pick_is_picked_from_once() -> None:
    play = Play(Alternating(), Clock())
    play.arrive("A1", "B1", "A2", "B2")
    first = play.next()
    for _ in range(3):
        play.clock.now += SECOND
        assert play.next() == first
    assert play.fairness.picks == 1
    assert play.send() == first
    assert play.fairness.picks == 1
    play.send()
    assert play.fairness.picks == 2


@pytest.mark.parametrize("type", TYPES)
def test_in_the_dispatcher(type: str) -> None:
    """Real tasks: some give up while they wait, some while they are served, some fail; everything is accounted for."""

    async def ask_for(dispatcher: Dispatcher, rng: Random, user: str, order: list[str]) -> None:
        async with dispatcher.slot(user, rng.choice([1, 20]), priority=rng.choice([0, 0, 5])) as slot:
            order.append(user)
            await asyncio.sleep(rng.random() / 500)
            slot.usage = rng.choice([None, Usage(5, 5)])
            if rng.random() < 0.2:
                raise RuntimeError("failed")

    async def main(seed: int) -> tuple[QueuePolicy, list[str]]:
        rng, order = Random(seed), list[str]()
        policy = QueuePolicy(made(type))
        dispatcher = Dispatcher(Placement([Server("one", 2), Server("two", 1)]), policy)
        tasks = [asyncio.create_task(ask_for(dispatcher, rng, rng.choice("ABC"), order)) for _ in range(60)]
        await asyncio.sleep(0.003)
        for task in rng.sample(tasks, 12):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await dispatcher.close()
        return policy, order

    for seed in range(3):
        policy, order = asyncio.run(main(seed))
        assert len(order) > 30
        assert policy.next() is None
        assert not policy._items
        assert not policy._in_flight
        fairness: Any = policy.fairness
        if hasattr(fairness, "programs"):
            assert {program.in_flight for program in fairness.programs.values()} == {0}
            assert not fairness.waiting
            assert not fairness._flying
