"""Execute a script: play each event on a scheduler, and keep what it answered (protocol, "Events").

What a scheduler answers is recorded, not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec import UNSET
from msgspec.structs import replace

from sfq_spec.scheduler import Scheduler, give, lag, play
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Entry, Event, Recost


@dataclass
class Request:
    """What a run remembers of a request that arrived: until it is completed, or its id is used again."""

    user: str
    cost: Fraction | float
    state: str = "waiting"
    """`waiting`, `in flight` or `cancelled`."""


@dataclass
class Run:
    """A run in progress: the scheduler, and a book of requests as the scheduler's own answers tell it.

    The book gives the user and the cost that a trace shows beside a dispatch, for schedulers that answer with an
    id only. A dispatched id that never arrived has neither.
    """

    scheduler: Scheduler
    with_lag: bool = False
    """Whether each answer tells S − v of the users that the scheduler remembers."""
    events: int = 0
    dispatched: int = 0
    refused: int = 0
    requests: dict[str, Request] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """Requests that have arrived, and have neither been dispatched nor cancelled."""
        return sum(request.state == "waiting" for request in self.requests.values())

    def play(self, entry: Entry) -> Entry:
        """The event with the scheduler's answer in place of any that it carried; other fields as they were.

        Raises `Unsupported` or `Broken` as `scheduler.play` does, and whatever `SchedulerError` the scheduler has
        for the other fields of the line.
        """
        give(self.scheduler, entry.extra)
        answer = play(self.scheduler, entry.event)
        if answer.dispatched is not UNSET and answer.dispatched is not None:
            answer = self._dispatch(answer, answer.dispatched)
        elif answer.refused is UNSET:
            self._accept(entry.event)
        if self.with_lag:
            answer = replace(answer, lag=lag(self.scheduler))
        self.events += 1
        self.refused += answer.refused is not UNSET
        return Entry(entry.event, answer, entry.extra)

    def _dispatch(self, answer: Answer, id: str) -> Answer:
        self.dispatched += 1
        request = self.requests.get(id)
        if request is None:
            return answer
        request.state = "in flight"
        return replace(answer, user=request.user, cost=request.cost)

    def _accept(self, event: Event) -> None:
        match event:
            case Arrive(user=user, request=id, cost=cost):
                self.requests[id] = Request(user, cost)
            case Cancel(request=id) if id in self.requests:
                self.requests[id].state = "cancelled"
            case Recost(request=id, cost=cost) if id in self.requests:
                self.requests[id].cost = cost
            case Complete(request=id) if id in self.requests and self.requests[id].state != "waiting":
                del self.requests[id]


def run(entries: Iterable[Entry], scheduler: Scheduler, *, with_lag: bool = False) -> Iterator[Entry]:
    """The trace of a scheduler over a script, one entry at a time. Raises as `Run.play` does."""
    return map(Run(scheduler, with_lag=with_lag).play, entries)
