"""Servers and clients that fail, full queues, and what the clients are told then."""

from __future__ import annotations

import json
import re
import socket
import time
from dataclasses import replace
from typing import Any, Literal

import httpx2
import openai
import pytest

from gateway.asking import CHAT, COMPLETIONS, FAIRNESS, aside, begun, complete, get, post, stream
from gateway.running import FaultServer, Running, running
from sfq_impl.gateway import serving
from sfq_impl.gateway.config import LimitSettings, PlacementSettings, TimeoutSettings
from sfq_impl.gateway.naming import IdentitySettings
from sfq_impl.gateway.reading import Secret

WAITS = {"model": "hang", "prompt": "x"}


def total(gateway: Running, outcome: str, user: str = "ann") -> float:
    """How many requests have ended so, once nothing is on its way any more."""
    gateway.over()
    line = f'sfq_requests_total{{outcome="{outcome}",user="{user}"}} '
    return next((float(each.removeprefix(line)) for each in gateway.figures().splitlines() if each.startswith(line)), 0)


def error_of(body: bytes) -> Any:
    return json.loads(body)["error"]


def test_bytes_come_through_as_they_are_however_they_are_cut(fault: FaultServer) -> None:
    odd = 'data: {"a":\r\n\r\ndata: ü\n\n: comment\r\rdata:[DONE]\n\n\0 no event at all'
    with running([fault.url]) as gateway:
        _, got = post(gateway, {"model": "raw", "prompt": odd})
        assert got == odd.encode()
        body = '{"model": "echo",  "prompt": "\\u00fc ü", "unknown": [1e400]}'.encode()
        response, got = post(gateway, body)
        assert got == body
        assert response.headers["content-length"] == str(len(body))


def test_usage_in_two_parts_is_read_whole(fault: FaultServer) -> None:
    first = '{"usage":{"prompt_tokens":1000,"completion_tokens":0}}'
    last = '{"usage":{"completion_tokens":10}}'
    with running([fault.url]) as gateway:
        events = f"data: {first}\n\ndata: {{}}\n\ndata: {last}\n\ndata: [DONE]\n\n"
        post(gateway, {"model": "raw", "prompt": events}, headers={"x-llm-d-inference-fairness-id": "ann"})
        gateway.over()
        assert 'sfq_tokens_total{direction="input",user="ann"} 1000.0' in gateway.figures()
        assert 'sfq_tokens_total{direction="output",user="ann"} 10.0' in gateway.figures()


@pytest.mark.parametrize("how", ["die", "die_after_head", "unavailable"])
def test_a_server_that_fails_before_the_first_byte_is_replaced_and_charged_once(how: str, fault: FaultServer) -> None:
    good = FaultServer()
    setattr(good, f"do_{how}", good.do_echo)
    with running([fault.url, good.url]) as gateway:
        response, got = post(gateway, {"model": how}, headers={"x-llm-d-inference-fairness-id": "ann"})
        assert response.status == 200
        assert json.loads(got) == {"model": how}
        assert fault.got
        assert len(good.got) == 1
        assert 'sfq_dispatches_total{user="ann"} 1.0' in gateway.figures()
        assert 'sfq_server_retries_total{server="server-0"} 1.0' in gateway.figures()
        assert total(gateway, "completed") == 1
    good.close()


