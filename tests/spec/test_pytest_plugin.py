"""The plugin for pytest, tried as a project uses it: in a run of pytest of its own.

What its tests say is held against what `validate` says of the same scheduler.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from sfq_spec.conformance.case import Case
from sfq_spec.conformance.report import diagnosed, explained
from sfq_spec.conformance.subjects import PythonSubject
from sfq_spec.conformance.validate import Report, bundled, validate
from sfq_spec.mutants import BY_NAME
from sfq_spec.scheduler import MachineScheduler

TESTS = Path(__file__).resolve().parents[1]
PLUGIN = "sfq_spec.pytest_plugin"
PLUGIN_FILE = TESTS.parent / "spec" / "sfq_spec" / "pytest_plugin.py"
LONGEST = 60
"""Events of the longest vector that is played here."""
CONFTEST = f"""
from sfq_spec import testing

testing.CASES = tuple(case for case in testing.CASES if len(case.events) <= {LONGEST})
"""
SAMPLES = """
from sfq_spec.mutants import BY_NAME
from sfq_spec.scheduler import MachineScheduler
from schedulers.linear_scan import LinearScan

def mutant():
    return MachineScheduler(BY_NAME["counts-requests"].take)

class Mute(LinearScan):
    def dispatch(self):
        super().dispatch()

class Odd(LinearScan):
    def cancel(self, request):
        super().cancel(request)
        return {"refused": "because"}
"""
DIES = """
import json, sys
for number, line in enumerate(sys.stdin):
    message = json.loads(line)
    if message["cmd"] == "start":
        told = {"protocol": 1, "implementation": {"name": "dies"}}
    elif number == 1:
        told = {"seq": 1, "answers": [{}, {"dispatched": "A1"}, {"dispatched": None}]}
    elif number == 2:
        told = {"seq": 2, "skipped": "not today"}
    else:
        sys.exit("out of memory")
    print(json.dumps(told), flush=True)
