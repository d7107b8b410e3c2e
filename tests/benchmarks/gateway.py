"""What the gateway costs, and what it does: `python tests/benchmarks/gateway.py [--quick]`.

Everything is real and on this machine: engines of llama.cpp with a tiny model and the gateway, each in a process of its
own, and clients over HTTP. Engines, gateway and clients share the cores, so that whatever the gateway costs is lost in
full; with servers elsewhere it is not.

1. SFQ beside the same proxy with fairness off (FIFO): 64 streams, rounds in turn, medians of ratios. With 64 rooms all
   streams are served at once; with 32, as many wait.
2. Thousands of requests that wait, each with its connection: what one of them takes, and that all are served.
3. The load of `sfq-gateway demo` under FIFO, round robin and SFQ, and an audit of what the gateway itself has recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.fleet import Result
from benchmarks.measures import Goal
from sfq_impl.gateway import demo, tiny_model
from sfq_impl.gateway.engine import Process
from sfq_impl.gateway.naming import FAIRNESS_HEADERS

STREAMS, USERS, TOKENS = 64, 8, 32
ROOMS = (64, 32)
"""Requests that the two engines serve at once together."""
POLICIES = ("fifo", "round-robin", "sfq")
KEPT_FREE = 200
"""Files that a process may open besides the connections."""


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int
    each: int
    """Requests of each stream in a round."""
    waiting: int
    waiting_users: int
    seconds: float
    """For each policy."""


FULL = Extent(rounds=9, each=8, waiting=10_000, waiting_users=1_000, seconds=45)
QUICK = Extent(rounds=1, each=2, waiting=500, waiting_users=50, seconds=8)


@dataclass(frozen=True)
class Gateway:
    """A gateway that serves."""

    url: str
    child: asyncio.subprocess.Process
    config: Path

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far; NaN where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """Bytes that it has in memory; NaN where the system does not tell."""
        try:
            pages = Path(f"/proc/{self.child.pid}/statm").read_text().split()[1]
        except OSError:
            return float("nan")
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def gateway(config: Path, text: str) -> AsyncIterator[Gateway]:
    """A gateway with this configuration, ended as an operator would end it."""
    config.write_text(text, encoding="utf-8")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sfq_impl.gateway", "serve", "--config", str(config)), stderr=asyncio.subprocess.PIPE
    )
    assert child.stderr is not None
    async with asyncio.timeout(20):
        told: dict[str, Any] = {}
        while told.get("event") != "listening":
            told = json.loads(await child.stderr.readline())
    reading = asyncio.create_task(child.stderr.read())
    try:
        yield Gateway(told["url"], child, config)
    finally:
        child.terminate()
        await child.wait()
        await reading


def configuration(urls: Sequence[str], policy: str, rooms: int, more: str = "") -> str:
    """As short as it can be."""
    servers = "".join(f"  - {{url: {url}, requests: {rooms // len(urls)}}}\n" for url in urls)
    return f"servers:\n{servers}listen: 127.0.0.1:0\npolicy: {policy}\ndrain: 0\nlogging: {{requests: false}}\n{more}"


def session(anew: bool = False) -> aiohttp.ClientSession:
    """Clients, as many as there are requests; where told, with a new connection for each request.

    The engine closes connections that have been used, now and then just when the next request comes. A gateway asks
    once more then; clients of the engine itself take a new one.
    """
    connector = aiohttp.TCPConnector(limit=0, force_close=anew)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600))


async def ask(clients: aiohttp.ClientSession, url: str, user: str, tokens: int) -> float:
    """The seconds from a request to the end of its stream. Raises `AssertionError` where it has no end."""
    body = {"prompt": f"{user} asks", "max_tokens": tokens, "stream": True, "ignore_eos": True, "cache_prompt": False}
    begun = time.perf_counter()
    async with clients.post(f"{url}/v1/completions", json=body, headers={FAIRNESS_HEADERS[0]: user}) as answer:
        read = await answer.read()
    assert read.endswith(b"data: [DONE]\n\n"), (answer.status, read[-300:])
    return time.perf_counter() - begun


@dataclass(frozen=True)
class Round:
    """All streams, each with some requests one after another."""

    median: float
    """Seconds of a request."""
    throughput: float
    """Requests in a second."""
    cpu: float = float("nan")
    """Seconds of the gateway's processor time for a request."""


