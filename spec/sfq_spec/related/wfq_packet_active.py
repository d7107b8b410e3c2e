"""Weighted fair queueing without the fluid, as simulators have it: a user counts while its requests are in the system.

Finish tags as in `wfq`, F = max(F of the one before, V at its arrival) + cost / weight, and the least goes next; but
virtual time grows by the work done over the weights of users that have a request waiting or in service, and not of
those that would have one in GPS. The two differ: see `wfq`. Where nothing is left all begins at zero again. From idle
a user begins at V, or at its last F where it is ahead.

The rule is that of ns.py 0.5.0, which names it packet-active; its older versions charge nothing for the first request
of a busy period. Uses `time`, and then the lines `complete`, since a request is in service until it is completed. Where
no line tells the time, the clock is that of a single link of rate 1 (`clock`), and completions are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.clock import passed, served, told
from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.tagged import ZERO, Stamps, check_rate, least
from sfq_spec.trace import Outcome


@dataclass(frozen=True)
class Active:
    """The tags, and the weights that count."""

    stamps: Stamps = field(default_factory=Stamps)
    """Its clock is virtual time."""
    weights: Fraction = ZERO
    """The sum of the weights of users in the system."""
    told: Fraction | None = None


@dataclass(frozen=True)
class WfqPacketActive(Method[Active]):
    """The least finish tag goes next, in a virtual time that counts users by their requests in the system."""

    title: ClassVar[str] = "WFQ, packet-active"
    uses_clock: ClassVar[bool] = True
    rate: Fraction = Fraction(1)
    """Units of cost a second that the servers do together. Above zero; counts only where the time is told."""

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def first(self) -> Active:
        """Nobody is in the system."""
        return Active()

    def tag(self, at: Situation[Active], job: Job) -> Fraction:
        """The finish tag of a user's oldest request."""
        return at.state.stamps.tag(job, at.weight(job.user))

    def arrive(self, at: Situation[Active], job: Job) -> Active:
        """It is stamped with the virtual time."""
        s = self._now(at)
        return _counted(replace(s, stamps=s.stamps.arrive(job)), at)

    def dispatch(self, at: Situation[Active]) -> tuple[Active, Job]:
        """The oldest request of least tag."""
        job = least(at, lambda job: self.tag(at, job))
        s = self._now(at)
        stamps = s.stamps.send(job, self.tag(at, job))
        if at.has_clock:
            return replace(s, stamps=stamps), job
        waiting = {user: queue for user, queue in at.queues.items() if user != job.user or not at.is_last(job)}
        after = replace(at, queues=waiting)
        stamps = stamps.forward(stamps.clock + served(at, job) / s.weights, after)
        return _counted(replace(s, stamps=stamps), after), job

    def cancel(self, at: Situation[Active], job: Job) -> Active:
        """As if it had not come, but for the virtual time."""
        s = self._now(at)
        return _counted(replace(s, stamps=s.stamps.cancel(job)), at)

    def complete(self, at: Situation[Active], job: Job, outcome: Outcome, told: Facts) -> Active:
        """Its user may be in the system no more."""
        return _counted(self._now(at), at)

    def reweigh(self, at: Situation[Active], user: str, before: Fraction) -> Active:
        """Virtual time goes on at another pace, where the user is in the system."""
        return _counted(self._now(at), at)

    def _now(self, at: Situation[Active]) -> Active:
        s = at.state
        work = passed(at, s.told) * self.rate
        clock = s.stamps.clock + (work / s.weights if s.weights else ZERO)
        return replace(s, stamps=s.stamps.forward(clock, at), told=told(at))


def _counted(s: Active, at: Situation[Active]) -> Active:
    """The weights of the users in the system: those that wait, and where the time is told those in service too."""
    users = {job.user for job in at.live.values()} if at.has_clock else at.queues.keys()
    return replace(s, weights=sum(map(at.weight, users), ZERO)) if users else Active(told=s.told)
