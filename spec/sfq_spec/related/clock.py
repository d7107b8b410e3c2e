"""Time, for methods that have a clock: as the lines tell it, and where none does, as a single link has it.

The link sends one request at a time, one unit of cost a second. Each dispatch is made when the one before has been
served, so the time is the sum of the costs that were dispatched: what arrives after a dispatch arrives when that
request has been served, and the link is idle as soon as nobody waits, which is the end of the article's busy period
(article §5.3). Once a line tells the time, only told time passes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfq_spec.related.method import Job, Situation

ZERO = Fraction(0)


def told(at: Situation[Any]) -> Fraction | None:
    """The latest time that was told, in seconds; None where the link is the clock."""
    return at.time if at.has_clock else None


def passed(at: Situation[Any], before: Fraction | None) -> Fraction:
    """Seconds since a time that was told before; the first time that is told begins the count."""
    return at.time - before if at.has_clock and before is not None else ZERO


def served(at: Situation[Any], job: Job) -> Fraction:
    """Seconds until the next dispatch, where the link is the clock and this request is the one on it."""
    return ZERO if at.has_clock else job.cost
