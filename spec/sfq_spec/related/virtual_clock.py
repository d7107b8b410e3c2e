"""VirtualClock (Zhang, SIGCOMM 1990 and TOCS 9(2) 1991, section 3.1): the tag is real time at a reserved rate.

A user has a reserved rate: `rate` multiplied by its weight. A request has the tag F = max(F of the one before, time of
its arrival) + cost / reserved rate; the least tag goes next. From idle a user begins at the present time, so nothing is
banked; but a user that was given more than its rate while nobody else came pays for it afterwards, without a bound.

The paper's data-forwarding rule as it is read in ns.py 0.5.0; the monitoring of flows and its periodic synchronisation
are left out. Uses `time`; where no line tells it, the clock is that of a single link of rate 1 (`clock`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.clock import passed, served, told
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.tagged import Stamps, check_rate, least


@dataclass(frozen=True)
class Clocks:
    """The tags, and the time."""

    stamps: Stamps = field(default_factory=Stamps)
    """Its clock is in seconds since the first event."""
    told: Fraction | None = None


@dataclass(frozen=True)
class VirtualClock(Method[Clocks]):
    """The least tag goes next, where tags grow at the reserved rate from real time on."""

    title: ClassVar[str] = "VirtualClock"
    uses_clock: ClassVar[bool] = True
    rate: Fraction = Fraction(1)
    """Units of cost a second that are reserved for a user of weight 1. Above zero."""

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def first(self) -> Clocks:
        """The time is 0."""
        return Clocks()

    def tag(self, at: Situation[Clocks], job: Job) -> Fraction:
        """The tag of a user's oldest request, in seconds since the first event."""
        return at.state.stamps.tag(job, self.rate * at.weight(job.user))

    def arrive(self, at: Situation[Clocks], job: Job) -> Clocks:
        """A request arrives at the present time."""
        s = _now(at)
        return replace(s, stamps=s.stamps.arrive(job))

    def dispatch(self, at: Situation[Clocks]) -> tuple[Clocks, Job]:
        """The oldest request of least tag."""
        job = least(at, lambda job: self.tag(at, job))
        s = _now(at)
        stamps = s.stamps.send(job, self.tag(at, job))
        return replace(s, stamps=stamps.forward(stamps.clock + served(at, job), at)), job

    def cancel(self, at: Situation[Clocks], job: Job) -> Clocks:
        """As if it had not come."""
        s = _now(at)
        return replace(s, stamps=s.stamps.cancel(job))


def _now(at: Situation[Clocks]) -> Clocks:
    stamps = at.state.stamps
    return Clocks(stamps.forward(stamps.clock + passed(at, at.state.told), at), told(at))
