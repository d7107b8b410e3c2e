"""CFS by hand, and against a processor that runs slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from playing import Playing, Wrong, names, user
from sfq_spec.related import policies
from sfq_spec.related.cfs import Cfs, Tasks
from sfq_spec.related.policies import BadPolicy
from sfq_spec.trace import Recost


def test_light_work_ends_between_the_slices_of_heavy_work() -> None:
    """Last slices start at 0 to 9 for B, and at 9 for A, which is first of two at 9. SFQ would send A1 first of all."""
    playing = Playing("cfs")
    playing.arrive("A1", cost=10)
    playing.arrive(*names("B", 10))
    assert playing.send(11) == " ".join([*names("B", 9), "A1", "B10"])


def test_a_slice_as_long_as_the_work_is_not_preempted() -> None:
    playing = Playing("cfs:slice=10")
    playing.arrive("A1", cost=10)
    playing.arrive(*names("B", 10))
    assert playing.send(11) == " ".join(["A1", *names("B", 10)])


def test_what_has_run_is_charged_and_no_more() -> None:
    """Slices of 2 from 0: A runs 2, B runs its 1 and ends. C at 0 runs 2 of 5. B2 begins at 1."""
    playing = Playing("cfs:slice=2")
    playing.arrive("A1", "C1", cost=5)
    playing.arrive("B1", "B2")
    assert playing.send() == "B1"
    assert playing.state == Tasks(
        Fraction(0), {"A": Fraction(2), "B": Fraction(1), "C": Fraction(0)}, {"A1": Fraction(2)}
    )
    assert playing.send() == "B2"
    assert playing.state.vruntime == {"A": 2, "C": 2}
    assert playing.state.least == 2
    assert playing.state.ran == {"A1": 2, "C1": 2}
    assert playing.send(2) == "A1 C1", "both have one whole slice to go, and a half one"
    assert playing.state == Tasks(Fraction(5), {}, {})


def test_a_weight_of_two_runs_twice_as_much() -> None:
    playing = Playing("cfs")
    playing.weigh(A=2)
    playing.arrive(*names("A", 9), *names("B", 9))
    assert playing.send(9) == "A1 B1 A2 A3 B2 A4 A5 B3 A6"


def before_a_after_a_sleep(credit: int) -> int:
    """A has run 8 of its own and waits with 4 more; B comes with many of 1. How many of B end before A's?"""
    playing = Playing(f"cfs:credit={credit}")
    playing.arrive(*names("A", 3), cost=4)
    playing.send(2)
    playing.arrive(*names("B", 20))
    return len(playing.send(12).partition("A3")[0].split())


def test_who_wakes_has_a_credit_and_nothing_else() -> None:
    """B starts at 8, or 2 before that; the last slice of A3 starts at 11, before that of B at 11."""
    assert before_a_after_a_sleep(0) == 3
    assert before_a_after_a_sleep(2) == 5


def test_who_ran_ahead_before_sleeping_is_not_forgiven() -> None:
    """A ran 4 in one slice while B, at 0, waits with its first; A comes back at 4, and B has four before it."""
    playing = Playing("cfs:slice=4")
    playing.arrive("A1", cost=4)
    playing.arrive(*names("B", 9))
    playing.send()
    playing.arrive("A2")
    assert playing.send(6) == "B1 B2 B3 B4 A2 B5"


class Processor:
    """One slice after another, as the rule is told."""

    def __init__(self, slice: Fraction, credit: Fraction) -> None:
        self.slice, self.credit, self.least = slice, credit, Fraction(0)
        self.vruntime: dict[str, Fraction] = {}
        self.queues: dict[str, list[list[Any]]] = {}

    def arrive(self, request: str, cost: Fraction) -> None:
        name = user(request)
        if not self.queues.get(name):
            floor = self.least - self.credit
            self.vruntime[name] = max(self.vruntime.get(name, floor), floor)
        self.queues.setdefault(name, []).append([request, cost])

    def send(self, weights: dict[str, int]) -> str:
        while True:
            able = [name for name, queue in self.queues.items() if queue]
            running = min(able, key=lambda name: (self.vruntime[name], name))
            head = self.queues[running][0]
            runs = min(self.slice, head[1])
            head[1] -= runs
            self.vruntime[running] += runs / weights[running]
            self.follow(able)
            if not head[1]:
                self.queues[running].pop(0)
                self.follow([name for name in able if self.queues[name]])
                return str(head[0])

    def follow(self, able: list[str]) -> None:
        self.least = max([self.least, *([min(self.vruntime[name] for name in able)] if able else [])])


