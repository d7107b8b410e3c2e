"""One run of a scheduler, played and judged; also one in which it fails with an error, which is then made short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfq_spec.conformance.judge import Judge, Wrong, judge
from sfq_spec.conformance.subjects import Errored, Skipped, Subject
from sfq_spec.trace import Answer, Event

ROUNDING = Fraction(1, 2**40)
"""How far lags in binary floats may be off, as a part of the meter."""
TRIES = 300
"""Runs that are played to make one short."""


@dataclass(frozen=True)
class Played:
    """What a scheduler made of a run."""

    events: tuple[Event, ...]
    """Those that were played: up to the first error, where there was one."""
    answers: tuple[Answer, ...]
    """One for each event that was answered."""
    wrong: Wrong | None = None
    error: str = ""
    """All that it said, where it failed with an error."""


def played(subject: Subject, id: str, events: Sequence[Event]) -> Played | Skipped:
    """Play a run and judge it. Raises `NoVerdict` where there is no verdict about it; an error is a wrong answer."""
    try:
        answers = subject.run(id, events)
    except Errored as error:
        return _failed(subject, id, events, error)
    if isinstance(answers, Skipped):
        return answers
    return Played(tuple(events), tuple(answers), _judged(subject, events, answers))


def shortened(subject: Subject, id: str, events: Sequence[Event]) -> tuple[Event, ...]:
    """As few of the events of a run that ends in an error as a short search finds to end so too."""
    kept, size, tries = list(events), len(events) // 2, TRIES
    while size:
        at = 0
        while at < len(kept) and tries:
            tries -= 1
            fewer = kept[:at] + kept[at + size :]
            if _answers(subject, id, fewer) is None:
                kept = fewer
            else:
                at += size
        size //= 2
    return tuple(kept)


def _judged(subject: Subject, events: Sequence[Event], answers: Sequence[Answer]) -> Wrong | None:
    able = subject.hello.capabilities
    slack = ROUNDING if able.numbers == "binary64" else Fraction(0)
    return judge(events, answers, any_tie=able.ties == "any", with_lag=able.lag, slack=slack)


def _failed(subject: Subject, id: str, events: Sequence[Event], error: Errored) -> Played:
    """It failed somewhere: what came before is played again, for it may have been wrong already."""
    at = error.place
    if at is None:
        at = _first_error(lambda length: _answers(subject, id, events[:length]) is None, len(events)) - 1
    answers = _answers(subject, id, events[:at]) or []
    if wrong := _judged(subject, events[: len(answers)], answers):
        return Played(tuple(events[:at]), tuple(answers), wrong)
    following = Judge(any_tie=subject.hello.capabilities.ties == "any")
    for event, told in zip(events, answers, strict=False):
        following.see(event, told)
    wrong = following.failed(at, events[at], error.sentence)
    return Played(tuple(events[: at + 1]), tuple(answers), wrong, error.what)


def _answers(subject: Subject, id: str, events: Sequence[Event]) -> list[Answer] | None:
    """None where it fails with an error."""
    try:
        answers = subject.run(id, events)
    except Errored:
        return None
    return [] if isinstance(answers, Skipped) else answers


def _first_error(fails: Callable[[int], bool], length: int) -> int:
    """The length of the shortest beginning that fails, where the whole does and the longer ones do."""
    good = 0
    while length - good > 1:
        middle = (good + length) // 2
        good, length = (good, middle) if fails(middle) else (middle, length)
    return length
