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
from sfq_spec.machine import Machine, answer
from sfq_spec.scheduler import play
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

Planted = Callable[[str, str, str], Callable[[], HeapScheduler]]

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


@pytest.mark.parametrize("seed", range(40))
def test_machine_and_heap_agree(seed: int) -> None:
    assert difference(HeapScheduler(), islice(events(seed), 600)) is None


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1_000, 1_150))
def test_machine_and_heap_agree_for_long(seed: int) -> None:
    assert difference(HeapScheduler(), islice(events(seed), 4_000)) is None


SEEN = [
    (
        "the user with the greatest weight first",
        "heap",
        "start, user, record = heap[0]",
        "start, user, record = max(heap)",
    ),
    ("v is not advanced", "heap", "self._virtual = start\n", "pass\n"),
    ("v is advanced to the finish", "heap", "self._virtual = start\n", "self._virtual = finish\n"),
    ("no charge", "heap", "(finish, user, record)", "(start, user, record)"),
    ("the charge is not remembered", "heap", "record.meter = finish", "record.meter = start"),
    ("weights are ignored", "heap", "start + cost * per_cost if", "start + cost * self._scale if"),
    ("last in, first out", "heap", "queue.append(new)", "queue.appendleft(new)"),
    ("returns where it left", "heap", "if record.meter < self._virtual:", "if False:"),
    ("returns at v", "heap", "if record.meter < self._virtual:", "if True:"),
    ("always rejoins", "heap", "if not queue:\n", "if True:\n"),
    ("one who is gone comes back twice", "heap", "if user in self._gone:", "if False:"),
    ("the last request is charged to nobody", "heap", "heappop(heap)", "heapreplace(heap, heap[0])"),
    ("a leaver does not count for the reset", "heap", "self._leave(finish)", "self._leave(start)"),
    ("withdrawn requests are sent", "heap", "if record.withdrawn:", "if False:"),
    ("one who is gone is selected", "heap", "if self._gone:\n", "if False:\n"),
    ("cancel of the last one does not reset", "heap", "self._leave(record.meter)", "pass"),
    (
        "an id in flight may come again",
        "heap",
        "if request not in live:",
        "if request not in live or not live[request].waits:",
    ),
    ("a cancelled id may not come again", "heap", "del self._live[request]", "pass"),
    ("a request that waits can be completed", "heap", "and not live[request].waits", ""),
    ("a completed id may not come again", "heap", "            del live[request]", "            pass"),
    ("a weight counts from the next record on", "heap", "if user in self._users:", "if False:"),
    ("a weight is taken for its inverse", "heap", "rate(self._scale, exact)", "rate(self._scale, 1 / exact)"),
    ("a new cost is not read", "heap", "found.cost = cost", "pass"),
    ("a new cost for what is in flight", "heap", "if found is None or not found.waits:", "if found is None:"),
    ("the reset goes too far", "state", "max(self._virtual, self._greatest)", "max(self._virtual, self._greatest) + 1"),
    ("no reset", "state", "if not self._heap:\n", "if False:\n"),
    ("the greatest is the latest", "state", "if meter > self._greatest:", "if True:"),
    ("debts are forgotten", "state", "if user.queue or user.meter > v", "if user.queue"),
    ("those who wait are forgotten", "state", "if user.queue or user.meter > v", "if user.meter > v"),
    (
        "v stays where it is when meters move",
        "state",
        "heap, virtual, origin, scale",
        "heap, self._virtual, origin, scale",
    ),
    (
        "the origin stays when meters move",
        "state",
        "heap, virtual, origin, scale",
        "heap, virtual, self._origin, scale",
    ),
    ("the heap is left when meters move", "state", "= users, heap, virtual,", "= users, self._heap, virtual,"),
    ("a new record forgets the weight", "state", "return scale if weight is None else", "return scale if True else"),
    (
        "no heap without those who are gone",
        "state",
        "heapify(heap)\n        self._heap, self._gone",
        "heap.reverse()\n        self._heap, self._gone",
    ),
    ("meters are rounded", "quantities", "*(_least_scale(meter, scale) for meter in set(less))", "1"),
]
"""Faults that can be seen from outside: what is wrong, and where a text is replaced by another."""

HIDDEN = [
    ("a scale that does not fit", "quantities", "math.lcm(*fits, *", "math.lcm(*"),
    ("withdrawn requests pile up", "state", "if 2 * user.withdrawn > len(queue):", "if False:"),
    ("those who are gone pile up", "state", "if 2 * len(gone) > len(heap):", "if False:"),
    ("a weight of 1 is kept", "heap", "if exact == 1:", "if False:"),
    ("the scheduler stays busy", "heap", "        found.cost = cost", "        found.cost, self._busy = cost, True"),
]
"""Faults that only the invariant tells, at once; from outside they are seen late, or as memory or time."""


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


@pytest.mark.parametrize("fault", [fault[1:] for fault in SEEN], ids=[fault[0] for fault in SEEN])
def test_a_planted_fault_is_seen_from_outside(planted: Planted, fault: tuple[str, str, str]) -> None:
    assert caught(planted(*fault), look_inside=False)


@pytest.mark.parametrize("fault", [fault[1:] for fault in HIDDEN], ids=[fault[0] for fault in HIDDEN])
def test_a_hidden_fault_breaks_the_invariant(planted: Planted, fault: tuple[str, str, str]) -> None:
    assert caught(planted(*fault), look_inside=True)
