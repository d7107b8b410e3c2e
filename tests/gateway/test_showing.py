"""The demonstration: it fits the terminal, leaves nothing running, and tells why it cannot start."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sfq_impl.gateway import demo
from sfq_impl.gateway.cli import app
from sfq_impl.gateway.demo import USERS, Figures
from sfq_impl.gateway.engine import DidNotStart, Process
from sfq_impl.gateway.showing import now


def shown(width: int, encoding: str = "utf-8") -> list[str]:
    """A table of figures as it is written to a terminal."""
    figures = Figures("sfq", 4.0, charged=dict.fromkeys(USERS, 22_900.0), waiting=dict.fromkeys(USERS, 31.0))
    for number, user in enumerate(USERS, start=1):
        figures.first_bytes[user] += [0.1 * number]
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding)
    console = Console(file=stream, width=width, force_terminal=True, color_system=None)
    console.print(now(figures, 8.0, console))
    stream.flush()
    return raw.getvalue().decode(encoding).splitlines()


@pytest.mark.parametrize("width", [40, 60, 75, 76, 80, 120])
def test_the_table_fits_the_terminal_and_cuts_nothing(width: int) -> None:
    lines = shown(width)
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    assert len(lines) == (9 if width >= 76 else 10)
    assert any("31" in line and "400 ms" in line for line in lines)
    assert ("22,900" in "".join(lines)) == (width >= 76)


def test_a_terminal_without_unicode_gets_none() -> None:
    assert any("####" in line for line in shown(80, "ascii"))


def children_of(pid: int) -> set[int]:
    found = set[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"PPid:\t{pid}\n" in (folder / "status").read_text():
                found.add(int(folder.name))
    return found


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.integration
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whatever_ends_it_leaves_no_engine_no_gateway_and_no_folder(ending: signal.Signals, tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "sfq_impl.gateway", "demo", "--seconds", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "two engines and a gateway are being started\n"
    assert run.stdout.readline().startswith("fifo")
    started = children_of(run.pid)
    assert len(started) == 3
    run.send_signal(ending)
    rest = run.communicate(timeout=20)[0]
    assert (run.returncode, "Traceback" in rest) == (130, False), rest
    end = time.monotonic() + 5
    while any(map(is_running, started)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, started))
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_does_not_start_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(model: Path, slots: int) -> None:
        raise DidNotStart("the engine did not start: status 1")

    monkeypatch.setattr(demo, "Process", none)
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (2, "sfq-gateway: the engine did not start: status 1\n")


def test_an_engine_without_a_model_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfq_impl.gateway.engine.sys.executable", "/bin/false")
    with pytest.raises(DidNotStart, match="status 1"):
        Process(Path("none.gguf"))


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (b'{"event": "server up"}\nTraceback (most recent call last):\nOSError: no room\n', "OSError: no room"),
        (b"", "the gateway did not start: $"),
    ],
)
def test_a_gateway_that_does_not_start_tells_its_last_words(log: bytes, said: str) -> None:
    async def listening() -> str:
        reader = asyncio.StreamReader()
        reader.feed_data(log)
        reader.feed_eof()
        return await demo._listening(reader)

    with pytest.raises(DidNotStart, match=said):
        asyncio.run(listening())
