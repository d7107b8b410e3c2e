"""Self-clocked fair queueing (Golestani, INFOCOM 1994): WFQ with its own finish tags for a clock.

A request has the finish tag F = max(F of the one before, v at its arrival) + cost / weight, the least goes next, and v
is its tag. Where nobody waits all begins at zero again. From idle a user begins at v, so it waits while others have
smaller finish tags, and owes nothing: its last tag was v when it was sent. Of a user that waits throughout an interval,
nobody gets further ahead than by a largest charge of each of the two.

The rule was read in texts about the paper, not in the paper. On a link v is the tag of the request that is being sent,
here that of the latest dispatch, as the article reads it for SFQ (article §5.3). Costs and weights are all it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.tagged import ZERO, least


@dataclass(frozen=True)
class SelfClocked:
    """Virtual time, and where each user's next request begins."""

    v: Fraction = ZERO
    begins: Mapping[str, Fraction] = field(default_factory=dict)
    """Of the users that wait."""


@dataclass(frozen=True)
class Scfq(Method[SelfClocked]):
    """The least finish tag goes next, and is the virtual time."""

    title: ClassVar[str] = "SCFQ"

    def first(self) -> SelfClocked:
        """Nobody waits."""
        return SelfClocked()

    def tag(self, at: Situation[SelfClocked], job: Job) -> Fraction:
        """The finish tag of a user's oldest request."""
        return at.state.begins[job.user] + job.cost / at.weight(job.user)

    def arrive(self, at: Situation[SelfClocked], job: Job) -> SelfClocked:
        """Whoever joins begins at v. Behind another request v is never the greater, so it is not looked at."""
        s = at.state
        return SelfClocked(s.v, {**s.begins, job.user: s.v}) if at.joins(job) else s

    def dispatch(self, at: Situation[SelfClocked]) -> tuple[SelfClocked, Job]:
        """The oldest request of least finish tag. A cost that was lowered while it waited does not turn v back."""
        job = least(at, lambda job: self.tag(at, job))
        finish = self.tag(at, job)
        begins = {**at.state.begins, job.user: finish}
        if at.is_last(job):
            del begins[job.user]
        return _settled(max(at.state.v, finish), begins), job

    def cancel(self, at: Situation[SelfClocked], job: Job) -> SelfClocked:
        """Whoever waits no more is forgotten."""
        s = at.state
        return _settled(s.v, {user: begins for user, begins in s.begins.items() if user in at.queues})


def _settled(v: Fraction, begins: Mapping[str, Fraction]) -> SelfClocked:
    return SelfClocked(v, begins) if begins else SelfClocked()
