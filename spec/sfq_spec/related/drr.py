"""Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995 and ToN 4(3) 1996; article §4).

The users that wait stand in a list. At a visit the first gets a quantum of credit, multiplied by its weight, and sends
while its credit covers the cost of its oldest request; then it goes to the end, and keeps what is left. A user whose
queue empties leaves the list and forfeits its credit; one that joins goes to the end. A dispatch sends one request, so
a visit may take several; it goes on where the one before has ended it. Of a user that waits throughout an interval,
nobody gets further ahead, by weight, than by a quantum and a largest charge of each of the two.

Only the text of the rule could be read, not the paper's listing. The active list, with credit spent when a request is
chosen, is that of ns.py 0.5.0. Costs are all it needs. A request that was withdrawn or has become cheaper leaves the
credit of its user as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.method import Job, Method, Situation

ZERO = Fraction(0)


@dataclass(frozen=True)
class Visits:
    """The list, and the credit that is left."""

    ring: tuple[str, ...] = ()
    """The users that wait; the first is visited now, or next."""
    visited: bool = False
    """Whether the first has had its quantum."""
    deficit: Mapping[str, Fraction] = field(default_factory=dict)
    """The credit of users that have any."""


def visits(cost: Fraction, deficit: Fraction, quantum: Fraction) -> int:
    """How many visits a request of this cost waits for, its own one counted: the last of them sends it."""
    return max(1, -((deficit - cost) // quantum))


@dataclass(frozen=True)
class Drr(Method[Visits]):
    """A list of the users that wait; each visit gives credit first, and sends for it."""

    title: ClassVar[str] = "DRR"
    quantum: Fraction
    """Credit of one visit for a user of weight 1, in units of cost. Above zero."""

    def __post_init__(self) -> None:
        if self.quantum <= 0:
            raise ValueError(f"quantum is {self.quantum}: give a credit above zero, about the largest cost")

    def first(self) -> Visits:
        """Nobody waits."""
        return Visits()

    def arrive(self, at: Situation[Visits], job: Job) -> Visits:
        """Whoever joins goes to the end, without credit."""
        return replace(at.state, ring=(*at.state.ring, job.user)) if at.joins(job) else at.state

    def dispatch(self, at: Situation[Visits]) -> tuple[Visits, Job]:
        """The visit goes on where credit is left for it; else the list goes round to whoever can send first."""
        s = at.state
        user = s.ring[0]
        if not s.visited or s.deficit.get(user, ZERO) < at.head(user).cost:
            s = self.turn(at, replace(s, ring=(*s.ring[1:], user)) if s.visited else s)
        job = at.head(s.ring[0])
        if at.is_last(job):
            return _left(s, job.user), job
        return replace(s, deficit=_credit(s.deficit, job.user, -job.cost)), job

    def turn(self, at: Situation[Visits], s: Visits) -> Visits:
        """The list as it comes to a user that can send, which is first then and has had its quantum.

        Rounds in which nobody can send are counted, not made: each user's credit grows by as many quanta at once.
        """
        quanta = {user: self.quantum * at.weight(user) for user in s.ring}
        needed = [visits(at.head(user).cost, s.deficit.get(user, ZERO), quanta[user]) for user in s.ring]
        rounds = min(needed)
        place = needed.index(rounds)
        deficit = s.deficit
        for i, user in enumerate(s.ring):
            deficit = _credit(deficit, user, quanta[user] * (rounds if i <= place else rounds - 1))
        return Visits((*s.ring[place:], *s.ring[:place]), True, deficit)

    def cancel(self, at: Situation[Visits], job: Job) -> Visits:
        """Whoever waits no more leaves the list, and forfeits its credit."""
        return at.state if job.user in at.queues else _left(at.state, job.user)


def _left(s: Visits, user: str) -> Visits:
    ring = tuple(other for other in s.ring if other != user)
    return Visits(ring, s.visited and user != s.ring[0], {u: credit for u, credit in s.deficit.items() if u != user})


def _credit(deficit: Mapping[str, Fraction], user: str, more: Fraction) -> Mapping[str, Fraction]:
    left = {**deficit, user: deficit.get(user, ZERO) + more}
    return left if left[user] else {other: credit for other, credit in left.items() if other != user}
