"""The dashboard and the alerts: they ask for metrics and labels that a gateway exports, and leave none out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gateway.asking import FAIRNESS, begun, get, post
from gateway.running import FaultServer, running
from integrations.page import PAGE
from prometheus import promtool
from sfq_impl.gateway.config import RecordSettings, ShadowSettings

FOLDER = PAGE.parent / "dashboards"
DASHBOARD, ALERTS = FOLDER / "sfq-gateway.json", FOLDER / "alerts.yaml"
TESTS = Path(__file__).with_name("alerts_test.yaml")
OF_PROMETHEUS = {"job", "instance"}
"""Labels that a scrape adds."""
LEFT_OUT = {"sfq_virtual_time"}
"""What no panel shows: it only grows."""


def told(what: dict[str, Any]) -> list[str]:
    """The expressions of a dashboard."""
    return [target["expr"] for panel in what["panels"] for target in panel["targets"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return found


def rules() -> list[dict[str, Any]]:
    read = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    return [rule for group in read["groups"] for rule in group["rules"]]


def metrics(expression: str) -> set[str]:
    return set(re.findall(r"\bsfq_\w+", expression))


def labels(expression: str) -> set[str]:
    """Those that are matched, and those that are grouped by."""
    matched = re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", expression)
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    return set(matched) | {label.strip() for group in grouped for label in group.split(",")}


def both(folder: Path) -> dict[str, Any]:
    """The settings with which a gateway has all its metrics."""
    return {"record": RecordSettings(folder / "own"), "shadow": ShadowSettings(folder / "divergences")}


@pytest.fixture
def page(fault: FaultServer, tmp_path: Path) -> dict[str, set[str]]:
    """The metrics of a gateway at work, as Prometheus knows them, with their labels."""
    with running([fault.url], requests=1, **both(tmp_path), retries=0) as gateway:
        post(gateway, {"model": "echo"}, headers={FAIRNESS: "ann"})
        with begun(gateway, {"model": "hang"}), begun(gateway, {"model": "echo"}):
            gateway.eventually(lambda: gateway.in_flight == gateway.waiting == 1)
            during = get(gateway, "/metrics")[1].decode()
        post(gateway, {"model": "die"}, headers={FAIRNESS: "ann"})
        gateway.gateway.metrics.reloads.labels("done").inc()
        gateway.gateway.metrics.refusals.labels("ann", "queue_full").inc()
        gateway.gateway.metrics.tokens.labels("ann", "input").inc()
        after = get(gateway, "/metrics")[1].decode()
    found = dict[str, set[str]]()
    for figures in (during, after):
        for family in text_string_to_metric_families(figures):
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
    assert len(found) > 15
    return found


def unknown(expressions: Iterator[str] | list[str], page: dict[str, set[str]]) -> set[str]:
    """What expressions ask for and the gateway does not have."""
    absent = set[str]()
    for expression in expressions:
        names = metrics(expression)
        known = OF_PROMETHEUS.union(*(page.get(name, set()) for name in names))
        absent |= (names - set(page)) | (labels(expression) - known)
    return absent


def test_the_dashboard_asks_for_what_there_is(page: dict[str, set[str]]) -> None:
    expressions = told(dashboard())
    assert len(expressions) > 20
    assert unknown(expressions, page) == set()


def test_the_dashboard_leaves_nothing_out(page: dict[str, set[str]]) -> None:
    shown = {re.sub("_bucket$", "", name) for expression in told(dashboard()) for name in metrics(expression)}
    there = {re.sub("_(bucket|sum|count)$", "", name) for name in page}
    assert there - shown == LEFT_OUT


def test_the_alerts_ask_for_what_there_is(page: dict[str, set[str]]) -> None:
    assert len(rules()) > 5
    assert unknown([rule["expr"] for rule in rules()], page) == set()


def test_variables_and_panels_are_whole() -> None:
    what = dashboard()
    variables = {variable["name"] for variable in what["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text(encoding="utf-8")))
    assert used - {"__rate_interval", "__all"} == variables
    assert len({panel["id"] for panel in what["panels"]}) == len({panel["title"] for panel in what["panels"]}) > 10
    places = [panel["gridPos"] for panel in what["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    squares = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(squares) == len(set(squares))


def test_what_is_not_there_is_found(page: dict[str, set[str]]) -> None:
    wrong = ['sum by (client) (rate(sfq_dispatches_total{users="x"}[5m]))', "sfq_dispatches", "sfq_wait_seconds_bucket"]
    assert unknown(wrong, page) == {"client", "users", "sfq_dispatches"}


def test_every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    read = yaml.safe_load(TESTS.read_text(encoding="utf-8"))
    calm = {each["alertname"] for each in read["tests"][0]["alert_rule_test"]}
    [gone] = [each["alertname"] for each in read["tests"][1]["alert_rule_test"]]
    [asked] = read["tests"][2]["promql_expr_test"]
    firing = {re.findall('"(.*)"', sample["labels"])[0] for sample in asked["exp_samples"]} | {gone}
    assert {rule["alert"] for rule in rules()} == calm == firing


@pytest.mark.integration
@pytest.mark.parametrize("command", [("check", "rules", str(ALERTS)), ("test", "rules", str(TESTS))])
def test_promtool_takes_the_alerts(command: tuple[str, ...]) -> None:
    ran = promtool(*command)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "SUCCESS" in ran.stdout


@pytest.mark.integration
def test_promtool_takes_every_expression_of_the_dashboard_and_no_other(tmp_path: Path) -> None:
    def taken(expressions: list[str]) -> bool:
        asked = [{"record": f"asked:{number}", "expr": expression} for number, expression in enumerate(expressions)]
        path = tmp_path / "rules.yaml"
        path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": asked}]}))
        return promtool("check", "rules", str(path)).returncode == 0

    expressions = [re.sub(r"\$__rate_interval", "5m", expression) for expression in told(dashboard())]
    assert taken(expressions)
    assert not taken([expressions[0] + ")"])


@pytest.mark.integration
def test_promtool_takes_the_metrics(fault: FaultServer) -> None:
    with running([fault.url]) as gateway:
        post(gateway, {"model": "echo"})
        figures = get(gateway, "/metrics")[1].decode()
    ran = promtool("check", "metrics", given=figures)
    assert ran.returncode == 0, ran.stdout + ran.stderr
