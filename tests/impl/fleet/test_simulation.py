"""Thousands of runs of the real dispatcher in any order of tasks, each held against the specification.

FLEET-ONCE, FLEET-METER, FLEET-CAP and FLEET-ORDER; besides, that nothing is left at the end, that whoever is next and
fits is on its way, and that no exception is lost. Dispatchers with a fault in them show that each of this can fail:
some are told from the right one by every `sfq-prove`, all of them here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.simulation.engine import Work
from sfq_impl.fleet.simulation.run import simulate
from sfq_impl.fleet.simulation.scenario import Client, Room, Scenario, Trouble, draw
from sfq_proofs.fleet import replay, simulated
from sfq_proofs.fleet.faults import FAULTS, Fault, planted
from sfq_proofs.fleet.judge import judge
from sfq_proofs.fleet.simulated import CLAIMS, LATE, SEEDS, Seen, first_seed, wrong_seeds
from sfq_spec.trace import encode

CHUNK = 100


@pytest.mark.claims("FLEET-ONCE", "FLEET-METER", "FLEET-CAP", "FLEET-ORDER", "ORDER-WORK")
@pytest.mark.parametrize("first", range(0, 1_000, CHUNK))
def test_whatever_the_order_of_tasks_the_specification_accepts_it(first: int) -> None:
    assert list(wrong_seeds(range(first, first + CHUNK))) == []


@pytest.mark.claims("FLEET-ONCE", "FLEET-METER", "FLEET-CAP", "FLEET-ORDER", "ORDER-WORK")
@pytest.mark.deep
@pytest.mark.parametrize("first", range(1_000, 60_000, 1_000))
def test_whatever_the_order_of_many_more(first: int) -> None:
    assert list(wrong_seeds(range(first, first + 1_000))) == []


@pytest.mark.claims("FLEET-ONCE", "FLEET-CAP")
@pytest.mark.parametrize("policy", ["fifo", "round-robin"])
def test_no_policy_loses_a_request(policy: str) -> None:
    for seed in range(200):
        scenario = replace(draw(seed), policy=policy, mode="stall")  # type: ignore[arg-type]
        found = judge(scenario)[0]
        assert not found, (seed, found[0])


@pytest.mark.integration
def test_what_the_proofs_show_of_a_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can happen does, and each claim holds and can fail."""
    monkeypatch.setattr(simulated, "FAULTS", [fault for fault in FAULTS if fault.name in SHOWN])
    found = simulated.findings()
    assert [(finding.claims, finding.holds) for finding in found] == [((claim,), True) for claim in CLAIMS]
    assert [name for finding in found for name in finding.refuted] == list(SHOWN)


def test_a_search_that_sees_too_little_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "FAULTS", [fault for fault in FAULTS if fault.name in SHOWN])
    monkeypatch.setattr(simulated, "SEEDS", 3)
    found = simulated.findings()
    assert [finding.holds for finding in found] == [False] * len(CLAIMS)
    assert all(finding.says.startswith("too seldom: ") for finding in found)


SHOWN = (
    "ends a request that ended",
    "charges again for a move",
    "has room for one more",
    "does not write down who expired",
    "lets nobody go when a room is free",
)
"""One fault for each claim."""


@pytest.mark.parametrize("name", SHOWN)
def test_what_the_proofs_show_of_a_faulty_fleet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == name]
    monkeypatch.setattr(simulated, "SEEDS", 20)
    monkeypatch.setattr(simulated, "FAULTS", [fault])
    with planted(fault) as make:
        monkeypatch.setattr(simulated, "judge", lambda scenario, make=make: judge(scenario, make))
        found = {finding.claims[0]: finding for finding in simulated.findings()}
    assert not found[fault.claim].holds
    assert found[fault.claim].says.startswith(f"{fault.claim}: ")


def test_what_happens_too_seldom_is_told() -> None:
    seen, every = Seen(), simulated.OFTEN
    assert seen.lacking(1) == list(every)
    seen.counts.update(dict.fromkeys(every, 5))
    assert seen.lacking(5) == []
    seen.counts["moved"] -= 1
    assert seen.lacking(5) == ["moved"]


@pytest.mark.claims("FLEET-ONCE", "FLEET-METER", "FLEET-CAP", "FLEET-ORDER", "ORDER-WORK")
@pytest.mark.integration
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_faulty_dispatcher_is_noticed(fault: Fault) -> None:
    seed = first_seed(fault, 2_000)
    assert seed is not None, f"{fault.name}: not noticed in 2,000 runs"
    assert seed < SEEDS or fault.name in LATE, f"{fault.name}: noticed at seed {seed}, too late for the proofs"


def test_a_fault_that_cannot_be_planted_is_an_error() -> None:
    fault = Fault("x", "fleet/dispatcher", "no such text", "", "FLEET-ONCE")
    with pytest.raises(ValueError, match="0 times"), planted(fault):
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


@pytest.mark.claims("FLEET-ONCE", "FLEET-METER", "FLEET-CAP", "FLEET-ORDER", "ORDER-WORK")
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
        assert any(fault.is_told(judge(scenario, make)[0]) for scenario in scenarios)


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


def test_a_run_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main(["19"]) == 0
    said = capsys.readouterr().out
    assert "client" in said
    assert '"event":"dispatch"' in said
    assert "WRONG" not in said


def test_a_run_that_is_wrong_is_told_with_the_way_to_see_it_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == "ends a request that ended"]
    with planted(fault) as make:
        monkeypatch.setattr(simulated, "judge", lambda scenario: judge(scenario, make))
        monkeypatch.setattr(replay, "judge", lambda scenario: judge(scenario, make))
        assert replay.main(["0", "2"]) == 1
        wrong = capsys.readouterr().out
        assert "replay: python -m sfq_proofs.fleet.replay 1\n" in wrong
        assert wrong.endswith(" of 3 runs are wrong\n")
        assert replay.main(["1"]) == 1
        assert "WRONG FLEET-ONCE: " in capsys.readouterr().out


def test_an_exception_out_of_a_change_is_told() -> None:
    class Breaks(Dispatcher):
        def set_weight(self, user: str, weight: float) -> None:
            raise KeyError(user)

    scenario = replace(SMALL["all at once"], troubles=(Trouble(3, "weigh", 0, 2.0),))
    assert judge(scenario)[0] == []
    assert judge(scenario, Breaks)[0] == ["FLEET-ONCE: step 3: weigh: KeyError('A')"]
