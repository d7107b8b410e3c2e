"""Two counters by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from playing import Playing, Wrong, names
from sfq_spec.related import policies, two_counter
from sfq_spec.related.policies import BadPolicy
from sfq_spec.related.two_counter import Sides, TwoCounter


def counters(playing: Playing) -> dict[str, Any]:
    """Both sides of every user."""
    return {name: (count, playing.state.operators[name]) for name, count in sorted(playing.state.users.items())}


def test_it_says_that_it_is_not_the_published_method() -> None:
    assert "It is not that method" in (two_counter.__doc__ or "")


def test_both_sides_by_hand() -> None:
    """A waits for 3 s and runs for 10; B waits for 5 and runs for 1."""
    playing = Playing("two-counter:latency=1/2")
    playing.arrive("A1", input_tokens=8, time=0)
    playing.arrive("B1", cost=8)
    assert playing.send(time=3) == "A1"
    assert counters(playing) == {"A": (Fraction(13, 2), 0), "B": (0, 0)}
    assert playing.send(time=5) == "B1"
    playing.complete("B1", time=6, output_tokens=2)
    playing.complete("A1", time=13)
    assert counters(playing) == {"A": (Fraction(13, 2), 10), "B": (8 - Fraction(5, 2) + 4, 1)}
    assert playing.state.begun == {}


def first(users: Fraction | str, operators: int) -> str:
    """Who goes, of A with few tokens that run long, and B with many that run short; both wait all the time."""
    playing = Playing(f"two-counter:users={users},operators={operators},latency=0")
    playing.arrive("A1", "A2", cost=10, time=0)
    playing.arrive("B1", "B2", cost=40)
    assert playing.send(2) == "A1 B1"
    playing.complete("B1", time=5)
    playing.complete("A1", time=50)
    return playing.send()


def test_the_coefficients_decide_between_the_sides() -> None:
    """10 and 50 for A, 40 and 5 for B: with equal coefficients 60 to 45, and 3 · 10 + 2 · 50 = 3 · 40 + 2 · 5."""
    assert (first("1", 0), first("0.001", 1), first("1", 1)) == ("A2", "B2", "B2")
    assert (first("3", 2), first("2.9", 2)) == ("A2", "B2")


def test_with_costs_alone_it_shares_them() -> None:
    playing = Playing("two-counter")
    playing.arrive(*names("A", 4), cost=3)
    playing.arrive(*names("B", 6))
    assert playing.send(8) == "A1 B1 B2 B3 A2 B4 B5 B6"
    heavy = Playing("two-counter")
    heavy.weigh(A=3)
    heavy.arrive(*names("A", 6), *names("B", 6))
    assert heavy.send(8) == "A1 B1 A2 A3 A4 B2 A5 A6"


def test_who_comes_to_wait_is_lifted_on_each_side() -> None:
    """B stands at 6 and 20, C at 9 and 1: A, which is new, starts at 6 and 1. B, back, is lifted no more."""
    playing = Playing("two-counter:latency=0")
    playing.arrive("B1", "B2", cost=6, time=0)
    playing.arrive("C1", "C2", cost=9)
    assert playing.send(2) == "B1 C1"
    playing.complete("C1", time=1)
    playing.complete("B1", time=20)
    playing.arrive("A1")
    assert counters(playing) == {"A": (6, 1), "B": (6, 20), "C": (9, 1)}
    playing.cancel("B2")
    playing.arrive("B3")
    assert counters(playing)["B"] == (6, 20)


def test_bad_parameters() -> None:
    with pytest.raises(BadPolicy, match="latency -1: must be 0 or more"):
        policies.method("two-counter:latency=-1")


def the_other_way_round(method: TwoCounter, at: Any, job: Any, outcome: Any, told: Any) -> Sides:
    sides = COMPLETE(method, at, job, outcome, told)
    return Sides(sides.operators, sides.users, sides.begun)


COMPLETE = TwoCounter.complete
WRONG = {
    "no lift": Wrong(
        two_counter,
        "_lifted",
        lambda counter, user, others: {**counter, user: counter.get(user, Fraction(0))},
        (test_who_comes_to_wait_is_lifted_on_each_side,),
    ),
    "one side is the other": Wrong(
        TwoCounter,
        "complete",
        the_other_way_round,
        (test_both_sides_by_hand, test_the_coefficients_decide_between_the_sides),
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
