"""What docs/validate.md shows is so: its schedulers conform, its reports are those printed, its messages are read."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from sfq_spec.cli import app
from sfq_spec.commands.adapting import Language, skeleton
from sfq_spec.conformance import protocol
from sfq_spec.conformance.case import Vectors
from sfq_spec.conformance.subjects import ProcessSubject
from sfq_spec.conformance.validate import bundled, validate
from sfq_spec.trace import CODES, KINDS, decode

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "validate.md").read_text(encoding="utf-8")
COMMAND = typer.main.get_command(app)


def blocks(kind: str) -> list[str]:
    """The blocks of code of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[list[str], str]]:
    """The commands that are shown, each with the output that is shown below it."""
    shown = [block.removeprefix("$ ").partition("\n") for block in blocks("console")]
    return [(shlex.split(line), output) for line, _, output in shown]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the schedulers in Python, the right one and the one with a fault."""
    (scheduler,) = blocks("python")
    wrong = scheduler.replace("max(self.meter.get(user, 0), self.v)", "self.v")
    assert wrong != scheduler
    (tmp_path / "my_scheduler.py").write_text(scheduler)
    (tmp_path / "my_buggy.py").write_text(wrong)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_there_is_much_to_check() -> None:
    assert [len(blocks(kind)) for kind in ("python", "javascript", "json", "yaml", "text")] == [1, 1, 4, 1, 1]
    assert len(commands()) == 5


@pytest.mark.usefixtures("folder")
def test_the_commands_print_what_is_shown() -> None:
    with_output = [(command, output) for command, output in commands() if output]
    assert len(with_output) == 3
    for command, output in with_output:
        told = CliRunner().invoke(app, command[1:])
        assert told.exit_code == (1 if "my_buggy:Scheduler" in command else 0), told.stderr
        assert output in told.stdout + told.stderr


def test_every_command_and_option_is_there() -> None:
    shown = [line for line, _ in commands()]
    shown += [shlex.split(line) for line in re.findall(r"^- run: (sfq-spec .*)$", TEXT, re.MULTILINE)]
    shown += [shlex.split(line) for line in re.findall(r"`(sfq-spec [^`]+)`", TEXT)]
    assert len(shown) > 8
    for _, name, *rest in shown:
        known = {option for one in COMMAND.commands[name].params for option in one.opts}  # type: ignore[attr-defined]
        assert {word for word in rest[: rest.index("--") if "--" in rest else None] if word[:2] == "--"} <= known


@pytest.mark.integration
def test_the_scheduler_in_javascript_conforms_and_a_fault_in_it_is_named(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("there is no node on this machine")
    (scheduler,) = blocks("javascript")
    whole = re.sub(
        r"^class Scheduler \{.*?^\}\n", lambda _: scheduler, skeleton(Language.JAVASCRIPT), flags=re.M | re.S
    )
    whole = whole.replace("cancel: false", "cancel: true").replace("lag: false", "lag: true")
    wrong = whole.replace("Math.max(own.meter, this.v)", "this.v")
    assert wrong != whole
    cases = [case for case in bundled().cases if len(case.events) < 60]
    named = []
    for text, budget in ((whole, 20), (wrong, 0)):
        (tmp_path / "adapter.mjs").write_text(text)
        with ProcessSubject(["node", str(tmp_path / "adapter.mjs")]) as subject:
            report = validate(subject, cases, budget=budget, seed=1)
        named.append((report.conforms, [mutant.name for mutant in report.diagnosis.mutants]))
    assert named == [(True, []), (False, ["reset-on-return"])]


def test_the_messages_are_those_of_the_protocol() -> None:
    start, run, others, vectors = blocks("json")
    asked, hello = start.splitlines()
    assert json.loads(asked) == protocol.START
    assert msgspec.json.decode(hello, type=protocol.Hello).protocol == protocol.VERSION
    asked, told = run.splitlines()
    message = json.loads(asked)
    events = [decode(json.dumps(event).encode()).event for event in message["events"]]
    assert message == protocol.run(1, "sample", message["events"])
    answers = msgspec.json.decode(told, type=protocol.Told).answers
    assert len(answers) == len(events)  # type: ignore[arg-type]
    assert [msgspec.json.decode(line, type=protocol.Told).seq for line in others.splitlines()] == [2, 3]
    assert f"`{json.dumps(protocol.STOP)}`" in TEXT
    assert msgspec.json.decode(vectors, type=Vectors).cases[0].played()


def test_the_words_are_those_of_the_protocol() -> None:
    code = set(re.findall(r"`([\w-]+)`", TEXT))
    assert code >= {*CODES, *KINDS}
    numbers: dict[str, Callable[[str], str]] = {}
    for line in re.findall(r"^\| `(integer|rational|binary64)` \|(.*)\|$", TEXT, re.MULTILINE):
        able = protocol.Capabilities(numbers=line[0])
        held = ["yes" if not able.lacks([kind]) else "" for kind in ("fractions", "rational", "exact")]
        assert [cell.strip() for cell in line[1].split("|")] == held
        numbers[line[0]] = str
    assert len(numbers) == 3


def test_the_list_of_known_faults_names_cases() -> None:
    (known,) = blocks("text")
    ids = {line.partition("#")[0].strip() for line in known.splitlines()} - {""}
    assert ids <= {case.id for case in bundled().cases}
    assert len(ids) == 2


def test_a_workflow_is_yaml_that_ends_in_the_summary() -> None:
    (workflow,) = blocks("yaml")
    assert "$GITHUB_STEP_SUMMARY" in workflow
    assert subprocess.run(["sh", "-n", "-c", "\n".join(re.findall(r"run: (.*)", workflow))], check=True).returncode == 0
