"""A pick, of whatever policy: one reading of the clock, a choice, and what is noted of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from sfq_impl.policy.interfaces import FlowQueueAccessor, PriorityBandAccessor


class Picking(ABC):
    """A policy whose pick is its choice, with or without something noted."""

    def __init__(self, name: str, clock: Callable[[], int]) -> None:
        self.name = name
        self.clock = clock
        """Nanoseconds; it never goes back."""

    def pick(self, band: PriorityBandAccessor | None) -> FlowQueueAccessor | None:
        """The queue that goes next; None where there is none, or no band."""
        if band is None:
            return None
        now = self.clock()
        self.advance(now)
        queue = self.choose(band, now)
        self.picked(band, queue, now)
        return queue

    def advance(self, now: int) -> None:  # noqa: B027 - most policies have nothing to do
        """Do what has become due."""

    @abstractmethod
    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The queue that goes next, where nothing changes by asking."""

    def picked(self, band: PriorityBandAccessor, queue: FlowQueueAccessor | None, now: int) -> None:  # noqa: B027 - nor to note
        """Note what was chosen."""
