"""Machine and heap scheduler through every order of events of small worlds, and what that finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_proofs.scheduler.faults import COMMON, WAYS, Fault, plant, slack
from sfq_proofs.scheduler.implementation import FOUND, kills, scheduler
from sfq_proofs.scheduler.refinement import beside, explore
from sfq_proofs.scheduler.worlds import DEEP, WARM_UP, WORLDS, World
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import Arrive, Dispatch, Event

CHEAPEST_FIRST = (
    replace(WORLDS[0], deepest=3),
    *(world for world in WORLDS[1:] if world.name != "3 users"),
    WORLDS[3],
    replace(WORLDS[0], deepest=5),
)


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_there_is_no_difference(world: World) -> None:
    found = explore(world, scheduler(world))
    assert found.difference == ""
    assert found.run == ()
    assert found.states > 300
    assert found.longest_run == world.deepest or (world.deepest is None and found.longest_run > 10)
    assert found.most_waiting == world.users


@pytest.mark.integration
@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("fault", COMMON, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    """By some world; and the run that shows it, played from the start, shows it too."""
    found = next(found for world in CHEAPEST_FIRST if (found := kills(world, fault)).difference)
    _, difference = beside(plant(fault, slack(found.world.slack))(), found.run)
    assert difference
    assert beside(HeapScheduler(), found.run)[1] == ""


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.deep
@pytest.mark.parametrize("world", DEEP, ids=lambda world: world.name)
def test_there_is_no_difference_in_larger_worlds(world: World) -> None:
    found = explore(world, scheduler(world))
    assert found.difference == ""
    assert found.steps > 60_000


def test_every_world_has_faults_that_only_it_must_find() -> None:
    assert set(FOUND) == {world.name for world in WORLDS}


def test_a_world_that_is_cut_off_has_fewer_states() -> None:
    world = WORLDS[1]
    shorter = explore(replace(world, deepest=4), scheduler(world))
    assert 1 < shorter.states < explore(world, scheduler(world)).states


def test_a_search_begins_where_it_says() -> None:
    machine = Machine()
    for event in WARM_UP:
        machine, _ = answer(machine, event)
    s = HeapScheduler()
    state, difference = beside(s, WARM_UP)
    assert difference == ""
    assert state.competition.v == machine.competition.v == 16
    assert [s._origin, s._virtual] == [11, 5]


def test_a_run_keeps_the_ids_of_its_requests() -> None:
    """In the search a request is named by its place; in the run it keeps one id, and no id comes twice."""
    world = CHEAPEST_FIRST[-1]
    found = kills(world, next(fault for fault in COMMON if fault.name == "withdrawn requests pile up"))
    arrived = [event.request for event in found.run if isinstance(event, Arrive)]
    assert len(arrived) == len(set(arrived)) > 3
    assert beside(HeapScheduler(), found.run)[1] == ""


def test_a_scheduler_that_raises_is_found() -> None:
    class Raising(HeapScheduler):
        def dispatch(self) -> None:
            raise KeyError("somebody")

    run: list[Event] = [Dispatch()]
    assert "KeyError" in beside(Raising(), run)[1]


def test_the_page_says_how_many_faults_each_way_finds() -> None:
    """Which they are is checked way by way, here and in the other tests of IMPL-REFINE."""
    page = (Path(__file__).resolve().parents[2] / "docs/refinement.md").read_text(encoding="utf-8")
    assert len(COMMON) >= 30
    for way, survivors in WAYS.items():
        assert survivors.keys() <= {fault.name for fault in COMMON}
        assert f"| {way} | {len(COMMON) - len(survivors)} of {len(COMMON)} |" in page


def test_a_fault_that_is_no_longer_in_the_source_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no longer in heap\.py"):
        plant(Fault("stale", "heap", "no such text", ""))
