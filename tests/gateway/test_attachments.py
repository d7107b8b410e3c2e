"""A picture is what it is to a model, and not the megabytes of text that it is written in; a prefix may be cheaper."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.asking import CHAT, FAIRNESS, post
from gateway.running import FaultServer, running
from sfq_impl.gateway.asking import read
from sfq_impl.gateway.attachments import apart
from sfq_impl.gateway.config import CostSettings, LimitSettings, PlacementSettings

LONG = "A" * 1_000_000
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + LONG}}
SOUND = {"type": "input_audio", "input_audio": {"data": LONG, "format": "wav"}}
TEXT = {"type": "text", "text": "What is this?"}


def chat(*parts: Any) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "You see."}, {"role": "user", "content": list(parts)}]


def parted(*parts: Any) -> tuple[str, int]:
    text, count = apart(json.dumps(chat(*parts)).encode())
    return text.decode(), count


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ((TEXT,), 0),
        ((TEXT, PICTURE), 1),
        ((PICTURE, TEXT, PICTURE, SOUND), 3),
        ((PICTURE, PICTURE), 2),
        (({"type": "file", "file": {"file_data": LONG}},), 1),
    ],
)
def test_what_is_attached_is_counted_and_its_bytes_are_not(parts: tuple[Any, ...], count: int) -> None:
    text, found = parted(*parts)
    assert found == count
    assert len(text) < 200
    assert text.count("What is this?") == (TEXT in parts)
    assert "You see." in text


@pytest.mark.parametrize(
    "part",
    [
        {"text": LONG},
        {"type": None, "text": LONG},
        {"type": ["image_url"], "text": LONG},
        {"type": "text", "text": LONG},
        {"type": "text", "text": 'of {"type": "image_url"}' + LONG},
        {"type": "thinking", "thinking": LONG},
        "data:image/png;base64," + LONG,
        [PICTURE],
    ],
)
def test_what_a_server_would_read_as_text_stays_text(part: Any) -> None:
    whole = json.dumps(chat(part)).encode()
    assert apart(whole) == (whole, 0)


@pytest.mark.parametrize(
    "messages",
    [b"", b"7", b"[", b'{"type": 1}', b'[7, {"type": 1}]', b'[{"content": {"type": "x"}}]', b'["type"]', b'"type"'],
)
def test_what_is_no_chat_is_text(messages: bytes) -> None:
    assert apart(messages) == (messages, 0)


def test_the_beginning_of_a_prompt_is_all_of_it() -> None:
    """Which server remembers it is told by its pictures too."""
    body = json.dumps({"messages": chat(PICTURE, TEXT)}).encode()
    asked = read(CHAT, body)
    assert LONG.encode() in asked.prompt
    assert (LONG.encode() in asked.text, asked.attachments) == (False, 1)


def test_a_picture_costs_what_the_configuration_says_and_fits(fault: FaultServer) -> None:
    cost = CostSettings(input_weight=1, output_weight=0, attachment=500)
    with running([fault.url], cost=cost, limits=LimitSettings(cost=1_000)) as gateway:
        said = {"model": "echo", "messages": chat(TEXT, PICTURE)}
        assert post(gateway, said, CHAT, {FAIRNESS: "ann"})[0].status == 200
        words = -(-len(apart(json.dumps(said["messages"]).encode())[0]) // 4)
        assert f'sfq_charged_cost_total{{user="ann"}} {500 + words}.0' in gateway.figures()


@pytest.mark.parametrize(("weight", "second"), [(None, 1_000), (0.5, 616), (0, 232)])
def test_what_a_server_remembers_may_cost_less(weight: float | None, second: int, fault: FaultServer) -> None:
    """A prompt of 4,000 bytes is 1,000 tokens; three blocks of 1,024 bytes of it are remembered afterwards."""
    cost = CostSettings(input_weight=1, output_weight=0, cached_weight=weight)
    long = {"model": "echo", "prompt": "x" * 3_998}
    with running([fault.url], cost=cost, placement=PlacementSettings("prefix-affine")) as gateway:
        for user in ("ann", "bob"):
            assert post(gateway, long, headers={FAIRNESS: user})[0].status == 200
        figures = gateway.figures()
    assert 'sfq_charged_cost_total{user="ann"} 1000.0' in figures
    assert f'sfq_charged_cost_total{{user="bob"}} {second}.0' in figures
