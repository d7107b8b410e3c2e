"""Validate a scheduler: a smoke test, the vectors, random histories, and a diagnosis of what failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

import msgspec
from msgspec import UNSET

from sfq_spec.conformance import histories, shorthand
from sfq_spec.conformance.case import Case, Vectors, make
from sfq_spec.conformance.diagnose import Behaviour, Diagnosis, diagnose
from sfq_spec.conformance.judge import Wrong
from sfq_spec.conformance.playing import Played, played, renamed, shortened
from sfq_spec.conformance.protocol import Hello
from sfq_spec.conformance.subjects import NoVerdict, Skipped, Subject
from sfq_spec.trace import Answer, Arrive, Dispatch, Entry, Event, encode

MOODY = "A random history. It fails in some runs only: the scheduler is not deterministic, or keeps state."
LONGEST_RUN = 1000
"""Characters of a run that are told where there is no verdict."""
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
    """One for each event; one less where it failed in the last."""
    error: str = ""
    """All that it said, where it failed with an error."""

    @property
    def prefix(self) -> tuple[Event, ...]:
        """The events up to the first wrong answer: the run that fails."""
        return self.events[: self.wrong.at + 1] if self.wrong else self.events

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that it breaks, and those that the case names."""
        return tuple(dict.fromkeys((*(self.wrong.claims if self.wrong else ()), *self.case.claims)))


@dataclass
class Report:
    """Everything that was found out about a scheduler."""

    hello: Hello
    results: list[Result] = field(default_factory=list)
    histories: int = 0
    """Random histories that were drawn and played, without those that a failing one was made short by."""
    seed: int = 0
    diagnosis: Diagnosis = field(default_factory=Diagnosis)

    @property
    def failed(self) -> list[Result]:
        """What keeps the scheduler from conforming, in order."""
        return [result for result in self.results if result.status in ("failed", "excuse not needed")]

    @property
    def wrong(self) -> list[Result]:
        """Those failures that are runs which went wrong: the others are excuses that are not needed."""
        return [result for result in self.failed if result.wrong]

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
        return min(self.wrong, key=lambda result: len(result.prefix), default=None)


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
    for case in cases:
        report.results.append(result_of(subject, case, case.id in excused))
        show(case.id)
    if budget:
        report.results += random_histories(subject, report, budget, seed, show)
    report.results += made_short(subject, report)
    if report.failed:
        report.diagnosis = diagnosis_of(report)
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
    known = names(vectors)
    for name in only:
        if name not in known:
            raise KeyError(name)
    return [case for case in vectors.cases if not only or set(only) & {case.id, *case.flags, *case.claims}]


def names(vectors: Vectors) -> set[str]:
    """What `chosen` knows: ids, flags and claims."""
    return {name for case in vectors.cases for name in (case.id, *case.flags, *case.claims)}


def diagnosis_of(report: Report) -> Diagnosis:
    """The mutants that answer as the scheduler did in everything that was played, where an answer was wrong."""
    if all(result.error for result in report.wrong):
        return Diagnosis()
    runs = [
        Behaviour(result.events[: len(result.answers)], result.answers) for result in report.results if result.answers
    ]
    return diagnose(runs, any_tie=report.hello.capabilities.ties == "any")


def result_of(subject: Subject, case: Case, excused: bool) -> Result:
    """Play one case. Raises `NoVerdict`."""
    lacks = subject.hello.capabilities.lacks(case.requires)
    if lacks:
        return Result(case.id, "skipped", case, f"needs {', '.join(lacks)}", lacks)
    events = tuple(case.played())
    run = _with_run(subject, case.id, events)
    if isinstance(run, Skipped):
        return Result(case.id, "skipped", case, run.reason)
    status: Status = "failed" if run.wrong else "passed"
    if excused:
        status = "excused" if run.wrong else "excuse not needed"
    return _result(case, status, run)


def _with_run(subject: Subject, id: str, events: Sequence[Event]) -> Played | Skipped:
    """Play a run. Where there is no verdict, its reason ends with the run: it is all that can be looked at."""
    try:
        return played(subject, id, events)
    except NoVerdict as broken:
        run = shorthand.write(events)
        shown = run if len(run) <= LONGEST_RUN else f"{run[:LONGEST_RUN]}..."
        raise NoVerdict(f"{broken}\nthe run: {shown}") from broken


def made_short(subject: Subject, report: Report) -> Iterator[Result]:
    """The shortest run that fails with an error, made shorter, where that is possible. Raises `NoVerdict`."""
    errors = [result for result in report.failed if result.error]
    found = min(errors, key=lambda result: len(result.prefix), default=None)
    if found:
        shorter = shortened(subject, found.id, Played(found.prefix, found.answers, found.wrong, found.error))
        run = renamed(subject, found.id, shorter)
        if run.wrong and len(run.events) < len(found.prefix):
            case = make("shortened", f"What is needed of {found.id} to fail.", run.events, claims=run.wrong.claims)
            yield _result(case, "failed", run)


def _result(case: Case, status: Status, run: Played) -> Result:
    return Result(case.id, status, case, wrong=run.wrong, events=run.events, answers=run.answers, error=run.error)


class _Found(Exception):
    """A history that fails."""


class _Lost(BaseException):
    """There is no verdict. No `Exception`: nobody shall look for a shorter history that also ends so."""


def random_histories(
    subject: Subject, report: Report, budget: int, seed: int, show: Callable[[str], None] = lambda done: None
) -> Iterator[Result]:
    """Play random histories, counted in the report, and yield the one that fails, if any does.

    Raises `NoVerdict`, and `NeedsHypothesis` where the package is missing.
    """
    last: list[Played] = []
    number = 0

    def check(events: list[Event]) -> None:
        nonlocal number
        number += 1
        show(f"random history {number}")
        try:
            run = _with_run(subject, f"random-{number}", events)
        except NoVerdict as broken:
            raise _Lost from broken
        if isinstance(run, Skipped):
            return
        report.histories += not last
        if run.wrong:
            last.append(run)
            raise _Found(run.wrong.sentence)

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
        comment = MOODY
    if last:
        run = last[-1]
        again = played(subject, "random", run.events)
        if isinstance(again, Skipped) or not again.wrong:
            comment = MOODY
        else:
            run = renamed(subject, "random", shortened(subject, "random", again))
        case = make("random", comment, run.events, claims=run.wrong.claims if run.wrong else ())
        yield _result(case, "failed", run)
