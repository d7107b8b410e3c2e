"""Rounded sums: what is left of the competition in floating point, and what is not (article §7.2, §7.3).

A meter is then fl(S + fl(c/w)), each result rounded to nearest, a tie to the even one. The predicates about one sum are
read on Python's floats, where they run; on bit-precise terms of each IEEE format, where they are proved; and on an
abstract sum, where they are all that the band needs (`sfq_proofs.theorems.floats`, `sfq_proofs.theorems.rounded`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfq_spec import variants
from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.logic import Logic, N, T, U

BINARY64 = 53
"""Bits of precision of Python's floats. All integers of up to 2^53 are floats, and 2^53 + 1 is not."""


# One sum, or one quotient


def monotone(logic: Logic[U, N, T], a: N, c: N, d: N) -> T:
    """FLOAT-BAND: what is added to more is not less."""
    return logic.implies(c <= d, a + c <= a + d)


def grows(logic: Logic[U, N, T], a: N, c: N) -> T:
    """FLOAT-BAND: a charge does not lower a meter."""
    return a <= a + c  # type: ignore[no-any-return]


def commutes(logic: Logic[U, N, T], a: N, c: N) -> T:
    """FLOAT-BAND: a sum does not depend on the order of its two parts."""
    return logic.equal(a + c, c + a)


def strictly_grows(logic: Logic[U, N, T], a: N, c: N) -> T:
    """FLOAT-STRICT: a charge raises a meter. True of exact numbers, and of floats only within limits (article §2.2)."""
    return a < a + c  # type: ignore[no-any-return]


def keeps_order(logic: Logic[U, N, T], v: N, a: N, c: N) -> T:
    """REBASE-EXACT: less v, the lesser meter is not the greater one (article §7.2)."""
    return logic.implies(a <= c, a - v <= c - v)


# Exactness, on exact numbers


def nearest(number: Fraction, precision: int = BINARY64) -> Fraction:
    """The number of that many bits that is nearest; of two as near the even one. There is no greatest exponent."""
    if number == 0:
        return number
    size = abs(number)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - precision + 1)
    return round(number / unit) * unit


def is_exact(number: Fraction, precision: int = BINARY64) -> bool:
    """FLOAT-EXACT, REBASE-EXACT: rounding leaves the number as it is."""
    return nearest(number, precision) == number


def band(s: Competition[str, Fraction, bool], last: Fraction, user: str, precision: int = BINARY64) -> bool:
    """FLOAT-BAND: INV-UPPER with the sum rounded: S ≤ fl(v + last)."""
    return s.meter[user] <= nearest(s.v + last, precision)


# The rules in floating point


def rounded(rules: Rules = SFQ, precision: int = BINARY64) -> Rules:
    """The rules with every charge rounded, and an upkeep that does nothing. Costs and weights must fit the format."""

    def charge(S: Fraction, c: Fraction, w: Fraction) -> Fraction:
        return nearest(S + nearest(c / w, precision), precision)

    return replace(rules, charge=charge)


def rebasing(rules: Rules = SFQ, precision: int = BINARY64) -> Rules:
    """The same, with an upkeep that subtracts v from every meter, each difference rounded (article §7.2)."""

    def rebase(logic: Any, rules: Rules, s: Competition[str, Fraction, bool]) -> Step[str, Fraction, bool]:
        exact = variants.rebase(logic, rules, s).after
        after = replace(exact, meter={user: nearest(meter, precision) for user, meter in exact.meter.items()})
        return Step(True, after, after)

    return replace(rounded(rules, precision), upkeep=rebase)
