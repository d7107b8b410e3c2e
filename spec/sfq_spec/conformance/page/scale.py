"""Where a value stands on the vertical axis: exact numbers of any size, so that what differs is seen to differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

from sfq_spec import numbers
from sfq_spec.conformance.page.chart import Axis

LETTERS = 11
"""Letters of the longest number that is written out."""
FAR = 10**6
"""Numbers so far from the base are not told from there."""


@dataclass(frozen=True)
class Scale:
    """Values on pixels, from `bottom` up to `top`."""

    values: Sequence[Fraction]
    """All that are drawn, ascending, each once."""
    bottom: float
    top: float
    in_order: bool
    """Not to scale: the values follow each other at equal distances."""
    base: Fraction
    """What is subtracted from the numbers that are written."""

    def at(self, value: Fraction) -> float:
        """The pixel of one of the values, or of one between the least and the greatest where it is to scale."""
        if self.in_order:
            part = Fraction(self.values.index(value), max(1, len(self.values) - 1))
        else:
            part = (value - self.values[0]) / ((self.values[-1] - self.values[0]) or 1)
        return round(self.bottom + (self.top - self.bottom) * float(part), 1)

    def written(self, value: Fraction) -> str:
        """A number as the picture has it: with a sign where it is told from the base."""
        off = value - self.base
        if not self.base or abs(off) >= FAR:
            return short(value)
        return f"{'+' if off >= 0 else ''}{short(off)}"

    def tick(self, value: Fraction) -> str:
        """A number as the axis has it: a decimal, where it is not one of the values."""
        off = value - self.base
        if self.in_order or abs(off) >= FAR:
            return self.written(value)
        return f"{'+' if self.base else ''}{float(off):g}"

    @property
    def ticks(self) -> list[Fraction]:
        """The values that have a number on the axis."""
        if self.in_order:
            every = -(-len(self.values) // 12)
            return list(self.values[::every])
        low, high = (float(value - self.base) for value in (self.values[0], self.values[-1]))
        ticks = [self.base + Fraction(tick).limit_denominator(10**6) for tick in Axis(low, high, 0, 1).ticks]
        whole = all(value.denominator == 1 for value in self.values)
        return [tick for tick in ticks if tick.denominator == 1 or not whole]


def scale(values: Collection[Fraction], telling: Collection[Fraction], bottom: float, top: float) -> Scale:
    """The scale for these values. It is to scale where the ones that are `telling` can then be told apart."""
    ordered = sorted(set(values))
    low, high = ordered[0], ordered[-1]
    span = high - low
    near = min((b - a for a, b in pairwise(sorted(set(telling)))), default=span)
    in_order = span > 0 and (not Fraction(1, 10**9) < span < 10**30 or near < span / 40)
    near_by = min(telling, default=low) if in_order else low
    is_large = near_by >= FAR if in_order else near_by >= 10_000 and near_by > 20 * span
    return Scale(ordered, bottom, top, in_order, Fraction(floor(near_by)) if is_large else Fraction(0))


def short(value: Fraction, letters: int = LETTERS) -> str:
    """A number, rounded where it is longer than there is room for."""
    written = str(numbers.write(value))
    if len(written) <= letters:
        return written
    whole = abs(value.numerator) // value.denominator
    if whole < 10**6:
        return f"{float(value):.6g}"
    digits = str(whole)
    first = f"{digits[0]}.{digits[1:5]}".rstrip("0").rstrip(".")
    return f"{'-' if value < 0 else ''}{first}e{len(digits) - 1}"
