"""Weighted fair queueing, or packet-by-packet GPS (Demers, Keshav and Shenker 1989; Parekh and Gallager 1993; §6.1).

The same arrivals flow through a simulated GPS server (`gps`). The finish tag of a request is the virtual time at which
the fluid has done it; the least tag of all that wait goes next. From idle a user begins at the fluid's virtual time,
unless the fluid still has work of its own to do. On one link a request is done at most the time of a largest one later
than in the fluid, and no user is behind it by more work than that.

The rule was read in texts about the papers. They have nothing that is withdrawn or estimated anew: here the fluid stops
work on a request that is withdrawn, a new estimate changes what it has left of that request, and a new weight its share
from that instant on. Uses `time`; where no line tells it, the clock is that of a single link of rate 1 (`clock`), whose
GPS is empty when nobody waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.clock import passed, served, told
from sfq_spec.related.gps import Fluid, Weight, add, flow, left, refill
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.tagged import ZERO, check_rate, least


@dataclass(frozen=True)
class Followed:
    """The fluid, and the tags of those that it has done and that wait nevertheless."""

    fluid: Fluid = field(default_factory=Fluid)
    finished: Mapping[int, Fraction] = field(default_factory=dict)
    """By the number of the request."""
    told: Fraction | None = None


@dataclass(frozen=True)
class Wfq(Method[Followed]):
    """The request that GPS will have done first goes next."""

    title: ClassVar[str] = "WFQ"
    uses_clock: ClassVar[bool] = True
    rate: Fraction = Fraction(1)
    """Units of cost a second that the servers do together. Above zero; counts only where the time is told."""

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def first(self) -> Followed:
        """Nothing is left to do."""
        return Followed()

    def tag(self, at: Situation[Followed], job: Job) -> Fraction:
        """The virtual time at which the fluid has done, or will have done, a waiting request."""
        s = at.state
        if job.number in s.finished:
            return s.finished[job.number]
        return next(part.finish for part in s.fluid.queues[job.user] if part.key == job.number)

    def arrive(self, at: Situation[Followed], job: Job) -> Followed:
        """It goes to the fluid, too."""
        s = self._now(at, at.weight)
        return replace(s, fluid=add(s.fluid, job.user, job.number, job.cost, at.weight(job.user)))

    def dispatch(self, at: Situation[Followed]) -> tuple[Followed, Job]:
        """The oldest request of least tag."""
        job = least(at, lambda job: self.tag(at, job))
        s = _without(_work(self._now(at, at.weight), served(at, job), at, at.weight), job)
        nobody_waits = len(at.queues) == 1 and at.is_last(job)
        return (_drained(s) if nobody_waits else s), job

    def cancel(self, at: Situation[Followed], job: Job) -> Followed:
        """The fluid works on it no more."""
        s = _without(self._now(at, at.weight), job)
        works = left(s.fluid, job.user, at.weight(job.user))
        works.pop(job.number, None)
        s = replace(s, fluid=refill(s.fluid, job.user, works, at.weight(job.user)))
        return s if at.queues else _drained(s)

    def reprice(self, at: Situation[Followed], before: Job, after: Job) -> Followed:
        """The fluid has so much more or less left of it; what it has done already is done."""
        s = self._now(at, at.weight)
        works = left(s.fluid, after.user, at.weight(after.user))
        rest = max(ZERO, works.get(after.number, ZERO) + after.cost - before.cost)
        # One that was done comes back before all that the user has left.
        works = works | {after.number: rest} if after.number in works else {after.number: rest} | works
        finished = {after.number: s.fluid.v, **s.finished} if not rest else _without(s, after).finished
        return replace(s, fluid=refill(s.fluid, after.user, works, at.weight(after.user)), finished=finished)

    def reweigh(self, at: Situation[Followed], user: str, before: Fraction) -> Followed:
        """What is left of the user's work flows at another share."""
        s = self._now(at, lambda other: before if other == user else at.weight(other))
        return replace(s, fluid=refill(s.fluid, user, left(s.fluid, user, before), at.weight(user)))

    def _now(self, at: Situation[Followed], weight: Weight) -> Followed:
        s = _work(at.state, passed(at, at.state.told) * self.rate, at, weight)
        return replace(s, told=told(at))


def _work(s: Followed, work: Fraction, at: Situation[Followed], weight: Weight) -> Followed:
    """The fluid goes on; the tags of what it has done are kept for those that wait."""
    fluid, ended = flow(s.fluid, work, weight)
    tags = {done.key: done.finish for done in ended if _waits(at, done.user, done.key)}
    return replace(s, fluid=fluid, finished={**s.finished, **tags})


def _waits(at: Situation[Followed], user: str, number: int) -> bool:
    return any(job.number == number for job in at.queues.get(user, ()))


def _without(s: Followed, job: Job) -> Followed:
    return replace(s, finished={number: tag for number, tag in s.finished.items() if number != job.number})


def _drained(s: Followed) -> Followed:
    """Where nobody waits and the fluid has no work left, all begins again. A link is idle then, and its fluid too."""
    return s if s.told is not None and s.fluid.queues else Followed(told=s.told)
