"""Exact numbers: how they are read, how they are written.

Costs, weights and meters are rationals. A JSON integer, or a string that holds an integer, a decimal or a
fraction, is read exactly; a float is read as the decimal that it is written as.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

LONGEST = 1_000
"""Digits of the longest number that is read: a file cannot make the reader build a number without bound."""

_SMALL = 1 << 53

_FINITE = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?)", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


class NotANumber(ValueError):
    """A text or object that does not stand for a number; the message says what was expected."""


def read(value: object) -> Fraction | float:
    """The number that `value` stands for: a `Fraction`, or the float NaN or an infinity where one is named.

    Accepts what a JSON document can hold and Python's own numbers. Raises `NotANumber` for anything else
    (booleans, other types, texts in another form, more than `LONGEST` digits).
    """
    if isinstance(value, bool):
        raise NotANumber(f"{value} is a truth value, not a number")
    if type(value) is int and -_SMALL < value < _SMALL:
        return _whole(value)
    if isinstance(value, int | Fraction):
        return _bounded(value)
    if isinstance(value, float):
        return _bounded(Fraction(repr(value))) if math.isfinite(value) else value
    if isinstance(value, Decimal):
        value = str(value)
    if isinstance(value, str):
        return _read_text(value)
    raise NotANumber(f"{'null' if value is None else _shown(value)} is not a number")


def decimal(text: str) -> Decimal:
    """A JSON float as the decimal that it is written as: the `float_hook` of every reader.

    Raises `NotANumber` where its exponent is beyond what a decimal can hold.
    """
    try:
        return Decimal(text)
    except ArithmeticError:
        raise NotANumber(f"{_shown(text)} has an exponent that is too large to read") from None


def write(number: Fraction | float) -> int | str:
    """The number as JSON holds it: an integer, or a string such as `"1/3"`, `"nan"`, `"inf"`."""
    if isinstance(number, float):
        return str(number)
    return number.numerator if number.denominator == 1 else str(number)


def _read_text(text: str) -> Fraction | float:
    if len(text) <= LONGEST:
        if _NOT_FINITE.fullmatch(text):
            return float(text)
        if _FINITE.fullmatch(text) and not _denominator_is_zero(text):
            mantissa, _, exponent = text.lower().partition("e")
            if abs(int(exponent or 0)) <= LONGEST:
                return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)
    raise NotANumber(
        f'{_shown(text)} is not a number: write an integer, a decimal or a fraction such as "1/3" '
        f"of at most {LONGEST} digits"
    )


def _denominator_is_zero(text: str) -> bool:
    _, slash, denominator = text.partition("/")
    return bool(slash) and int(denominator) == 0


def _bounded(number: int | Fraction) -> Fraction:
    if max(abs(number.numerator), number.denominator).bit_length() > LONGEST * 4:
        raise NotANumber(f"a number of more than {LONGEST} digits is not read")
    return number if type(number) is Fraction else Fraction(number)


@lru_cache(maxsize=1 << 12)
def _whole(number: int) -> Fraction:
    """The same object for the same small number, which is made, read and compared again and again."""
    return Fraction(number)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 42 else text[:39] + "..."
