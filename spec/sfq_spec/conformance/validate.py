"""Validate a scheduler: a smoke test, the vectors, random histories, and a diagnosis of what failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources
from typing import Literal

import msgspec
from msgspec import UNSET

from sfq_spec.conformance import histories
from sfq_spec.conformance.case import Case, Vectors, make
from sfq_spec.conformance.diagnose import Behaviour, Diagnosis, diagnose
from sfq_spec.conformance.judge import Wrong, judge
from sfq_spec.conformance.protocol import Hello
from sfq_spec.conformance.subjects import NoVerdict, Skipped, Subject
from sfq_spec.trace import Answer, Arrive, Dispatch, Entry, Event, encode

ROUNDING = Fraction(1, 2**40)
"""How far lags in binary floats may be off, as a part of the meter."""
Status = Literal["passed", "failed", "skipped", "excused", "excuse not needed"]


@dataclass(frozen=True)
class Result:
    """What came of one case."""

    id: str
    status: Status
    case: Case
    reason: str = ""
    """Why it was skipped."""
    lacks: tuple[str, ...] = ()
    """The capabilities for want of which it was skipped."""
    wrong: Wrong | None = None
    events: tuple[Event, ...] = ()
    answers: tuple[Answer, ...] = ()

    @property
    def prefix(self) -> tuple[Event, ...]:
        """The events up to the first wrong answer: the run that fails."""
        return self.events[: self.wrong.at + 1] if self.wrong else self.events


@dataclass
class Report:
    """Everything that was found out about a scheduler."""

    hello: Hello
    results: list[Result] = field(default_factory=list)
    histories: int = 0
    """Random histories that were played."""
    seed: int = 0
    diagnosis: Diagnosis = field(default_factory=Diagnosis)

    @property
    def failed(self) -> list[Result]:
        """What keeps the scheduler from conforming, in order."""
        return [result for result in self.results if result.status in ("failed", "excuse not needed")]

    @property
    def conforms(self) -> bool:
        """Something was checked, and nothing failed."""
        return not self.failed and any(result.status == "passed" for result in self.results)

    def count(self, status: Status) -> int:
        """How many cases ended so."""
        return sum(result.status == status for result in self.results)

    @property
    def shortest(self) -> Result | None:
        """The failure with the shortest run."""
        wrong = [result for result in self.failed if result.wrong]
        return min(wrong, key=lambda result: len(result.prefix), default=None)


def bundled() -> Vectors:
    """The vectors that come with the package."""
    return msgspec.json.decode(resources.files("sfq_spec").joinpath("data/vectors.json").read_bytes(), type=Vectors)


def validate(
    subject: Subject,
    cases: Sequence[Case],
    *,
    excused: Collection[str] = (),
    budget: int = 0,
    seed: int = 0,
    show: Callable[[str], None] = lambda done: None,
) -> Report:
    """Judge a started scheduler. Raises `NoVerdict` where its adapter is broken.

    `excused` names cases that are known to fail: they are run all the same, and one that passes is an error.
    """
    report = Report(subject.hello, seed=seed)
    smoke(subject)
    behaviours = []
    for case in cases:
        result = _result(subject, case, case.id in excused)
        report.results.append(result)
        if result.answers:
            behaviours.append(Behaviour(result.events, result.answers))
        show(case.id)
    if budget:
        report.results += _random(subject, report, budget, seed, show)
    if report.failed:
        failing = [Behaviour(r.events, r.answers) for r in report.failed if r.answers]
        report.diagnosis = diagnose([*failing, *behaviours], any_tie=subject.hello.capabilities.ties == "any")
    if not report.failed and not report.conforms:
        why = "; ".join(sorted({result.reason or "excused" for result in report.results}))
        raise NoVerdict(f"nothing was checked: {why or 'there is no case'}")
    return report


def smoke(subject: Subject) -> None:
    """One request in, the same one out, then nothing. Raises `NoVerdict`: no scheduler gets this wrong."""
    events: list[Event] = [Arrive("A", "A1", 1), Dispatch(), Dispatch()]
    answers = subject.run("smoke", events)
    if isinstance(answers, Skipped):
        raise NoVerdict(f"the smoke test was skipped ({answers.reason}): there is nothing to judge")
    told = " ".join(
        encode(Entry(event, answer)).decode().strip() for event, answer in zip(events, answers, strict=True)
    )
    if [answer.dispatched for answer in answers[1:]] != ["A1", None] or isinstance(answers[0].refused, str):
        raise NoVerdict(
            "smoke test: one request of one user arrives, and two dispatches must give it and then null; "
            f"the answers were {told}: look at the adapter first"
        )
    if subject.hello.capabilities.lag and all(answer.lag is UNSET for answer in answers):
        raise NoVerdict("the adapter says that it tells lags, and tells none: add `lag` to each answer, or say false")


def chosen(vectors: Vectors, only: Sequence[str]) -> list[Case]:
    """The cases whose id, flag or claim is one of `only`; all where it is empty. Raises `KeyError` for one unknown."""
    known = {name for case in vectors.cases for name in (case.id, *case.flags, *case.claims)}
    for name in only:
        if name not in known:
            raise KeyError(name)
    return [case for case in vectors.cases if not only or set(only) & {case.id, *case.flags, *case.claims}]


def _result(subject: Subject, case: Case, excused: bool) -> Result:
    lacks = subject.hello.capabilities.lacks(case.requires)
    if lacks:
        return Result(case.id, "skipped", case, f"needs {', '.join(lacks)}", lacks)
    events = tuple(case.played())
    answers = subject.run(case.id, events)
    if isinstance(answers, Skipped):
        return Result(case.id, "skipped", case, answers.reason)
    wrong = None if _as_written(subject, case, answers) else _judged(subject, events, answers)
    status: Status = "failed" if wrong else "passed"
    if excused:
        status = "excused" if wrong else "excuse not needed"
    return Result(case.id, status, case, wrong=wrong, events=events, answers=tuple(answers))


def _as_written(subject: Subject, case: Case, answers: Sequence[Answer]) -> bool:
    """Whether the answers are those of the vector, and tell no lags: then there is nothing to follow."""
    pairs = zip(answers, case.expect, strict=True)
    alike = all((told.dispatched, told.refused) == (wanted.dispatched, wanted.refused) for told, wanted in pairs)
    return alike and not subject.hello.capabilities.lag


def _judged(subject: Subject, events: Sequence[Event], answers: Sequence[Answer]) -> Wrong | None:
    able = subject.hello.capabilities
    slack = ROUNDING if able.numbers == "binary64" else Fraction(0)
    return judge(events, answers, any_tie=able.ties == "any", with_lag=able.lag, slack=slack)


class _Found(Exception):
    """A history that fails."""


class _Lost(BaseException):
    """There is no verdict. No `Exception`: nobody shall look for a shorter history that also ends so."""


def _random(subject: Subject, report: Report, budget: int, seed: int, show: Callable[[str], None]) -> Iterator[Result]:
    last: list[tuple[list[Event], list[Answer], Wrong]] = []

    def check(events: list[Event]) -> None:
        report.histories += 1
        show(f"random history {report.histories}")
        try:
            answers = subject.run(f"random-{report.histories}", events)
        except NoVerdict as broken:
            raise _Lost from broken
        if isinstance(answers, Skipped):
            report.histories -= 1  # it was not played
            return
        if wrong := _judged(subject, events, answers):
            last.append((events, answers, wrong))
            raise _Found(wrong.sentence)

    comment = f"A random history, made short; drawn again by --seed {seed}."
    try:
        histories.search(check, subject.hello.capabilities, budget=budget, seed=seed)
    except _Lost as lost:
        raise lost.__cause__ from None  # type: ignore[misc]
    except _Found:
        pass
    except Exception:
        if not last:
            raise
        comment = "A random history. It fails in some runs only: the scheduler is not deterministic, or keeps state."
    if last:
        events, answers, wrong = last[-1]
        case = make("random", comment, events, claims=wrong.claims)
        yield Result("random", "failed", case, wrong=wrong, events=tuple(events), answers=tuple(answers))
