"""Stride scheduling as a method: one quantum's error between any two, and what becomes of who leaves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from playing import Playing, Wrong, names
from sfq_spec.related import policies, stride
from sfq_spec.related.policies import BadPolicy
from sfq_spec.related.stride import Strides, StrideScheduling

REMAINED = "stride:joins=with what remained"


def test_tickets_of_three_two_and_one_by_hand() -> None:
    """Strides of 1/3, 1/2 and 1: all at 0, then 1/3, 1/2, 1; 2/3; 1, 1, 1 by id."""
    playing = Playing("stride")
    playing.weigh(A=3, B=2)
    playing.arrive(*names("A", 6), *names("B", 6), *names("C", 6))
    assert playing.send(12) == "A1 B1 C1 A2 B2 A3 A4 B3 C2 A5 B4 A6"


def test_every_dispatch_is_one_quantum_whatever_it_costs() -> None:
    for policy in ("stride", "stride:quantum=7"):
        playing = Playing(policy)
        playing.arrive(*names("A", 4), cost=1000)
        playing.arrive(*names("B", 4))
        assert playing.send(8) == "A1 B1 A2 B2 A3 B3 A4 B4"


def error(seed: int, joins: str = "at the global pass") -> Fraction:
    """The greatest difference, of any two clients at any time, between what one got and its part of what both got."""
    rng = Random(seed)
    users = "ABCD"[: rng.randint(2, 4)]
    weights = {user: rng.randint(1, 9) for user in users}
    playing = Playing(f"stride:joins={joins}")
    playing.weigh(**weights)
    for user in users:
        playing.arrive(*names(user, 80), cost=rng.randint(1, 99))
    got, worst = dict.fromkeys(users, 0), Fraction(0)
    for _ in range(80):
        got[playing.send()[0]] += 1
        for a in users:
            for b in set(users) - {a}:
                part = Fraction(weights[a], weights[a] + weights[b]) * (got[a] + got[b])
                worst = max(worst, abs(got[a] - part))
    return worst


def test_the_error_between_two_is_a_quantum_at_most() -> None:
    for joins in ("at the global pass", "one stride later"):
        assert max(error(seed, joins) for seed in range(25)) <= 1


def test_who_joins_starts_at_the_global_pass_and_has_banked_nothing() -> None:
    """A has been alone for 50 quanta: the global pass and its own are 50. B is next but one, and then every other."""
    playing = Playing("stride")
    playing.arrive(*names("A", 60))
    playing.send(50)
    playing.arrive(*names("B", 5))
    assert playing.send(4) == "A51 B1 A52 B2"


def test_what_remained_is_kept_as_in_the_memorandum() -> None:
    """A and B start at 1, the global pass at 0. A goes to 2 and leaves, 3/2 beyond the global pass at 1/2.

    B goes twice, alone: to 3, and the global pass to 5/2. There A is back.
    """
    back = {}
    for joins in ("at the global pass", "one stride later", "with what remained"):
        playing = Playing(f"stride:joins={joins}")
        playing.arrive("A1", *names("B", 9))
        assert playing.send(3) == "A1 B1 B2"
        playing.arrive("A2")
        assert playing.state.clients.global_pass == Fraction(5, 2)
        back[joins] = playing.state.clients.passes["A"]
    assert back == {"at the global pass": Fraction(5, 2), "one stride later": Fraction(7, 2), "with what remained": 4}


def by_returning(joins: str) -> int:
    """How many of 300 dispatches a user gets that always comes back when it has drained; two others always wait."""
    playing = Playing(f"stride:joins={joins}")
    playing.arrive("C1", *names("A", 300), *names("B", 300))
    got = 0
    for _ in range(300):
        if playing.send() == f"C{got + 1}":
            got += 1
            playing.arrive(f"C{got + 1}")
    return got


def test_nothing_is_gained_by_draining_and_returning() -> None:
    """Also at the global pass, which every quantum moves, those of the user that returns included."""
    for joins in ("at the global pass", "one stride later", "with what remained"):
        assert by_returning(joins) == 100


def test_other_tickets_keep_the_number_of_strides_to_go() -> None:
    """A is half a quantum beyond the global pass with one ticket, and an eighth with four."""
    playing = Playing("stride")
    playing.arrive(*names("A", 9), *names("B", 9))
    playing.send()
    passed = playing.state.clients
    assert (passed.global_pass, passed.passes["A"]) == (Fraction(1, 2), 1)
    playing.weigh(A=4)
    assert playing.state.clients.passes["A"] == Fraction(1, 2) + Fraction(1, 8)
    assert playing.state.clients.global_tickets == 5
    assert playing.send(6) == "B1 A2 A3 B2 A4 A5"


def test_only_who_waits_is_remembered() -> None:
    playing = Playing("stride")
    playing.arrive("A1", "B1")
    playing.weigh(A=2)
    playing.send()
    playing.cancel("B1")
    assert playing.state.clients.passes == playing.state.clients.active == {}
    assert playing.state.clients.global_tickets == 0
    assert playing.state.remains == {}
    kept = Playing(REMAINED)
    kept.arrive("A1", "B1")
    kept.send()
    kept.cancel("B1")
    assert kept.state.remains == {"A": Fraction(3, 2), "B": Fraction(1, 2)}


def test_bad_parameters() -> None:
    with pytest.raises(BadPolicy, match="quantum 0: must be above zero"):
        policies.method("stride:quantum=0")
    with pytest.raises(BadPolicy, match="joins must be one of at the global pass, one stride later, with what"):
        policies.method("stride:joins=late")


ALLOCATE = stride.allocate


def equal_strides(logic: Any, s: Any, client: str, quantum: Fraction) -> Any:
    return ALLOCATE(logic, s, client, quantum * s.tickets[client])


def two_for_one(logic: Any, s: Any, client: str, quantum: Fraction) -> Any:
    return ALLOCATE(logic, s, client, quantum * (2 if client == "A" else 1))


def stays_for_ever(method: StrideScheduling, state: Strides, user: str) -> Strides:
    return state


WRONG = {
    "tickets count for nothing": Wrong(
        stride,
        "allocate",
        equal_strides,
        (test_the_error_between_two_is_a_quantum_at_most,),
    ),
    "one pays twice": Wrong(stride, "allocate", two_for_one, (test_the_error_between_two_is_a_quantum_at_most,)),
    "the global pass stands still": Wrong(
        stride,
        "allocate",
        lambda logic, s, client, quantum: replace(ALLOCATE(logic, s, client, quantum), global_pass=s.global_pass),
        (
            test_who_joins_starts_at_the_global_pass_and_has_banked_nothing,
            test_nothing_is_gained_by_draining_and_returning,
        ),
    ),
    "nobody leaves": Wrong(StrideScheduling, "_left", stays_for_ever, (test_only_who_waits_is_remembered,)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
