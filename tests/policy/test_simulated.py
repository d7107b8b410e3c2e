"""The policies in the real dispatcher, in whatever order tasks run, before servers that fail and clients that go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sfq_impl.fleet.policy import Policy
from sfq_impl.fleet.simulation import run
from sfq_impl.fleet.simulation.scenario import Scenario, draw
from sfq_impl.policy.configuration import TYPES, made
from sfq_impl.policy.interfaces import SECOND
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_proofs.fleet.judge import judge

SEEDS = 60


@pytest.mark.parametrize("type", TYPES)
def test_no_request_is_lost_and_none_ends_twice(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SFQ is held against the specification besides, dispatch by dispatch."""
    policies: list[QueuePolicy] = []

    def policy(scenario: Scenario) -> Policy:
        clock = lambda: len(policies) * SECOND  # noqa: E731
        policies.append(QueuePolicy(made(type, clock=clock), clock=clock))
        return policies[-1]

    monkeypatch.setattr(run, "_policy", policy)
    name: Any = "sfq" if type == "sfq-fairness" else "round-robin"
    for seed in range(SEEDS):
        found = judge(replace(draw(seed), policy=name, mode="stall"))[0]
        assert not found, (seed, found[0])
    assert len(policies) >= SEEDS
    for each in policies:
        fairness: Any = each.fairness
        assert not each._items
        assert not each._in_flight
        assert not getattr(fairness, "_flying", ())
        assert not getattr(fairness, "waiting", ())
        assert all(program.in_flight == 0 for program in getattr(fairness, "programs", {}).values())


def test_another_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_policy", lambda scenario: QueuePolicy(made("global-strict-fairness")))
    assert any(judge(replace(draw(seed), policy="sfq", mode="stall"))[0] for seed in range(SEEDS))
