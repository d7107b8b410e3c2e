"""Numbers that halve with time: composition without error, and signs that are right however close it is."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from sfq_spec.related.halving import MANY, ZERO, Halving, number, power, sign

ONE = Fraction(1)


def fraction(rng: Random, most: int = 5) -> Fraction:
    return Fraction(rng.randint(0, most * 60000), 60000)


def test_halving_by_hand() -> None:
    hundred = number(Fraction(100))
    assert hundred.halved(ONE).terms == {0: 50}
    assert hundred.halved(Fraction(1, 2)).terms == {Fraction(1, 2): 50}, "100/√2 = 50·√2"
    assert hundred.halved(ONE).plus(number(Fraction(10))).terms == {0: 60}
    assert number(Fraction(0)) == ZERO == hundred.minus(hundred)


def test_halving_composes_exactly() -> None:
    rng = Random(1)
    for _ in range(300):
        value = number(fraction(rng)).halved(fraction(rng)).plus(number(fraction(rng)))
        a, b = fraction(rng), fraction(rng)
        assert value.halved(a + b) == value.halved(a).halved(b) == value.halved(b).halved(a)
        assert value.halved(a).halved(-a) == value


def test_ten_thousand_steps_are_one() -> None:
    value = number(Fraction(100)).halved(Fraction(1, 7))
    stepped = value
    for _ in range(10_000):
        stepped = stepped.halved(Fraction(1, 3000))
    assert stepped == value.halved(Fraction(10, 3))
    inexact = 100.0
    for _ in range(10_000):
        inexact *= 2 ** (-1 / 3000)
    assert inexact != 100 * 2 ** (-10 / 3), "which is what floating point would make of it"


@pytest.mark.parametrize("digits", [5, 30, 60])
def test_powers_are_off_by_less_than_one_in_the_last_place(digits: int) -> None:
    """Checked without any logarithm: p/10^k < 2^(n/d) means p^d < 2^n · 10^(k·d)."""
    rng = Random(2)
    for _ in range(50):
        d = rng.randint(1, 40)
        n = rng.randrange(d)
        p = power(Fraction(n, d), digits)
        assert (p - 1) ** d < 2**n * 10 ** (digits * d) < (p + 1) ** d


def test_the_sign_of_a_sum_that_is_almost_nothing() -> None:
    """p/q is the 60th convergent of √2; they differ by less than 10^−45, far below what a float can tell."""
    p, q = 1, 1
    for _ in range(60):
        p, q = p + 2 * q, p + q
    root = number(Fraction(2)).halved(Fraction(1, 2))
    above = 1 if p * p < 2 * q * q else -1
    for value in (ONE, Fraction(10) ** 500):
        assert sign([(value, root, Fraction(0)), (-value, number(Fraction(p, q)), Fraction(0))]) == above
        assert sign([(-value, root, Fraction(0)), (value, number(Fraction(p, q)), Fraction(0))]) == -above
    assert sign([(ONE, root, ONE), (-ONE, number(Fraction(1)), Fraction(1, 2))]) == 0
    assert sign([(ONE, root, ONE), (-ONE, number(Fraction(10**60 + 1, 10**60)), Fraction(1, 2))]) == -1


def test_the_sign_where_floating_point_is_lost() -> None:
    old, huge = Fraction(5000), Fraction(10) ** 400
    assert sign([(ONE, number(huge), Fraction(0)), (-ONE, number(huge + 1), Fraction(0))]) == -1
    assert sign([(ONE, number(ONE), old), (-ONE, number(Fraction(2)), old)]) == -1
    assert sign([(ONE, number(Fraction(2)), old + 1), (-ONE, number(Fraction(1)), old)]) == 0
    assert sign([(ONE, number(ONE), Fraction(MANY)), (-ONE, number(ONE), Fraction(MANY) + Fraction(1, 10**30))]) == 1


def test_what_is_near_is_near() -> None:
    """The quick estimate never contradicts the exact sign, and most often is enough."""
    rng, quick = Random(3), 0
    for _ in range(500):
        values = [number(fraction(rng)).halved(fraction(rng)) for _ in range(2)]
        a, b = values[0].plus(values[1], -ONE), values[1].plus(values[0], fraction(rng))
        near, off = a.near
        exact = a.plus(b, -ONE).sign
        assert sign([(ONE, a, Fraction(0)), (-ONE, b, Fraction(0))]) == exact
        quick += abs(near) > off
    assert quick > 400


class Careless(Halving):
    """Decays in steps of whole half-lives."""

    def halved(self, lives: Fraction) -> Halving:
        return super().halved(Fraction(lives // 1))


def test_a_halving_in_whole_steps_does_not_compose() -> None:
    value = Careless({Fraction(0): ONE})
    half = Fraction(1, 2)
    assert Careless(value.halved(half).terms).halved(half) != value.halved(half + half)
