"""Numbers: costs and weights as callers give them, the units that meters are kept in, charges that fail.

Integers, fractions and decimals stay exact. A float cost stays a float; a float weight is read as the decimal that it
is written as. Meters are counted in units of 1/scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeGuard

from sfq_spec.trace import InvalidCost, InvalidWeight

Number = int | float | Fraction

INFINITE = math.inf
LARGEST_EXPONENT = 1_000
"""Powers of ten up to which a decimal is expanded: a short text cannot ask for a number without bound."""


class ChargeLost(ArithmeticError):
    """A charge in floating point that the meter cannot take. The request waits on."""


class ChargeVanishes(ChargeLost):
    """The meter would not grow: its user would be first again, for ever."""

    def __init__(self, request: str) -> None:
        super().__init__(
            f"request {request!r}: its cost is lost in rounding beside its user's meter: "
            "call upkeep() to rebase the meters, or give costs as integers"
        )


class ChargeOverflows(ChargeLost):
    """The meter would be infinite."""

    def __init__(self, request: str) -> None:
        super().__init__(
            f"request {request!r}: its cost takes its user's meter beyond the largest float: "
            "give it a smaller one with recost(), or give all costs as integers"
        )


def charge_lost(request: str, start: Number, cost: Number, rate: int | Fraction) -> ChargeLost:
    """Why there is no `finish_tag`."""
    try:
        finite = start + cost * rate < INFINITE
    except OverflowError:
        finite = False
    return ChargeVanishes(request) if finite else ChargeOverflows(request)


def read_cost(cost: object) -> Number:
    """The cost in the form in which it is charged. Raises `InvalidCost` unless it is a finite number above zero."""
    number = float(cost) if _is_floating(cost) else _exact(cost)
    if number is None or not 0 < number < INFINITE:
        raise InvalidCost(cost)
    return number


def read_weight(weight: object) -> Fraction:
    """The weight, exactly. Raises `InvalidWeight` unless it is a finite number above zero."""
    number = _exact(Decimal(repr(float(weight)))) if _is_floating(weight) else _exact(weight)
    if number is None or number <= 0:
        raise InvalidWeight(weight)
    return Fraction(number)


def _is_floating(value: object) -> TypeGuard[float]:
    """A float, or a real number that can only be read as one."""
    return isinstance(value, Real) and not isinstance(value, Rational)


def _exact(value: object) -> int | Fraction | None:
    """An integer, fraction or decimal; None where it is nothing of the kind, not finite, or out of all reason."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return simplest(Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= LARGEST_EXPONENT:
        return simplest(Fraction(value))
    return None


def simplest(number: int | Fraction) -> int | Fraction:
    """The same number, as an integer where it is one."""
    return number.numerator if number.denominator == 1 else number


def rate(scale: int, weight: Fraction) -> int | Fraction:
    """What one unit of cost adds to a meter: an integer where the scale fits the weight's numerator."""
    whole, rest = divmod(scale * weight.denominator, weight.numerator)
    return Fraction(scale) / weight if rest else whole


def finish_tag(start: Number, cost: Number, rate: int | Fraction) -> Number | None:
    """The meter after a charge; None where a float would not hold it: it is infinite, or not above its start."""
    try:
        finish = start + cost * rate
    except OverflowError:
        return None
    if isinstance(finish, float):
        return finish if start < finish < INFINITE else None
    return simplest(finish)


def difference(minuend: Number, subtrahend: Number) -> int | Fraction:
    """The exact difference, of floats too."""
    if isinstance(minuend, float) or isinstance(subtrahend, float):
        return simplest(Fraction(minuend) - Fraction(subtrahend))
    return minuend - subtrahend


def as_float(number: int | Fraction) -> Number:
    """A fraction as the float of the same value, where there is one; any other number as it is."""
    if isinstance(number, Fraction):
        with suppress(OverflowError):
            if (near := float(number)) == number:
                return near
    return number


def rebased(meters: Iterable[Number], base: Number, scale: int, fits: Iterable[int]) -> tuple[list[Number], int]:
    """The meters less `base`, and their scale: the least one that fits them all and is a multiple of each of `fits`.

    Where one of the meters is a float the scale stays, and a float is only what a float holds exactly. So no two meters
    change places or come to be equal.
    """
    meters = list(meters)
    less = [difference(meter, base) for meter in meters]
    if any(isinstance(meter, float) for meter in meters):
        return [as_float(meter) for meter in less], scale
    new = math.lcm(*fits, *(_least_scale(meter, scale) for meter in set(less)))
    return [meter.numerator * new // (meter.denominator * scale) for meter in less], new


def _least_scale(meter: int | Fraction, scale: int) -> int:
    """The denominator of meter / scale."""
    whole = meter.denominator * scale
    return whole // math.gcd(meter.numerator, whole)