"""


def short() -> tuple[Case, ...]:
    return tuple(case for case in bundled().cases if len(case.events) <= LONGEST)


CLAIMS = sorted({claim for case in bundled().cases for claim in case.claims})


@dataclass(frozen=True)
class Ran:
    """How a run of pytest ended."""

    status: int
    out: str
    outcomes: dict[str, str]
    """passed, failed, error or skipped, by the name of the test."""
    texts: dict[str, str]

    def named(self, outcome: str) -> set[str]:
        return {name for name, ended in self.outcomes.items() if ended == outcome}


Running = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Running:
    """Run pytest in a folder with some schedulers, and with the shorter vectors alone."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "samples.py").write_text(SAMPLES)
    (tmp_path / "dies.py").write_text(DIES)

    def ran(*arguments: str, files: Sequence[tuple[str, str]] = ()) -> Ran:
        for name, text in files:
            (tmp_path / name).write_text(text)
        report = tmp_path / "report.xml"
        command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "--junit-xml", str(report)]
        paths = [str(tmp_path), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        environment.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        outcomes, texts = {}, {}
        for case in Xml.parse(report).iter("testcase") if report.exists() else ():
            name = str(case.get("name"))
            outcomes[name] = case[0].tag.replace("failure", "failed") if len(case) else "passed"
            texts[name] = f"{case[0].get('message')}\n{case[0].text}" if len(case) else ""
        return Ran(done.returncode, done.stdout + done.stderr, outcomes, texts)

    return ran


def judged(factory: Callable[[], Any], *, budget: int = 0, seed: int = 0) -> Report:
    with PythonSubject("sample", factory) as subject:
        return validate(subject, short(), budget=budget, seed=seed)


def mutant(name: str) -> Callable[[], Any]:
    return lambda: MachineScheduler(BY_NAME[name].take)


@pytest.mark.integration
@pytest.mark.parametrize(("budget", "more"), [(20, []), (0, ["-n", "2"])], ids=["alone", "spread"])
def test_a_fault_fails_the_tests_it_must_and_no_others(run: Running, budget: int, more: list[str]) -> None:
    report = judged(mutant("counts-requests"), budget=budget, seed=1)
    failing = {"random-histories" if result.id == "random" else result.id for result in report.failed}
    assert ("random-histories" in failing, "not-counts-requests" in failing) == (budget > 0, True)
    failing |= {claim for result in report.failed for claim in result.claims}
    ran = run("--sfq", "samples:mutant", "--sfq-budget", str(budget), "--sfq-seed", "1", *more)
    assert ran.status == 1
    assert ran.named("failed") == failing
    assert (
        ran.named("passed") == {*(case.id for case in short()), *CLAIMS, *["random-histories"] * bool(budget)} - failing
    )
    for result in report.failed:
        text = ran.texts["random-histories" if result.id == "random" else result.id]
        assert "\n".join(explained(result)).replace("--seed 1", "--sfq-seed 1") in text
        assert "\n".join(diagnosed(report)) in text
    assert "In every run it behaves as counts-requests." in ran.texts["FAIR-LEAD"]
    assert "Traceback" not in ran.out
    assert ".py:" not in ran.out
    assert "sfq: samples:mutant" + f", {budget} random histories (--sfq-seed 1)" * bool(budget) in ran.out


def test_a_scheduler_that_conforms_passes(run: Running) -> None:
    ran = run("--sfq", "schedulers.linear_scan:LinearScan", "--sfq-budget", "20")
    assert (ran.status, set(ran.outcomes.values())) == (0, {"passed"})
    assert set(ran.outcomes) == {*(case.id for case in short()), *CLAIMS, "random-histories"}


@pytest.mark.integration
def test_nothing_but_skips_is_not_good(run: Running) -> None:
    ran = run("--sfq", "schedulers.correct:Tags", "-k", "R-WEIGHT or not-weight-rescales-history")
    assert (ran.status, set(ran.outcomes.values())) == (1, {"skipped"})
    assert "sfq: no verdict: nothing was checked" in ran.out
    assert run("--sfq", "schedulers.correct:Tags", "-k", "R-WEIGHT or article-table").status == 0


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--sfq-command", "no-such-program"], "no verdict: no-such-program cannot be started"),
        (["--sfq-command", f"{sys.executable} -c pass"], "no verdict: start: the adapter has ended"),
        (["--sfq", "samples:Mute"], "no verdict: smoke test"),
    ],
)
def test_what_is_broken_is_an_error_and_no_failure(run: Running, arguments: list[str], reason: str) -> None:
    ran = run(*arguments, "-k", "article-table or FAIR-LEAD or random-histories")
    assert (ran.status, set(ran.outcomes.values())) == (1, {"error"})
    assert len(ran.outcomes) == 3
    assert all(reason in text for text in ran.texts.values())
    assert "Traceback" not in ran.out
    assert ".py:" not in ran.out


def test_an_adapter_that_dies_is_not_asked_again(run: Running) -> None:
    ran = run("--sfq-command", f"'{sys.executable}' dies.py", "-k", "article or FAIR-LEAD")
    assert ran.outcomes.pop("article-table") == "skipped"
    assert set(ran.outcomes.values()) == {"error"}
    reasons = [text for text in ran.texts.values() if "not today" not in text]
    assert len(reasons) > 3
    assert all("the adapter has ended" in reason for reason in reasons)
    assert ["out of memory" in reason for reason in reasons].count(True) == 1
    assert ["(the same as above)" in reason for reason in reasons].count(False) == 1


def test_a_scheduler_in_python_that_is_broken_in_some_cases_is_judged_in_the_others(run: Running) -> None:
    some = "cancel-middle or article-table or KEEP-FORGET or R-FIFO"
    ran = run("--sfq", "samples:Odd", "--sfq-budget", "0", "-k", some)
    assert ran.named("error") == {"cancel-middle", "R-FIFO"}
    assert "refused with the code 'because'" in ran.texts["cancel-middle"]
    assert ran.named("passed") == {"article-table", "KEEP-FORGET"}


@pytest.mark.integration
def test_known_faults_are_expected_and_one_that_passes_fails(run: Running) -> None:
    known = ("known.txt", "# issue 12\nties-utf-16\nties-code-points\narticle-table\n")
    some = ["--sfq", "schedulers.faulty:TiesByUtf16", "--sfq-budget", "0", "-k", "ties-utf or table or ORDER-TOTAL"]
    ran = run(*some, "--sfq-skip", "known.txt", "-rx", files=[known])
    assert ran.status == 1
    assert ran.outcomes == {"ties-utf-16": "skipped", "article-table": "failed", "ORDER-TOTAL": "skipped"}
    assert "article-table - it is" not in ran.out
    assert "it is among the known faults and passes: take it off the list" in ran.texts["article-table"]
    assert "XFAIL sfq::vectors::ties-utf-16 - known to fail: event 10: " in ran.out
    ran = run(*some, "--sfq-skip", "known.txt", "--runxfail", files=[known])
    assert ran.named("failed") == set(ran.outcomes)