def test_a_server_that_dies_in_the_middle_is_told_in_the_stream(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        events = stream(gateway, model="die_in_the_middle")
        with pytest.raises(openai.APIError, match="not complete"):
            list(events)
        gateway.over()
        assert total(gateway, "failed") == 1
        assert len(fault.got) == 1


@pytest.mark.parametrize("model", ["die_in_the_middle", "die_within_an_event"])
def test_a_stream_that_breaks_off_has_no_end_for_those_who_do_not_read_events(model: str, fault: FaultServer) -> None:
    with running([fault.url]) as gateway, httpx2.Client() as http, pytest.raises(httpx2.RemoteProtocolError):
        http.post(gateway.url + COMPLETIONS, json={"model": model})


def test_a_stream_that_breaks_off_within_an_event_gets_no_byte_more(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        connection, got = begun(gateway, {"model": "die_within_an_event"}), b""
        while piece := connection.recv(1 << 16):
            got += piece
        assert got.endswith(b'data: {"cho\r\n')
        connection.close()


def test_only_servers_that_cannot_serve(fault: FaultServer) -> None:
    with running([fault.url], retries=0) as gateway, pytest.raises(openai.InternalServerError) as error:
        complete(gateway, model="die")
    assert error.value.status_code == 502
    assert error.value.code == "server_failed"


def test_a_server_that_does_not_begin_is_given_up(fault: FaultServer) -> None:
    with running([fault.url], timeouts=TimeoutSettings(first_byte=0.1)) as gateway:
        with pytest.raises(openai.InternalServerError) as error:
            complete(gateway, model="hang")
        assert (error.value.status_code, error.value.code) == (504, "server_timeout")
        gateway.eventually(lambda: fault.closed == 1 and not gateway.in_flight)
        assert total(gateway, "failed") == 1


def test_a_server_that_falls_silent_is_given_up(fault: FaultServer) -> None:
    with running([fault.url], timeouts=TimeoutSettings(idle=0.1)) as gateway:
        with pytest.raises(openai.APIError, match="silent"):
            list(stream(gateway, model="stall"))
        gateway.eventually(lambda: fault.closed == 1 and not gateway.in_flight)


@pytest.mark.parametrize("model", ["hang", "stall"])
def test_a_client_that_goes_away_closes_the_connection_to_the_server(model: str, fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        connection = begun(gateway, {"model": model})
        gateway.eventually(lambda: len(fault.got) == 1)
        connection.close()
        gateway.eventually(lambda: fault.closed == 1 and not gateway.in_flight)
        assert total(gateway, "cancelled") == 1


def test_a_client_that_goes_away_while_it_waits_is_never_sent_and_never_charged(fault: FaultServer) -> None:
    with running([fault.url], requests=1) as gateway:
        first = begun(gateway, WAITS, "ann")
        gateway.eventually(lambda: gateway.in_flight == 1)
        second = begun(gateway, WAITS, "bob")
        gateway.eventually(lambda: gateway.waiting == 1)
        second.close()
        gateway.eventually(lambda: gateway.waiting == 0)
        first.close()
        gateway.over()
        assert len(fault.got) == 1
        assert total(gateway, "cancelled", "bob") == 1
        assert 'sfq_charged_cost_total{user="ann"} 0' not in gateway.figures()
        assert not re.search(r'sfq_(dispatches|charged_cost)_total{user="bob"} [1-9]', gateway.figures())


def test_a_full_queue(fault: FaultServer) -> None:
    with running([fault.url], requests=1, limits=LimitSettings(requests=1)) as gateway:
        held = [begun(gateway, WAITS)]
        gateway.eventually(lambda: gateway.in_flight == 1)
        held.append(begun(gateway, WAITS))
        gateway.eventually(lambda: gateway.waiting == 1)
        with pytest.raises(openai.RateLimitError) as error:
            complete(gateway, user="bob")
        assert error.value.code == "queue_full"
        assert int(error.value.response.headers["retry-after"]) >= 1
        assert isinstance(error.value.body, dict)
        assert error.value.body["place"] == 2
        assert 'sfq_refusals_total{reason="queue_full",user="bob"} 1.0' in gateway.figures()
        for connection in held:
            connection.close()


def test_waiting_too_long(fault: FaultServer) -> None:
    with running([fault.url], requests=1, limits=LimitSettings(wait=0.1)) as gateway:
        held = begun(gateway, WAITS)
        gateway.eventually(lambda: gateway.in_flight == 1)
        with pytest.raises(openai.InternalServerError) as error:
            complete(gateway, user="bob")
        assert (error.value.status_code, error.value.code) == (504, "queue_timeout")
        held.close()
        assert total(gateway, "expired", "bob") == 1


def test_no_server_is_up(fault: FaultServer) -> None:
    fault.ill = True
    with running([fault.url], limits=LimitSettings(wait=0.1)) as gateway:
        assert get(gateway, "/ready")[0] == 503
        assert get(gateway, "/health")[0] == 200
        assert get(gateway, "/v1/models")[0] == 503
        with pytest.raises(openai.InternalServerError) as error:
            complete(gateway)
        assert (error.value.status_code, error.value.code) == (503, "no_server")
        fault.ill = False
        gateway.eventually(lambda: gateway.gateway.servers.up)
        assert get(gateway, "/ready")[0] == 200
        assert json.loads(post(gateway, {"model": "echo"})[1]) == {"model": "echo"}


def test_the_end_serves_what_waits_and_answers_the_rest(fault: FaultServer) -> None:
    with running([fault.url], requests=1, drain=0.2) as gateway:
        held = begun(gateway, {"model": "hang"})
        gateway.eventually(lambda: gateway.in_flight == 1)
        waiting = aside(post, gateway, {"model": "echo"})
        gateway.eventually(lambda: gateway.waiting == 1)
        gateway.stop()
        gateway.eventually(lambda: gateway.gateway.closing)
        late, said = post(gateway, {"model": "echo"})
        assert (late.status, error_of(said)["code"]) == (503, "shutting_down")
        assert get(gateway, "/ready")[0] == 503
        response, said = waiting.result(10)
        assert (response.status, error_of(said)["code"]) == (503, "shutting_down")
        held.close()
        gateway.eventually(lambda: gateway.server.should_exit)


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        (b"{", 400, "invalid_json", None),
        (b"[]", 400, "invalid_request", None),
        (b'{"model": "\\ud800"}', 400, "invalid_json", None),
        (b"\xff", 400, "invalid_json", None),
        (b'{"model":"echo","max_tokens":"many"}', 400, "invalid_request", "max_tokens"),
        (b'{"model":"echo","user":' + json.dumps("x" * 300).encode() + b"}", 400, "invalid_user", "user"),
        (b'{"model":"echo","prompt":"' + b"x" * 2_000 + b'"}', 413, "body_too_large", None),
    ],
)
def test_a_bad_body_is_refused_with_the_field(
    body: bytes, status: int, code: str, param: str | None, fault: FaultServer
) -> None:
    with running([fault.url], limits=LimitSettings(body=1_000), identity=IdentitySettings(("body",))) as gateway:
        response, said = post(gateway, body)
        assert response.status == status
        error = error_of(said)
        assert (error["code"], error["param"], error["type"]) == (code, param, "invalid_request_error")
        assert not fault.got
        assert not gateway.in_flight


def test_a_body_of_unknown_length_is_limited_too(fault: FaultServer) -> None:
    with running([fault.url], limits=LimitSettings(body=1_000)) as gateway, httpx2.Client() as http:
        response = http.post(gateway.url + CHAT, content=iter([b"x" * 600] * 3))
        assert response.status_code == 413


@pytest.mark.parametrize("value", ["x" * 2_000, "x" * 200_000])
def test_headers_are_limited(value: str, fault: FaultServer) -> None:
    with running([fault.url], limits=LimitSettings(headers=1_000)) as gateway:
        assert post(gateway, {"model": "echo"}, headers={"x-more": "y" * 700})[0].status == 200
        connection = begun(gateway, {"model": "echo"}, user=value[:0] + "a\r\nx-more: " + value)
        answer = connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert error_of(answer.partition(b"\r\n\r\n")[2])["code"] == "headers_too_large"
        connection.close()


def test_a_head_without_an_end_is_refused_as_soon_as_it_is_too_long(fault: FaultServer) -> None:
    with running([fault.url], limits=LimitSettings(headers=1_000)) as gateway:
        connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nx-more: " + b"x" * 2_000)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 431 ")
        connection.close()


