"""The command, as a process with signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from gateway.asking import aside
from gateway.running import FaultServer
from sfq_impl.gateway.cli import app

PATIENCE = 20.0


class Command:
    """`sfq-gateway serve`, and the lines that it has written."""

    def __init__(self, config: Path) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "sfq_impl.gateway", "serve", "--config", str(config)],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[dict[str, Any]] = []
        aside(self._read)

    def _read(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self.lines.append(json.loads(line))

    def told(self, event: str) -> dict[str, Any]:
        """Wait for a line; it is taken away."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for line in self.lines:
                if line["event"] == event:
                    self.lines.remove(line)
                    return line
            time.sleep(0.01)
        raise AssertionError(f"no {event!r} in {self.lines}")

    def send(self, sent: signal.Signals) -> None:
        self.child.send_signal(sent)


@contextmanager
def command(config: Path) -> Iterator[Command]:
    started = Command(config)
    try:
        yield started
    finally:
        started.child.kill()
        started.child.wait()


def config(folder: Path, url: str, more: str = "") -> Path:
    path = folder / "fleet.yaml"
    path.write_text(f"servers:\n  - url: {url}\n    name: one\n    requests: 1\nlisten: 127.0.0.1:0\n{more}")
    return path


def ask(url: str, model: str = "echo") -> int:
    request = Request(
        url + "/v1/completions", json.dumps({"model": model}).encode(), {"content-type": "application/json"}
    )
    with urlopen(request, timeout=PATIENCE) as answer:
        return int(answer.status)


def test_serve_reload_and_stop(fault: FaultServer, tmp_path: Path) -> None:
    path = config(tmp_path, fault.url, "drain: 5\nwatch: false\n")
    with command(path) as served:
        url = served.told("listening")["url"]
        assert ask(url) == 200
        config(tmp_path, fault.url, "drain: 5\nwatch: false\nweights: {ann: 2}\npolicy: fifo\n")
        served.send(signal.SIGHUP)
        assert served.told("configuration read again")["needs_a_new_start"] == ["policy"]
        config(tmp_path, fault.url, "polcy: fifo\n")
        served.send(signal.SIGHUP)
        [said] = served.told("configuration refused, the old one stays")["complaints"]
        assert "did you mean policy?" in said
        slow = aside(ask, url, "slow")
        while len(fault.got) < 2:
            time.sleep(0.01)
        waiting = aside(ask, url)
        time.sleep(0.1)
        served.send(signal.SIGTERM)
        assert (slow.result(PATIENCE), waiting.result(PATIENCE)) == (200, 200)
        assert served.child.wait(PATIENCE) == 0


def test_a_change_of_the_file_is_seen(fault: FaultServer, tmp_path: Path) -> None:
    with command(config(tmp_path, fault.url)) as served:
        served.told("listening")
        config(tmp_path, fault.url, "weights: {ann: 2}\n")
        served.told("configuration read again")


def test_check_says_what_is_right_and_what_is_wrong(tmp_path: Path) -> None:
    good = CliRunner().invoke(app, ["check", "--config", str(config(tmp_path, "http://127.0.0.1:1"))])
    assert (good.exit_code, "1 server (one), 1 request at once, sfq" in good.output) == (0, True)
    bad = CliRunner().invoke(app, ["check", "--config", str(config(tmp_path, "x", "polcy: 1"))])
    assert bad.exit_code == 2
    assert "fleet.yaml:6: polcy" in bad.output
    assert "fleet.yaml:2: servers[0].url" in bad.output


@pytest.mark.parametrize("name", ["check", "serve"])
def test_a_file_that_is_not_there(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [name, "--config", str(tmp_path / "none.yaml")])
    assert result.exit_code == 2
    assert result.stderr == (
        f"sfq-gateway: {tmp_path}/none.yaml: cannot be read: No such file or directory\n"
        "Name the file with -c. It may begin with two lines:\n  servers:\n    - url: http://127.0.0.1:8000\n"
    )


def test_the_settings_are_told_with_their_meaning() -> None:
    told = CliRunner().invoke(app, ["settings"]).output
    assert "| `servers[].requests` | a whole number | `8` | how many requests it serves at once |" in told
    assert "| `identity.jwt.key` | `{env: NAME}` or `{file: path}` |  |" in told
    assert "secrets" not in told


def test_an_address_that_is_taken(fault: FaultServer, tmp_path: Path) -> None:
    path = config(tmp_path, fault.url)
    path.write_text(path.read_text().replace("127.0.0.1:0", fault.url.removeprefix("http://")))
    with path.open("a") as file:
        file.write("record: {path: own}\n")
    with command(path) as served:
        told = served.told("cannot listen")
        assert (told["listen"], told["why"]) == (fault.url.removeprefix("http://"), "Address already in use")
        assert served.child.wait(PATIENCE) == 2
        assert not served.lines
    assert not [*tmp_path.glob("own*")]


def test_a_name_that_is_no_address_is_told_with_its_setting(fault: FaultServer, tmp_path: Path) -> None:
    path = config(tmp_path, fault.url)
    path.write_text(path.read_text().replace("127.0.0.1:0", "no.such.host.invalid:8080"))
    with command(path) as served:
        told = served.told("cannot listen")
        assert told["listen"] == "no.such.host.invalid:8080"
        assert told["why"]
        assert served.child.wait(PATIENCE) == 2


def test_a_trace_that_cannot_be_begun_is_told_in_one_line(
    fault: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as in a folder that could be written in when the file was read."""
    monkeypatch.setattr("sfq_impl.gateway.config._unwritable", lambda folder: None)
    path = config(tmp_path, fault.url, "record: {path: /proc/no/own}\n")
    result = CliRunner().invoke(app, ["serve", "--config", str(path)])
    assert (result.exit_code, result.stderr) == (2, "sfq-gateway: /proc/no: No such file or directory\n")


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"sfq-gateway {version('sfq-spec')}\n")


def test_a_server_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    with command(config(tmp_path, "http://127.0.0.1:1")) as served:
        assert served.told("server down")["why"] == "ClientConnectorError"
        served.told("listening")
        served.send(signal.SIGINT)
        assert served.child.wait(PATIENCE) == 0
