"""Large bodies: a picture is not the megabytes that it is written in, a known prefix may be cheaper, and all of them
together have a limit."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from gateway.asking import CHAT, FAIRNESS, begun, post
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


def test_all_bodies_together_have_a_limit(fault: FaultServer) -> None:
    """A request whose body has no room beside those that are here is refused, and room is there again when they end."""
    hangs, echoes = ({"model": model, "prompt": "x" * 600} for model in ("hang", "echo"))
    with running([fault.url], limits=LimitSettings(bodies=1_000)) as gateway:
        held = begun(gateway, hangs)
        gateway.eventually(lambda: bool(fault.got))
        response, said = post(gateway, echoes)
        assert (response.status, response.headers["retry-after"]) == (503, "1")
        assert (json.loads(said)["error"]["code"], response.headers["connection"]) == ("bodies_full", "close")
        assert gateway.gateway.proxy.bodies.held == len(json.dumps(hangs))
        held.close()
        gateway.eventually(lambda: not gateway.gateway.proxy.bodies.held)
        assert post(gateway, echoes)[0].status == 200
        gateway.over()
        assert gateway.gateway.proxy.bodies.held == 0


@pytest.mark.parametrize("together", [2_000, 1_000_000])
def test_a_body_that_could_never_have_room_is_too_large_and_not_told_to_come_again(
    together: int, fault: FaultServer
) -> None:
    with running([fault.url], limits=LimitSettings(body=2_500, bodies=together)) as gateway:
        response, said = post(gateway, {"model": "echo", "prompt": "x" * 3_000})
        assert (response.status, response.headers["retry-after"]) == (413, None)
        error = json.loads(said)["error"]
        assert error["code"] == "body_too_large"
        assert error["message"] == f"the body is larger than {min(together, 2_500):,} bytes, the limit here"


def test_a_body_that_comes_slowly_counts_from_its_first_byte(fault: FaultServer) -> None:
    with running([fault.url], limits=LimitSettings(bodies=1_000)) as gateway:
        slow = socket.create_connection(("127.0.0.1", gateway.port), timeout=20)
        slow.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n" + b"x" * 800)
        gateway.eventually(lambda: gateway.gateway.proxy.bodies.held == 800)
        assert json.loads(post(gateway, {"model": "echo", "prompt": "x" * 600})[1])["error"]["code"] == "bodies_full"
        slow.close()
        gateway.eventually(lambda: not gateway.gateway.proxy.bodies.held)
