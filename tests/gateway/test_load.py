"""Real engines in processes of their own, under load: what is lost when one is killed, and who waits for whom."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import openai
import pytest
from typer.testing import CliRunner

from gateway.asking import FAIRNESS, KEY
from gateway.running import Running, running
from sfq_impl.gateway.cli import app as gateway_app
from sfq_impl.gateway.config import RecordSettings
from sfq_impl.gateway.engine import Process
from sfq_impl.gateway.ordering import Ordering
from sfq_impl.gateway.tiny_model import write
from sfq_spec.cli import app

pytestmark = pytest.mark.integration
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes its time: a few thousand tokens a second."""
    path = tmp_path_factory.mktemp("slow") / "slow.gguf"
    write(path, layers=4, width=256)
    return path


async def ask(sdk: openai.AsyncOpenAI, user: str, tokens: int) -> str:
    """How a streamed request ends: complete, or with the name of the error that the client gets."""
    try:
        events = await sdk.completions.create(
            model="tiny",
            prompt="hello",
            max_tokens=tokens,
            stream=True,
            extra_headers={FAIRNESS: user},
            extra_body={"ignore_eos": True, "cache_prompt": False},
        )
        reason = None
        async for event in events:
            reason = event.choices[0].finish_reason or reason
        return "complete" if reason == "length" else "cut short in silence"
    except Exception as error:
        return type(error).__name__


def sdk(gateway: Running) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=gateway.url + "/v1", api_key=KEY, max_retries=0, timeout=60)


def assert_at_rest(gateway: Running) -> None:
    gateway.over()
    assert gateway.waiting == 0
    assert all(not server.held and not server.tokens for server in gateway.gateway.servers.servers.values())


def assert_audited(trace: Path) -> Counter[str]:
    """The audit accepts a trace in which every request ends once. Returns how they end."""
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    counts = Counter(event["event"] for event in events)
    assert counts["arrive"] == counts["dispatch"] == counts["complete"] > 0
    result = CliRunner().invoke(app, ["audit", str(trace)])
    assert result.exit_code == 0, result.output
    return Counter(event["outcome"] for event in events if event["event"] == "complete")


def test_a_server_killed_under_load_loses_no_request_in_silence(slow_model: Path, tmp_path: Path) -> None:
    count = 60
    with (
        Process(slow_model, 4) as victim,
        Process(slow_model, 4) as other,
        running([victim.url, other.url], record=RecordSettings(tmp_path / "own")) as gateway,
    ):

        async def main() -> Counter[str]:
            client = sdk(gateway)
            asked = [asyncio.create_task(ask(client, f"user-{n % 5}", 150)) for n in range(count)]
            held = gateway.gateway.servers.servers["server-0"].held
            while sum(task.done() for task in asked) < 10 or len(held) < 4:
                await asyncio.sleep(0.001)
            victim.kill()
            return Counter(await asyncio.gather(*asked))

        endings = asyncio.run(main())
        assert_at_rest(gateway)
        assert endings.total() == count
        assert "cut short in silence" not in endings
        broken = count - endings["complete"]
        moved = re.findall(r'sfq_server_retries_total\{server="server-0"\} (\d)', gateway.figures())
        assert 0 < broken + sum(map(int, moved)) <= 8, endings
        assert broken <= 4, endings
        assert gateway.gateway.servers.up == ["server-1"]
    [trace] = tmp_path.glob("own-*.jsonl")
    assert +assert_audited(trace) == +Counter(completed=count - broken, failed=broken)


def test_under_a_flood_light_users_wait_least_with_fair_queueing(slow_model: Path, tmp_path: Path) -> None:
    felt = dict[str, float]()
    for policy in ("fifo", "round-robin", "sfq"):
        record = RecordSettings(tmp_path / policy)
        with (
            Process(slow_model, 2) as engine,
            running([engine.url], requests=2, policy=Ordering(policy), record=record) as gateway,
        ):
            felt[policy] = median(asyncio.run(light_beside_a_flood(sdk(gateway))))
            assert_at_rest(gateway)
    assert felt["sfq"] < felt["fifo"] / 3, felt
    [trace] = tmp_path.glob("sfq-*.jsonl")
    assert set(assert_audited(trace)) == {"completed"}
    [unfair] = tmp_path.glob("fifo-*.jsonl")
    assert CliRunner().invoke(app, ["audit", str(unfair)]).exit_code == 1


