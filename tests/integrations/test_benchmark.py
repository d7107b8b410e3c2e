"""The benchmark of the gateway does the work that it times, and sees what it is to see. No test judges a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import gateway
from benchmarks.fleet import Result
from benchmarks.gateway import Extent, Round
from benchmarks.measures import Goal

TINY = Extent(rounds=1, each=1, waiting=100, waiting_users=10, seconds=8)


def value(results: Sequence[Result], name: str) -> float:
    [found] = [result.value for result in results if result.name == name]
    return found


def test_rounds_are_compared_by_the_median_of_ratios() -> None:
    own = [Round(2, 10, 1), Round(3, 10, 1), Round(90, 10, 1)]
    reference = [Round(1, 10, 2), Round(2, 20, 2), Round(30, 5, 2)]
    told = list(gateway.compared("a / b", reference, own, Goal(1.05), Goal(at_least=0.95)))
    assert value(told, "a / b: median time") == 2
    assert value(told, "a / b: requests a second") == 1
    assert value(told, "a / b: processor time") == 0.5
    assert [result.goal.verdict(result.value) for result in told[:2]] == ["missed", "reached"]


def test_a_part_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gateway.main(["flod"])
    assert "there is no part flod; there are: overhead, thousands, flood" in capsys.readouterr().err


def test_the_audit_of_the_benchmark_tells_fair_from_unfair(tmp_path: Path) -> None:
    flood = [f'{{"event": "arrive", "user": "a", "request": "a{n}", "cost": 9}}' for n in range(9)]
    light = ['{"event": "arrive", "user": "b", "request": "b0", "cost": 1}']
    sent = [f'{{"event": "dispatch", "dispatched": "{request}"}}' for request in [f"a{n}" for n in range(9)] + ["b0"]]
    unfair = tmp_path / "fifo-0001-0001.jsonl"
    unfair.write_text("\n".join(flood + light + sent) + "\n")
    assert not gateway.audited([unfair])["fair_lead"]["holds"]
    named_sfq = unfair.rename(tmp_path / "sfq-0001-0001.jsonl")
    with pytest.raises(AssertionError):
        gateway.audited([named_sfq])


@pytest.mark.integration
def test_all_requests_are_served_at_any_load(tmp_path: Path) -> None:
    told = asyncio.run(gateway.overhead(tmp_path, TINY)) + asyncio.run(gateway.thousands(tmp_path, TINY))
    assert {result.unit for result in told} == {"×", "ms", "/s", "kB", "MB"}
    assert all(result.value > 0 or "memory" in result.name for result in told)
    assert [result.requests for result in told if "memory" in result.name] == [100] * 2


@pytest.mark.integration
def test_under_a_flood_only_sfq_must_be_fair(tmp_path: Path) -> None:
    told = asyncio.run(gateway.flood(tmp_path, TINY))
    assert value(told, "fifo: FAIR-LEAD broken") == 1
    assert value(told, "sfq: FAIR-LEAD broken") == 0
    assert value(told, "sfq: worst lead / two of the largest charges") <= 1
    assert value(told, "sfq: as many times sooner than with fifo") > 2
