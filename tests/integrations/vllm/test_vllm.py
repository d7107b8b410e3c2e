"""The gateway before a real vLLM, on processors alone: `make vllm` prepares it, and prints what it measures."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import openai
import pytest
from typer.testing import CliRunner

from gateway.asking import FAIRNESS, KEY, client, complete, stream
from gateway.running import Running, running
from integrations.vllm.environment import PYTHON
from sfq_impl.gateway.config import RecordSettings
from sfq_impl.gateway.ordering import Ordering
from sfq_spec.cli import app

pytestmark = pytest.mark.integration
PATIENCE = 300
ROOMS = 4
LONG, SHORT = 64, 8
"""Tokens of output."""


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where it listens. Where it is required it is an error that it is absent."""
    if not PYTHON.exists():
        absent = "vLLM is not in build/vllm: make vllm puts it there, 3.5 GB"
        pytest.fail(absent) if os.environ.get("SFQ_VLLM") == "required" else pytest.skip(absent)
    folder = tmp_path_factory.mktemp("vllm")
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    url, begun = f"http://127.0.0.1:{port}", time.monotonic()
    engine = Path(__file__).with_name("engine.py")
    with (folder / "log").open("w") as log:
        command = [str(PYTHON), str(engine), str(folder / "model"), str(port)]
        child = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        while not answers(f"{url}/health"):
            told = (folder / "log").read_text()[-3000:]
            assert child.poll() is None, told
            assert time.monotonic() - begun < PATIENCE, told
            time.sleep(0.5)
        with urlopen(f"{url}/version") as answer:
            print(f"\nvLLM {json.load(answer)['version']}, up after {time.monotonic() - begun:.0f} s")
        yield url
    finally:
        child.terminate()
        child.wait(60)


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_chat_completions_models_and_usage(vllm: str) -> None:
    with running([vllm]) as gateway:
        assert [each.id for each in client(gateway).models.list().data] == ["tiny"]
        answer = complete(gateway, max_tokens=5)
        assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (5, "length")
        chunks = list(stream(gateway, max_tokens=7, stream_options={"include_usage": True}))
        assert chunks[-1].usage.completion_tokens == 7
        gateway.over()
        assert 'sfq_tokens_total{direction="output",user="ann"} 12.0' in gateway.figures()
        with pytest.raises(openai.BadRequestError):
            complete(gateway, max_tokens=5, temperature=-1)


def test_a_client_that_goes_away_frees_its_room(vllm: str) -> None:
    with running([vllm], requests=1) as gateway:
        first = stream(gateway, user="gone", max_tokens=1500)
        next(first)
        assert gateway.in_flight == 1
        first.close()
        assert complete(gateway, user="next", max_tokens=1).usage.completion_tokens == 1
        gateway.over()
        assert 'sfq_requests_total{outcome="cancelled",user="gone"} 1.0' in gateway.figures()


def test_under_a_flood_light_users_wait_least_with_fair_queueing(vllm: str, tmp_path: Path) -> None:
    felt = dict[str, float]()
    for policy in ("fifo", "round-robin", "sfq"):
        record = RecordSettings(tmp_path / policy)
        with running([vllm], requests=ROOMS, policy=Ordering(policy), record=record) as gateway:
            felt[policy] = median(asyncio.run(light_beside_a_flood(gateway)))
        print(f"{policy:11} a light user's request beside a flood, median: {1000 * felt[policy]:,.0f} ms")
    assert felt["sfq"] < felt["fifo"] / 2, felt
    [trace] = tmp_path.glob("sfq-*.jsonl")
    counts = Counter(json.loads(line)["event"] for line in trace.read_text().splitlines())
    assert counts["arrive"] == counts["dispatch"] == counts["complete"] > 30
    for mode in ("order", "fairness"):
        result = CliRunner().invoke(app, ["audit", str(trace), "--mode", mode])
        assert result.exit_code == 0, result.output
        print(f"sfq, {mode}: {result.output.splitlines()[0]}")


async def light_beside_a_flood(gateway: Running) -> list[float]:
    """The seconds that each of a light user's requests takes, while another user has 32 under way all the time."""
    sdk = openai.AsyncOpenAI(base_url=gateway.url + "/v1", api_key=KEY, max_retries=0, timeout=120)
    enough = False

    async def ask(user: str, tokens: int) -> None:
        made = await sdk.completions.create(
            model="tiny",
            prompt="hello",
            max_tokens=tokens,
            stream=True,
            extra_headers={FAIRNESS: user},
            extra_body={"ignore_eos": True},
        )
        reasons = [event.choices[0].finish_reason async for event in made]
        assert reasons[-1] == "length"

    async def flood() -> None:
        while not enough:
            await ask("flood", LONG)

    flooding, seconds = [asyncio.create_task(flood()) for _ in range(32)], list[float]()
    await asyncio.sleep(1)
    for _ in range(7):
        begun = asyncio.get_running_loop().time()
        await ask("light", SHORT)
        seconds.append(asyncio.get_running_loop().time() - begun)
    enough = True
    await asyncio.gather(*flooding)
    return seconds
