"""docs/gateway.md: its settings and metrics are those of the code, its files are read, and its five minutes work."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.asking import FAIRNESS, post
from gateway.running import FaultServer, running
from integrations import page
from integrations.test_dashboards import both
from sfq_impl.gateway.config import FIXED, LimitSettings, Settings, parse

TEXT = page.PAGE.read_text(encoding="utf-8")
ENVIRONMENT = Path(sys.executable).parents[1]
PATIENCE = 60.0


def step(name: str) -> str:
    """What the reader is to write or to run."""
    found = re.search(rf"<!-- step: {re.escape(name)} -->\n```\w+\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None, f"the page has no step {name}"
    return found[1]


def configurations() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def told_metrics(text: str) -> set[str]:
    """The metrics of the table."""
    rows = re.findall(r"^\| (`sfq_[^|]*)\|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def exported(figures: str) -> set[str]:
    """The metrics of a page for Prometheus."""
    families = text_string_to_metric_families(figures)
    return {family.name + ("_total" if family.type == "counter" else "") for family in families}


def test_the_settings_are_those_of_the_code() -> None:
    assert page.as_it_is() == TEXT, "make settings writes them anew"


def test_the_settings_are_told_to_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "reference", lambda kind: ["| another |"])
    assert page.as_it_is() != TEXT


def test_the_configurations_are_read(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/bob").write_text("b" * 20)
    first, keys = (parse(text, "page", tmp_path, {"ANN_KEY": "a" * 20}) for text in configurations())
    assert len(configurations()[0].splitlines()) <= 10
    assert first.record is not None
    assert (first.limits.requests_of_a_user, first.limits.wait, first.weights) == (500, 120, {"ann": 2})
    assert (set(keys.identity.keys), keys.identity.order, keys.identity.required) == (
        {"ann", "bob"},
        ("key", "jwt"),
        True,
    )


def test_what_needs_a_new_start_is_told() -> None:
    [told] = re.findall(r"Servers, weights.*?need a new start", TEXT, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", told.partition("nothing new.")[2])) == set(FIXED)


def test_the_table_of_metrics_is_the_page_of_metrics(fault: FaultServer, tmp_path: Path) -> None:
    with running([fault.url], **both(tmp_path)) as gateway:
        post(gateway, {"model": "echo"})
        assert told_metrics(TEXT) == exported(gateway.figures())
    assert told_metrics("| `sfq_a`, `sfq_b_total` | user | `c` |\n") == {"sfq_a", "sfq_b_total"}


def test_the_refusal_is_the_one_that_is_given(fault: FaultServer) -> None:
    [told] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    with running([fault.url], requests=1, limits=LimitSettings(requests_of_a_user=500)) as gateway:
        user = {FAIRNESS: "ann"}
        gateway.gateway.dispatcher.queue.requests_of["ann"] = gateway.gateway.dispatcher.queue.requests = 500
        response, body = post(gateway, {"model": "echo"}, headers=user)
        gateway.gateway.dispatcher.queue.requests_of.clear()
        gateway.gateway.dispatcher.queue.requests = 0
    given, shown = json.loads(body)["error"], json.loads(told)["error"]
    assert (response.status, shown.keys()) == (429, given.keys())
    seconds = re.compile(r"\d+ s$")
    assert seconds.sub("", given.pop("message")) == seconds.sub("", shown.pop("message"))
    assert given == shown


def test_the_defaults_in_the_text_are_those_of_the_code() -> None:
    settings = Settings(())
    assert settings.identity.order == ("header", "key", "jwt", "body")
    assert settings.placement.mode == "stall"
    assert settings.record is None


# The five minutes


@contextmanager
def shell(script: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A shell that does what a newcomer does, writes into `printed`, and is ended with all that it has started."""
    with (folder / "printed").open("w") as printed, (folder / "errors").open("w") as errors:
        command = ["bash", "-eu", "-c", script]
        child = subprocess.Popen(command, stdout=printed, stderr=errors, cwd=folder, start_new_session=True)
        try:
            yield child
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def free_ports(count: int) -> list[int]:
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


def listening(port: str) -> str:
    """Waits for a server."""
    return f"curl -s --retry 40 --retry-connrefused --retry-delay 1 http://127.0.0.1:{port} -o /dev/null\n"


@pytest.mark.integration
def test_the_five_minutes_work_as_they_are_written(tmp_path: Path) -> None:
    """All but the installation, which is the environment of the tests."""
    for part in ("bin", "lib", "pyvenv.cfg"):
        (tmp_path / part).symlink_to(ENVIRONMENT / part)
    ports = dict(zip(("8001", "8002", "8080"), map(str, free_ports(3)), strict=True))

    def here(name: str) -> str:
        return re.sub("8001|8002|8080", lambda port: ports[port[0]], step(name))

    for name in ("two_engines.py", "fleet.yaml", "ask.py"):
        (tmp_path / name).write_text(here(name))
    script = [here("engines"), listening(ports["8001"]), listening(ports["8002"])]
    script += [here("serve"), listening(ports["8080"])]
    script += ["echo --- curl\n", here("curl"), "echo --- ask\n", here("ask")]
    script += ["sleep 1.5; echo --- audit\n", here("audit"), "echo --- end\n"]
    with shell("".join(script), tmp_path) as child:
        child.wait(PATIENCE)
        printed, errors = ((tmp_path / name).read_text() for name in ("printed", "errors"))
    assert child.returncode == 0, printed + errors
    said = dict(re.findall(r"--- (\w+)\n(.*?)(?=--- )", printed, re.DOTALL))
    assert "fleet.yaml: right. 2 servers (one, two), 8 requests at once, sfq." in printed
    assert said.keys() == {"curl", "ask", "audit"}, printed + errors
    assert '"completion_tokens":' in said["curl"], printed
    assert re.search(r'sfq_charged_cost_total\{user="ann"\} [1-9]', said["curl"])
    assert said["ask"].strip()
    assert "conforms: every answer is the machine's" in said["audit"]
