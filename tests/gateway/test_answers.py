"""What servers may answer that is not as it should be, and clients that do not read it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from gateway.asking import FAIRNESS, get, raw, written
from gateway.running import HEAD, FaultServer, Running, chunk, running
from sfq_impl.gateway.config import TimeoutSettings

PLAIN = HEAD.replace(b"text/event-stream", b"application/json")
EVENT = b"data: {}\n\n"
DEEP = b"[" * 30_000


def scripted(*parts: bytes) -> dict[str, Any]:
    return {"model": "script", "prompt": [part.decode("latin-1") for part in parts]}


numbers = count()


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    server = FaultServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def once(server: FaultServer) -> Iterator[Running]:
    """A gateway that tries no server twice."""
    with running([server.url], retries=0, timeouts=TimeoutSettings(idle=20)) as gateway:
        yield gateway


def answered(gateway: Running, outcome: str, *parts: bytes) -> bytes:
    """The answer to a request that is to end so."""
    user = f"user-{next(numbers)}"
    answer = raw(gateway, written(scripted(*parts), f"{FAIRNESS}: {user}"))
    gateway.over()
    assert f'sfq_requests_total{{outcome="{outcome}",user="{user}"}} 1.0' in gateway.figures()
    return answer


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-a: a\x01b\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
        b"no http at all\r\n\r\n",
    ],
)
def test_an_answer_that_cannot_be_passed_on_is_none(head: bytes, once: Running) -> None:
    answer = answered(once, "failed", head)
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "server_failed"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", b"200"),
        (b"HTTP/1.1 204 None\r\n\r\n", b"204"),
        (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", b"302"),
    ],
)
def test_answers_of_every_kind_come_through(head: bytes, status: bytes, once: Running, server: FaultServer) -> None:
    before = len(server.got)
    answer = answered(once, "completed", head)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1") == 1
    assert len(server.got) == before + 1


def test_headers_of_the_servers_connection_stay_there(once: Running) -> None:
    head = b"HTTP/1.1 200 OK\r\nconnection: x-hop\r\nx-hop: 1\r\nkeep-alive: 3\r\nset-cookie: a\r\nset-cookie: b\r\n"
    answer = answered(once, "completed", head + b"content-length: 2\r\n\r\n{}")
    assert b"x-hop" not in answer
    assert b"keep-alive" not in answer
    assert answer.count(b"set-cookie: ") == 2


@pytest.mark.parametrize("head", [HEAD, PLAIN])
def test_an_answer_whose_framing_is_wrong_is_broken_off_at_once(head: bytes, once: Running) -> None:
    answer = answered(once, "failed", head, chunk(EVENT), b"ZZ\r\nfoo")
    assert chunk(EVENT) in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert (b"not complete" in answer) == (head == HEAD)


@pytest.mark.parametrize(
    "more",
    [
        b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(EVENT),
        b"content-length: 99\r\n\r\n" + EVENT,
    ],
)
def test_nothing_is_put_into_a_stream_that_cannot_take_it(
    more: bytes, once: Running, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(reader: Any, writer: Any, body: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" + more)
        await writer.drain()
        raise ConnectionResetError

    monkeypatch.setattr(server, "do_die", die)
    answer = raw(once, written({"model": "die"}))
    assert answer.rstrip(b"\r\n").endswith(EVENT.rstrip())
    assert b"error" not in answer


@pytest.mark.parametrize(
    ("head", "body"),
    [(HEAD, b'data: {"usage":' + DEEP + b"\n\n"), (PLAIN, b'{"message":' + DEEP + b"]" * len(DEEP) + b"}")],
)
def test_an_answer_too_deep_to_be_read_is_passed_on_all_the_same(head: bytes, body: bytes, once: Running) -> None:
    answer = answered(once, "completed", head, chunk(body) + b"0\r\n\r\n")
    assert body[:1_000] in answer
    assert answer.endswith(b"0\r\n\r\n")


@pytest.mark.integration
def test_a_client_that_does_not_read_the_end_does_not_keep_its_room(fault: FaultServer) -> None:
    """Whatever part of the answer fits between here and there: one of these sizes ends just beyond it."""
    with running([fault.url], requests=200, timeouts=TimeoutSettings(idle=0.5)) as gateway:
        held = []
        for size in range(2_000_000, 5_000_000, 50_000):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", gateway.port))
            connection.sendall(written({"model": "count", "max_tokens": size}))
            held.append(connection)
        gateway.eventually(lambda: len(fault.got) == len(held))
        gateway.over()
        for connection in held:
            connection.close()


class Listing(FaultServer):
    """Tells models that are none."""

    models = b""

    async def _serve(self, reader: Any, writer: Any) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        answer = self.models if b"/v1/models" in head else b"{}"
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer)
        writer.close()


def test_models_that_cannot_be_read_are_none(server: FaultServer) -> None:
    odd = Listing()
    with running([odd.url, server.url]) as gateway:
        for odd.models in (b'{"data": ["a"]}', b'{"data": {"a": 1}}', b"[]", b"\xff", b'{"data": ' + DEEP):
            status, said = get(gateway, "/v1/models")
            assert (status, json.loads(said)) == (200, {"object": "list", "data": []})
    odd.close()


def test_a_redirect_takes_no_key_along(once: Running) -> None:
    other = FaultServer()
    answered(once, "completed", f"HTTP/1.1 307 X\r\nlocation: {other.url}/\r\ncontent-length: 0\r\n\r\n".encode())
    assert not other.got
    other.close()
