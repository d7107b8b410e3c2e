"""Metrics with a bounded number of names, and logs without secrets."""

from __future__ import annotations

import io
import json
import logging
import re
from dataclasses import replace
from http.client import IncompleteRead

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.asking import FAIRNESS, KEY, get, post
from gateway.running import FaultServer, running
from sfq_impl.gateway import logs
from sfq_impl.gateway.metrics import Metrics
from sfq_impl.gateway.naming import IdentitySettings, JwtSettings
from sfq_impl.gateway.reading import Secret

UPSTREAM = "upstream-key-that-nobody-sees"


def test_users_beyond_a_number_share_a_name() -> None:
    metrics = Metrics(3, named=["vip"])
    assert [metrics.label(f"user-{index}") for index in range(4)] == ["user-0", "user-1", "other", "other"]
    assert metrics.label("vip") == "vip"
    assert metrics.label("user-0") == "user-0"


def test_the_page_stays_small_whatever_users_come(fault: FaultServer) -> None:
    with running([fault.url], metrics_users=2) as gateway:
        for index in range(6):
            post(gateway, {"model": "echo"}, headers={FAIRNESS: f"user-{index}"})
        page = get(gateway, "/metrics")[1].decode()
        families = {family.name: family for family in text_string_to_metric_families(page)}
        counts = {
            sample.labels["user"]: sample.value
            for sample in families["sfq_dispatches"].samples
            if sample.name.endswith("_total")
        }
        assert counts == {"user-0": 1, "user-1": 1, "other": 4}
        assert {sample.labels["server"]: sample.value for sample in families["sfq_server_up"].samples} == {
            "server-0": 1
        }
        assert {"sfq_lag", "sfq_wait_seconds", "sfq_waiting_requests", "sfq_in_flight_requests"} <= set(families)
        assert set(re.findall(r'user="([^"]*)"', page)) == {"user-0", "user-1", "other"}


