"""Three of the methods against a simulator of networks, ns.py 0.5.0, that was written by others (`make oracle`).

The simulator has one link and no dispatches, so it says nothing about withdrawals, new weights or several servers. It
counts in floats: weights and times are such that these are exact, but for the virtual time of WFQ. Where the tags of
two users are equal the simulator takes the one that came first, and the models the lesser name: a scenario is compared
until then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from networks import USERS, Call, Weights, draw_calls, runs, serve
from sfq_spec.related.drr import Drr, Visits
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.tagged import least
from sfq_spec.related.virtual_clock import Clocks, VirtualClock
from sfq_spec.related.wfq import Wfq
from sfq_spec.related.wfq_packet_active import Active, WfqPacketActive

CHECKOUT = Path(__file__).resolve().parents[2]
ORACLE = CHECKOUT / "build/oracle"
QUANTUM = 1_500
"""Of DRR in the simulator, for a user of least weight."""
RATE = Fraction(1, 4)
"""Reserved for a weight of 1, of the link's 1: with four users of weights up to 4 it is too much for all."""


class Scenario(NamedTuple):
    """What comes to the link, and the weights."""

    calls: Sequence[Call]
    weights: Weights


def draw(chance: Random) -> Scenario:
    """Bursts of small, large and huge requests; weights of which the simulator's divisions are exact."""
    costs = (1, 40, 333, 750, 1_000, 1_499, 1_501, 4_000, 9_999)
    calls = draw_calls(chance, 8, [cost + chance.randint(0, 97) for cost in costs])
    stretch = chance.choice((1, 100, 1_000))
    calls = [call._replace(time=call.time * stretch) for call in calls]
    return Scenario(calls, {user: Fraction(chance.choice((1, 1, 2, 4))) for user in USERS})


Oracle = Callable[[str, Sequence[Scenario]], list[list[int]]]
"""What the simulator serves by a method in each scenario."""


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    """The simulator. Where it is required it is an error that it is absent."""
    if not (ORACLE / "ns").is_dir():
        absent = "the simulator is not in build/oracle: make oracle puts it there"
        pytest.fail(absent) if os.environ.get("SFQ_ORACLE") == "required" else pytest.skip(absent)

    def order(method: str, scenarios: Sequence[Scenario]) -> list[list[int]]:
        told = [
            {
                "method": method,
                "rate": float(RATE),
                "weights": {user: int(weight) for user, weight in scenario.weights.items()},
                "calls": [(float(call.time), call.user, int(call.cost)) for call in scenario.calls],
            }
            for scenario in scenarios
        ]
        command = [sys.executable, str(Path(__file__).with_name("serve.py")), str(ORACLE)]
        ran = subprocess.run(command, input=json.dumps(told), capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        served: list[list[int]] = json.loads(ran.stdout)
        return served

    return order


class Compared(NamedTuple):
    """How many dispatches were compared, and in how many scenarios they differ."""

    dispatches: int
    different: int


Model = Callable[[Scenario], Method[Any]]
Tag = Callable[[Situation[Any], Job], Fraction]


@dataclass
class Clear:
    """Counts the dispatches before the first choice among equal tags."""

    tag: Tag | None
    """None for a method that has no tags."""
    dispatches: int = 0
    equal: bool = False

    def choose(self, at: Situation[Any]) -> None:
        """A dispatch is about to be made."""
        tags = [self.tag(at, at.head(user)) for user in at.queues] if self.tag else []
        self.equal = self.equal or tags.count(min(tags, default=Fraction(0))) > 1
        self.dispatches += not self.equal


def compare(oracle: Oracle, name: str, model: Model, scenarios: Sequence[Scenario]) -> Compared:
    """The order of a model, up to the first choice among equal tags, against that of the simulator."""
    dispatches = different = 0
    for scenario, order in zip(scenarios, oracle(name, scenarios), strict=True):
        method = model(scenario)
        clear = Clear(getattr(method, "tag", None))
        sent = [sent.call for sent in serve(method, scenario.calls, scenario.weights, before=clear.choose)]
        assert sorted(order) == sorted(sent)
        dispatches += clear.dispatches
        different += order[: clear.dispatches] != sent[: clear.dispatches]
    return Compared(dispatches, different)


def drr(scenario: Scenario) -> Drr:
    """The simulator gives its quantum to the least weight, whatever that is."""
    return Drr(QUANTUM / min(scenario.weights.values()))


@pytest.mark.parametrize(
    ("name", "model"),
    [("drr", drr), ("virtual-clock", lambda _: VirtualClock(RATE)), ("wfq", lambda _: WfqPacketActive())],
    ids=["drr", "virtual clock", "packet-active wfq"],
)
def test_the_model_serves_as_the_simulator_does(oracle: Oracle, name: str, model: Model) -> None:
    scenarios = [draw(chance) for chance in runs(20)]
    compared = compare(oracle, name, model, scenarios)
    assert compared.different == 0
    assert compared.dispatches > 10 * len(scenarios)


@dataclass(frozen=True)
class JoinsFirst(Drr):
    """Wrong: whoever joins is visited next."""

    def arrive(self, at: Situation[Visits], job: Job) -> Visits:
        s = at.state
        if not at.joins(job) or not s.ring:
            return super().arrive(at, job)
        return replace(s, ring=(s.ring[0], job.user, *s.ring[1:]))


@dataclass(frozen=True)
class SizeBlind(VirtualClock):
    """Wrong: tags do not depend on costs."""

    def tag(self, at: Situation[Clocks], job: Job) -> Fraction:
        return at.state.stamps.tag(replace(job, cost=Fraction(1_000)), self.rate * at.weight(job.user))


@dataclass(frozen=True)
class ByStart(WfqPacketActive):
    """Wrong: the least start tag."""

    def dispatch(self, at: Situation[Active]) -> tuple[Active, Job]:
        s, _ = super().dispatch(at)
        job = least(at, lambda job: self.tag(at, job) - job.cost / at.weight(job.user))
        return replace(s, stamps=at.state.stamps.send(job, self.tag(at, job))), job


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("drr", lambda scenario: JoinsFirst(QUANTUM / min(scenario.weights.values()))),
        ("drr", lambda _: Drr(Fraction(QUANTUM + 1))),
        ("virtual-clock", lambda _: SizeBlind(RATE)),
        ("virtual-clock", lambda _: VirtualClock(2 * RATE)),
        ("wfq", lambda _: ByStart()),
        ("wfq", lambda _: Wfq()),
    ],
    ids=["drr joins first", "drr quantum", "clock size-blind", "clock rate", "wfq by start", "wfq by the fluid"],
)
def test_the_comparison_finds_another_rule(oracle: Oracle, name: str, model: Model) -> None:
    assert compare(oracle, name, model, [draw(chance) for chance in runs(4)]).different > 0
