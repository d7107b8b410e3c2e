"""A list of known faults that is not true any more is told as that, and accuses nobody of a mistake."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from schedulers import faulty
from schedulers.linear_scan import LinearScan
from sfq_spec.conformance import report as reports
from sfq_spec.conformance.diagnose import Behaviour, Diagnosis, diagnose
from sfq_spec.conformance.las import case as las
from sfq_spec.conformance.las.model import Following, model
from sfq_spec.conformance.las.validate import Judged, diagnosis
from sfq_spec.conformance.page import verdict
from sfq_spec.conformance.subjects import PythonSubject
from sfq_spec.conformance.validate import Report, bundled, result_of, validate
from sfq_spec.machine import Machine, answer
from sfq_spec.mutants import BY_NAME
from sfq_spec.scheduler import MachineScheduler

CASES = {case.id: case for case in bundled().cases}
STALE = ("upkeep-in-debt", "not-forgets-debtors")
RIGHT = "schedulers.linear_scan:LinearScan"


def judged(factory: Callable[[], Any], ids: Iterable[str], excused: Iterable[str] = STALE) -> Report:
    with PythonSubject("sample", factory) as subject:
        return validate(subject, [CASES[id] for id in ids], excused=set(excused))


def test_a_list_that_is_not_true_is_no_mistake_of_the_scheduler(command: Callable[..., Any], tmp_path: Path) -> None:
    known, junit, markdown, html = (tmp_path / name for name in ("known", "junit.xml", "summary.md", "page.html"))
    known.write_text("\n".join(STALE))
    options = [f"--only={id}" for id in ("article-table", *STALE)] + ["--budget=0", f"--skip={known}"]
    files = [f"--junit={junit}", f"--markdown={markdown}", f"--html={html}"]
    told = command("validate", "--python", RIGHT, *options, *files)
    assert told.status == 1
    assert "--skip names what does not fail:\n  not-forgets-debtors: it is excused by --skip and passes" in told.out
    assert "does not conform: 1 cases passed, 2 failed" in told.out
    assert len(Xml.parse(junit).getroot().findall("testcase/failure")) == 2
    for text in (told.out, markdown.read_text(encoding="utf-8"), html.read_text(encoding="utf-8")):
        assert "take it off the list" in text
        assert "behaves as" not in text
        assert "more" not in text
    found = json.loads(command("validate", "--python", RIGHT, *options, "--json").out)
    assert (found["verdict"], found["diagnosis"], found["shortest"]) == ("does-not-conform", [], None)


def test_where_something_fails_as_well_the_mistake_is_named() -> None:
    found = judged(lambda: MachineScheduler(BY_NAME["newest-first"].take), [*STALE, "not-newest-first"])
    assert [mutant.name for mutant in found.diagnosis.mutants] == ["newest-first"]
    assert len(found.failed) > len(found.wrong) == 1


def test_faults_that_are_all_excused_are_not_explained_because_of_an_excuse_that_is_not_needed() -> None:
    found = judged(faulty.LastInFirstOut, ["not-newest-first", *STALE], ["not-newest-first", *STALE])
    assert found.count("excused")
    assert found.failed
    assert (found.wrong, found.diagnosis) == ([], Diagnosis())
    assert "behaves" not in "\n".join(reports.lines(found))


def test_a_mistake_that_no_run_tells_apart_is_not_named() -> None:
    state, events, answers = Machine(), tuple(CASES["article-table"].played()), []
    for event in events:
        state, told = answer(state, event)
        answers.append(told)
    run = Behaviour(events, tuple(answers))
    assert diagnose([run]) == diagnose([run], any_tie=True) == diagnose([]) == Diagnosis()


def test_an_error_beside_an_excuse_that_is_not_needed_is_no_known_mistake() -> None:
    class Fails(LinearScan):
        def cancel(self, request: str) -> None:
            raise RuntimeError("no")

    found = judged(Fails, ["article-table", *STALE, "not-cancels-the-head"])
    assert [result.error != "" for result in found.wrong] == [True] * len(found.wrong)
    assert found.wrong
    assert found.diagnosis == Diagnosis()


def test_the_page_of_such_a_list_has_a_heading_of_its_own() -> None:
    page = verdict.page(judged(LinearScan, ["article-table", *STALE]))
    assert "<h2>Excused, and does not fail</h2>" in page
    assert "What it looks like" not in page


def test_the_same_of_policies_of_least_attained_service() -> None:
    case = las.bundled().cases[0]
    policy = model(case.mode, case.parameters, Following, collected=False)
    told = tuple(las.answers(policy, las.lines(case.events)))
    with PythonSubject("sample", LinearScan) as subject:
        result = result_of(subject, CASES["article-table"], excused=True)
    right = [Judged(case, result, told)]
    assert told
    assert diagnosis(right) == Diagnosis()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, ": cannot be read: No such file or directory"),
        (b"\xff\xfe", ": is not UTF-8 (byte 1)"),
        (b"\narticle-tabel\n", ": line 2: there is no case 'article-tabel': did you mean article-table?"),
    ],
)
def test_a_list_that_cannot_be_read(
    command: Callable[..., Any], tmp_path: Path, text: bytes | None, reason: str
) -> None:
    known = tmp_path / "known"
    if text is not None:
        known.write_bytes(text)
    told = command("validate", "--python", RIGHT, "--skip", str(known))
    assert (told.status, told.err) == (2, f"sfq-spec: {known}{reason}\n")


@pytest.mark.parametrize("policy", [[], ["--policy", "las"]])
@pytest.mark.parametrize("option", ["--junit", "--markdown", "--html"])
def test_reports_that_cannot_be_written_are_seen_before_the_run(
    command: Callable[..., Any], tmp_path: Path, policy: list[str], option: str
) -> None:
    began, path = tmp_path / "began", tmp_path / "missing" / "report"
    adapter = [sys.executable, "-c", f"open({str(began)!r}, 'w')"]
    told = command("validate", *policy, option, str(path), "--", *adapter)
    assert (told.status, told.err) == (2, f"sfq-spec: {path}: cannot be written: No such file or directory\n")
    assert not began.exists()


def test_a_report_that_cannot_be_written_after_all_does_not_cost_the_verdict(command: Callable[..., Any]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no device that is always full")
    told = command("validate", "--python", RIGHT, "--only", "article-table", "--budget", "0", "--junit", str(full))
    assert (told.status, told.err) == (2, "sfq-spec: /dev/full: cannot be written: No space left on device\n")
    assert "conforms: 1 cases passed" in told.out


def test_a_rule_for_ties_of_a_program_is_not_taken_for_one_of_python(command: Callable[..., Any]) -> None:
    told = command("validate", "--policy", "las", "--any-tie", "--", "adapter")
    assert told.status == 2
    assert "--any-tie is for --python" in told.err
