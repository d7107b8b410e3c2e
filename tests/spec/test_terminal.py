"""What the longer commands show somebody who sits at a terminal, with everything they write on it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

from sfq_spec.claims import CLAIMS

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "spec"), "COLUMNS": "80", "TERM": "xterm", "PYTHONUTF8": "1"}


def shown_by(*arguments: str) -> str:
    """Everything that a command writes on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    parts: list[bytes] = []

    def watch() -> None:
        with suppress(OSError):  # how the last reader of a terminal is told that it is closed
            while data := os.read(ours, 1 << 16):
                parts.append(data)

    watching = Thread(target=watch)
    watching.start()
    command = [sys.executable, "-c", "from sfq_spec.cli import main; main()", *arguments]
    done = subprocess.run(command, stdout=theirs, stderr=theirs, env=ENVIRONMENT, check=False)
    os.close(theirs)
    watching.join()
    os.close(ours)
    assert done.returncode == 0
    return b"".join(parts).decode()


def test_a_comparison_shows_how_far_it_is_before_its_table() -> None:
    shown = shown_by("compare", "sample", "--policies", "sfq,fifo")
    assert "comparing" in shown
    assert "100%" in shown
    assert shown.rindex("100%") < shown.index("Worst lead")


def test_the_claims_are_a_line_each() -> None:
    lines = shown_by("claims").splitlines()
    assert [line.split()[0] for line in lines] == [claim.id for claim in CLAIMS]
    assert all(claim.says in line for claim, line in zip(CLAIMS, lines, strict=True))
