"""The benchmarks do the work that they time, and show what they found. No test looks at how long anything took."""

from __future__ import annotations

import json
import random
from functools import partial

import pytest

from benchmarks import main, rivals, workloads
from benchmarks.measures import STEPS, Extent, Goal, Result, measure
from benchmarks.timing import Work, compare
from sfq_impl.heap import HeapScheduler

TINY = Extent(sizes=(2, 10, 1_000), rival_sizes=(3,), steps=50, repetitions=2, passers_by=300)


@pytest.mark.parametrize("make", [rivals.OnHeap, *rivals.STRUCTURES.values()])
def test_the_other_structures_do_the_same_work(make: type[rivals.Rival]) -> None:
    rng, other, own = random.Random(3), make(), HeapScheduler()
    for number in range(2_000):
        for scheduler in (other, own):
            scheduler.arrive(f"u{number * 7 % 6}", str(number), number % 4 + 1)
        for _ in range(rng.choice([0, 0, 1, 2, 2])):
            mine, theirs = own.dispatch(), other.dispatch()
            assert (mine and mine.request) == (theirs and theirs.request)
    assert own.requests_in_flight > 1_900


@pytest.mark.parametrize("server", rivals.SIMULATED.values(), ids=rivals.SIMULATED)
def test_the_simulators_serve_all(server: type) -> None:
    assert workloads.all_at_once_simulated(partial(rivals.served_by_ns, server), users=3, steps=60).run() > 0


def test_a_simulator_that_stops_is_noticed() -> None:
    with pytest.raises(AssertionError, match="59 of 60"):
        workloads.all_at_once_simulated(lambda users, costs: len(costs) - 1, users=3, steps=60).run()


@pytest.mark.parametrize("name", STEPS)
def test_as_many_wait_after_a_workload_as_before(name: str) -> None:
    kind, _ = STEPS[name]
    made: list[HeapScheduler] = []

    def make() -> HeapScheduler:
        made.append(HeapScheduler())
        return made[-1]

    work = kind(make, 10, 200)
    before = made[0].waiting_requests
    for _ in range(3):
        assert work.run() > 0
    assert made[0].waiting_requests == before
    assert made[0].virtual_time > 1_000
    assert made[0].requests_in_flight <= 20


def test_a_goal_has_a_verdict() -> None:
    step = Goal(at_most=2.5, alarm=3.0)
    assert [step.verdict(value) for value in (2.5, 2.6, 3.1)] == ["reached", "missed", "alarm"]
    assert [Goal(at_least=5).verdict(value) for value in (5, 4.9)] == ["reached", "missed"]
    assert (Goal().verdict(9), str(Goal()), str(step), str(Goal(at_least=5))) == ("reported", "", "≤ 2.5", "≥ 5")


def test_a_comparison_takes_the_median_of_ratios() -> None:
    own, other = iter([30, 500, 40, 60, 50]), iter([1, 1, 1, 1, 1])
    timed = compare(Work(10, lambda: next(own)), Work(1, lambda: next(other)), 5)
    assert (timed.ratio, timed.nanoseconds, timed.spread) == (5.0, 5.0, 1.0)


@pytest.mark.integration
def test_results_are_shown_with_their_goals(capsys: pytest.CaptureFixture[str]) -> None:
    results = [told for told in measure(TINY) if isinstance(told, Result)]
    assert {result.verdict for result in results} >= {"reached", "reported"}
    main.show(results, TINY)
    shown = capsys.readouterr().out
    for expected in (
        "backlogged",
        "churn: waves",
        "≤ 2.5",
        "1,000",
        "ns.py WFQ",
        "SFQ on pqdict",
        "records kept",
        "growth",
    ):
        assert expected in shown
    entries = json.loads(json.dumps([main.as_json(result) for result in results]))
    assert all({"measure", "users", "value", "goal", "verdict"} <= set(entry) for entry in entries)


@pytest.mark.integration
def test_the_command_ends_well_whatever_it_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "QUICK", TINY)
    assert main.main(["--quick", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)[0]["measure"] == "backlogged"
    assert "bench: backlogged, 2 users" in told.err
