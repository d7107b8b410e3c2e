"""Timing that can be trusted on a shared machine: ratios of processor time, taken side by side, again and again."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

clock = time.process_time_ns


@dataclass(frozen=True)
class Work:
    """Something that can be done again and again, and times itself."""

    steps: int
    run: Callable[[], int]
    """Does all steps; returns the nanoseconds of processor time that they took, without what they needed first."""


@dataclass(frozen=True)
class Timed:
    """Work that was timed beside other work, the reference."""

    nanoseconds: float
    """The median per step. Depends on the machine."""
    ratio: float
    """The median of its ratios to the reference, each of two timings that followed closely on one another."""
    spread: float
    """How far from it half of the ratios lie at most."""


def compare(work: Work, reference: Work, repetitions: int) -> Timed:
    """Time both in turn, forth and back, `repetitions` times."""
    own: list[float] = []
    other: list[float] = []
    for repetition in range(repetitions):
        for one, times in ((work, own), (reference, other))[:: 1 if repetition % 2 else -1]:
            gc.collect()
            times.append(one.run() / one.steps)
    ratios = [ours / theirs for ours, theirs in zip(own, other, strict=True)]
    middle = median(ratios)
    return Timed(median(own), middle, median(abs(ratio - middle) for ratio in ratios))
