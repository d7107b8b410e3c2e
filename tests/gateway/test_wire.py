"""What clients may send that is not as it should be: framing, paths, headers, and bytes at the wrong moment."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import CHAT, FAIRNESS, get, post, raw, written
from gateway.running import HEAD, FaultServer, Running, chunk, running
from sfq_impl.gateway import bodies, serving
from sfq_impl.gateway.config import LimitSettings
from sfq_impl.gateway.naming import IdentitySettings
from sfq_impl.gateway.reading import Secret

ECHO = {"model": "echo"}
DRIP = {"model": "drip"}


class Dripping(FaultServer):
    """Streams four events in a fifth of a second."""

    async def do_drip(self, reader: Any, writer: Any, body: bytes) -> None:
        writer.write(HEAD)
        for number in range(4):
            writer.write(chunk(b"data: %d\n\n" % number))
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")


@pytest.fixture(scope="module")
def dripping() -> Iterator[Dripping]:
    server = Dripping()
    yield server
    server.close()


@pytest.fixture(scope="module")
def served(dripping: Dripping) -> Iterator[Running]:
    """A gateway before it."""
    with running([dripping.url]) as gateway:
        yield gateway


def error_of(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize(
    "bad",
    [
        written(ECHO, "transfer-encoding: chunked"),
        written(ECHO, "content-length: 3"),
        written(ECHO, "x-a: a\x01b"),
        written(ECHO, "x-a: a\x00b"),
        b"POST /v1/\xff HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_proper_http_is_refused_at_once_and_goes_nowhere(
    bad: bytes, served: Running, dripping: Dripping
) -> None:
    before = len(dripping.got)
    answer = raw(served, bad)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert error_of(answer)["code"] == "invalid_http"
    assert len(dripping.got) == before
    served.eventually(lambda: not served.in_flight and not served.server.server_state.tasks)


@pytest.mark.parametrize("path", ["/v1/completions%0A", "/v1/completions/", "//v1/completions", "/v1/Completions"])
def test_a_path_is_the_one_that_is_written_or_none(path: str, served: Running, dripping: Dripping) -> None:
    before = len(dripping.got)
    answer = raw(served, written(ECHO, path=path))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert error_of(answer)["code"] == "unknown_path"
    assert len(dripping.got) == before


def test_a_method_that_is_not_there_is_told_which_are(served: Running) -> None:
    answer = raw(served, b"OPTIONS /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    assert b"\r\nallow: POST\r\n" in answer


def test_all_headers_of_one_name_are_passed_on_and_none_that_any_of_them_says_is_of_the_connection() -> None:
    got = dict[str, list[str]]()

    class Listing(FaultServer):
        async def _serve(self, reader: Any, writer: Any) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if head.startswith("POST"):
                for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:-2]):
                    got.setdefault(name.lower(), []).append(value)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            writer.close()

    server = Listing()
    with running([server.url]) as gateway:
        hops = ("connection: x-hop", "x-hop: 1", "connection: x-other", "x-other: 2")
        assert raw(gateway, written(ECHO, "x-a: 1", *hops, "x-a: 2")).startswith(b"HTTP/1.1 200 ")
        assert got["x-a"] == ["1", "2"]
        assert not {"x-hop", "x-other", "connection"} & set(got)
    server.close()


def test_of_several_names_of_a_user_the_last_counts(served: Running) -> None:
    raw(served, written(ECHO, f"{FAIRNESS}: sent-by-the-client", f"{FAIRNESS}: added-by-a-proxy"))
    assert 'sfq_dispatches_total{user="added-by-a-proxy"} 1.0' in served.figures()


def test_a_body_with_a_wish_for_another_protocol_is_refused_and_not_taken_for_empty(served: Running) -> None:
    upgrade = ("upgrade: h2c", "connection: upgrade, http2-settings", "http2-settings: AAA")
    answer = raw(served, written(ECHO, *upgrade, last=False))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert error_of(answer)["code"] == "no_upgrade"


WEBSOCKET = "upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAA"


@pytest.mark.parametrize(
    ("path", "upgrade", "status"),
    [
        ("/v1/models", WEBSOCKET, b"400"),
        ("/v1/realtime", WEBSOCKET, b"400"),
        ("/health", "upgrade: h2c\r\nconnection: upgrade", b"200"),
    ],
)
def test_another_protocol_is_not_spoken_and_the_log_gives_no_advice(
    path: str, upgrade: str, status: bytes, served: Running, caplog: pytest.LogCaptureFixture
) -> None:
    answer = raw(served, f"GET {path} HTTP/1.1\r\nhost: x\r\n{upgrade}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert status == b"200" or error_of(answer)["code"] == "no_upgrade"
    assert not caplog.text


@pytest.mark.parametrize(
    "more",
    [b"\r\n", b"POST /v1/comp", b"\0 no http\r\n\r\n", written(ECHO, "x-a: " + "y" * 40_000)],
    ids=["line", "half", "garbage", "large"],
)
def test_what_comes_after_a_request_never_gets_into_its_answer(
    more: bytes, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.05)
    answer = raw(served, written(DRIP, last=False), more, pause=0.02)
    assert answer.count(b"HTTP/1.1") == 1
    assert answer.endswith(b"data: 3\n\n\r\n0\r\n\r\n")


def test_requests_on_one_connection_are_answered_in_order(served: Running) -> None:
    answer = raw(served, written(DRIP, last=False) + written(ECHO))
    assert answer.index(b"data: 3\n\n") < answer.index(b'{"model": "echo"}')


def test_a_body_that_nobody_reads_does_not_keep_its_connection(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.3)
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=5)
    connection.sendall(b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n")
    assert connection.recv(1 << 16).startswith(b"HTTP/1.1 404 ")
    with pytest.raises(ConnectionError):  # noqa: PT012
        for _ in range(50):
            connection.sendall(b"x")
            time.sleep(0.05)
    connection.close()


def test_a_body_that_does_not_come_is_given_up_with_its_connection(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "SECONDS", 0.2)
    answer = raw(served, written(b"{}" * 50, last=False)[:-20])
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"\r\nconnection: close\r\n" in answer


def test_who_asks_first_does_not_send_a_body_that_is_too_large(fault: FaultServer) -> None:
    with running([fault.url], limits=LimitSettings(body=1_000)) as gateway:
        answer = raw(gateway, written(b"x" * 2_000, "expect: 100-continue")[:-2_000])
        assert answer.startswith(b"HTTP/1.1 413 ")
        sent = written(ECHO, "expect: 100-continue")
        assert raw(gateway, sent).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")


def test_a_key_with_letters_of_any_language_opens_every_path(fault: FaultServer) -> None:
    identity = IdentitySettings(keys={"ann": Secret("schlüssel")}, required=True)
    key = "schlüssel".encode().decode("latin-1")
    with running([fault.url], identity=identity, metrics_key=Secret("schlüssel")) as gateway:
        for path in ("/v1/models", "/metrics"):
            assert get(gateway, path, f"Bearer {key}")[0] == 200
        assert post(gateway, ECHO, CHAT, headers={"authorization": f"Bearer {key}"})[0].status == 200
