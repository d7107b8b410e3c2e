"""Machine and scheduler side by side on a stream of requests, with the watch beside them (IMPL-REFINE, tested).

The streams are made of real logs where these lie beside the checkout, and of the sample that comes along.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from msgspec import UNSET

from sfq_impl.heap import HeapScheduler
from sfq_spec import sample
from sfq_spec.importers import FORMATS
from sfq_spec.importers.pool import Service
from sfq_spec.importers.rows import Imported
from sfq_spec.machine import Machine, answer, take
from sfq_spec.refusals import Refused
from sfq_spec.scheduler import Scheduler, lag, play
from sfq_spec.trace import Dispatch, Event
from sfq_spec.watch import Watch

REAL = (
    ("servegen", "servegen/r1_sample_t0_x0.1_seed1.csv", "ServeGen, hour 0"),
    ("servegen", "servegen/r1_sample_t36000_x0.1_seed1.csv", "ServeGen, hour 10"),
    ("servegen", "servegen/r1_sample_t72000_x0.1_seed1.csv", "ServeGen, hour 20"),
    ("azure", "azure2023/AzureLLMInferenceTrace_conv.csv", "Azure conversations"),
)
"""Format, file and title of the real streams, below the folder of data."""

LAG_EVERY = 25
"""Events between two comparisons of all lags."""


@dataclass(frozen=True)
class Stream:
    """Requests with a title."""

    title: str
    imported: Imported


@dataclass
class Comparison:
    """What came of one stream."""

    title: str
    requests: int
    users: int
    servers: int
    events: int = 0
    dispatches: int = 0
    differences: list[str] = field(default_factory=list)
    """Where the scheduler did something else than the machine; the first few."""
    broken: list[str] = field(default_factory=list)
    """Claims that the machine's run breaks; the first few."""
    watch: Watch = field(default_factory=Watch)

    @property
    def checks(self) -> int:
        """How often a claim was checked where it says something."""
        return sum(self.watch.seen.values())

    @property
    def bound(self) -> Fraction:
        """Two of the largest charges."""
        return 2 * self.watch.greatest

    @property
    def holds(self) -> bool:
        """No difference, no broken claim, and something to say so of."""
        return not self.differences and not self.broken and self.dispatches > 0


def bundled() -> Stream:
    """The sample that comes with the package."""
    return Stream("the sample", FORMATS["servegen"](io.BytesIO(sample.bundled())))


def real(data: Path) -> Iterator[Stream]:
    """The real streams that are there."""
    for format, file, title in REAL:
        path = data / file
        if path.is_file():
            with path.open("rb") as lines:
                yield Stream(title, FORMATS[format](lines))


def compare(
    stream: Stream,
    factory: Callable[[], Scheduler] = HeapScheduler,
    show: Callable[[int], None] = lambda done: None,
) -> Comparison:
    """Run a stream through the machine and a scheduler. `show` is told how many requests have been dispatched."""
    service = Service(stream.imported.arrivals)
    users = len({arrival.user for arrival in stream.imported.arrivals})
    found = Comparison(stream.title, len(stream.imported.arrivals), users, service.servers)
    state, scheduler = Machine(), factory()
    for entry in service.script():
        state = _event(found, state, scheduler, entry.event)
        if isinstance(entry.event, Dispatch):
            show(found.dispatches)
    return found


def _event(found: Comparison, state: Machine, scheduler: Scheduler, event: Event) -> Machine:
    found.events += 1
    found.dispatches += isinstance(event, Dispatch)
    try:
        taken = take(state, event)
    except Refused:
        wanted, after = answer(state, event)[1], state
        broken = found.watch.refused(state, state)
    else:
        wanted, after = taken.answer, taken.state
        broken = found.watch.observe(state, event, taken)
    _note(found.broken, (f"event {found.events}: {claim}" for claim in broken))
    told = play(scheduler, event)
    if (told.dispatched, told.refused) != (wanted.dispatched, wanted.refused):
        _note(found.differences, [f"event {found.events}: {_shown(told)} where the machine gives {_shown(wanted)}"])
    if found.events % LAG_EVERY == 0:
        ahead = {user: distance for user, distance in lag(scheduler).items() if distance > 0}
        if ahead != {user: distance for user, distance in after.lag.items() if distance > 0}:
            _note(found.differences, [f"event {found.events}: the lags differ"])
    return after


def _note(into: list[str], new: Iterator[str] | list[str]) -> None:
    into += list(new)[: max(0, 10 - len(into))]


def _shown(told: object) -> str:
    said = {name: getattr(told, name) for name in ("dispatched", "refused") if getattr(told, name) is not UNSET}
    return str(said) if said else "nothing"