def agrees() -> bool:
    rng = Random(7)
    for _ in range(60):
        slice, credit = Fraction(rng.randint(1, 6), 2), Fraction(rng.randint(0, 4))
        weights = {name: rng.randint(1, 3) for name in "ABC"}
        playing, processor = Playing(Cfs(slice, credit)), Processor(slice, credit)
        playing.weigh(**weights)
        waits = 0
        for number in range(60):
            if rng.random() < 0.5 or not waits:
                request, cost = f"{rng.choice('ABC')}{number}", Fraction(rng.randint(1, 24), rng.choice([1, 2, 3]))
                playing.arrive(request, cost=cost)
                processor.arrive(request, cost)
                waits += 1
                continue
            waits -= 1
            if playing.send() != processor.send(weights) or playing.state.least != processor.least:
                return False
            for name, queue in processor.queues.items():
                if queue and playing.state.vruntime[name] != processor.vruntime[name]:
                    return False
    return True


def test_it_is_what_a_processor_does_slice_by_slice() -> None:
    assert agrees()


def test_two_that_can_run_differ_by_a_slice_at_most() -> None:
    """However different their requests are: work is divided, where SFQ's charges are not."""
    rng, playing = Random(3), Playing("cfs:slice=2")
    for name in "ABC":
        for request in names(name, 40):
            playing.arrive(request, cost=rng.choice([1, 3, 50]))
    for _ in range(60):
        playing.send()
        vruntime = [playing.state.vruntime[name] for name in playing.scheduler.situation.queues]
        assert max(vruntime) - min(vruntime) <= 2


def test_a_cancelled_request_has_run_what_it_has_run() -> None:
    """A ran 2 of 9; without it A is at 2 all the same, and its next begins afresh."""
    playing = Playing("cfs:slice=2")
    playing.arrive("A1", "A2", cost=9)
    playing.arrive("B1", "B2", "B3", cost=2)
    assert playing.send() == "B1"
    playing.cancel("A1")
    assert playing.state == Tasks(Fraction(2), {"A": Fraction(2), "B": Fraction(2)}, {})
    playing.cancel("A2")
    assert playing.state == Tasks(Fraction(2), {"B": Fraction(2)}, {})


def test_a_request_that_turns_out_cheaper_than_what_has_run_ends_at_its_next_turn() -> None:
    playing = Playing("cfs:slice=4")
    playing.arrive("A1", cost=9)
    playing.arrive("B1", cost=3)
    assert playing.send() == "B1"
    playing.arrive("B2", cost=5)
    playing.scheduler.step(Recost("A1", Fraction(1)))
    assert playing.state.ran == {"A1": 4}
    assert playing.send(2) == "A1 B2"
    assert playing.state.vruntime.get("A", 4) == 4


@pytest.mark.parametrize(
    ("policy", "reason"), [("cfs:slice=0", "slice 0: must be above"), ("cfs:credit=-1", "credit -1: must be 0 or more")]
)
def test_bad_parameters(policy: str, reason: str) -> None:
    with pytest.raises(BadPolicy, match=reason):
        policies.method(policy)


def wakes_at(start: Callable[[Cfs, Tasks, str], Fraction]) -> Callable[[Cfs, Any, Any], Tasks]:
    def arrive(cfs: Cfs, at: Any, job: Any) -> Tasks:
        woken: Tasks = ARRIVE(cfs, at, job)
        if not at.joins(job):
            return woken
        return replace(woken, vruntime={**woken.vruntime, job.user: start(cfs, at.state, job.user)})

    return arrive


ARRIVE = Cfs.arrive
WRONG = {
    "who wakes has banked": Wrong(
        Cfs,
        "arrive",
        wakes_at(lambda cfs, tasks, name: tasks.vruntime.get(name, Fraction(0))),
        (test_who_wakes_has_a_credit_and_nothing_else, test_it_is_what_a_processor_does_slice_by_slice),
    ),
    "who wakes is forgiven": Wrong(
        Cfs,
        "arrive",
        wakes_at(lambda cfs, tasks, name: tasks.least - cfs.credit),
        (test_who_ran_ahead_before_sleeping_is_not_forgiven, test_it_is_what_a_processor_does_slice_by_slice),
    ),
    "the last slice counts as whole": Wrong(
        Cfs,
        "_rest",
        lambda cfs, at, name: (
            -(-at.head(name).cost // cfs.slice) * cfs.slice - at.state.ran.get(at.head(name).request, 0)
        ),
        (test_what_has_run_is_charged_and_no_more, test_it_is_what_a_processor_does_slice_by_slice),
    ),
    "the order is that of the first slice": Wrong(
        Cfs,
        "_last",
        lambda cfs, at, name: at.state.vruntime[name],
        (test_light_work_ends_between_the_slices_of_heavy_work, test_it_is_what_a_processor_does_slice_by_slice),
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
