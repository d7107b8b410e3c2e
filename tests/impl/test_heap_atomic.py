"""An exception, or another call, at any line of a call leaves a state that the machine could be in (IMPL-ATOMIC).

Something happens once, before the n-th line that runs in `sfq_impl`, for every n: lines in loops come up as often as
they run. What is left is compared with the machine of the specification before and after the event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from sfq_impl.heap import HeapScheduler, Overlapping
from sfq_impl.representation import flaws
from sfq_proofs.scheduler.atomic import interrupted
from sfq_proofs.scheduler.faults import ATOMIC, Fault, plant
from sfq_spec.machine import Machine, answer
from sfq_spec.scheduler import Broken, play
from sfq_spec.trace import Arrive, Complete, Dispatch, Event

Script = Callable[[str], list[Event]]

OPERATIONS = [
    ("arrive, a new user", "+A 3×2; D", "+B 2"),
    ("arrive, a user with a weight", "w B 1/3; +A 3×2; D", "+B 2"),
    ("arrive, a user who waits", "+A 3×2; D", "+A 2"),
    ("arrive, a user in debt", "+A 9; +B 1×3; D×2", "+A 2"),
    ("arrive, a user below v", "+A 1; +B 1×9; D×5", "+A 2"),
    ("arrive, a user who is gone and still has a place", "+A 1×2; +B 1×3; +C 1; D; x A2", "+A 2"),
    ("arrive, a user to whom nothing was done yet", "w A 3", "+A 2"),
    ("arrive, a fraction of cost", "+A 3×2; D", "+B 2/7"),
    ("arrive, no cost", "+A 3×2; D", "+B 0"),
    ("dispatch, nobody waits", "+A 1; D", "D"),
    ("dispatch, more wait", "+A 3×3; +B 2×2; +C 1×2; D×4", "D"),
    ("dispatch, the user leaves", "+A 3; +B 2×2; +C 1×2", "D"),
    ("dispatch, the last one leaves", "+A 3; +B 2; D", "D"),
    ("dispatch, the last of many leaves", f"{'; '.join(f'+U{i} {40 - i}' for i in range(40))}; D×39", "D"),
    ("dispatch, what follows is withdrawn", "+A 3×4; +B 2; x A2; x A3", "D"),
    ("dispatch, half of what is left is withdrawn", "+A 3×8; +B 2; x A8; x A7; x A6; x A5; D×2", "D"),
    ("dispatch, the next user is gone", "+A 3×2; +B 2; +C 2×2; x B1", "D"),
    ("dispatch, the next user is gone, and no other is left", "+A 3; +B 2; +C 2; +D 2; x B1; x C1; D", "D"),
    ("dispatch, a cost that is a fraction", "+A 1/3×2; +B 1/7×2; D×2", "D"),
    ("arrive, one of many", "; ".join(f"+U{i} 1; +Z 1; D×2" for i in range(63)), "+U63 1"),
    ("cancel, the first", "+A 3×3; +B 2; D", "x A2"),
    ("cancel, the first of a user who is not first", "+A 3×3; +B 2×3; D×2", "x A2"),
    ("cancel, one in the middle", "+A 3×4; +B 2", "x A2"),
    ("cancel, one of many", "+A 3×5; +B 2; x A3; x A4", "x A5"),
    ("cancel, all that a user has", "+A 3×2; +B 2; D", "x A2"),
    ("cancel, all that the first user has", "+A 3; +B 2; +C 1×2", "x A1"),
    ("cancel, so that half of the users are gone", "+A 3; +B 2; +C 1; +D 1; x C1; x D1", "x B1"),
    ("cancel, all that there is", "+A 9; +B 1; D", "x B1"),
    ("cancel, the last where others are gone", "+A 1; +B 1; +C 1; x C1; x B1", "x A1"),
    ("cancel, an unknown one", "+A 1", "x A2"),
    ("cancel, one in flight", "+A 1; D", "x A1"),
    ("complete", "+A 1×3; D×2", "✓A1"),
    ("complete, one that waits", "+A 1×3; D×2", "✓A3"),
    ("weight, of nobody yet", "+A 1×3", "w B 3"),
    ("weight, one that fits", "w A 6; +A 1×3; D", "w A 3"),
    ("weight, one that does not", "w A 6; +A 1×3; +B 1×3; +C 1; D×3", "w B 7/5"),
    ("weight, back to 1", "w A 6; +A 1×3; +B 1×3; D×2", "w A 1"),
    ("weight, none", "+A 1×3", "w A 0"),
    ("recost", "+A 1×3; +B 1; D", "c A2 7"),
    ("recost, to a fraction", "+A 1×3; +B 1; D", "c A2 1/7"),
    ("recost, to nothing", "+A 1×3", "c A2 0"),
    ("upkeep, nobody is there", "", "upkeep"),
    ("upkeep, debts and idle ones", "+A 9; +B 1×9; +C 1; +D 3; D×5", "upkeep"),
    ("upkeep, weights and fractions", "w A 7; w B 3; +A 1×9; +B 1/5×9; +C 1×2; D×7; x C2; w A 2", "upkeep"),
]


Essence = tuple[object, ...]


def of_machine(machine: Machine) -> Essence:
    """All that can make a difference later."""
    return (
        machine.competition.v,
        {user: lag for user, lag in machine.lag.items() if lag > 0 or user in machine.queues},
        {user: [(r.request, r.cost) for r in queue] for user, queue in machine.queues.items()},
        set(machine.live),
        {user: weight for user, weight in machine.competition.weight.items() if weight != 1},
        rest_of_machine(machine),
    )


def of_scheduler(scheduler: HeapScheduler) -> Essence:
    """The same. This uses the scheduler up."""
    queues = {name: [(r.request, r.cost) for r in user.queue if r.waits] for name, user in scheduler._users.items()}
    return (
        scheduler.virtual_time,
        {user: lag for user, lag in scheduler.lag.items() if lag > 0 or queues[user]},
        {user: queue for user, queue in queues.items() if queue},
        set(scheduler._live),
        dict(scheduler._weights),
        rest_of_scheduler(scheduler),
    )


def rest_of_machine(machine: Machine) -> list[str]:
    """The requests that are still to go, in order."""
    order: list[str] = []
    while True:
        machine, told = answer(machine, Dispatch())
        if not isinstance(told.dispatched, str):
            return order
        order.append(told.dispatched)


def rest_of_scheduler(scheduler: HeapScheduler) -> list[str]:
    order = []
    while request := scheduler.dispatch():
        order.append(request.request)
    return order


def after(machine: Machine, *events: Event) -> Machine:
    for event in events:
        machine, _ = answer(machine, event)
    return machine


def first_harm(make: Callable[[], HeapScheduler], earlier: list[Event], last: Event) -> str | None:
    """The first line at which an exception during the last event leaves what may not be; None if none does."""
    machine = after(Machine(), *earlier)
    possible = [of_machine(machine), of_machine(after(machine, last))]
    for number in count():
        scheduler = make()
        for event in earlier:
            play(scheduler, event)
        more = interrupted(number, partial(play, scheduler, last))
        if wrong := list(flaws(scheduler)):
            return f"line {number}: {wrong}"
        if (left := of_scheduler(scheduler)) not in possible:
            return f"line {number}: {left} is neither of {possible}"
        if not more:
            return None if number > 1 else "there were no lines"
    raise AssertionError("it never ended")


@pytest.mark.claims("IMPL-ATOMIC")
@pytest.mark.parametrize(("before", "event"), [case[1:] for case in OPERATIONS], ids=[case[0] for case in OPERATIONS])
def test_an_exception_anywhere(script: Script, before: str, event: str) -> None:
    *earlier, last = script(f"{before}; {event}" if before else event)
    assert first_harm(HeapScheduler, earlier, last) is None


@pytest.mark.claims("IMPL-ATOMIC")
@pytest.mark.parametrize("fault", ATOMIC, ids=lambda fault: fault.name)
def test_a_planted_fault_is_seen(script: Script, fault: Fault) -> None:
    make = plant(fault)
    runs = [script(f"{before}; {event}" if before else event) for _, before, event in OPERATIONS]
    assert any(first_harm(make, run[:-1], run[-1]) for run in runs)


def attempt(scheduler: HeapScheduler, event: Event, refused: list[BaseException]) -> None:
    try:
        play(scheduler, event)
    except Broken as error:
        refused.append(error.__cause__ or error)


@pytest.mark.parametrize("inner", ["+A 2", "+N 2", "D", "x B2", "x B3", "w B 3", "c B2 9", "upkeep", "✓A1"])
@pytest.mark.parametrize("outer", ["+A 2", "+M 2", "D", "x B2", "x C1", "w B 5", "c B2 7", "upkeep", "+A 1/3"])
def test_a_call_within_a_call(script: Script, outer: str, inner: str) -> None:
    """At any line of a call another one, as from a second thread or a signal handler, is refused or as if before it.

    Between two lines of a call no thread is switched to in CPython, but what happens there is harmless all the same.
    """
    *earlier, outside = script(f"+A 3×2; +B 2×3; +C 2; D×2; {outer}")
    within = script(f"+A 3×2; +B 2×3; +C 2; D×2; {inner}")[-1]
    if isinstance(within, Arrive):
        within = Arrive(within.user, "within", within.cost)
    machine = after(Machine(), *earlier)
    alone, together = of_machine(after(machine, outside)), of_machine(after(machine, within, outside))
    refusals = 0
    for number in count():
        scheduler, refused = HeapScheduler(), list[BaseException]()
        for event in earlier:
            play(scheduler, event)
        happens = partial(attempt, scheduler, within, refused)
        met = interrupted(number, partial(play, scheduler, outside), happens=happens)
        assert list(flaws(scheduler)) == []
        assert all(isinstance(error, Overlapping) for error in refused)
        possible = [alone] if refused or not met else [together, of_machine(after(machine, outside, within))]
        assert of_scheduler(scheduler) in possible, number
        refusals += len(refused)
        if not met:
            break
    assert refusals or isinstance(within, Complete) or outer.startswith("c ")
