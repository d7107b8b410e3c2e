"""The specification beside a gateway: it tells a wrong decision at once, no right one, and its end ends nothing."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateway.asking import FAIRNESS, aside, post
from gateway.running import FaultServer, Running, running
from gateway.test_command import config
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Fifo, Sfq
from sfq_impl.fleet.simulation.run import simulate
from sfq_impl.fleet.simulation.scenario import draw
from sfq_impl.gateway import logs, shadowing
from sfq_impl.gateway.app import Gateway
from sfq_impl.gateway.cli import app
from sfq_impl.gateway.config import PlacementSettings, ServerSettings, Settings, ShadowSettings
from sfq_impl.gateway.shadowing import NoShadow, Shadow
from sfq_proofs.scheduler.faults import BY_NAME, plant
from sfq_spec.conformance.audit.shadow import Shadow as Reader
from sfq_spec.trace import encode

SLOW, FAST = {"model": "slow"}, {"model": "echo"}


@contextmanager
def shadowed(
    fault: FaultServer, folder: Path, *, requests: int = 1, queue: int = 10_000, **more: Any
) -> Iterator[Running]:
    with running([fault.url], requests=requests, shadow=ShadowSettings(folder, queue), **more) as gateway:
        gateway.eventually(lambda: shadow_of(gateway).is_up)
        yield gateway


def shadow_of(gateway: Running) -> Shadow:
    shadow = gateway.gateway.shadow
    assert shadow is not None
    return shadow


def figure(gateway: Running, name: str) -> float:
    [line] = [line for line in gateway.figures().splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def flood(gateway: Running, rounds: int = 1) -> None:
    """Two users, one of whom sends three requests before the other one sends the first, before one slow server."""
    for _ in range(rounds):
        asked = [aside(post, gateway, SLOW, headers={FAIRNESS: "a"})]
        gateway.eventually(lambda: gateway.in_flight == 1)
        for number, user in enumerate(("a", "a", "b"), start=1):
            asked.append(aside(post, gateway, FAST, headers={FAIRNESS: user}))
            gateway.eventually(lambda number=number: gateway.waiting == number)  # type: ignore[misc]
        assert [each.result(20)[0].status for each in asked] == [200] * 4


def test_a_wrong_policy_is_told_within_a_second(fault: FaultServer, tmp_path: Path) -> None:
    written = io.StringIO()
    logs.begin("info", [], written)
    with shadowed(fault, tmp_path) as gateway:
        gateway.gateway.dispatcher.policy = Fifo()
        flood(gateway)
        begun = time.monotonic()
        gateway.eventually(lambda: shadow_of(gateway).divergences, 1.0)
        assert time.monotonic() - begun < 1
        assert figure(gateway, "sfq_shadow_divergences_total") == 1
    [told] = [line for text in written.getvalue().splitlines() if (line := json.loads(text))["event"] == "divergence"]
    assert (told["level"], told["claims"]) == ("error", "R-SELECT")
    audited = subprocess.run(
        [shadowing.find(), "audit", told["saved"]], capture_output=True, text=True, check=False, timeout=30
    )
    assert audited.returncode == 1
    assert "a-3 was sent: contradicts R-SELECT" in told["said"]
    assert "a-3 was sent: contradicts R-SELECT" in audited.stdout


class Planted(Sfq):
    """The policy, with a fault in its scheduler."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = plant(BY_NAME["no charge"])()


def test_a_fault_within_the_scheduler_is_told(fault: FaultServer, tmp_path: Path) -> None:
    with shadowed(fault, tmp_path) as gateway:
        gateway.gateway.dispatcher.policy = Planted()
        flood(gateway)
        gateway.eventually(lambda: shadow_of(gateway).divergences, 1.0)


