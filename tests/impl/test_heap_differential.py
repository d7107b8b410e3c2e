"""The heap scheduler beside the machine of the specification, over long random runs of every kind of event.

Compared after each event: what is dispatched and at what cost, every refusal, virtual time, who waits, every lag above
zero, and that the representation invariant holds. Planted faults show that each of this can fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws
from sfq_proofs.scheduler.faults import HIDDEN, SEEN, Fault, plant
from sfq_spec.machine import Machine, answer
from sfq_spec.scheduler import play
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

COSTS: list[list[int | Fraction]] = [
    [1],
    [1, 2, 3],
    [1, 10, 100, 1_000],
    [2**53, 2**53 + 1, 2**64, 3],
    [1, Fraction(1, 3), Fraction(5, 7), 2],
]
WEIGHTS: list[list[int | Fraction]] = [
    [1],
    [1, 2, 4],
    [1, 2, 3, 5, 7],
    [1, Fraction(1, 3), Fraction(22, 7), 6],
    [1, 10**9, Fraction(1, 10**9)],
]


def events(seed: int) -> Iterator[Event]:
    """A run without end. Few users and equal costs make ties likely; the mixture changes from time to time."""
    rng = random.Random(seed)
    users = rng.choice([2, 3, 6, 6, 12, 12, 40])
    ids = ["nothing"]
    while True:
        costs, weights = rng.choice(COSTS), rng.choice(WEIGHTS)
        arrivals, cancels, rare = rng.choice([8, 20, 40]), rng.choice([1, 4, 20]), rng.choice([0, 1, 4])
        shares = [arrivals, rng.choice([5, 20, 40]), cancels, 3 * rare, rare, rare, rare]
        for kind in rng.choices([Arrive, Dispatch, Cancel, Complete, SetWeight, Recost, Upkeep], shares, k=60):
            user, cost = f"u{rng.randrange(users)}", Fraction(rng.choice(costs))
            known = rng.choice(ids[-20:]) if rng.random() < 0.9 else rng.choice(ids)
            if kind is Arrive:
                ids.append(known if rng.random() < 0.05 else f"{user}-{len(ids)}")
                yield Arrive(user, ids[-1], cost if rng.random() < 0.98 else Fraction(rng.randint(-1, 0)))
            elif kind is SetWeight:
                yield SetWeight(user, Fraction(rng.choice(weights)) if rng.random() < 0.9 else Fraction(0))
            elif kind is Recost:
                yield Recost(known, cost if rng.random() < 0.9 else Fraction(0))
            elif kind is Cancel:
                yield Cancel(known)
            elif kind is Complete:
                yield Complete(known)
            else:
                yield kind()


def difference(scheduler: HeapScheduler, run: Iterator[Event], look_inside: bool = True) -> str | None:
    """What first tells the scheduler from the machine; None if nothing does."""
    machine = Machine()
    for number, event in enumerate(run):
        machine, expected = answer(machine, event)
        if isinstance(event, Dispatch):
            request = scheduler.dispatch()
            told = (request.request, request.user, request.cost) if request else (None, None, None)
            if told != (expected.dispatched, *((expected.user, expected.cost) if request else (None, None))):
                return f"{number}: {told} was dispatched instead of {expected.dispatched}"
        elif (said := play(scheduler, event)) != expected:
            return f"{number}: {event} was answered by {said} instead of {expected}"
        lag = scheduler.lag
        if any(lag.get(user, 0) != behind for user, behind in machine.lag.items() if behind > 0):
            return f"{number}: after {event} the lags are {lag} instead of {machine.lag}"
        if any(lag[user] > 0 >= machine.lag[user] for user in lag):
            return f"{number}: after {event} somebody has the debt of another: {lag}"
        if scheduler.virtual_time != machine.competition.v:
            return f"{number}: after {event} v is {scheduler.virtual_time} instead of {machine.competition.v}"
        if set(scheduler.waiting_users) != set(machine.queues):
            return f"{number}: after {event} {scheduler.waiting_users} wait instead of {set(machine.queues)}"
        if look_inside and (wrong := list(flaws(scheduler))):
            return f"{number}: after {event} {wrong}"
    return None


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("seed", range(40))
def test_machine_and_heap_agree(seed: int) -> None:
    assert difference(HeapScheduler(), islice(events(seed), 600)) is None


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1_000, 1_150))
def test_machine_and_heap_agree_for_long(seed: int) -> None:
    assert difference(HeapScheduler(), islice(events(seed), 4_000)) is None


def caught(make: Callable[[], HeapScheduler], look_inside: bool) -> str | None:
    """What the runs of `test_machine_and_heap_agree` tell about a faulty scheduler."""
    for seed in range(40):
        try:
            found = difference(make(), islice(events(seed), 600), look_inside)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found:
            return found
    return None


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("fault", SEEN, ids=lambda fault: fault.name)
def test_a_planted_fault_is_seen_from_outside(fault: Fault) -> None:
    assert caught(plant(fault), look_inside=False)


@pytest.mark.integration
@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("fault", HIDDEN, ids=lambda fault: fault.name)
def test_a_hidden_fault_breaks_the_invariant(fault: Fault) -> None:
    assert caught(plant(fault), look_inside=True)
