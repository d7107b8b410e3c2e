"""A request on its way through the dispatcher, and the ways in which it is turned away or ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from sfq_spec.trace import Outcome

__all__ = ["Ending", "Expired", "NoServer", "Outcome", "QueueFull", "Request", "ShuttingDown", "TurnedAway"]

Ending = Literal["completed", "failed", "cancelled", "expired", "refused"]
"""How a request ends; each ends exactly once (FLEET-ONCE)."""


@dataclass(eq=False)
class Request:
    """One request. What is estimated of it is fixed when it arrives; the cost is charged when it is dispatched."""

    id: str
    user: str
    cost: int
    """Units of cost, at least 1 (article §1.2)."""
    tokens: int = 0
    """Tokens that it is expected to hold in a server's memory: input, and output as estimated."""
    prefix: tuple[str, ...] = ()
    """The blocks of its prompt, first to last; servers that have seen them are preferred where placement does so."""
    priority: int = 0
    """Of requests that wait, those of the highest priority go first, whatever their users; most have 0."""
    arrived: float = 0.0
    """Seconds on the clock of the event loop."""
    dispatched: float | None = None
    ended: Ending | None = None
    servers: list[str] = field(default_factory=list)
    """Where it was placed; more than one where a server died before it had answered."""
    overtook: tuple[str, ...] = ()
    """Users whose next request could not be placed when this one was dispatched, by id; none unless others overtake."""


class TurnedAway(Exception):
    """A request that is not served, and not charged unless it had its turn before. The message is for the client."""


class QueueFull(TurnedAway):
    """A limit of the queue has been reached: which one, and when to come back."""

    def __init__(self, limit: str, most: int, retry_after: float) -> None:
        super().__init__(f"{limit} is full: {most:,} at most; try again in {ceil(retry_after)} s")
        self.limit, self.most, self.retry_after = limit, most, retry_after


class Expired(TurnedAway):
    """A request that has waited as long as it may."""

    def __init__(self, waited: float, place: int) -> None:
        super().__init__(f"waited {waited:.1f} s for a server, as long as it may; others that wait: {place:,}")
        self.waited, self.place = waited, place


class NoServer(TurnedAway):
    """No server could ever take the request: it is larger than every one of them, or there is none."""


class ShuttingDown(TurnedAway):
    """The dispatcher takes no requests any more."""

    def __init__(self) -> None:
        super().__init__("shutting down: no more requests are taken")