@pytest.mark.integration
def test_the_right_one_is_never_told(fault: FaultServer, tmp_path: Path) -> None:
    with shadowed(fault, tmp_path, weights={"a": 3.0}) as gateway:
        flood(gateway, 2)
        users = [f"u{number % 7}" for number in range(80)]
        asked = [aside(post, gateway, FAST, headers={FAIRNESS: user}) for user in users]
        assert {each.result(20)[0].status for each in asked} == {200}
        settings = replace(gateway.gateway.settings, weights={"u1": 0.5})
        gateway.loop.call(lambda: gateway.gateway.apply(settings))
        flood(gateway)
        gateway.eventually(lambda: not shadow_of(gateway).waiting_events)
        assert (shadow_of(gateway).divergences, shadow_of(gateway).lost, shadow_of(gateway).is_up) == (0, 0, True)
    assert list(tmp_path.iterdir()) == []


def test_those_who_overtake_are_followed(fault: FaultServer, tmp_path: Path) -> None:
    settings = Settings(
        (ServerSettings(fault.url, "one", 2, tokens=600),),
        listen="127.0.0.1:0",
        placement=PlacementSettings(mode="overtake"),
        shadow=ShadowSettings(tmp_path),
    )
    gateway = Running(settings)
    try:
        gateway.eventually(lambda: shadow_of(gateway).is_up and gateway.gateway.servers.up)
        asked = [aside(post, gateway, SLOW | {"max_tokens": 200}, headers={FAIRNESS: "a"})]
        gateway.eventually(lambda: gateway.in_flight == 1)
        large = {"model": "echo", "prompt": "x" * 2_300, "max_tokens": 1}
        asked.append(aside(post, gateway, large, headers={FAIRNESS: "b"}))
        gateway.eventually(lambda: gateway.waiting == 1)
        asked.append(aside(post, gateway, FAST | {"max_tokens": 1}, headers={FAIRNESS: "c"}))
        assert [each.result(20)[0].status for each in asked] == [200] * 3
        assert [json.loads(body)["model"] for _, _, body in fault.got] == ["slow", "echo", "echo"]
        assert len(fault.got[1][2]) < 1_000 < len(fault.got[2][2])
        gateway.eventually(lambda: not shadow_of(gateway).waiting_events)
    finally:
        gateway.close()
    assert (shadow_of(gateway).divergences, shadow_of(gateway).lost) == (0, 0)


def test_its_death_is_no_outage_and_it_comes_back(
    fault: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadowing, "PAUSE", 0.05)
    written = io.StringIO()
    logs.begin("info", [], written)
    with shadowed(fault, tmp_path) as gateway:
        os.kill(pid_of_shadow(), signal.SIGKILL)
        assert post(gateway, FAST, headers={FAIRNESS: "a"})[0].status == 200
        gateway.eventually(lambda: "shadow ended" in written.getvalue())
        assert "status -9" in written.getvalue()
        gateway.eventually(lambda: shadow_of(gateway).is_up)
        gateway.gateway.dispatcher.policy = Fifo()
        flood(gateway)
        gateway.eventually(lambda: shadow_of(gateway).divergences == 1)