def test_nothing_is_added_or_imported_without_the_options(run: Running) -> None:
    looks = """
import sys

def test_it():
    assert [name for name in sys.modules if name.startswith("sfq_")] == ["sfq_spec", "sfq_spec.pytest_plugin"]
    assert "msgspec" not in sys.modules
"""
    ran = run(files=[("test_it.py", looks), ("conftest.py", "")])
    assert (ran.status, ran.outcomes) == (0, {"test_it": "passed"}), ran.out


@pytest.mark.integration
def test_the_tests_are_chosen_as_others_are(run: Running) -> None:
    own = ("test_own.py", "def test_own(): pass\n")
    sfq = ["--sfq", "schedulers.linear_scan:LinearScan"]
    ran = run(*sfq, "-v", "-k", "not-reset-on-return or test_own", files=[own])
    assert set(ran.outcomes) == {"not-reset-on-return", "test_own"}
    assert "sfq::vectors::not-reset-on-return PASSED" in ran.out
    total = 1 + len(short()) + len(CLAIMS) + 1
    assert f"collected {total} items / {total - 2} deselected / 2 selected" in ran.out
    ran = run(*sfq, "-m", "sfq", "--collect-only", "-q")
    assert f"{total - 1}/{total} tests collected (1 deselected)" in ran.out
    assert "sfq::random-histories\n" in ran.out
    assert run(*sfq, "--sfq-budget", "0", "--collect-only", "-q").out.count("random-histories") == 0


CLASSES = """
from samples import mutant
from schedulers.faulty import TiesByUtf16
from schedulers.linear_scan import LinearScan
from sfq_spec.testing import SFQConformance

def plain():
    return LinearScan()

class TestClass(SFQConformance):
    scheduler = LinearScan
    budget = 3

class TestFunction(SFQConformance):
    scheduler = plain
    budget = 0

class TestMethod(SFQConformance):
    budget = 20
    seed = 1

    def scheduler(self):
        return mutant()

class TestName(SFQConformance):
    scheduler = "schedulers.faulty:TiesByUtf16"
    known_faults = ["ties-utf-16"]

class TestNothing(SFQConformance):
    pass

class TestCommand(SFQConformance):
    command = ["no-such-program"]

class TestUnknown(SFQConformance):
    scheduler = LinearScan
    known_faults = ["no-such-case"]
"""


@pytest.mark.integration
def test_a_project_has_the_tests_in_a_class(run: Running) -> None:
    def ran(name: str, test: str) -> Ran:
        return run("-rsx", f"test_classes.py::{name}", "-k", test, files=[("test_classes.py", CLASSES)])

    good = ran("TestClass", "article-table or random or FAIR-LEAD")
    assert (good.status, good.outcomes) == (
        0,
        dict.fromkeys(["test_vector[article-table]", "test_random_histories", "test_claim[FAIR-LEAD]"], "passed"),
    )
    plain = ran("TestFunction", "article-table or random")
    assert plain.outcomes == {"test_vector[article-table]": "passed", "test_random_histories": "skipped"}
    wrong = ran("TestMethod", "not-counts-requests or random or FAIR-LEAD or not-newest-first")
    assert wrong.named("passed") == {"test_vector[not-newest-first]"}
    assert wrong.named("failed") == set(wrong.outcomes) - wrong.named("passed")
    assert "drawn again by --sfq-seed 1" in wrong.texts["test_random_histories"]
    assert "In every run it behaves as counts-requests." in wrong.texts["test_vector[not-counts-requests]"]
    assert ".py:" not in wrong.out.replace("test_classes.py::", "")
    assert "known to fail: event 10" in ran("TestName", "ties-utf-16").out


