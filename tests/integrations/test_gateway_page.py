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
from sfq_impl import cost
from sfq_impl.gateway import serving
from sfq_impl.gateway.config import FIXED, LimitSettings, Settings, parse
from sfq_impl.gateway.ordering import ORDERS, ordering
from sfq_impl.gateway.reading import ConfigError

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
    first, keys, queues = (parse(text, "page", tmp_path, {"ANN_KEY": "a" * 20}) for text in configurations())
    assert len(configurations()[0].splitlines()) <= 10
    assert first.record is not None
    assert (first.limits.requests_of_a_user, first.limits.wait, first.weights) == (500, 120, {"ann": 2})
    assert (set(keys.identity.keys), keys.identity.order, keys.identity.required) == (
        {"ann", "bob"},
        ("key", "jwt"),
        True,
    )

    assert (queues.policy.name, queues.identity.priority) == ("program-aware-fairness", "x-priority")


def rows(first: str) -> list[list[str]]:
    """The cells of the table that begins so."""
    lines = TEXT.partition(first)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_policies_are_those_of_the_code_and_the_right_ones_have_weights() -> None:
    told = {name.strip("`"): weights == "count" for name, _, weights in rows("| policy | whose request is next |")}
    assert told.keys() == set(ORDERS)
    for name, has_weights in told.items():
        assert has_weights == ordering(name).weighs, name


@pytest.mark.parametrize("name", ORDERS[1:])
@pytest.mark.parametrize("more", ["placement: {mode: overtake}", "shadow: {}"])
def test_what_goes_with_sfq_alone_is_refused_with_any_other(name: str, more: str, tmp_path: Path) -> None:
    server = "servers: [{url: http://h:1}]\n"
    parse(f"{server}{more}", "page", tmp_path, {})
    with pytest.raises(ConfigError):
        parse(f"{server}policy: {name}\n{more}", "page", tmp_path, {})


def told_in(first: str) -> set[str]:
    return {each for cells in rows(first) for cell in cells[:2] for each in re.findall(r"`([a-z_ ,]+)`", cell)}


def in_the_code(pattern: str) -> set[str]:
    folder = Path(serving.__file__).parent
    return {found for file in folder.glob("*.py") for found in re.findall(pattern, file.read_text(encoding="utf-8"))}


def test_the_codes_of_refusals_are_those_of_the_code() -> None:
    assert told_in("| status | `code` | why |") == in_the_code(r'Refusal\(\s*\d+,\s*"(\w+)"')


def test_the_events_of_the_log_are_those_of_the_code() -> None:
    pattern = r'(?:tell\(\s*logging\.\w+,|log\.exception\()\s*"([^"]+)"'
    told = {each for cells in rows("| event | when |") for each in re.findall(r"`([^`]+)`", cells[0])}
    assert told == in_the_code(pattern)


@pytest.mark.integration
def test_the_plan_is_what_simulate_says() -> None:
    [shown] = re.findall(r"```text\n(policy sfq.*?)```", TEXT, re.DOTALL)
    said = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step("simulate")],
        cwd=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown in said.stdout


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
    assert f"counts as {cost.Settings.greatest_cap:,} at most" in TEXT
    assert "by default it is down where that look fails too" in TEXT
    assert settings.health.down_after == 2
    assert settings.identity.sources == ("header", "key", "jwt", "body")
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