def pid_of_shadow() -> int:
    """The process beside this one that was started as a shadow."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_child = f"PPid:\t{os.getpid()}\n" in (folder / "status").read_text()
            if is_child and b"shadow" in (folder / "cmdline").read_bytes().split(b"\0"):
                return int(folder.name)
    raise AssertionError("there is no shadow")


def test_what_does_not_fit_is_counted_and_nobody_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowing, "LAST_WORDS", 0.1)
    sleeping = tmp_path / "sleeping"
    sleeping.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    sleeping.chmod(0o700)

    async def run() -> tuple[Shadow, float]:
        shadow = Shadow(ShadowSettings(tmp_path, 100), command=str(sleeping))
        dispatcher = Dispatcher(Placement([Server("s", 1)]), observers=[shadow])
        shadow.start()
        begun = time.monotonic()
        for _ in range(1_000):
            async with dispatcher.slot("a", 1):
                await asyncio.sleep(0)
        took = time.monotonic() - begun
        await shadow.close()
        return shadow, took

    shadow, took = asyncio.run(run())
    assert shadow.lost > 500
    assert shadow.waiting_events <= 102
    assert took < 2


def test_one_that_talks_nonsense_is_ended_and_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowing, "PAUSE", 0.05)
    written = io.StringIO()
    logs.begin("info", [], written)
    begun = tmp_path / "begun"
    babbling = tmp_path / "babbling"
    babbling.write_text(f"#!/bin/sh\nprintf x >> {begun}\necho hm\nexec sleep 60\n")
    babbling.chmod(0o700)

    async def run() -> None:
        shadow = Shadow(ShadowSettings(tmp_path, 100), command=str(babbling))
        shadow.start()
        async with asyncio.timeout(10):
            while not begun.exists() or len(begun.read_text()) < 2:
                await asyncio.sleep(0.01)
        monkeypatch.setattr(shadowing, "LAST_WORDS", 0.1)
        await shadow.close()

    asyncio.run(run())
    assert "shadow ended, it is started again" in written.getvalue()
    assert "it cannot be understood: JSON is malformed" in written.getvalue()


def test_what_it_was_not_told_before_the_end_is_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowing, "LAST_WORDS", 0.1)
    written = io.StringIO()
    logs.begin("info", [], written)

    async def run() -> None:
        shadow = Idle(ShadowSettings(tmp_path, 100), command="unused")
        dispatcher = Dispatcher(Placement([Server("s", 1)]), observers=[shadow])
        async with dispatcher.slot("a", 1):
            pass
        await shadow.close()

    asyncio.run(run())
    [line] = [json.loads(line) for line in written.getvalue().splitlines()]
    assert (line["event"], line["events"]) == ("shadow was not told all before the end", 3)


class Idle(Shadow):
    """One that is fed and never runs."""


def test_after_a_gap_it_begins_where_nobody_waits() -> None:
    async def run() -> list[bytes]:
        shadow = Idle(ShadowSettings(Path("unused"), 6), command="unused")
        dispatcher = Dispatcher(Placement([Server("s", 1)]), observers=[shadow])
        dispatcher.set_weight("b", 2)
        for _ in range(3):
            async with dispatcher.slot("a", 1):
                pass
        assert (shadow.lost, shadow.waiting_events) == (4, 6)
        shadow._queue.clear()
        async with dispatcher.slot("a", 1):
            pass
        return [shadowing._line(each) for each in shadow._queue]

    lines = asyncio.run(run())
    assert lines[0] == b'{"gap":4}\n'
    assert [json.loads(line)["event"] for line in lines[1:]] == ["weight", "arrive", "dispatch", "complete"]


def test_a_command_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowing, "COMMAND", "sfq-spec-that-is-nowhere")
    with pytest.raises(NoShadow, match="neither beside"):
        Gateway(Settings((ServerSettings("http://127.0.0.1:1"),), shadow=ShadowSettings(tmp_path)))
    result = CliRunner().invoke(app, ["serve", "--shadow", "--config", str(config(tmp_path, "http://127.0.0.1:1"))])
    assert result.exit_code == 2
    assert "sfq-spec-that-is-nowhere" in result.output


def test_the_option_is_for_sfq_only(tmp_path: Path) -> None:
    path = config(tmp_path, "http://127.0.0.1:1", "policy: fifo\n")
    result = CliRunner().invoke(app, ["serve", "--shadow", "--config", str(path)])
    assert (result.exit_code, "follows the policy sfq only, not fifo" in result.output) == (2, True)
    path = config(tmp_path, "http://127.0.0.1:1", "policy: fifo\nshadow: {path: x}\n")
    result = CliRunner().invoke(app, ["check", "--config", str(path)])
    assert "fleet.yaml:7: shadow: follows the policy sfq only" in result.output


def test_no_run_of_the_dispatcher_is_told_as_wrong() -> None:
    """Whatever goes wrong with servers, clients and clocks: every decision is the specification's, and is seen."""
    followed = overtaken = 0
    for seed in range(200):
        scenario = draw(seed)
        shadow = Reader(scenario.mode == "overtake")
        for entry in simulate(scenario).trace.entries:
            assert shadow.take(encode(entry)) is None, seed
            overtaken += bool(entry.extra.get("held"))
        assert shadow.passed_over == 0
        followed += shadow.events
    assert followed > 3_000
    assert overtaken > 20
