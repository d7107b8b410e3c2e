"""What `sfq-spec validate` and `sfq-spec vectors` tell: to a person, a machine, a test runner and a CI summary."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree as Xml

import pytest

from sfq_spec.conformance.validate import bundled
from sfq_spec.trace import read

FAULTY = "schedulers.faulty:TiesByUtf16"
RIGHT = "schedulers.linear_scan:LinearScan"


class Told(Protocol):
    status: int
    out: str
    err: str


Running = Callable[..., Told]


@pytest.fixture
def reports(command: Running, tmp_path: Path) -> tuple[Any, Xml.Element, str]:
    """The reports about a scheduler with a fault that two of five cases see."""
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    told = command(
        "validate", "--python", FAULTY, "--only", "IdsByBytes", "--only", "article-table", "--budget", "0",
        "--json", "--junit", str(junit), "--markdown", str(markdown),
    )  # fmt: skip
    assert told.status == 1
    return json.loads(told.out), Xml.parse(junit).getroot(), markdown.read_text(encoding="utf-8")


def test_the_report_for_machines(reports: tuple[Any, Xml.Element, str]) -> None:
    told, _, _ = reports
    assert told["verdict"] == "does-not-conform"
    assert told["counts"] == {"passed": 3, "failed": 2, "skipped": 0, "excused": 0}
    assert told["implementation"]["language"] == "python"
    assert told["shortest"] == min(told["failures"], key=lambda failure: len(failure["trace"]))["case"]
    for failure in told["failures"]:
        assert failure["event"] == len(failure["trace"])
        assert "R-SELECT" in failure["claims"]
        assert failure["trace"][-1]["dispatched"] not in failure["legal"]


def test_of_a_long_run_with_many_lags_the_end_is_told_and_what_is_left_out(command: Running) -> None:
    options = ["--only", "a-thousand-users", "--only", "article-table", "--budget", "0", "--json"]
    told = command("validate", "--python", "schedulers.faulty:RandomTies", *options)
    failures = {failure["case"]: failure for failure in json.loads(told.out)["failures"]}
    long, short = failures["a-thousand-users"], failures["article-table"]
    assert len(told.out) < 120_000
    assert (len(long["trace"]), short["left-out"]) == (100, None)
    assert len(short["trace"]) == short["event"]
    assert long["left-out"]["events-before"] == long["event"] - 100 > 900
    named = {user for entry in long["trace"] for user in entry["lag"]}
    assert named
    assert len(named) + long["left-out"]["lags-of-users"] >= 1_000
    assert long["trace"][-1]["dispatched"][:4] in named


def test_the_run_of_a_failure_can_be_audited(reports: tuple[Any, Xml.Element, str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps(entry) + "\n" for entry in reports[0]["failures"][0]["trace"]))
    with trace.open("rb") as stream:
        assert len(list(read(stream))) == reports[0]["failures"][0]["event"]


def test_the_report_for_a_test_runner(reports: tuple[Any, Xml.Element, str]) -> None:
    _, suite, _ = reports
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "2", "0")
    failed = [case for case in suite if case.find("failure") is not None]
    assert {case.get("name") for case in failed} == {"ties-code-points", "ties-utf-16"}
    assert all("contradicts R-SELECT" in str(case[0].get("message")) for case in failed)
    assert all("legal" in str(case[0].text) for case in failed)


def test_the_report_for_a_summary(reports: tuple[Any, Xml.Element, str]) -> None:
    _, _, text = reports
    rows = [line for line in text.splitlines() if line.startswith("| ties-")]
    assert [row.split()[1] for row in rows] == ["ties-utf-16", "ties-code-points"]
    assert "The cases that fail are about IdsByBytes (2 of 4), LastIdFirst (2 of 4)." in text
    assert all(row.count(" | ") == 3 for row in rows)
    assert "**does not conform: 3 cases passed, 2 failed, 0 skipped**" in text


def test_known_faults_are_excused_and_no_others(command: Running, tmp_path: Path) -> None:
    skips = tmp_path / "known.txt"
    options = ["--only", "IdsByBytes", "--budget", "0", "--skip", str(skips)]
    skips.write_text("# issue 12\nties-utf-16   # UTF-16\n\nties-code-points\n")
    told = command("validate", "--python", FAULTY, *options)
    assert (told.status, told.out.splitlines()[-1]) == (0, "conforms: 2 cases passed, 0 failed, 0 skipped, 2 excused")
    skips.write_text("ties-utf-16\n")
    assert command("validate", "--python", FAULTY, *options).status == 1
    told = command("validate", "--python", RIGHT, *options)
    assert told.status == 1
    assert "ties-utf-16: it is excused by --skip and passes: take it off the list" in told.out
    skips.write_text("ties-utf-16\nno-such-case\n")
    told = command("validate", "--python", RIGHT, *options)
    assert (told.status, told.err) == (2, f"sfq-spec: {skips}: line 2: there is no case 'no-such-case'\n")


def test_what_a_scheduler_prints_is_not_in_the_report(
    command: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "talking.py").write_text(
        "from schedulers.linear_scan import LinearScan\nprint('loaded')\n"
        "class Talking(LinearScan):\n    def dispatch(self):\n        print('now')\n        return super().dispatch()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    options = ["--only", "article-table", "--budget", "0", "--json"]
    told = command("validate", "--python", "talking:Talking", *options)
    assert json.loads(told.out)["verdict"] == "conforms"
    assert "loaded\nnow\n" in told.err


def test_a_seed_is_told(command: Running) -> None:
    told = command("validate", "--python", RIGHT, "--only", "article-table", "--budget", "3")
    assert told.status == 0
    assert "3 random histories (--seed " in told.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "name one scheduler: --python module:factory, or -- and the command of an adapter"),
        (["--python", RIGHT, "--", "true"], "name one scheduler"),
        (["--python", RIGHT, "--only", "Nothing"], "--only Nothing: no case has this id, flag or claim"),
        (["--python", RIGHT, "--skip", "missing.txt"], "missing.txt: cannot be read"),
        (["--python", "schedulers.gone:X"], "no verdict: there is no module 'schedulers.gone'"),
        (["--python", RIGHT, "--only", "article-table", "--budget", "0", "--junit", "missing/x"], "cannot be written"),
    ],
)
def test_usage(
    command: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = command("validate", *arguments)
    assert told.status == 2
    assert reason in told.err


def test_the_vectors(command: Running, tmp_path: Path) -> None:
    listed = command("vectors", "list")
    assert len(listed.out.splitlines()) == len(bundled().cases)
    shown = command("vectors", "show", "article-table")
    assert "order     A1 B1 B2 B3 A2 B4 B5 B6\n" in shown.out
    assert command("vectors", "copy", str(tmp_path)).status == 0
    assert json.loads((tmp_path / "vectors.json").read_text())["schema"] == 1
    for arguments, reason in ((["show", "none"], "there is no case 'none'"), (["copy", "gone"], "is not a folder")):
        told = command("vectors", *arguments)
        assert told.status == 2
        assert reason in told.err
