"""The scheduler that lets others overtake, dispatch by dispatch beside the machine under PLACE-OVERTAKE."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from fractions import Fraction
from unittest import mock

import pytest

from impl.test_heap_differential import COSTS, WEIGHTS
from sfq_impl import overtaking
from sfq_impl.heap import HeapScheduler, Overlapping
from sfq_impl.overtaking import OvertakingScheduler
from sfq_impl.representation import flaws
from sfq_spec.machine import Machine, answer, take
from sfq_spec.placement import overtake, placing, stall
from sfq_spec.scheduler import play
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

Run = Iterator[tuple[Event, int]]
"""Events, each with how much room there is from then on."""


def events(seed: int, count: int) -> Run:
    """Few users, equal costs, and requests of which some are larger than the room is most of the time."""
    rng = random.Random(seed)
    users, ids, room = rng.choice([2, 3, 6, 12]), ["nothing"], 5
    costs, weights = rng.choice(COSTS), rng.choice(WEIGHTS)
    shares = [rng.choice([8, 20]), rng.choice([8, 20]), rng.choice([1, 4]), 3, rng.choice([0, 1]), 1, 1]
    for kind in rng.choices([Arrive, Dispatch, Cancel, Complete, SetWeight, Recost, Upkeep], shares, k=count):
        user, cost, known = f"u{rng.randrange(users)}", Fraction(rng.choice(costs)), rng.choice(ids[-20:])
        if rng.random() < 0.3:
            room = rng.randint(0, 10)
        if kind is Arrive:
            ids.append(f"{user}-{len(ids)}")
            yield Arrive(user, ids[-1], cost), room
        elif kind is SetWeight:
            yield SetWeight(user, Fraction(rng.choice(weights))), room
        elif kind is Recost:
            yield Recost(known, cost), room
        elif kind is Cancel:
            yield Cancel(known), room
        else:
            yield (Complete(known) if kind is Complete else kind()), room


def size(request: str) -> int:
    """How much room a request needs."""
    return random.Random(request).choice([0, 0, 1, 3, 5, 9])


def differences(
    scheduler: OvertakingScheduler, run: Run, *, only_who_fits: bool = True, look_inside: bool = True
) -> Iterator[str]:
    """What tells the scheduler from the machine. Before each dispatch whoever may fit now is released."""
    machine = Machine()
    for number, (event, room) in enumerate(run):

        def fits(user: str, machine: Machine = machine, room: int = room) -> bool:
            return user in machine.queues and size(machine.queues[user][0].request) <= room

        if isinstance(event, Dispatch):
            for user in sorted(scheduler.held_users):
                if fits(user) or not only_who_fits:
                    scheduler.release(user)
            while (first := scheduler.next_request) is not None and not fits(first.user):
                assert scheduler.hold() == first.user
            sent, taken = scheduler.dispatch(), take(machine, event, placing(overtake, fits))
            machine, expected = taken.state, taken.answer.dispatched
            if (sent and sent.request) != expected:
                yield f"{number}: {sent} was dispatched instead of {expected}"
                return
        else:
            machine, right = answer(machine, event)
            if (told := play(scheduler, event)) != right:
                yield f"{number}: {event} was answered by {told} instead of {right}"
                return
        yield from wrong(scheduler, machine, f"{number}: after {event}")
        if look_inside and number % 8 == 0:
            yield from flaws_when_all_are_released(scheduler)


def wrong(scheduler: OvertakingScheduler, machine: Machine, when: str) -> Iterator[str]:
    if scheduler.virtual_time != machine.competition.v:
        yield f"{when} v is {scheduler.virtual_time} instead of {machine.competition.v}"
    lag = scheduler.lag
    if any(lag.get(user, 0) != behind for user, behind in machine.lag.items() if behind > 0):
        yield f"{when} the lags are {lag} instead of {machine.lag}"
    if sorted(scheduler.waiting_users) != sorted(machine.queues):
        yield f"{when} {scheduler.waiting_users} wait instead of {set(machine.queues)}"
    waiting = sum(map(len, machine.queues.values()))
    if (scheduler.waiting_requests, scheduler.requests_in_flight) != (waiting, len(machine.live) - waiting):
        yield f"{when} {scheduler.waiting_requests} requests wait instead of {waiting}"


def flaws_when_all_are_released(scheduler: OvertakingScheduler) -> Iterator[str]:
    """With nobody held it must be a heap scheduler like any other."""
    free = deepcopy(scheduler)
    for user in free.held_users:
        free.release(user)
    yield from flaws(free)


@pytest.mark.integration
@pytest.mark.claims("PLACE-OVERTAKE", "IMPL-REFINE")
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("only_who_fits", [True, False])
def test_it_dispatches_as_the_machine_does(chunk: int, only_who_fits: bool) -> None:
    for seed in range(100 * chunk, 100 * chunk + 100):
        run = events(seed, 40)
        assert next(differences(OvertakingScheduler(), run, only_who_fits=only_who_fits), None) is None, seed


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10_000, 10_100))
def test_it_dispatches_as_the_machine_does_for_long(seed: int) -> None:
    assert next(differences(OvertakingScheduler(), events(seed, 3_000)), None) is None


def test_somebody_is_held_in_these_runs_and_others_go_first() -> None:
    passed, differ = 0, 0
    for seed in range(100):
        machine = other = Machine()
        for event, room in events(seed, 60):
            if isinstance(event, Dispatch):
                ahead = placing(overtake, lambda user, s=machine, r=room: size(s.queues[user][0].request) <= r)  # type: ignore[misc]
                behind = placing(stall, lambda user, s=other, r=room: size(s.queues[user][0].request) <= r)  # type: ignore[misc]
                one, two = take(machine, event, ahead), take(other, event, behind)
                passed += one.answer.dispatched is not None and two.answer.dispatched is None
                differ += one.answer != two.answer
                machine, other = one.state, two.state
            else:
                machine, other = answer(machine, event)[0], answer(other, event)[0]
    assert passed > 50
    assert differ > 100


def test_with_nobody_held_it_is_the_heap_scheduler() -> None:
    for seed in range(50):
        ours, plain = OvertakingScheduler(), HeapScheduler()
        for event, _ in events(seed, 200):
            assert play(ours, event) == play(plain, event)
            assert (ours.virtual_time, ours.lag) == (plain.virtual_time, plain.lag)


class NotRejoined(OvertakingScheduler):
    """Whoever is released has the meter that it had, though v has gone on with those who overtook it."""

    __slots__ = ()

    def release(self, user: str) -> None:
        meter = self._users[user].meter if user in self._held else None
        super().release(user)
        if meter is not None:
            entry = next(entry for entry in self._heap if entry[1] == user)
            self._users[user].meter = meter
            self._heap[self._heap.index(entry)] = (meter, *entry[1:])
            self._heap.sort(key=lambda entry: entry[:2])


class Closes(OvertakingScheduler):
    """The period is over when all who wait are held."""

    __slots__ = ()

    def _leave(self, meter: object) -> None:
        HeapScheduler._leave(self, meter)  # type: ignore[arg-type]


class KeepsVirtualTime(OvertakingScheduler):
    """Virtual time does not go on with whoever overtakes."""

    __slots__ = ()

    def dispatch(self):  # type: ignore[no-untyped-def]
        virtual, held = self._virtual, self._held
        sent = super().dispatch()
        if held and self._heap:
            self._virtual = virtual
        return sent


@pytest.mark.claims("PLACE-OVERTAKE")
@pytest.mark.parametrize("kind", [NotRejoined, Closes, KeepsVirtualTime])
def test_a_wrong_way_of_overtaking_is_seen(kind: Callable[[], OvertakingScheduler]) -> None:
    seen = 0
    for seed in range(100):
        told = differences(kind(), events(seed, 60), look_inside=False)
        seen += any("dispatched instead of" in said for said in told)
    assert seen > 5


def test_who_is_overtaken_saves_nothing_up() -> None:
    scheduler = OvertakingScheduler()
    for number in range(9):
        scheduler.arrive("A", f"A{number}", 1)
        scheduler.arrive("B", f"B{number}", 1)
    assert scheduler.hold() == "A"
    sent = [scheduler.dispatch() for _ in range(4)]
    scheduler.release("A")
    sent += [scheduler.dispatch() for _ in range(6)]
    assert "".join(request.user for request in sent if request) == "BBBBAABABA"


def test_a_hold_that_is_interrupted_leaves_everybody_in() -> None:
    for step in ("heappop", "heappush"):
        scheduler = OvertakingScheduler()
        for user in "ABC":
            scheduler.arrive(user, user, 1)
        assert scheduler.hold() == "A"
        with mock.patch.object(overtaking, step, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            scheduler.release("A") if step == "heappush" else scheduler.hold()
        assert not scheduler.held_users
        assert not list(flaws(scheduler))
        sent = [scheduler.dispatch() for _ in "ABC"]
        assert [request.user for request in sent if request] == ["A", "B", "C"]


def test_a_call_within_a_call_is_refused() -> None:
    scheduler = OvertakingScheduler()
    scheduler.arrive("A", "A1", 1)
    scheduler._busy = True
    with pytest.raises(Overlapping):
        scheduler.hold()
    with pytest.raises(Overlapping):
        scheduler.release("A")


def test_nobody_to_hold_and_nobody_to_release() -> None:
    scheduler = OvertakingScheduler()
    assert scheduler.hold() is None
    scheduler.release("A")
    scheduler.arrive("A", "A1", 1)
    assert (scheduler.hold(), scheduler.hold()) == ("A", None)
    assert scheduler.next_request is None
    assert scheduler.dispatch() is None
    assert scheduler.waiting_users == ("A",)
