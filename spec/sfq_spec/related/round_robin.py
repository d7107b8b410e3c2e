"""Round robin: each user that waits sends one request in its turn (article, "The problem we target").

Counts are equal and costs are not: a user with heavy requests gets more. Weights count for nothing. A user that joins
goes to the end of the ring; one whose queue empties leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfq_spec.related.method import Job, Method, Situation

Ring = tuple[str, ...]
"""The users that wait; the first is next."""


@dataclass(frozen=True)
class RoundRobin(Method[Ring]):
    """The first of the ring sends one request, and goes to its end."""

    title: ClassVar[str] = "round robin"

    def first(self) -> Ring:
        """Nobody waits."""
        return ()

    def arrive(self, at: Situation[Ring], job: Job) -> Ring:
        """Whoever joins goes to the end."""
        return (*at.state, job.user) if at.joins(job) else at.state

    def dispatch(self, at: Situation[Ring]) -> tuple[Ring, Job]:
        """The oldest request of the user whose turn it is."""
        user, *rest = at.state
        job = at.head(user)
        return (tuple(rest) if at.is_last(job) else (*rest, user)), job

    def cancel(self, at: Situation[Ring], job: Job) -> Ring:
        """Whoever waits no more leaves the ring."""
        return at.state if job.user in at.queues else tuple(user for user in at.state if user != job.user)
