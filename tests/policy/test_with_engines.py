"""The sample of the seed, as it stands, before two real engines: two programs whose requests differ in size."""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from programs import SAMPLE

pytestmark = pytest.mark.integration

SERVICE = re.compile(r'^llm_d_epp_program_aware_attained_service_tokens\{program_id="(.*)"\} (.*)$', re.M)
HEADER, DEPRECATED = "x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id"
SERVER = "  - {{url: {}, requests: 1}}\n"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """The address of a gateway, started by its command; two requests are served at once."""
    pytest.importorskip("gguf", reason="needs the extra demo")
    from sfq_impl.gateway import tiny_model
    from sfq_impl.gateway.engine import Process

    tiny_model.write(tmp_path / "tiny.gguf")
    (tmp_path / "llm-d.yaml").write_text(SAMPLE)
    with ExitStack() as stack:
        urls = [stack.enter_context(Process(tmp_path / "tiny.gguf", 1)).url for _ in range(2)]
        servers = "".join(SERVER.format(url) for url in urls)
        fleet = tmp_path / "fleet.yaml"
        fleet.write_text(f"listen: 127.0.0.1:0\nservers:\n{servers}policy: {{file: llm-d.yaml}}\n")
        command = [str(Path(sys.executable).with_name("sfq-gateway")), "serve", "-c", str(fleet)]
        child = stack.enter_context(
            subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(child.terminate)
        yield listening(child)


def listening(child: subprocess.Popen[str]) -> str:
    """Where it listens, as it says itself."""
    assert child.stdout is not None
    said = []
    while select.select([child.stdout], [], [], 30)[0] and (line := child.stdout.readline()):
        said.append(line)
        if '"listening"' in line:
            assert '"policy":"program-aware-fairness"' in line
            return str(json.loads(line)["url"])
    raise AssertionError("".join(said))


def ask(gateway: str, tokens: int, headers: dict[str, str]) -> dict[str, Any]:
    body = json.dumps({"model": "tiny", "prompt": "hello", "max_tokens": tokens}).encode()
    request = urllib.request.Request(f"{gateway}/v1/completions", body, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60) as answer:
        usage: dict[str, Any] = json.load(answer)["usage"]
        return usage


def attained(gateway: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{gateway}/metrics", timeout=60) as page:
        return {program: float(value) for program, value in SERVICE.findall(page.read().decode())}


def test_the_sample_with_real_engines(gateway: str) -> None:
    """What they used is what is shown, a little decayed; who asks for little has it before who asks for much."""
    ended = list[str]()

    def one(program: str, tokens: int) -> int:
        usage = ask(gateway, tokens, {HEADER: program})
        ended.append(program)
        return int(usage["prompt_tokens"]) + 2 * int(usage["completion_tokens"])

    with ThreadPoolExecutor(40) as pool:
        used = {"large": [one("large", 3)], "small": [one("small", 3)]}
        ended.clear()
        asked = [pool.submit(one, "large", 600) for _ in range(12)]
        asked += [pool.submit(one, "small", 2) for _ in range(12)]
        used["large"] += [each.result(60) for each in asked[:12]]
        used["small"] += [each.result(60) for each in asked[12:]]
    shown = attained(gateway)
    assert set(shown) == {"large", "small"}
    for program, tokens in used.items():
        assert 0.5 * sum(tokens) < shown[program] <= sum(tokens)
    places = [place for place, program in enumerate(ended) if program == "small"]
    assert max(places) < 20, ended


def test_programs_by_their_headers(gateway: str) -> None:
    ask(gateway, 2, {HEADER: "new", DEPRECATED: "old"})
    ask(gateway, 2, {DEPRECATED: "deprecated"})
    ask(gateway, 2, {HEADER: "", DEPRECATED: "hidden"})
    ask(gateway, 2, {})
    assert set(attained(gateway)) == {"new", "deprecated", "default-flow"}