async def one_round(clients: aiohttp.ClientSession, urls: Sequence[str], each: int) -> Round:
    """The streams are spread over the addresses; all users are alike."""

    async def stream(number: int) -> list[float]:
        url, user = urls[number % len(urls)], f"user-{number % USERS}"
        return [await ask(clients, url, user, TOKENS) for _ in range(each)]

    begun = time.perf_counter()
    seconds = [one for some in await asyncio.gather(*map(stream, range(STREAMS))) for one in some]
    return Round(median(seconds), len(seconds) / (time.perf_counter() - begun))


async def through(clients: aiohttp.ClientSession, served: Gateway, each: int) -> Round:
    """The same through a gateway."""
    before = served.cpu
    found = await one_round(clients, [served.url], each)
    return Round(found.median, found.throughput, (served.cpu - before) / (STREAMS * each))


async def overhead(folder: Path, extent: Extent) -> list[Result]:
    """SFQ beside FIFO in the same proxy, and that beside no proxy at all.

    Each has engines of its own, which are idle while it is not its turn: an engine keeps a thread for every connection
    that is open, so that one gateway's idle connections would slow the other down.
    """
    model = folder / "tiny.gguf"
    tiny_model.write(model)
    results = list[Result]()
    for rooms in ROOMS:
        with ExitStack() as engines:
            urls = [[engines.enter_context(Process(model, STREAMS // 2)).url for _ in range(2)] for _ in range(3)]
            off, on = (folder / f"{policy}-{rooms}.yaml" for policy in ("fifo", "sfq"))
            async with (
                gateway(off, configuration(urls[0], "fifo", rooms)) as fifo,
                gateway(on, configuration(urls[1], "sfq", rooms)) as sfq,
                session() as clients,
            ):
                await through(clients, fifo, 1)
                await through(clients, sfq, 1)
                without, with_, direct = list[Round](), list[Round](), list[Round]()
                for number in range(extent.rounds):
                    pair = ((fifo, without), (sfq, with_))
                    for served, rounds in pair if number % 2 else pair[::-1]:
                        rounds.append(await through(clients, served, extent.each))
                    if rooms == STREAMS:
                        async with session(anew=True) as others:
                            direct.append(await one_round(others, urls[2], extent.each))
        results += compared(f"SFQ / FIFO, {rooms} rooms", without, with_, Goal(1.05, alarm=1.15), Goal(at_least=0.95))
        if direct:
            results += compared("FIFO / no proxy", direct, without, Goal(), Goal())
    return results


def compared(what: str, reference: Sequence[Round], own: Sequence[Round], time: Goal, rate: Goal) -> Iterator[Result]:
    """The medians of the ratios of two rounds that followed closely on one another."""

    def result(name: str, field: str, goal: Goal) -> Result:
        pairs = zip(own, reference, strict=True)
        ratio = median(getattr(ours, field) / getattr(theirs, field) for ours, theirs in pairs)
        return Result(f"{what}: {name}", USERS, STREAMS, ratio, "×", goal)

    yield result("median time", "median", time)
    yield result("requests a second", "throughput", rate)
    yield Result("  median time of a request", USERS, STREAMS, 1000 * median(each.median for each in own), "ms")
    yield Result("  requests a second", USERS, STREAMS, median(each.throughput for each in own), "/s")
    if reference[0].cpu > 0:
        yield result("processor time", "cpu", time)
        yield Result("  processor time of a request", USERS, STREAMS, 1000 * median(each.cpu for each in own), "ms")


async def thousands(folder: Path, extent: Extent) -> list[Result]:
    """Requests that wait for a server that drains; then it takes them, and each is served."""
    count, users = min(extent.waiting, open_files() - KEPT_FREE), extent.waiting_users
    model = folder / "tiny.gguf"
    tiny_model.write(model)
    with Process(model, 8) as engine:
        held = configuration([engine.url], "sfq", 8, "limits: {wait: 600}\n").replace("{url", "{drain: true, url")
        async with gateway(folder / "thousands.yaml", held) as served, session() as clients:
            await waiting(clients, served, 0)
            before, begun = served.memory, time.perf_counter()
            asking = [asyncio.create_task(ask(clients, served.url, f"user-{n % users}", 1)) for n in range(count)]
            await waiting(clients, served, count)
            arrived, full = time.perf_counter(), served.memory
            served.config.write_text(held.replace("drain: true, ", ""), encoding="utf-8")
            await asyncio.gather(*asking)
            ended = time.perf_counter()
            await waiting(clients, served, 0)
            after = served.memory
    bytes_each = (full - before) / count
    return [
        Result("each that waits over HTTP: the gateway's memory", users, count, bytes_each / 1000, "kB", Goal(50)),
        Result("  the gateway's memory with all of them", users, count, full / 1e6, "MB"),
        Result("  the same when all have been served", users, count, after / 1e6, "MB"),
        Result("  arrivals a second", users, count, count / (arrived - begun), "/s"),
        Result("  served, with their ends, a second", users, count, count / (ended - arrived), "/s"),
    ]


async def waiting(clients: aiohttp.ClientSession, served: Gateway, count: int) -> None:
    """Until so many requests wait."""
    async with asyncio.timeout(120):
        while True:
            async with clients.get(f"{served.url}/metrics") as answer:
                lines = (await answer.text()).splitlines()
            found = sum(float(line.split()[-1]) for line in lines if line.startswith("sfq_waiting_requests{"))
            if found == count:
                return
            await asyncio.sleep(0.2)


def open_files() -> int:
    """How many files a process may open; as many as the system lets this one and its children have."""
    try:
        import resource
    except ImportError:
        return 1_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 20_000 if hard == resource.RLIM_INFINITY else min(20_000, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return max(soft, wanted)


async def flood(folder: Path, extent: Extent) -> list[Result]:
    """One user floods, three ask now and then; what each policy makes of it, and what the audit says of its trace."""
    model, found = folder / "slow.gguf", list[tuple[demo.Figures, dict[str, Any]]]()
    tiny_model.write(model, layers=4, width=256)
    with Process(model, demo.SLOTS) as one, Process(model, demo.SLOTS) as two:
        async with session() as clients:
            tokens = await demo._tokens_in(clients, one.url, demo.LONG)
            for policy in POLICIES:
                trace = folder / policy
                more = f"record: {{path: {trace}}}\n"
                text = configuration([one.url, two.url], policy, 2 * demo.SLOTS, more)
                async with gateway(folder / f"{policy}.yaml", text) as served:
                    figures = await demo._phase(
                        clients, served.url, policy, tokens, extent.seconds, lambda figures: None
                    )
                found.append((figures, audited(sorted(folder.glob(f"{policy}-*.jsonl")))))
    return list(told(found))


def audited(trace: Sequence[Path]) -> dict[str, Any]:
    """The fairness of what a gateway has recorded of itself, by `sfq-spec audit`."""
    command = [sys.executable, "-c", "from sfq_spec.cli import main; main()", "audit", *map(str, trace)]
    ran = subprocess.run([*command, "--mode", "fairness", "--json"], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    audit: dict[str, Any] = json.loads(ran.stdout)
    if "sfq" in trace[0].name:
        order = subprocess.run(command, capture_output=True, text=True, check=False)
        assert order.returncode == 0, order.stdout + order.stderr
    return audit


def told(found: Sequence[tuple[demo.Figures, dict[str, Any]]]) -> Iterator[Result]:
    """The figures of each policy."""
    fifo = found[0][0].felt(*demo.LIGHT)[0]
    for figures, audit in found:
        users, requests = len(demo.USERS), int(audit["dispatched"])
        middle, late = figures.felt(*demo.LIGHT)
        lead = audit["worst_lead"]["lead"] / (2 * audit["largest_charge"])
        name, goal = figures.policy, Goal() if figures.policy != "sfq" else Goal(1)
        yield Result(f"{name}: a light user's first byte, median", users, requests, 1000 * middle, "ms")
        yield Result(f"{name}: a light user's first byte, 95 of 100", users, requests, 1000 * late, "ms")
        if figures.policy != "fifo":
            yield Result(f"{name}: as many times sooner than with fifo", users, requests, fifo / middle, "×")
        yield Result(f"{name}: worst lead / two of the largest charges", users, requests, lead, "×", goal)
        broken = 0 if audit["fair_lead"]["holds"] else 1
        yield Result(f"{name}: FAIR-LEAD broken", users, requests, broken, "", Goal(0) if name == "sfq" else Goal())
        yield Result(f"{name}: requests that failed", users, requests, figures.failed, "", Goal(0))


PARTS = {"overhead": overhead, "thousands": thousands, "flood": flood}


def measure(extent: Extent, parts: Iterable[str] = PARTS) -> Iterator[Result]:
    """All of it, or some parts."""
    for part in parts:
        with TemporaryDirectory() as folder:
            yield from asyncio.run(PARTS[part](Path(folder), extent))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print. Timings never decide how it ends; a request without an end, or a wrong order, does."""
    parser = argparse.ArgumentParser(prog="gateway.py", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all of them where none is named")
    parser.add_argument("--quick", action="store_true", help="few rounds, a few seconds: whether it runs at all")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")
    print(f"{'':52}{'users':>7}{'requests':>9}{'':>19}{'goal':>8}")
    for result in measure(QUICK if chosen.quick else FULL, chosen.parts or PARTS):
        print(result, flush=True)


if __name__ == "__main__":
    main()
