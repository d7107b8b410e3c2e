"""The gateway before a real engine, with the client that everybody uses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from typer.testing import CliRunner

from gateway.asking import CHAT, client, complete, get, post, stream, unchunked
from gateway.running import Running, Tee, running
from sfq_impl.gateway import engine
from sfq_impl.gateway.config import CostSettings, RecordSettings
from sfq_spec.cli import app


@pytest.fixture
def tee(engine_url: str) -> Iterator[Tee]:
    tee = Tee(engine_url)
    yield tee
    tee.close()


def test_a_chat_streams_through(gateway: Running) -> None:
    chunks = list(stream(gateway, max_tokens=7, stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens == 7
    gateway.over()
    figures = gateway.figures()
    assert 'sfq_requests_total{outcome="completed",user="ann"} 1.0' in figures
    assert 'sfq_tokens_total{direction="output",user="ann"} 7.0' in figures
    assert f'sfq_tokens_total{{direction="input",user="ann"}} {chunks[-1].usage.prompt_tokens:.1f}' in figures


def test_a_stream_is_passed_through_byte_for_byte(tee: Tee) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 40, "stream": True, "ignore_eos": True}
    with running([tee.url]) as gateway:
        response, got = post(gateway, body, CHAT)
        assert response.status == 200
        assert response.headers["content-type"] == "text/event-stream"
        answers = [bytes(answer) for answer in tee.answers if b"data: " in answer]
    [sent] = [answer[answer.index(b"HTTP/1.1 200", 1) if answer.count(b"HTTP/1.1") > 1 else 0 :] for answer in answers]
    assert got.endswith(b"data: [DONE]\n\n")
    assert len(got.split(b"\n\n")) > 10
    assert got == unchunked(sent)


def test_a_completion_and_the_models(gateway: Running, model: Path) -> None:
    answer = complete(gateway, max_tokens=5)
    assert answer.usage.completion_tokens == 5
    models = client(gateway).models.list()
    assert [each.id for each in models.data] == [str(model)]


def test_embeddings(model: Path) -> None:
    server = engine.start(model, 2, embeddings=True)
    with running([server.listening_address]) as gateway:
        answer = client(gateway).embeddings.create(model="tiny", input=["one", "two"], encoding_format="float")
    assert [len(each.embedding) for each in answer.data] == [64, 64]
    assert answer.usage.prompt_tokens > 0


def test_what_the_engine_refuses_comes_through_as_its_own_error(gateway: Running) -> None:
    with pytest.raises(openai.BadRequestError) as error:
        complete(gateway, max_tokens=5, temperature="hot")
    assert error.value.response.headers["x-request-id"]
    gateway.over()
    assert 'sfq_requests_total{outcome="failed",user="ann"} 1.0' in gateway.figures()


def test_a_client_that_goes_away_frees_the_engine(engine_url: str) -> None:
    with running([engine_url], requests=1) as gateway:
        first = stream(gateway, user="gone", max_tokens=900)
        next(first)
        assert gateway.in_flight == 1
        first.close()
        assert complete(gateway, user="next", max_tokens=1).usage.completion_tokens == 1
        gateway.over()
        assert 'sfq_requests_total{outcome="cancelled",user="gone"} 1.0' in gateway.figures()


def test_the_gateway_records_a_trace_that_the_audit_accepts(engine_url: str, tmp_path: Path) -> None:
    with running([engine_url], requests=1, record=RecordSettings(tmp_path / "own"), weights={"bob": 2.0}) as gateway:
        for user in ("ann", "bob", "ann"):
            complete(gateway, user=user, max_tokens=3)
    [trace] = tmp_path.glob("own-*.jsonl")
    assert "hello" not in trace.read_text()
    assert [json.loads(line)["event"] for line in trace.read_text().splitlines()].count("dispatch") == 3
    audited = CliRunner().invoke(app, ["audit", str(trace)])
    assert audited.exit_code == 0, audited.output


def test_what_is_learnt_is_kept(engine_url: str, tmp_path: Path) -> None:
    cost = CostSettings(state=tmp_path / "learnt.json")
    with running([engine_url], cost=cost) as gateway:
        complete(gateway, max_tokens=8)
        gateway.over()
    with running([engine_url], cost=cost) as gateway:
        assert gateway.gateway.proxy.pricing.estimator.ratio("tiny", "ann") > cost.ratio


def test_health_and_readiness(gateway: Running) -> None:
    assert get(gateway, "/health")[0] == get(gateway, "/ready")[0] == 200
    assert b"sfq_server_up" in get(gateway, "/metrics")[1]
