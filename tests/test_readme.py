"""The examples in README.md, carried out: each prints what the text says."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sfq_proofs.solver.kill_table import EXPECTED

README = Path(__file__).resolve().parents[1] / "README.md"
COMMAND = f"{shlex.quote(sys.executable)} -c 'from sfq_spec.cli import main; main()'"


def blocks(language: str) -> list[str]:
    """The blocks of README.md in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def differs_at_the_shell(session: str, folder: Path) -> str | None:
    """What the commands of a session print, where it is not what the session shows."""
    lines = session.splitlines(keepends=True)
    commands = "".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
    shown = "".join(line for line in lines if not line.startswith("$ "))
    commands = commands.replace(".venv/bin/sfq-spec", COMMAND)
    done = subprocess.run(
        ["sh", "-e"], input=commands, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return None if (done.returncode, done.stdout) == (0, shown) else done.stdout


def failures_in_python(session: str) -> int:
    """How many lines of a Python session print something else than it shows."""
    test = doctest.DocTestParser().get_doctest(session, {}, README.name, str(README), 0)
    return doctest.DocTestRunner().run(test).failed


@pytest.mark.parametrize("session", blocks("console"), ids=lambda _: "README")
def test_a_session_at_the_shell_prints_what_is_shown(session: str, tmp_path: Path) -> None:
    assert differs_at_the_shell(session, tmp_path) is None


@pytest.mark.parametrize("session", blocks("pycon"), ids=lambda _: "README")
def test_a_session_in_python_prints_what_is_shown(session: str) -> None:
    assert failures_in_python(session) == 0


def test_what_breaks_down_for_a_mutant_is_counted_right() -> None:
    told = re.findall(r"^(\S+) +dead  (.*), and (\d+) more ", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(told) == 2
    assert [(first, int(more)) for _, first, more in told] == [
        (EXPECTED[mutant][0], len(EXPECTED[mutant]) - 1) for mutant, _, _ in told
    ]


def test_readme_has_a_session_of_each_kind() -> None:
    assert blocks("console")
    assert blocks("pycon")


def test_a_session_that_shows_something_else_is_found(tmp_path: Path) -> None:
    assert differs_at_the_shell("$ echo 1\n$ echo 2\n1\n2\n", tmp_path) is None
    assert differs_at_the_shell("$ echo 1\n$ echo 2\n1\n3\n", tmp_path) == "1\n2\n"
    assert differs_at_the_shell("$ echo 1; exit 3\n1\n", tmp_path) == "1\n"
    assert failures_in_python(">>> 1 + 1\n2\n>>> 1 + 1\n3\n") == 1
