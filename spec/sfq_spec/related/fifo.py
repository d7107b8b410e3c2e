"""First in, first out, whoever it is: one queue for all (article, "The problem we target").

A flood of one user's requests goes before everything that arrives after it. Weights count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfq_spec.related.method import Job, Method, Situation


@dataclass(frozen=True)
class Fifo(Method[None]):
    """The oldest waiting request goes next."""

    title: ClassVar[str] = "FIFO"

    def first(self) -> None:
        """Nothing is remembered beside the queues."""

    def dispatch(self, at: Situation[None]) -> tuple[None, Job]:
        """The request that arrived first of all that wait."""
        return None, min((at.head(user) for user in at.queues), key=lambda job: job.number)
