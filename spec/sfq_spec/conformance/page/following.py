"""What is drawn of a run: the machine's state before and after each event, up to the first wrong answer.

The states are those that the judge followed: where a tie may go to anybody, the scheduler's own choice among equals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from msgspec import UNSET

from sfq_spec.conformance.judge import Judge, Wrong
from sfq_spec.conformance.validate import Result
from sfq_spec.machine import ExactCompetition, Machine, answer, selected
from sfq_spec.trace import Answer, Arrive, Dispatch, Event

WINDOW = 40
"""Moments that are drawn: the last ones."""
TOGETHER = 3
"""So many arrivals in a row that change no meter are one moment."""


@dataclass(frozen=True)
class Moment:
    """An event, or several arrivals in a row that move nothing."""

    first: int
    """The number of the event, from 1."""
    events: tuple[Event, ...]
    told: Answer
    """What the scheduler answered; to the last event, where there are several."""
    before: ExactCompetition
    after: ExactCompetition
    greatest: Fraction
    """The largest charge so far: cost over weight."""
    due: tuple[str, ...] = ()
    """What was to be sent, where the event is a dispatch; nothing where nobody waits."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Whose the requests are that were due and that were sent, as far as they are known."""
    is_wrong: bool = False
    refuses: bool = False
    """Whether the machine refuses the event."""

    @property
    def last(self) -> int:
        """The number of its last event."""
        return self.first + len(self.events) - 1

    @property
    def is_quiet(self) -> bool:
        """Whether it is arrivals that were accepted and moved nothing."""
        arrived = isinstance(self.events[0], Arrive) and self.told.refused is UNSET
        moved = (self.before.v, self.before.meter, self.before.waiting) != (
            self.after.v,
            self.after.meter,
            self.after.waiting,
        )
        return arrived and not moved and not self.is_wrong


@dataclass(frozen=True)
class Run:
    """The part of a run that is drawn."""

    moments: tuple[Moment, ...]
    wrong: Wrong | None
    earlier: int
    """Events before that part."""
    later: int
    """Events of the case after the first wrong answer: nobody judged them."""


def follow(result: Result, *, any_tie: bool) -> Run:
    """The run of one case, as far as it is drawn. The case must have been played."""
    kept: deque[Moment] = deque(maxlen=WINDOW)
    kept.extend(_together(_moments(result, any_tie)))
    return Run(tuple(kept), result.wrong, kept[0].first - 1, len(result.events) - len(result.prefix))


def _moments(result: Result, any_tie: bool) -> Iterator[Moment]:
    judge, greatest = Judge(any_tie), Fraction(0)
    for number, (event, told) in enumerate(zip(result.prefix, result.answers, strict=False), 1):
        before = judge.state
        judge.see(event, told)
        charge = _charge(before, judge.state, event)
        greatest = max(greatest, charge)
        is_wrong = result.wrong is not None and number == result.wrong.at + 1
        due = _due(before, event, told, result.wrong if is_wrong else None)
        owners = {
            id: before.live[id].user for id in (*due, told.dispatched) if isinstance(id, str) and id in before.live
        }
        s, after = before.competition, judge.state.competition
        refuses = answer(before, event)[1].refused is not UNSET if is_wrong else told.refused is not UNSET
        yield Moment(number, (event,), told, s, after, greatest, due, owners, is_wrong, refuses)


def _charge(before: Machine, after: Machine, event: Event) -> Fraction:
    if not isinstance(event, Dispatch):
        return Fraction(0)
    meters = after.competition.meter
    return max((meters[user] - before.competition.meter[user] for user in before.queues), default=Fraction(0))


def _due(before: Machine, event: Event, told: Answer, wrong: Wrong | None) -> tuple[str, ...]:
    if not isinstance(event, Dispatch):
        return ()
    if wrong is not None and wrong.legal:
        return wrong.legal
    if wrong is None and isinstance(told.dispatched, str):
        return (told.dispatched,)
    right = selected(before)
    return (right.request,) if right else ()


def _together(moments: Iterator[Moment]) -> Iterator[Moment]:
    held: list[Moment] = []
    for moment in moments:
        if not moment.is_quiet:
            yield from _joined(held)
            held = []
            yield moment
        else:
            held.append(moment)
    yield from _joined(held)


def _joined(held: Sequence[Moment]) -> Sequence[Moment]:
    if len(held) < TOGETHER:
        return held
    return [replace(held[0], events=tuple(event for moment in held for event in moment.events), told=held[-1].told)]
