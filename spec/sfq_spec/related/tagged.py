"""What methods have in common that give each request a tag and send the one of least tag.

A tag is computed from the cost and the weight as they are when it is asked for, so a new estimate counts as soon as it
is told, and a new weight for whatever waits. Of equal tags the least user id goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sfq_spec.related.method import Job, Situation

ZERO = Fraction(0)


def least(at: Situation[Any], tag: Callable[[Job], Fraction], users: Iterable[str] | None = None) -> Job:
    """Of the oldest requests of these users, or of all that wait, the one of least tag."""
    return min((at.head(user) for user in users or at.queues), key=lambda job: (tag(job), job.user))


def check_rate(rate: Fraction) -> None:
    """Raises `ValueError` where a rate is not above zero."""
    if rate <= 0:
        raise ValueError(f"rate is {rate}: give units of cost a second, above zero")


@dataclass(frozen=True)
class Stamps:
    """Tags by the rule F = max(F before, the clock at its arrival) + cost / pace."""

    clock: Fraction = ZERO
    arrived: Mapping[int, Fraction] = field(default_factory=dict)
    """The clock when each waiting request arrived, by its number."""
    finish: Mapping[str, Fraction] = field(default_factory=dict)
    """The tag of the latest request sent, of users whose next tag may still depend on it."""

    def tag(self, job: Job, pace: Fraction) -> Fraction:
        """The tag of the oldest request of a user."""
        arrived = self.arrived[job.number]
        return max(self.finish.get(job.user, arrived), arrived) + job.cost / pace

    def forward(self, clock: Fraction, at: Situation[Any]) -> Stamps:
        """The clock moves. A user that does not wait is forgotten once it is no longer ahead."""
        finish = {user: tag for user, tag in self.finish.items() if tag > clock or user in at.queues}
        return replace(self, clock=clock, finish=finish)

    def arrive(self, job: Job) -> Stamps:
        """A request arrives now."""
        return replace(self, arrived={**self.arrived, job.number: self.clock})

    def send(self, job: Job, tag: Fraction) -> Stamps:
        """A request is sent, with that tag."""
        return replace(self.cancel(job), finish={**self.finish, job.user: tag})

    def cancel(self, job: Job) -> Stamps:
        """A request waits no more."""
        return replace(self, arrived={number: time for number, time in self.arrived.items() if number != job.number})
