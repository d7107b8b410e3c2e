"""What is read of a body: whatever a server would serve is what is charged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import CHAT, COMPLETIONS, aside, post
from gateway.running import FaultServer, Running, running
from sfq_impl.gateway import pricing
from sfq_impl.gateway.asking import LONGEST_MODEL, MOST_CHOICES, Asked, read
from sfq_impl.gateway.config import CostSettings
from sfq_impl.gateway.errors import Refusal

IDS = [[1, 2, 3], [4], [5]]


def asked(path: str = COMPLETIONS, **body: Any) -> Asked:
    return read(path, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "cap", "choices"),
    [
        ({}, None, 1),
        ({"max_tokens": 7}, 7, 1),
        ({"max_tokens": 7.0, "n": 2.0}, 7, 2),
        ({"max_tokens": None, "n": None}, None, 1),
        ({"max_tokens": 1, "n_predict": 900}, 900, 1),
        ({"max_tokens": 900, "n_predict": 1}, 900, 1),
        ({"max_completion_tokens": 1, "max_tokens": 900}, 900, 1),
        ({"max_tokens": 1, "n_predict": -1}, None, 1),
        ({"max_tokens": -1}, None, 1),
        ({"n": 3}, None, 3),
        ({"n": 1, "n_cmpl": 4}, None, 4),
        ({"n": 0}, None, 1),
        ({"n": 10**6}, None, MOST_CHOICES),
        ({"prompt": ["a", "b", "c"]}, None, 3),
        ({"prompt": ["a", "b", "c"], "n": 2}, None, 6),
        ({"prompt": IDS}, None, 3),
        ({"prompt": IDS[0]}, None, 1),
        ({"prompt": []}, None, 1),
        ({"prompt": "[1, 2]"}, None, 1),
    ],
)
def test_the_most_that_any_server_would_serve_counts(body: dict[str, Any], cap: int | None, choices: int) -> None:
    found = asked(**body)
    assert (found.cap, found.choices) == (cap, choices)


def test_embeddings_have_no_output() -> None:
    assert asked("/v1/embeddings", input=["a", "b"], max_tokens=5).cap == 0


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "n_predict", "n", "n_cmpl"])
@pytest.mark.parametrize("value", [1.5, "7", True, [7]])
def test_what_is_no_whole_number_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(Refusal) as refusal:
        read(COMPLETIONS, json.dumps({name: value}).encode())
    assert (refusal.value.status, refusal.value.param) == (400, name)


@pytest.mark.parametrize("field", ["messages", "prompt", "unknown", "user"])
def test_what_is_nested_too_deeply_is_refused(field: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read(CHAT, b'{"%s":' % field.encode() + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert refusal.value.status == 400


def test_a_model_has_a_name_that_can_be_kept() -> None:
    assert asked(model="m" * 1_000_000).model == "m" * LONGEST_MODEL


@pytest.fixture
def charging(engine_url: str) -> Iterator[Running]:
    with running([engine_url], cost=CostSettings(input_weight=0, output_weight=1, ratio=1.0)) as gateway:
        yield gateway


@pytest.mark.parametrize(
    "body",
    [{"max_tokens": 1, "n_predict": 6}, {"max_tokens": 2, "prompt": ["a", "b", "c"]}, {"max_tokens": 2, "n_cmpl": 3}],
)
def test_a_real_engine_makes_no_more_than_what_is_charged(body: dict[str, Any], charging: Running) -> None:
    _, said = post(charging, {"prompt": "hello", "ignore_eos": True} | body)
    answer = json.loads(said)
    made = answer["usage"]["completion_tokens"] * len(answer["choices"])
    assert made == 6
    assert 'sfq_charged_cost_total{user="anonymous"} 6.0' in charging.figures()


def test_of_several_answers_nothing_is_learnt(charging: Running) -> None:
    """The engine tells the tokens of one of them."""
    post(charging, {"prompt": "hello", "max_tokens": 2, "n": 3, "ignore_eos": True})
    charging.eventually(lambda: not charging.in_flight)
    assert charging.gateway.proxy.pricing.estimator.learnt == 0


def test_what_a_tokenizer_takes_long_for_keeps_nobody_waiting(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        counted = list[int]()

        def count(text: str) -> int:
            if len(text) > pricing.COUNTED_AT_ONCE:
                gateway.eventually(lambda: len(fault.got) == 1)  # another request, served meanwhile
            counted.append(len(text))
            return 5

        gateway.gateway.proxy.pricing.estimator.counters["echo"] = count
        long = aside(post, gateway, {"model": "echo", "prompt": "ab" * pricing.COUNTED_AT_ONCE})
        assert post(gateway, {"model": "echo", "prompt": "ab"})[0].status == 200
        assert long.result(10)[0].status == 200
        assert len(counted) == 2
