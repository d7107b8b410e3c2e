"""Judge a policy against the vectors of LAS, and against histories that are drawn; say what it behaves like."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sfq_spec.conformance import case as cases
from sfq_spec.conformance.diagnose import Diagnosis
from sfq_spec.conformance.judge import Wrong
from sfq_spec.conformance.las.case import LasCase, LasVectors, Line, Unsure, answers, lines, make
from sfq_spec.conformance.las.catalogue import FAULTS, told_of
from sfq_spec.conformance.las.drawing import drawn_wider
from sfq_spec.conformance.las.model import Following, model
from sfq_spec.conformance.las.subject import LasHello, LasSubject
from sfq_spec.conformance.subjects import Errored, NoVerdict, Skipped
from sfq_spec.conformance.validate import Report, Result
from sfq_spec.mutants import Mutant
from sfq_spec.trace import Answer, Dispatch

DRAWS = 5
"""Histories that are drawn for each that is to be played: one with a tie is not for everybody."""
TRIES = 300
"""Runs that are played to make one short."""


@dataclass(frozen=True)
class Judged:
    """A case that was played, and what came of it."""

    case: LasCase
    result: Result
    answers: tuple[Answer, ...] = ()


@dataclass
class LasReport(Report):
    """The report of the kit, with the cases as they were sent."""

    judged: list[Judged] = field(default_factory=list)

    @property
    def shortest_run(self) -> list[dict[str, Any]]:
        """The events of the shortest failure, up to the wrong answer."""
        found = self.shortest
        return [
            event
            for each in self.judged
            if found and each.result is found and found.wrong
            for event in each.case.events[: found.wrong.at + 1]
        ]


def chosen(vectors: LasVectors, only: Sequence[str]) -> list[LasCase]:
    """The cases whose id, flag or mode is one of `only`; all where it is empty. Raises `KeyError` for one unknown."""
    known = names(vectors)
    for name in only:
        if name not in known:
            raise KeyError(name)
    return [case for case in vectors.cases if not only or set(only) & {case.id, *case.flags, case.mode}]


def names(vectors: LasVectors) -> set[str]:
    """What `chosen` knows: ids, flags and modes."""
    return {name for case in vectors.cases for name in (case.id, *case.flags, case.mode)}


def validate(
    subject: LasSubject,
    vectors: Sequence[LasCase],
    *,
    excused: Collection[str] = (),
    budget: int = 0,
    seed: int = 0,
    show: Callable[[str], None] = lambda done: None,
) -> LasReport:
    """Judge a started policy. Raises `NoVerdict` where its adapter is broken, or nothing could be checked."""
    report = LasReport(subject.hello, seed=seed)
    subject.smoke()
    for case in vectors:
        _note(report, _played(subject, case, case.id in excused))
        show(case.id)
    for judged in _random(subject, report, budget, seed, show):
        _note(report, judged)
    if report.failed:
        report.diagnosis = diagnosis(report.judged)
    elif not report.conforms:
        why = "; ".join(sorted({result.reason or "excused" for result in report.results}))
        raise NoVerdict(f"nothing was checked: {why or 'there is no case'}")
    return report


def diagnosis(judged: Sequence[Judged]) -> Diagnosis:
    """The wrong models that answer just like the policy, in every case; none where that is what it should answer."""
    if all(judge(each.case, each.answers) is None for each in judged if each.answers):
        return Diagnosis()
    runs = [(each.case, lines(each.case.events), each.answers) for each in judged if each.answers]
    alike = [name for name, fault in FAULTS.items() if runs and all(_alike(fault, *run) for run in runs)]
    return Diagnosis(tuple(Mutant(name, " ".join(told_of(name)), "") for name in alike))


def _alike(fault: type[Following], case: LasCase, events: Sequence[Line], told: Sequence[Answer]) -> bool:
    said = answers(model(case.mode, case.parameters, fault, collected=False), events)
    return [answer.dispatched for answer in said] == [answer.dispatched for answer in told]


def judge(case: LasCase, told: Sequence[Answer]) -> Wrong | None:
    """The first wrong answer."""
    for place, (line, expected, answer) in enumerate(zip(lines(case.events), case.expect, told, strict=True)):
        if isinstance(answer.refused, str):
            return Wrong(place, f"refused with {answer.refused}: it is valid", (), ())
        if isinstance(line.event, Dispatch) and answer.dispatched != expected.dispatched:
            legal = (expected.dispatched,) if isinstance(expected.dispatched, str) else ()
            sent = "nothing" if answer.dispatched is None else answer.dispatched
            return Wrong(place, f"{sent} was sent; {_standings(case, place)}", legal, ())
    return None


def _standings(case: LasCase, place: int) -> str:
    """Where everybody stands at an event that is a dispatch."""
    said: list[str] = []

    class Telling(Following):
        """Notes the standings of the latest pick."""

        def _chosen(self, at: Any, programs: Any) -> str:
            scores, _ = self.scores(at, programs)
            said[:] = [
                f"{user} has {stand.score:.3f} (service {stand.service:g}, wait {stand.wait} ms)"
                for user, stand in sorted(scores.items(), key=lambda each: -each[1].score)
            ]
            return super()._chosen(at, programs)

    made = model(case.mode, case.parameters, Telling, collected=False)
    events = lines(case.events)[: place + 1]
    if answers(made, events)[-1].dispatched is None:
        return "nobody waits"
    return f"at {float(events[-1].told.time or 0):g} s the scores are: {', '.join(said)}"


def _played(subject: LasSubject, case: LasCase, excused: bool = False) -> Judged:
    """Play one case. Raises `NoVerdict`."""
    if lacks := subject.lacks(case):
        return _judged(case, "skipped", reason=f"needs {lacks}", lacks=tuple(lacks.split(", ")))
    try:
        told = subject.play(case)
    except Errored as error:
        wrong = Wrong(len(case.events) - 1 if error.place is None else error.place, error.sentence, (), ())
        return _judged(case, "excused" if excused else "failed", wrong=wrong, error=error.what)
    if isinstance(told, Skipped):
        return _judged(case, "skipped", reason=told.reason)
    found = judge(case, told)
    if excused:
        return _judged(case, "excused" if found else "excuse not needed", told, wrong=found)
    return _judged(case, "failed" if found else "passed", told, wrong=found)


def _judged(case: LasCase, status: Any, told: Sequence[Answer] = (), **more: Any) -> Judged:
    given = ", ".join(f"{name} {value:g}" for name, value in case.parameters.items())
    comment = f"{case.comment} Mode {case.mode}{f'; {given}' if given else ''}."
    plain = cases.Case(case.id, comment, (), case.flags, case.requires, case.events, ())
    events = tuple(line.event for line in lines(case.events))
    return Judged(case, Result(case.id, status, plain, events=events, answers=tuple(told), **more), tuple(told))


def _note(report: LasReport, judged: Judged) -> None:
    report.judged.append(judged)
    report.results.append(judged.result)


def _random(
    subject: LasSubject, report: LasReport, budget: int, seed: int, show: Callable[[str], None]
) -> Iterator[Judged]:
    """Play histories until one fails, and make that one short; those that it cannot take part in are passed over."""
    assert isinstance(subject.hello, LasHello)
    for number in range(DRAWS * budget):
        if report.histories == budget:
            return
        mode = subject.hello.modes[number % len(subject.hello.modes)]
        judged = _played(subject, drawn_wider(mode, seed + number, f"random-{seed + number}"))
        if judged.result.status == "skipped":
            continue
        report.histories += 1
        show(judged.case.id)
        if judged.result.status == "failed":
            yield _shortened(subject, judged)
            return


def _shortened(subject: LasSubject, judged: Judged) -> Judged:
    """The same failure with as few events as a short search finds."""
    found, tries, size = judged, TRIES, len(judged.case.events) // 2
    while size:
        at = 0
        while at < len(found.case.events) and tries:
            tries -= 1
            fewer = [*found.case.events[:at], *found.case.events[at + size :]]
            smaller = _if_failing(subject, found.case, fewer)
            found, at = (smaller, at) if smaller else (found, at + size)
        size //= 2
    return found


def _if_failing(subject: LasSubject, case: LasCase, events: Sequence[dict[str, Any]]) -> Judged | None:
    try:
        fewer = make(case.id, case.comment, case.mode, events, parameters=case.parameters)
    except (Unsure, ValueError):
        return None
    judged = _played(subject, fewer)
    return judged if judged.result.status == "failed" else None


def run_as_json(report: LasReport) -> str:
    """The shortest failing run, an event on each line."""
    return "\n".join(msgspec.json.encode(event).decode() for event in report.shortest_run)
