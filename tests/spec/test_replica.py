"""REPLICA as it runs: several schedulers, one lead, and the bound that no smaller one replaces."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from arena import Arena
from sfq_spec import replica
from sfq_spec.logic import Exact
from sfq_spec.trace import Arrive, Dispatch

ZERO = Fraction(0)


def totals(arenas: list[Arena], i: str, j: str) -> replica.Total[Fraction]:
    """What an observer has added up who started on all schedulers at once."""
    accounts = [arena.accounts[0] for arena in arenas]
    greatest = max(max(*account.last.values(), *account.last1.values()) for account in accounts)
    total = replica.none(ZERO)
    for account in accounts:
        total = replica.plus(total, account, i, j, greatest)
    return total


@pytest.mark.integration
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.claims("REPLICA")
def test_the_lead_over_several_schedulers(number: int) -> None:
    widest = ZERO
    for seed in range(40):
        rng = random.Random(f"{number} {seed}")
        arenas = [started(rng, at) for at in range(number)]
        for step in range(60):
            arena = rng.choice(arenas)
            user, cost = rng.choice("AB"), Fraction(rng.choice([1, 3]))
            arena.play(Arrive(user, f"{user}{step}", cost))
            arena.play(Dispatch())
            if all(arena.accounts[0].throughout["B"] for arena in arenas):
                total = totals(arenas, "A", "B")
                assert replica.within(Exact("AB"), total)
                widest = max(widest, total.lead)
    assert widest > 0


def started(rng: random.Random, at: int) -> Arena:
    """A scheduler on which B has much to send, with an observer from now on."""
    arena = Arena()
    for count in range(40):
        arena.play(Arrive("B", f"b{at} {count}", Fraction(rng.choice([1, 3]))))
    arena.play(Arrive("A", f"a{at}", Fraction(1)))
    for _ in range(rng.randint(0, 3)):
        arena.play(Dispatch())
    arena.observe_from_now()
    return arena


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.claims("REPLICA")
def test_the_bound_is_attained(number: int) -> None:
    """On each, B is dispatched at 3, the observer starts, and A is dispatched twice at 3 before B is again."""
    arenas = []
    for _ in range(number):
        arena = Arena()
        for request in ("B1", "B2"):
            arena.play(Arrive("B", request, Fraction(3)))
        arena.play(Dispatch())
        for request in ("A1", "A2", "A3"):
            arena.play(Arrive("A", request, Fraction(3)))
        arena.observe_from_now()
        arena.play(Dispatch())
        arena.play(Dispatch())
        arenas.append(arena)
    total = totals(arenas, "A", "B")
    assert total.lead == total.allowed == total.most == 6 * number


@pytest.mark.claims("REPLICA")
def test_a_total_that_is_too_large_is_not_within() -> None:
    total = replica.Total(Fraction(6), Fraction(6), Fraction(6))
    assert replica.within(Exact("AB"), total)
    assert not replica.within(Exact("AB"), replace(total, lead=Fraction(7)))
    assert not replica.within(Exact("AB"), replace(total, allowed=Fraction(7)))
