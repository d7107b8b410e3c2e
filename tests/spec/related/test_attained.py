"""What is proved of LAS with unknown factors, read on exact services that halve."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from sfq_spec.logic import Exact
from sfq_spec.related import attained
from sfq_spec.related.attained import Weights
from sfq_spec.related.halving import ZERO, Halving, number

SAY = Exact("ij")
SEED = Weights(Fraction("0.8"), Fraction("0.2"))
NUMBERS = [Fraction(value) for value in (0, 1, 3, 4, 5, 1000)]
TIMES = [Fraction(value) for value in ("0", "1/3", "1", "17/7", "600")]


def services() -> list[Halving]:
    """Some that have decayed for odd times, and sums of them."""
    rng = Random(3)
    single = [number(value).halved(time) for value, time in product(NUMBERS[:4], TIMES[:3])]
    return [ZERO, *single, *(rng.choice(single).plus(rng.choice(single)) for _ in range(6))]


@pytest.mark.claims("LAS-HALVES", "LAS-POSITIVE", "LAS-IDLE", "LAS-KEPT")
def test_decay_does_what_is_proved_of_it() -> None:
    rng = Random(5)
    for _ in range(200):
        mine, other = rng.choice(services()), rng.choice(services())
        a, b = rng.choice(TIMES), rng.choice(TIMES)
        assert attained.composes(SAY, mine, a, b)
        assert attained.stays_positive(SAY, ZERO, mine, other, a)
        assert attained.keeps_order(SAY, mine, other, a)
        assert attained.remembers(SAY, mine, other, a, b)


@pytest.mark.claims("LAS-PAIR", "LAS-EVICT")
def test_two_that_wait_are_chosen_as_is_proved() -> None:
    for i, j, wait_i, wait_j in product(NUMBERS, NUMBERS, NUMBERS[:3], NUMBERS[:3]):
        pair = ("i", "j"), (i, j), (wait_i, wait_j)
        assert attained.less_goes_first(SAY, SEED, *pair)
        assert attained.seen_if_forgotten(SAY, SEED, *pair, NUMBERS[0])
        goes = attained.goes_before(SAY, SEED, *pair)
        assert goes != attained.goes_before(SAY, SEED, ("j", "i"), (j, i), (wait_j, wait_i)), "one of the two goes"


@pytest.mark.claims("LAS-RANGE")
def test_who_goes_is_within_a_quarter_of_the_range() -> None:
    places = [Fraction(part, 4) for part in range(5)]
    for service, waited, other in product(range(41), places, places):
        assert attained.near_the_least(SAY, SEED, (Fraction(service), NUMBERS[0]), Fraction(40), (waited, other))


def test_the_predicates_can_be_false() -> None:
    even = Weights(SEED.service, SEED.service)
    pair = ("i", "j"), (NUMBERS[1], NUMBERS[2]), (NUMBERS[0], NUMBERS[3])
    assert not attained.goes_before(SAY, even, ("j", "i"), pair[1][::-1], (NUMBERS[0], NUMBERS[0]))
    assert attained.goes_before(SAY, even, ("i", "j"), pair[1], (NUMBERS[0], NUMBERS[3])), "a tie, by id"
    assert not attained.goes_before(SAY, even, ("j", "i"), pair[1], (NUMBERS[0], NUMBERS[3]))
    backwards = number(Fraction(-1))
    assert not attained.stays_positive(SAY, number(Fraction(-2)), backwards, number(Fraction(-2)), TIMES[2])


class Linear(Halving):
    """Loses a token for each half-life."""

    def halved(self, lives: Fraction) -> Linear:
        return Linear(self.minus(number(lives)).terms)

    def plus(self, other: Halving, times: Fraction = Fraction(1)) -> Linear:
        return Linear(super().plus(other, times).terms)


def test_another_decay_is_told() -> None:
    """It composes, and forgets what was added."""
    mine, used, a, b = Linear(number(Fraction(100)).terms), Linear(number(Fraction(10)).terms), *TIMES[1:3]
    assert attained.composes(SAY, mine, a, b)
    assert not attained.remembers(SAY, mine, used, a, b)
    assert not attained.stays_positive(SAY, ZERO, used, mine, TIMES[-1])


def test_places_go_from_0_to_1_and_are_a_half_where_there_is_no_range() -> None:
    least, most = Fraction(2), Fraction(6)
    assert [attained.place(SAY, Fraction(value), least, most) for value in (2, 3, 6)] == [0, Fraction(1, 4), 1]
    assert attained.place(SAY, least, least, least) == Fraction(1, 2)
