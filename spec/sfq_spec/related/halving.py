"""Numbers that halve with time, exactly: finite sums of c · 2^x with rational c and x.

A half-life makes 2^(−Δ/H) of a number, which is irrational for most times. So a number is kept as a sum of terms
c · 2^x with 0 ≤ x < 1, one for each x: whole powers of two go into c. Halving by a and then by b is then halving by
a + b without any error, and nothing is rounded however often it is done.

Whether two of them are equal is exact too, because the form is unique: for a common denominator d of all x, the powers
2^(0/d), …, 2^((d−1)/d) are linearly independent over the rationals (x^d − 2 is irreducible by Eisenstein's criterion).
Only the sign of a sum that is not zero takes an approximation: first a quick one in floating point with a bound on its
error, and where that does not tell, in as many decimal places as it takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

ROUNDING = 2.0**-48
"""More than the relative error of a few operations in floating point."""
TINY = 1e-300
"""More than what is lost where a number in floating point is too small for all its digits."""
MANY = 400
"""Half-lives beyond which floating point is not tried."""
DIGITS = 30
"""Decimal places of the first attempt at a sign; each later one takes twice as many."""


@dataclass(frozen=True)
class Halving:
    """The sum of c · 2^x over its terms."""

    terms: Mapping[Fraction, Fraction] = field(default_factory=dict)
    """c by x, where 0 ≤ x < 1; none is zero."""

    def plus(self, other: Halving, times: Fraction = Fraction(1)) -> Halving:
        """This, and so many times the other."""
        terms = dict(self.terms)
        for x, c in other.terms.items():
            terms[x] = terms.get(x, Fraction(0)) + c * times
        return Halving({x: c for x, c in terms.items() if c})

    def minus(self, other: Halving) -> Halving:
        """This without the other."""
        return self.plus(other, Fraction(-1))

    def times(self, factor: Fraction) -> Halving:
        """So many times this."""
        return ZERO.plus(self, factor)

    def halved(self, lives: Fraction) -> Halving:
        """This after so many half-lives, whole or not: times 2^(−lives)."""
        if not lives:
            return self
        moved = ((x - lives, c) for x, c in self.terms.items())
        return Halving({x % 1: c * Fraction(2) ** (x // 1) for x, c in moved})

    def __lt__(self, other: Halving) -> bool:
        return self.minus(other).sign < 0

    def __le__(self, other: Halving) -> bool:
        return self.minus(other).sign <= 0

    @property
    def sign(self) -> int:
        """−1, 0 or 1."""
        signs = {1 if c > 0 else -1 for c in self.terms.values()}
        if len(signs) < 2:
            return signs.pop() if signs else 0
        digits = DIGITS
        while True:
            about = sum((c * power(x, digits) for x, c in self.terms.items()), Fraction(0))
            if abs(about) > sum(map(abs, self.terms.values())):
                return 1 if about > 0 else -1
            digits *= 2

    @cached_property
    def near(self) -> tuple[float, float]:
        """About this, and a bound on the error."""
        try:
            parts = [float(c) * 2.0 ** float(x) for x, c in self.terms.items()]
        except OverflowError:
            return 0.0, math.inf
        return math.fsum(parts), sum(map(abs, parts)) * ROUNDING + len(parts) * TINY


Part = tuple[Fraction, "Halving", Fraction]
"""A factor, a number, and half-lives: the factor times the number after them."""


def sign(parts: Sequence[Part]) -> int:
    """The sign of a sum: −1, 0 or 1."""
    about, error = _near(parts)
    if abs(about) > error:
        return 1 if about > 0 else -1
    total = ZERO
    for factor, value, lives in parts:
        total = total.plus(value.halved(lives), factor)
    return total.sign


def _near(parts: Sequence[Part]) -> tuple[float, float]:
    about, error = 0.0, 0.0
    for factor, value, lives in parts:
        if abs(lives) > MANY or abs(factor) > 2**MANY:
            return 0.0, math.inf
        near, off = value.near
        scale = float(factor) * 2.0 ** -float(lives)
        about += scale * near
        error += abs(scale) * (off + abs(near) * ROUNDING * (1 + abs(float(lives)))) + TINY
    return about, 2 * error


ZERO = Halving()


def number(value: Fraction) -> Halving:
    """A rational number."""
    return Halving({Fraction(0): value} if value else {})


@lru_cache(maxsize=1 << 16)
def power(x: Fraction, digits: int) -> int:
    """2^x · 10^digits, off by less than one, where 0 ≤ x < 1.

    With eight more digits than are asked for, the few roundings on the way stay far below one in the last place.
    """
    context = Context(prec=digits + 8)
    exponent = context.divide(context.multiply(context.ln(Decimal(2)), x.numerator), Decimal(x.denominator))
    return int(context.scaleb(context.exp(exponent), digits))