async def light_beside_a_flood(client: openai.AsyncOpenAI) -> list[float]:
    """The seconds that each of a light user's requests takes, while another user has 16 under way all the time."""
    enough = False

    async def flood() -> None:
        while not enough:
            assert await ask(client, "flood", 100) == "complete"

    flooding, seconds = [asyncio.create_task(flood()) for _ in range(16)], list[float]()
    await asyncio.sleep(0.5)
    for _ in range(4):
        begun = asyncio.get_running_loop().time()
        assert await ask(client, "light", 8) == "complete"
        seconds.append(asyncio.get_running_loop().time() - begun)
    enough = True
    await asyncio.gather(*flooding)
    return seconds


def test_clients_that_leave_at_any_moment_leave_nothing_behind(model: Path, tmp_path: Path) -> None:
    random = Random(6)
    with (
        Process(model, 4) as one,
        Process(model, 4) as two,
        running([one.url, two.url], requests=2, record=RecordSettings(tmp_path / "own")) as gateway,
    ):

        async def client(number: int) -> str:
            asking = asyncio.create_task(ask(sdk_, f"user-{number % 7}", random.choice([1, 8, 200])))
            await asyncio.sleep(random.uniform(0, 3))
            if random.random() < 0.6:
                asking.cancel()
            await asyncio.wait({asking})
            return "gone" if asking.cancelled() else asking.result()

        async def main() -> Counter[str]:
            clients = [asyncio.create_task(client(number)) for number in range(300)]
            servers, chance = gateway.gateway.settings.servers, 1.0
            while not all(each.done() for each in clients):
                drained = tuple(replace(server, drain=random.random() < chance) for server in servers)
                settings = replace(gateway.gateway.settings, servers=drained)
                gateway.loop.loop.call_soon_threadsafe(gateway.gateway.apply, settings)
                await asyncio.sleep(0.1)
                if gateway.waiting > 40:
                    chance = 0.3
            return Counter([each.result() for each in clients])

        sdk_ = sdk(gateway)
        endings = asyncio.run(main())
        assert_at_rest(gateway)
    assert set(endings) == {"complete", "gone"}, endings
    assert min(endings.values()) > 30, endings
    [trace] = tmp_path.glob("own-*.jsonl")
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    counts = Counter(event["event"] for event in events)
    assert counts["arrive"] == counts["dispatch"] + counts["cancel"]
    assert counts["dispatch"] == counts["complete"]
    assert counts["cancel"] > 0, (counts, endings)
    assert CliRunner().invoke(app, ["audit", str(trace)]).exit_code == 0


def test_locust_finds_no_failure(engine_url: str, tmp_path: Path) -> None:
    with running([engine_url]) as gateway:
        told = subprocess.run(
            [
                *(sys.executable, "-m", "locust", "-f", str(HERE / "locustfile.py"), "--headless", "--json"),
                *("--host", gateway.url, "-u", "12", "-r", "12", "-t", "5s", "--stop-timeout", "5"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
        )
        [figures] = json.loads(told.stdout)
        assert told.returncode == 0, told.stderr
        assert figures["num_failures"] == 0
        assert figures["num_requests"] > 50
        assert_at_rest(gateway)
        charged = charges(gateway)
        assert max(charged) - min(charged) <= 2 * max(charged) / (figures["num_requests"] / 12)


def charges(gateway: Running) -> list[float]:
    """What each user was charged."""
    lines = [line for line in gateway.figures().splitlines() if line.startswith("sfq_charged_cost_total{")]
    assert len(lines) == 12
    return [float(line.rpartition(" ")[2]) for line in lines]


def test_the_demonstration_ends_by_itself_with_figures() -> None:
    result: Any = CliRunner().invoke(gateway_app, ["demo", "--seconds", "8"])
    assert result.exit_code == 0, result.output
    assert "Start-time Fair Queueing" in result.output
    times = float(result.output.rpartition(" times less")[0].rpartition(" ")[2])
    assert times > 2, result.output