def test_a_path_and_a_method_that_are_not_there(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        response, said = post(gateway, {}, "/v1/images")
        assert (response.status, error_of(said)["code"]) == (404, "unknown_path")
        assert get(gateway, CHAT)[0] == 405


def test_who_must_show_a_key_sees_no_models_and_no_metrics_without(fault: FaultServer) -> None:
    identity = IdentitySettings(keys={"ann": Secret("ann-key")}, required=True)
    with running([fault.url], identity=identity, metrics_key=Secret("metrics-key")) as gateway:
        for path, key in (("/v1/models", "ann-key"), ("/metrics", "metrics-key")):
            for sent, status in ((None, 401), ("Bearer wrong", 401), (f"Bearer {key}", 200)):
                answered, said = get(gateway, path, sent)
                assert answered == status
                assert status == 200 or error_of(said)["code"] == "invalid_api_key"
        assert post(gateway, {"model": "echo"})[0].status == 401
        assert not fault.got


def test_a_client_that_does_not_read_slows_the_server_down(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        connection = begun(gateway, {"model": "flood"})
        seen = -1
        while fault.sent != seen:
            seen = fault.sent
            time.sleep(0.2)
        assert 0 < fault.sent < 20_000_000
        got = b"x"
        while got and fault.sent < 1_000 * 65_536:
            got = connection.recv(1 << 20)
        assert fault.sent >= 1_000 * 65_536
        connection.close()


def test_a_client_that_never_reads_does_not_keep_its_room(fault: FaultServer) -> None:
    with running([fault.url], timeouts=TimeoutSettings(idle=0.3)) as gateway:
        connection = begun(gateway, {"model": "flood"})
        gateway.eventually(lambda: gateway.in_flight == 1)
        gateway.over()
        assert total(gateway, "failed") == 1
        connection.close()


def test_connections_are_limited(fault: FaultServer) -> None:
    with running([fault.url], limits=LimitSettings(connections=1)) as gateway:
        held = begun(gateway, WAITS)
        gateway.eventually(lambda: gateway.in_flight == 1)
        response, said = post(gateway, {"model": "echo"})
        assert (response.status, error_of(said)["code"]) == (503, "too_many_connections")
        assert [get(gateway, path)[0] for path in ("/health", "/ready", "/v1/models")] == [200, 200, 503]
        held.close()
        gateway.over()
        assert post(gateway, {"model": "echo"})[0].status == 200


def test_a_head_that_never_ends_is_given_up(fault: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
    with running([fault.url]) as gateway:
        for head in (b"", b"POST /v1/completions HTTP/1.1\r\nhost: x\r\n"):
            connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
            connection.sendall(head)
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 408 ")
            connection.close()
        assert post(gateway, {"model": "slow"})[0].status == 200


def test_a_request_that_no_server_could_hold(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        server = replace(gateway.gateway.settings.servers[0], tokens=100)
        settings = replace(gateway.gateway.settings, servers=(server,))
        gateway.loop.call(lambda: gateway.gateway.apply(settings))
        response, said = post(gateway, {"model": "echo", "prompt": "x" * 500})
        assert (response.status, error_of(said)["code"]) == (400, "request_too_large")
        assert post(gateway, {"model": "echo", "prompt": "x", "max_tokens": 1})[0].status == 200


def test_headers_of_one_connection_are_not_passed_on(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        post(gateway, {"model": "echo"}, headers={"connection": "x-hop", "x-hop": "1", "te": "trailers", "x-on": "1"})
    [(_, headers, _)] = fault.got
    assert not {"x-hop", "te"} & set(headers)
    assert headers["x-on"] == "1"


@pytest.mark.parametrize(("strategy", "got"), [("prefix-affine", 3), ("least-loaded", 2)])
def test_a_prompt_goes_where_its_beginning_is_known_until_that_server_is_lost(
    strategy: Literal["prefix-affine", "least-loaded"], got: int, fault: FaultServer
) -> None:
    other = FaultServer()
    long = {"model": "echo", "prompt": "the same beginning " * 200}
    with running([fault.url, other.url], placement=PlacementSettings(strategy, factor=100)) as gateway:
        post(gateway, long)
        held = begun(gateway, WAITS)
        gateway.eventually(lambda: len(fault.got) == 2)
        post(gateway, long)
        assert len(fault.got) == got
        servers = gateway.gateway.servers
        gateway.loop.call(lambda: servers.failed("server-0", "test"))
        gateway.eventually(lambda: len(servers.up) == 2)
        post(gateway, long)
        assert len(fault.got) == got
        held.close()
    other.close()


def test_an_answer_that_is_an_error_is_passed_on_and_counts_as_failed(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        response, said = post(gateway, {"model": "unavailable"}, headers={FAIRNESS: "ann"})
        assert (response.status, said) == (503, b"{}")
        assert (total(gateway, "failed"), total(gateway, "completed")) == (1, 0)


def test_a_request_that_kills_servers_is_not_sent_to_all_of_them(fault: FaultServer) -> None:
    others = [FaultServer() for _ in range(4)]
    with running([fault.url, *(other.url for other in others)], retries=2) as gateway:
        response, said = post(gateway, {"model": "die"})
        assert (response.status, error_of(said)["code"]) == (502, "server_failed")
        assert sum(len(server.got) for server in (fault, *others)) == 1 + 2 + 1
    for other in others:
        other.close()
