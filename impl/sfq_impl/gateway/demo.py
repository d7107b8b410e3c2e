"""`sfq-gateway demo`: one user floods, three others ask now and then; first with FIFO, then with fair queueing.

Everything is real and on this machine: two engines of llama.cpp with a tiny model, the gateway as its own process with
a configuration of ten lines, and a load over HTTP. Only the weights of the model are random, so what it writes is too.
"""

from __future__ import annotations

import asyncio
import json
import signal
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from sfq_impl.gateway import tiny_model
from sfq_impl.gateway.engine import DidNotStart, Process
from sfq_impl.gateway.naming import FAIRNESS_HEADERS

FLOODING, LIGHT = "flood", ("ann", "bob", "cid")
USERS = (*LIGHT, FLOODING)
SLOTS = 2
"""Requests at once on each of the two engines."""
BACKLOG = 32
"""Requests that the flooding user has under way at any time."""
PAUSE = 0.7
"""Seconds between two requests of a light user, from the answer of one to the next."""
START_SECONDS = 20.0
LONG = 0.25
"""About how many seconds a request of the flooding user takes an engine that is alone; a light one takes a quarter."""
POLICIES = ("fifo", "sfq")
CONFIG = """\
servers:
  - {{url: {0}, name: one, requests: {slots}}}
  - {{url: {1}, name: two, requests: {slots}}}
listen: 127.0.0.1:0
policy: {policy}
drain: 0
logging:
  requests: false
"""


@dataclass
class Figures:
    """What one policy has come to."""

    policy: str
    seconds: float = 0.0
    first_bytes: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds from a request to the first byte of its answer, by user: what people feel."""
    tokens: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Tokens of output that were served, by user."""
    waiting: dict[str, float] = field(default_factory=dict)
    charged: dict[str, float] = field(default_factory=dict)
    """As the gateway tells it."""
    failed: int = 0

    def felt(self, *users: str) -> tuple[float, float]:
        """Median and 95th percentile of the seconds to the first byte; NaN where there is nothing yet."""
        seconds = sorted(second for user in users for second in self.first_bytes[user])
        if not seconds:
            return float("nan"), float("nan")
        return statistics.median(seconds), seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]


Show = Callable[[Figures], None]


async def run(folder: Path, seconds: float, show: Show) -> list[Figures]:
    """The whole demonstration: so many seconds with each policy. Raises `DidNotStart`.

    Whatever ends it ends its engines and its gateway: SIGTERM and the end of its terminal cancel it, as Ctrl-C does.
    """
    task = asyncio.current_task()
    if sys.platform != "win32" and task is not None:
        for ending in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(ending, task.cancel)
    model = folder / "tiny.gguf"
    tiny_model.write(model, layers=4, width=256)
    with Process(model, SLOTS) as one, Process(model, SLOTS) as two:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            tokens = await _tokens_in(session, one.url, LONG)
            found = []
            for policy in POLICIES:
                config = folder / f"{policy}.yaml"
                config.write_text(CONFIG.format(one.url, two.url, slots=SLOTS, policy=policy), encoding="utf-8")
                async with gateway(config) as url:
                    found.append(await _phase(session, url, policy, tokens, seconds, show))
    return found


@asynccontextmanager
async def gateway(config: Path) -> AsyncIterator[str]:
    """A gateway as a process of its own, and where it listens. Raises `DidNotStart`."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sfq_impl.gateway", "serve", "--config", str(config), stderr=asyncio.subprocess.PIPE
    )
    assert child.stderr is not None
    reading: asyncio.Task[bytes] | None = None
    try:
        url = await _listening(child.stderr)
        reading = asyncio.create_task(child.stderr.read())
        yield url
    finally:
        if reading is not None:
            reading.cancel()
        if child.returncode is None:
            child.kill()
        await child.wait()


async def _listening(log: asyncio.StreamReader) -> str:
    """Where a gateway listens, as its log tells."""
    last = ""
    try:
        async with asyncio.timeout(START_SECONDS):
            while line := await log.readline():
                last = line.decode("utf-8", "replace").strip() or last
                with suppress(ValueError):
                    told = json.loads(line)
                    if told["event"] == "listening":
                        return str(told["url"])
    except TimeoutError:
        last = f"not within {START_SECONDS:.0f} s"
    raise DidNotStart(f"the gateway did not start: {last}")


async def _phase(
    session: aiohttp.ClientSession, url: str, policy: str, tokens: int, seconds: float, show: Show
) -> Figures:
    figures = Figures(policy)
    begun = time.monotonic()

    async def flood() -> None:
        while True:
            await _ask(session, url, FLOODING, tokens, figures)

    async def now_and_then(user: str, offset: float) -> None:
        await asyncio.sleep(1.0 + offset)
        while True:
            await _ask(session, url, user, max(1, tokens // 4), figures)
            await asyncio.sleep(PAUSE)

    async with AsyncExitStack() as stack:
        load = [flood() for _ in range(BACKLOG)] + [now_and_then(user, n * 0.2) for n, user in enumerate(LIGHT)]
        for task in [asyncio.create_task(each) for each in load]:
            stack.push_async_callback(_stopped, task)
        while (passed := time.monotonic() - begun) < seconds:
            await asyncio.sleep(min(0.5, seconds - passed))
            figures.seconds = time.monotonic() - begun
            await _ask_gateway(session, url, figures)
            show(figures)
    return figures


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def _ask(session: aiohttp.ClientSession, url: str, user: str, tokens: int, figures: Figures) -> None:
    body = {"prompt": f"{user} asks", "max_tokens": tokens, "stream": True, "ignore_eos": True, "cache_prompt": False}
    begun = time.monotonic()
    try:
        async with session.post(f"{url}/v1/completions", json=body, headers={FAIRNESS_HEADERS[0]: user}) as answer:
            first = await answer.content.readany()
            if answer.status != 200 or not first:
                raise aiohttp.ClientError
            figures.first_bytes[user].append(time.monotonic() - begun)
            while await answer.content.readany():
                pass
            figures.tokens[user] += tokens
    except aiohttp.ClientError:
        figures.failed += 1
        await asyncio.sleep(0.1)


async def _ask_gateway(session: aiohttp.ClientSession, url: str, figures: Figures) -> None:
    async with session.get(f"{url}/metrics") as answer:
        for family in text_string_to_metric_families(await answer.text()):
            for sample in family.samples:
                if sample.name == "sfq_waiting_requests":
                    figures.waiting[sample.labels["user"]] = sample.value
                elif sample.name == "sfq_charged_cost_total":
                    figures.charged[sample.labels["user"]] = sample.value


async def _tokens_in(session: aiohttp.ClientSession, url: str, seconds: float) -> int:
    """How many tokens an engine that is alone gives in that time, on this machine."""
    body = {"prompt": "how fast", "max_tokens": 64, "ignore_eos": True}
    took = []
    for _ in range(3):
        begun = time.monotonic()
        async with session.post(f"{url}/v1/completions", json=body) as answer:
            await answer.read()
        took.append(time.monotonic() - begun)
    return max(8, min(512, int(64 * seconds / min(took))))
