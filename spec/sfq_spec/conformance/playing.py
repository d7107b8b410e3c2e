"""One run of a scheduler, played and judged; also one in which it fails with an error, which is then made short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from msgspec.structs import replace

from sfq_spec.conformance.judge import Judge, Wrong, judge
from sfq_spec.conformance.subjects import Errored, Skipped, Subject
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Event, Recost

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


def shortened(subject: Subject, id: str, run: Played) -> Played:
    """As few of the events of a wrong run as a short search finds to be wrong too, with costs of 1 where that does.

    It ends in an error if the run does.
    """
    shortest, size, tries = run, len(run.events) // 2, TRIES
    while size:
        at = 0
        while at < len(shortest.events) and tries:
            tries -= 1
            fewer = shortest.events[:at] + shortest.events[at + size :]
            if found := _as_wrong(subject, id, fewer, run):
                shortest = found
            else:
                at += size
        size //= 2
    for at in range(len(shortest.events)):
        event = shortest.events[at] if at < len(shortest.events) else None
        if isinstance(event, Arrive) and event.cost not in (1, 0):
            plainer = [*shortest.events[:at], replace(event, cost=Fraction(1)), *shortest.events[at + 1 :]]
            shortest = _as_wrong(subject, id, plainer, run) or shortest
    return shortest


def renamed(subject: Subject, id: str, run: Played) -> Played:
    """The same with its requests named A1, A2, ... in order, where it is wrong then too."""
    names: dict[str, str] = {}
    arrived = Counter[str]()
    for event in run.events:
        if isinstance(event, Arrive) and event.request not in names:
            arrived[event.user] += 1
            names[event.request] = f"{event.user}{arrived[event.user]}"
    events = [
        replace(event, request=names.get(event.request, event.request))
        if isinstance(event, Arrive | Cancel | Complete | Recost)
        else event
        for event in run.events
    ]
    return _as_wrong(subject, id, events, run) or run


def _as_wrong(subject: Subject, id: str, events: Sequence[Event], run: Played) -> Played | None:
    """What is played of some events, up to where they are wrong in the same way: with an error or without."""
    found = played(subject, id, events)
    if isinstance(found, Skipped) or found.wrong is None or bool(found.error) is not bool(run.error):
        return None
    end = found.wrong.at + 1
    return Played(found.events[:end], found.answers[:end], found.wrong, found.error)


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
