"""What is remembered of each program (seed, "What it does")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfq_impl.policy.attained import jains_index


@dataclass
class Program:
    """One program. Times are nanoseconds."""

    last_completion: int
    """When a request of it last completed; until one has, when it was first seen."""
    service: float = 0.0
    """Attained service, as of `anchor`."""
    anchor: int | None = None
    """From when on decay is due; None before anything was attained."""
    picks: int = 0
    """As of which pick the service is, where idle programs decay by picks."""
    average_wait: float = 0.0
    """Of its dispatched requests, in milliseconds."""
    waits: int = 0
    """How many waits that is the average of."""
    dispatched: int = 0
    in_flight: int = 0
    has_wait: bool = False
    """Whether its wait has been shown yet."""
    shown_service: float | None = None
    """Its service as it was shown last; None where it was not yet."""

    def record_wait(self, milliseconds: int) -> None:
        """One wait more."""
        self.waits += 1
        self.average_wait += (milliseconds - self.average_wait) / self.waits


def fairness_index(programs: Iterable[Program]) -> float:
    """Jain's index of the average waits of all programs that have any."""
    return jains_index(program.average_wait for program in programs if program.waits)
