"""One method serves a workload: what it did, and the audit of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from msgspec import UNSET

from sfq_spec.comparison.workload import Workload
from sfq_spec.conformance.audit.fairness import Fairness
from sfq_spec.conformance.audit.findings import FairnessFinding
from sfq_spec.conformance.audit.records import Record
from sfq_spec.conformance.audit.timeline import Timeline
from sfq_spec.importers.pool import Congestion
from sfq_spec.scheduler import Scheduler
from sfq_spec.trace import Arrive, Entry

FEW = 40
"""So many users that wait can be looked at after each dispatch."""


@dataclass
class Sent:
    """One request of a run. Times in microseconds."""

    user: str
    request: str
    arrived: int
    dispatched: int | None = None
    """None: it still waits."""
    before: int = 0
    """Dispatches before it arrived."""
    others: int = 0
    """Requests of other users that waited when it arrived."""
    idle: int | None = None
    """For how long its user had had no request waiting and none sent; None: one waits, or it is the first."""


@dataclass(frozen=True)
class Played:
    """What came of a workload under one method."""

    found: FairnessFinding
    """The audit of the run: worst lead, charges, and over time where that was asked for. Times are microseconds."""
    requests: tuple[Sent, ...]
    """In order of arrival."""
    order: tuple[str, ...]
    """The request of each dispatch."""
    congestion: Congestion
    ended: int
    """When it ended."""
    seconds: float
    """Time that the scheduler took for all its answers, by the clock: another one each time."""


class Timed:
    """A scheduler, and how long it takes for its answers. What it is given beside the events does not count."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._scheduler, name)
        if name == "given" or not callable(found):
            return found

        def timed(*arguments: object) -> object:
            begin = perf_counter()
            try:
                return found(*arguments)
            finally:
                self.seconds += perf_counter() - begin

        return timed


class Closely(Timeline):
    """Leads are looked up after each dispatch where few users wait; of a span the greatest is kept."""

    def lead(self, event: int, time: object, waiting: int, look: Callable[[], int]) -> None:
        """Look up the lead of this moment."""
        if waiting > FEW:
            super().lead(event, time, waiting, look)
            return
        span, lead = event // self.size, look()
        if span not in self.leads or lead > self.leads[span][0]:
            self.leads[span] = (lead, event, time)


def simulate(
    workload: Workload,
    scheduler: Scheduler,
    *,
    over_time: bool = False,
    show: Callable[[int], None] = lambda dispatched: None,
) -> Played:
    """The whole run. Raises a `SchedulerError` where the scheduler does not answer."""
    timed = Timed(scheduler)
    service = workload.service(timed)
    audit = Fairness(beyond=True, timeline=Closely() if over_time else None)
    book = Book()
    for entry in service.trace():
        audit.take([record(entry, service.now)])
        book.note(entry, service.now)
        show(len(book.order))
    found = FairnessFinding(audit, audit.finish())
    return Played(
        found, tuple(book.requests.values()), tuple(book.order), service.congestion, service.now, timed.seconds
    )


def record(entry: Entry, now: int) -> Record:
    """The event and its answer, as an audit reads them."""
    fields = {name: getattr(entry.event, name) for name in entry.event.__struct_fields__ if name != "outcome"}
    told = entry.answer
    if told.dispatched is not UNSET:
        fields |= {"dispatched": told.dispatched}
    return Record(event=entry.event.__struct_config__.tag, time=now, refused=told.refused, **fields)  # type: ignore[arg-type]


class Book:
    """The requests of a run, as they come and go."""

    def __init__(self) -> None:
        self.requests: dict[str, Sent] = {}
        self.order: list[str] = []
        self._waiting: dict[str, int] = {}
        """Requests of each user."""
        self._all = 0
        self._seen: dict[str, int] = {}
        """When a user was last seen with a request waiting."""

    def note(self, entry: Entry, now: int) -> None:
        """One event has happened."""
        event, request = entry.event, entry.answer.dispatched
        if isinstance(event, Arrive):
            waiting = self._waiting.get(event.user, 0)
            idle = None if waiting or event.user not in self._seen else now - self._seen[event.user]
            others = self._all - waiting
            self.requests[event.request] = Sent(event.user, event.request, now, None, len(self.order), others, idle)
            self._count(event.user, 1, now)
        elif isinstance(request, str):
            sent = self.requests[request]
            sent.dispatched = now
            self.order.append(request)
            self._count(sent.user, -1, now)

    def _count(self, user: str, more: int, now: int) -> None:
        self._waiting[user] = self._waiting.get(user, 0) + more
        self._all += more
        self._seen[user] = now