def samples(page: str, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric by its labels."""
    families = text_string_to_metric_families(page)
    return {tuple(s.labels.values()): s.value for family in families for s in family.samples if s.name == name}


def test_what_is_counted_begins_at_zero_so_that_the_first_time_is_seen_to_be_more(fault: FaultServer) -> None:
    with running([fault.url], weights={"vip": 2.0}) as gateway:
        page = get(gateway, "/metrics")[1].decode()
        assert samples(page, "sfq_config_reloads_total") == {("done",): 0, ("refused",): 0}
        assert samples(page, "sfq_server_retries_total") == {("server-0",): 0}
        assert samples(page, "sfq_requests_total") == {
            ("expired", "vip"): 0, ("refused", "vip"): 0,
            ("completed", "vip"): 0, ("failed", "vip"): 0, ("cancelled", "vip"): 0,
        }  # fmt: skip
        assert set(samples(page, "sfq_refusals_total").values()) == {0}
        post(gateway, {"model": "echo"}, headers={FAIRNESS: "ann"})
        page = get(gateway, "/metrics")[1].decode()
        assert samples(page, "sfq_requests_total")["expired", "ann"] == 0


def test_a_user_of_whom_nothing_waits_any_more_is_told_as_zero(fault: FaultServer) -> None:
    with running([fault.url], metrics_users=1) as gateway:
        for user in ("ann", "bob"):
            post(gateway, {"model": "echo"}, headers={FAIRNESS: user})
        gateway.over()
        page = get(gateway, "/metrics")[1].decode()
        for name in ("sfq_waiting_requests", "sfq_waiting_cost", "sfq_in_flight_requests"):
            assert samples(page, name) == {("ann",): 0, ("other",): 0}, name
        assert samples(page, "sfq_lag").keys() == {("ann",), ("other",)}


def test_no_secret_and_no_prompt_is_ever_told(fault: FaultServer) -> None:
    written = io.StringIO()
    identity = IdentitySettings(jwt=JwtSettings(Secret("jwt-" + UPSTREAM), ("HS256",)))
    logs.begin("debug", [Secret(UPSTREAM)], written)
    prompt = "the-prompt-is-private"
    with running([fault.url], identity=identity, retries=0) as gateway:
        headers = {"authorization": f"Bearer {KEY}"}
        for model in ("echo", "die", "unavailable"):
            post(gateway, {"model": model, "prompt": prompt}, headers=headers)
        with pytest.raises(IncompleteRead):
            post(gateway, {"model": "die_in_the_middle", "prompt": prompt}, headers=headers)
        post(gateway, b"{" + prompt.encode())
        post(gateway, {"model": "echo"}, headers={"authorization": "Bearer aaaaaa.bbbbbb.cccccc"})
        logs.tell(logging.ERROR, "careless", what=f"https://x/?key={UPSTREAM}")
        try:
            raise ValueError(UPSTREAM)
        except ValueError:
            logs.log.exception("careless")
        page = get(gateway, "/metrics")[1].decode()
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines].count("request") == 6
    assert any(line.get("user", "").startswith("key-") for line in lines)
    for secret in (KEY, UPSTREAM, prompt, "aaaaaa", "cccccc"):
        assert secret not in written.getvalue()
        assert secret not in page


@pytest.mark.parametrize(
    "secret", ['with "quotes" and \\', "-----BEGIN-----\nof several lines\n-----END-----", "ütf-8 ☃"]
)
def test_a_secret_is_struck_out_however_json_writes_it(secret: str) -> None:
    written = io.StringIO()
    logs.begin("info", [Secret(secret)], written)
    logs.tell(logging.ERROR, "careless", what=f"it is {secret}!")
    [told] = [json.loads(line) for line in written.getvalue().splitlines()]
    assert told["what"] == "it is ***!"


def test_a_secret_within_another_leaves_nothing_of_it() -> None:
    for order in (1, -1):
        written = io.StringIO()
        secrets = [Secret(text) for text in ("abcd", "abcdefgh", "cdef", "efghijkl-abcdefgh")][::order]
        logs.begin("info", secrets, written)
        logs.tell(logging.ERROR, "careless", what="abcdefgh and efghijkl-abcdefgh")
        assert json.loads(written.getvalue())["what"] == "*** and ***"


def test_a_line_of_the_log_tells_what_became_of_a_request(fault: FaultServer) -> None:
    written = io.StringIO()
    logs.begin("info", [], written)
    with running([fault.url]) as gateway:
        headers = {FAIRNESS: "ann", "x-request-id": "mine-1"}
        response, _ = post(gateway, {"model": "echo", "prompt": "x"}, headers=headers)
        assert response.headers["x-request-id"] == "mine-1"
        assert fault.got[0][1]["x-request-id"] == "mine-1"
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    [told] = [line for line in lines if line["event"] == "request"]
    assert told["id"] == "mine-1"
    assert (told["user"], told["source"], told["server"], told["status"]) == ("ann", "header", "server-0", 200)
    assert told["cost"] > 0
    assert 0 <= told["waited"] <= told["took"]


def test_the_keys_of_clients_stay_here_and_the_server_gets_its_own(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        keys = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "cookie": "c=1"}
        post(gateway, {"model": "echo"}, headers=keys)
        settings = gateway.gateway.settings
        server = replace(settings.servers[0], key=Secret(UPSTREAM))
        gateway.loop.call(lambda: gateway.gateway.apply(replace(settings, servers=(server,))))
        post(gateway, {"model": "echo"}, headers={"authorization": f"Bearer {KEY}", "x-kept": "1"})
    first, second = (headers for _, headers, _ in fault.got)
    assert not keys.keys() & first.keys()
    assert KEY not in str(first)
    assert second["authorization"] == f"Bearer {UPSTREAM}"
    assert second["x-kept"] == "1"
