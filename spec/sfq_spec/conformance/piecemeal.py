"""A scheduler judged piece by piece, in any order, for test runners that ask about one case or one claim at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from sfq_spec.conformance import report as reports
from sfq_spec.conformance.case import Case
from sfq_spec.conformance.histories import NeedsHypothesis
from sfq_spec.conformance.subjects import NoVerdict, PythonSubject, Subject
from sfq_spec.conformance.validate import Report, Result, diagnosis_of, random_histories, result_of, smoke

Found = TypeVar("Found")


@dataclass(frozen=True)
class Told:
    """What a test says: it passed, failed, was skipped, or failed as it is known to."""

    status: Literal["passed", "failed", "skipped", "known"] = "passed"
    text: str = ""
    """Why; the first line says it in short."""


class Piecemeal:
    """One scheduler. It is started at the first question, and each case is played once.

    A question raises `NoVerdict` where the adapter is broken. A scheduler in Python that breaks in one case is tried
    in the others all the same; a process that does is not asked again, and nothing has a verdict that has none yet.
    """

    def __init__(
        self,
        subject: Subject,
        cases: Sequence[Case],
        *,
        excused: Collection[str] = (),
        budget: int = 0,
        seed: int = 0,
    ) -> None:
        self._subject = subject
        self._cases = {case.id: case for case in cases}
        self._excused = excused
        self._budget, self._seed = budget, seed
        self._results: dict[str, Result | NoVerdict] = {}
        self._histories: Report | NoVerdict | None = None
        self._running = False
        self.told: set[str] = set()
        """The reasons for no verdict that a test has told in full."""
        self._over: NoVerdict | None = None

    def close(self) -> None:
        """Stop the scheduler."""
        if self._running:
            self._running = False
            self._subject.__exit__(None, None, None)

    def vector(self, id: str) -> Told:
        """What became of one vector. Raises `NoVerdict`."""
        result = self._result(id)
        match result.status:
            case "passed":
                return Told()
            case "skipped":
                return Told("skipped", result.reason)
            case "excused":
                return Told("known", f"known to fail: {reports.why(result)}")
            case _:
                return Told("failed", self._text(reports.why(result), result))

    def histories(self) -> Told:
        """What became of the random histories. Raises `NoVerdict`."""
        if not self._budget:
            return Told("skipped", "no random histories are asked for")
        report = self._random()
        if report.failed:
            return Told("failed", self._text(reports.why(report.failed[0]), report.failed[0]))
        return Told() if report.histories else Told("skipped", "the scheduler took part in no random history")

    def claim(self, claim: str) -> Told:
        """What became of a claim: every case and history that names it, as one of its own or as one that it breaks.

        Raises `NoVerdict` where one of its cases, or the random histories, have none, and nothing else fails.
        """
        naming = [result for result in self._everything.results if claim in result.claims]
        if failed := [result for result in naming if result.status == "failed"]:
            return Told("failed", self._broken(claim, failed))
        named = [self._result(case.id) for case in self._cases.values() if claim in case.claims]
        if self._budget:
            self._random()
        if excused := [result.id for result in named if result.status == "excused"]:
            return Told("known", f"known to fail: {', '.join(excused)}")
        if all(result.status == "skipped" for result in named):
            lacking = sorted({name for result in named for name in result.lacks})
            reasons = sorted({result.reason for result in named if not result.lacks})
            told = "; ".join([f"needs {', '.join(lacking)}"] * bool(lacking) + reasons)
            return Told("skipped", f"every case that names {claim} was skipped: {told}")
        return Told()

    def _broken(self, claim: str, failed: Sequence[Result]) -> str:
        shortest = min(failed, key=lambda result: len(result.prefix))
        others = [result.id for result in failed if result is not shortest]
        text = self._text(f"{claim} is broken by {shortest.id}: {reports.why(shortest)}", shortest)
        return f"{text}\n\n{len(others)} more: {', '.join(others)}" if others else text

    def _text(self, title: str, result: Result) -> str:
        parts = [title, *reports.explained(result)]
        if result.wrong:
            parts += ["", *reports.diagnosed(self._everything)]
        return "\n".join(parts)

    def _result(self, id: str) -> Result:
        if id not in self._results:
            self._results[id] = self._asked(lambda: result_of(self._subject, self._cases[id], id in self._excused))
        return _raised(self._results[id])

    def _random(self) -> Report:
        if self._histories is None:
            self._histories = self._asked(self._play)
        return _raised(self._histories)

    def _play(self) -> Report:
        report = Report(self._subject.hello, seed=self._seed)
        try:
            report.results += random_histories(self._subject, report, self._budget, self._seed)
        except NeedsHypothesis as missing:
            raise NoVerdict(str(missing)) from None
        return report

    @cached_property
    def _everything(self) -> Report:
        """All that has a verdict, with the diagnosis."""
        results: list[Result] = []
        for id in self._cases:
            with suppress(NoVerdict):
                results.append(self._result(id))
        with suppress(NoVerdict):
            results += self._random().results if self._budget else []
        report = Report(self._subject.hello, results)
        if report.failed:
            report.diagnosis = diagnosis_of(report)
        return report

    def _asked(self, ask: Callable[[], Found]) -> Found | NoVerdict:
        try:
            self._start()
            return ask()
        except NoVerdict as broken:
            if not isinstance(self._subject, PythonSubject):
                self._end(broken)
            return broken

    def _start(self) -> None:
        if self._over:
            raise self._over
        if not self._running:
            try:
                self._subject.__enter__()
                self._running = True
                smoke(self._subject)
            except NoVerdict as broken:
                self._end(broken)
                raise

    def _end(self, broken: NoVerdict) -> None:
        self._over = broken
        if self._running:
            self._running = False
            self._subject.__exit__(NoVerdict, broken, None)


def _raised(found: Found | NoVerdict) -> Found:
    if isinstance(found, NoVerdict):
        raise NoVerdict(str(found))
    return found