def test_a_class_that_names_no_scheduler_is_an_error(run: Running) -> None:
    ran = run("-k", "article-table and not (Class or Function or Method or Name)", files=[("test_it.py", CLASSES)])
    assert (ran.status, ran.outcomes) == (1, {"test_vector[article-table]": "error"})
    for reason in (
        "no verdict: no scheduler is named: give a class,",
        "no verdict: no-such-program cannot be started",
        "no verdict: known_faults names 'no-such-case', and there is no such case",
    ):
        assert reason in ran.out
    assert "Traceback" not in ran.out


FIXTURE = """
import sys
from schedulers.faulty import TiesByUtf16
from schedulers.linear_scan import LinearScan

def test_good(sfq_conforms):
    assert sfq_conforms(LinearScan, only=["ties-utf-16", "article-table"], budget=2).conforms

def test_wrong(sfq_conforms):
    sfq_conforms(TiesByUtf16, only=["ties-utf-16"], budget=0)

def test_known(sfq_conforms):
    sfq_conforms(TiesByUtf16, only=["ties-utf-16", "article-table"], budget=0, known_faults=["ties-utf-16"])

def test_broken(sfq_conforms):
    sfq_conforms([sys.executable, "-c", "pass"])
"""


def test_a_fixture_judges_a_scheduler_in_a_test(run: Running) -> None:
    ran = run("-rs", files=[("test_it.py", FIXTURE)])
    assert ran.outcomes == {"test_good": "passed", "test_wrong": "failed", "test_known": "passed"} | {
        "test_broken": "skipped"
    }
    assert "does not conform: 0 cases passed, 1 failed, 0 skipped" in ran.texts["test_wrong"]
    assert "2 passed, 1 skipped, 1 error" in ran.out
    assert "no verdict: start: the adapter has ended" in ran.out


@pytest.mark.integration
def test_the_page_shows_what_can_be_done(run: Running) -> None:
    page = (TESTS.parent / "docs" / "validate.md").read_text(encoding="utf-8")
    section = page.partition("\n## With pytest\n")[2].partition("\n## ")[0]
    (commands,), (suite,) = (re.findall(rf"^```{kind}\n(.*?)^```$", section, re.M | re.S) for kind in ("sh", "py"))
    (scheduler,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    options = set(re.findall(r"--sfq[\w-]*", section))
    declared = set(re.findall(r'addoption\(\s*"(--sfq[\w-]*)"', PLUGIN_FILE.read_text()))
    assert options == declared
    files = [("my_scheduler.py", scheduler), ("test_mine.py", suite), ("faults.txt", "")]
    ran = run("-k", "bounded or article-table or random", files=files)
    assert ran.named("passed") == {"test_leads_are_bounded", "test_vector[article-table]", "test_random_histories"}
    assert ran.status == 0, ran.out
    for line in commands.splitlines():
        words = shlex.split(line.replace("tests/known-faults.txt", "faults.txt"))
        ran = run(*words[1:], "-k", "not-reset-on-return", "--collect-only", "-q")
        assert ran.out.count("sfq::vectors::not-reset-on-return") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--sfq", "gone:X"], "--sfq: there is no module 'gone': start in the folder that holds it"),
        (["--sfq", "schedulers.faulty:Gone"], "'schedulers.faulty' has no 'Gone': its classes are"),
        (["--sfq", "nothing"], "'nothing' names no scheduler: write module:factory"),
        (["--sfq", "a:b", "--sfq-command", "c"], "--sfq and --sfq-command: name one scheduler"),
        (["--sfq-command", "node 'adapter"], "No closing quotation"),
        (["--sfq-command", ""], "--sfq-command: is empty: name the program"),
        (["--sfq-command", "c", "--sfq-any-tie"], "--sfq-any-tie is for --sfq: an adapter says"),
        (["--sfq-skip", "x"], "--sfq-skip: also name a scheduler, by --sfq or --sfq-command"),
        (["--sfq-budget", "-1"], "--sfq-budget -1: is below zero"),
        (["--sfq", "schedulers.faulty:TiesByUtf16", "--sfq-skip", "gone.txt"], "--sfq-skip gone.txt: cannot be read"),
        (["--sfq", "schedulers.faulty:TiesByUtf16", "--sfq-patience", "2"], "--sfq-patience is for --sfq-command"),
    ],
)
def test_bad_options_name_the_fix(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    status = pytest.main(
        ["-p", PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *arguments, str(tmp_path)]
    )
    assert status == pytest.ExitCode.USAGE_ERROR
    assert reason in capfd.readouterr().err
