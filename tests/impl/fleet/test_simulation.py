"""Thousands of runs of the real dispatcher in any order of tasks, each held against the specification.

FLEET-ONCE, FLEET-METER, FLEET-CAP and FLEET-ORDER; besides, that nothing is left at the end, that whoever is next and
fits is on its way, and that no exception is lost. Dispatchers with a fault in them show that each of this can fail.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from impl.fleet.faults import FAULTS, Fault, planted
from impl.fleet.replay import told, wrong
from impl.fleet.shadow import judge
from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.simulation.engine import Work
from sfq_impl.fleet.simulation.run import simulate
from sfq_impl.fleet.simulation.scenario import Client, Room, Scenario, Trouble, draw
from sfq_spec.trace import encode

CHUNK = 100


@pytest.mark.parametrize("first", range(0, 1_000, CHUNK))
def test_whatever_the_order_of_tasks_the_specification_accepts_it(first: int) -> None:
    found = [said for seed in range(first, first + CHUNK) if (said := wrong(seed))]
    assert not found, found[0]


@pytest.mark.deep
@pytest.mark.parametrize("first", range(1_000, 60_000, 1_000))
def test_whatever_the_order_of_many_more(first: int) -> None:
    found = [said for seed in range(first, first + 1_000) if (said := wrong(seed))]
    assert not found, found[0]


@pytest.mark.parametrize("policy", ["fifo", "round-robin"])
def test_no_policy_loses_a_request(policy: str) -> None:
    for seed in range(200):
        scenario = replace(draw(seed), policy=policy, mode="stall")  # type: ignore[arg-type]
        found = judge(scenario)[0]
        assert not found, (seed, found[0])


def test_all_that_can_happen_does() -> None:
    fates, kinds, endings = Counter[str](), Counter[str](), Counter[object]()
    overtaken = moved = 0
    for seed in range(400):
        _, shadow, result = judge(draw(seed))
        fates.update(result.fates.values())
        kinds.update(entry.event.__struct_config__.tag for entry in result.trace.entries)  # type: ignore[misc]
        endings.update(entry.extra.get("ended") for entry in result.trace.entries)
        overtaken += shadow.overtaken
        moved += sum("moved" in entry.extra for entry in result.trace.entries)
    assert all(fates[name] > 10 for name in ("completed", "failed", "cancelled"))
    assert all(fates[name] > 10 for name in ("Expired", "QueueFull", "NoServer", "ShuttingDown"))
    assert all(kinds[name] > 50 for name in ("arrive", "dispatch", "cancel", "complete", "weight"))
    assert all(endings[name] > 10 for name in ("cancelled", "expired", "refused"))
    assert overtaken > 50
    assert moved > 50


@pytest.mark.integration
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_faulty_dispatcher_is_noticed(fault: Fault) -> None:
    with planted(fault) as make:
        for seed in range(2_000):
            if any(fault.shows in said for said in judge(draw(seed), make)[0]):
                return
    pytest.fail(f"{fault.name}: not noticed in 2,000 runs")


def test_a_fault_that_cannot_be_planted_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 times"), planted(Fault("x", "fleet/dispatcher", "no such text", "")):
        pass


SMALL = {
    "all at once": Scenario(
        1, tuple(Client(0, user, 1, Work(1, 1), 5, 0) for user in "AAB"), (Room("s0", 1, None),), Limits(wait=None)
    ),
    "a server dies": Scenario(
        2,
        tuple(Client(0, user, 1, Work(1, 4, 1), 5, 3) for user in "ABB"),
        (Room("s0", 1, None), Room("s1", 1, None)),
        Limits(wait=1.0),
        troubles=(Trouble(12, "die", 0), Trouble(40, "revive", 0)),
    ),
    "the only server dies": Scenario(
        3,
        tuple(Client(0, user, 1, Work(1, 4, 1), 5, 3) for user in "AB"),
        (Room("s0", 1, None),),
        Limits(wait=0.5),
        troubles=(Trouble(8, "die", 0),),
    ),
    "others overtake": Scenario(
        4,
        (Client(0, "B", 1, Work(20, 20), 5, 0), *(Client(0, user, 1, Work(40, 40), 5, 0) for user in "AA"),
         Client(0, "C", 1, Work(10, 10), 5, 0)),
        (Room("s0", 4, 100),),
        Limits(wait=0.6),
        mode="overtake",
    ),
    "it is closed": Scenario(
        5,
        tuple(Client(0, user, 1, Work(1, 4), 5, 1) for user in "AAB"),
        (Room("s0", 1, None),),
        Limits(wait=None),
        troubles=(Trouble(10, "die", 0), Trouble(13, "close", 0, 0.01)),
    ),
}  # fmt: skip


def at_every_step(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario again, with one client going before each step in turn."""
    for shuffle in (False, True):
        for step in range(1, simulate(scenario).loop.steps + 1):
            for which in range(len(scenario.clients)):
                trouble = Trouble(step, "disconnect", which)
                yield replace(scenario, shuffle=shuffle, troubles=(*scenario.troubles, trouble))


@pytest.mark.integration
@pytest.mark.parametrize("name", SMALL)
def test_a_client_may_go_at_every_await(name: str) -> None:
    runs = 0
    for scenario in at_every_step(SMALL[name]):
        found = judge(scenario)[0]
        assert not found, (scenario, found[0])
        runs += 1
    assert runs > 50


AT_AN_AWAIT = (
    "forgets the room of who is cancelled at its turn",
    "sets the result of a turn that was cancelled",
    "swallows a cancellation",
    "loses the new room of who is cancelled",
)


@pytest.mark.parametrize("name", AT_AN_AWAIT)
def test_a_fault_at_an_await_is_found_there(name: str) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == name]
    with planted(fault) as make:
        scenarios = (one for small in SMALL.values() for one in at_every_step(small))
        assert any(fault.shows in said for scenario in scenarios for said in judge(scenario, make)[0])


def trace(seed: int) -> bytes:
    return b"".join(map(encode, simulate(draw(seed)).trace.entries))


def test_a_seed_replays() -> None:
    for seed in range(50):
        assert trace(seed) == trace(seed)
    assert len({trace(seed) for seed in range(50)}) > 45


def test_a_seed_replays_in_another_process() -> None:
    source = "import sys; from sfq_impl.fleet.simulation.run import simulate\n"
    source += "from sfq_impl.fleet.simulation.scenario import draw\n"
    source += "for seed in range(50): sys.stdout.buffer.write(simulate(draw(seed)).trace.lines)"
    digests = {hashlib.sha256(b"".join(map(trace, range(50)))).hexdigest()}
    for number in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", source],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": number},
            cwd=Path(__file__).parent,
        )
        digests.add(hashlib.sha256(ran.stdout).hexdigest())
    assert len(digests) == 1


def test_the_order_of_tasks_matters() -> None:
    differ = sum(trace(seed) != b"" and _other_order(seed) != trace(seed) for seed in range(60))
    assert differ > 15


def _other_order(seed: int) -> bytes:
    scenario = draw(seed)
    return simulate(replace(scenario, shuffle=not scenario.shuffle)).trace.lines


def test_a_run_is_told_in_full() -> None:
    said = told(draw(19))
    assert "client" in said
    assert '"event":"dispatch"' in said
    assert "WRONG" not in said
