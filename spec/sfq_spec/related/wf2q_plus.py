"""WF2Q+ (Bennett and Zhang, SIGCOMM 1996 and ToN 5(5) 1997): the least finish tag among those that may start.

A request starts at S = F of the one before, or at max(that, V) where its user joins, and finishes at F = S + cost /
weight. Virtual time V grows by the work that is sent, divided by the sum of the weights that count, and is never below
the least S of those that wait. Only requests with S <= V may go, so that no user is more than one request ahead of its
share; the least F of them goes next. With a share by weight among all users, one that waits lacks, whenever a request
of its own has just gone, no more than its largest request and its share of what the largest of all is beyond that.
Until its next one goes it may lack as much again as the others have of its largest. Where nobody waits all begins at
zero again. From idle a user begins at V or, where it had been ahead, at its last F.

The paper counts fixed sessions whose guaranteed rates fill the link. Users here come and go, so the weights that count
are those of users that wait or are ahead of V (F > V), and V starts again when nobody waits, as in FreeBSD's dummynet
(dn_sched_wf2q.c, 2010), from which the rule is read; there both are noticed a little later. The paper itself could not
be read. Costs and weights are all it needs: virtual time counts work, not seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.tagged import ZERO, least


@dataclass(frozen=True)
class Starts:
    """Virtual time, and where each user's next request starts."""

    v: Fraction = ZERO
    start: Mapping[str, Fraction] = field(default_factory=dict)
    """Of users that wait, and of those that are ahead of V."""


@dataclass(frozen=True)
class Wf2qPlus(Method[Starts]):
    """The least finish tag goes next of those whose start tag virtual time has reached."""

    title: ClassVar[str] = "WF2Q+"

    def first(self) -> Starts:
        """Nobody waits."""
        return Starts()

    def tag(self, at: Situation[Starts], job: Job) -> Fraction:
        """The finish tag of a user's oldest request."""
        return at.state.start[job.user] + job.cost / at.weight(job.user)

    def arrive(self, at: Situation[Starts], job: Job) -> Starts:
        """Whoever joins starts at V, or where it had got to."""
        s = at.state
        if not at.joins(job):
            return s
        return _settled(s.v, {**s.start, job.user: max(s.start.get(job.user, s.v), s.v)}, at.queues)

    def dispatch(self, at: Situation[Starts]) -> tuple[Starts, Job]:
        """The oldest request of least finish tag among those that may start; there is always one."""
        s = at.state
        job = least(at, lambda job: self.tag(at, job), [user for user in at.queues if s.start[user] <= s.v])
        v = s.v + job.cost / sum(map(at.weight, s.start))
        waiting = [user for user in at.queues if user != job.user or not at.is_last(job)]
        return _settled(v, {**s.start, job.user: self.tag(at, job)}, waiting), job

    def cancel(self, at: Situation[Starts], job: Job) -> Starts:
        """Where somebody waits no more, V may have to move on."""
        return _settled(at.state.v, at.state.start, at.queues)


def _settled(v: Fraction, start: Mapping[str, Fraction], waiting: Collection[str]) -> Starts:
    """V is not below the least start tag of those that wait; whoever neither waits nor is ahead is forgotten."""
    if not waiting:
        return Starts()
    v = max(v, min(start[user] for user in waiting))
    return Starts(v, {user: tag for user, tag in start.items() if tag > v or user in waiting})
