"""What the tests of the original check, as scenarios here, in the mode that each is about."""

from __future__ import annotations

from typing import Any

import pytest

from sfq_impl.fleet.policy import Usage
from sfq_impl.policy.attained import best, jains_index, normal, waited, weighted_tokens
from sfq_impl.policy.configuration import made
from sfq_impl.policy.identity import DEFAULT_ID
from sfq_impl.policy.interfaces import SECOND, FlowKey, InferenceRequest, Response
from sfq_impl.policy.program import Program, fairness_index
from sfq_impl.policy.program_aware import ENQUEUE_TIME, ProgramAwareFairness
from sfq_impl.policy.queues import Item, PriorityBand
from sfq_proofs.related.las_play import Clock, program_aware

MODES = ("none", "development-2026-08", "release-0.10")
BY_CLOCK = ("none", "development-2026-08")
every_mode = pytest.mark.parametrize("mode", MODES)
by_clock = pytest.mark.parametrize("mode", BY_CLOCK)


# The strategy.


@every_mode
def test_less_service_is_preferred(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.attain(A=1000, B=10)
    play.arrive("A1", "B1")
    assert play.send(2) == "B1 A1"


@every_mode
def test_with_equal_service_the_longer_wait_of_the_head(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.arrive("B1")
    play.clock.after(0.45)
    play.arrive("A1")
    play.clock.after(0.05)
    assert play.send(2) == "B1 A1"


@by_clock
def test_idle_for_ten_half_lives_beats_fresh_service(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.attain(A=1000)
    play.clock.at(600)
    play.attain(B=10)
    assert play.service("A") == pytest.approx(1000 / 1024)
    play.arrive("B1", "A1")
    assert play.send(2) == "A1 B1"


@every_mode
def test_where_nothing_counts_the_least_id_goes(mode: str) -> None:
    """Both weights may be zero; the original then leaves everything to chance."""
    play = program_aware(compatibility=mode, lasWeightService=0, lasWeightHeadWait=0)
    play.attain(A=1000)
    play.arrive("C1", "B1")
    play.clock.after(1)
    play.arrive("A1")
    assert play.send(3) == "A1 B1 C1"


@every_mode
def test_an_empty_queue_makes_no_candidate(mode: str) -> None:
    play = program_aware(compatibility=mode)
    band = PriorityBand(0)
    assert play.fairness.pick(band) is None
    item = Item(InferenceRequest("A1", "A"), 0, FlowKey("A"))
    band.push(item)
    band.remove(item, 0)
    assert len(list(band.queues())) == 1
    assert play.fairness.pick(band) is None
    assert play.service("A") == 0


@every_mode
def test_the_cost_of_a_request(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.arrive("A1")
    play.send()
    play.complete("A1", tokens=(100, 50))
    assert play.service("A") == 200


@every_mode
def test_nothing_at_all_does_nothing(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.fairness.pre_request(None)
    play.fairness.response_body(None, Response(True))
    play.fairness.response_body(InferenceRequest("x", "A"), None)
    assert play.fairness.pick(None) is None
    assert play.fairness.programs == {}


@by_clock
def test_one_half_life_halves(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.attain(A=100)
    play.clock.at(60)
    assert play.service("A") == 50


@by_clock
def test_without_a_half_life_nothing_decays(mode: str) -> None:
    play = program_aware(compatibility=mode, lasHalfLifeSeconds=0)
    play.attain(A=100)
    play.clock.at(3600)
    assert play.service("A") == 100


@by_clock
def test_what_is_added_after_a_half_life(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.attain(A=100)
    play.arrive("A1")
    play.send()
    play.clock.at(60)
    play.complete("A1", tokens=(10, 0))
    assert play.service("A") == 60


@every_mode
def test_who_is_evicted_starts_anew(mode: str) -> None:
    play = program_aware(compatibility=mode, evictionTtlSeconds=1, evictionSweepSeconds=1)
    play.attain(A=100)
    play.clock.at(10)
    play.fairness.advance(play.clock.now)
    assert play.service("A") == 0
    assert play.fairness.programs == {}


@every_mode
def test_whose_queue_a_pick_makes_known(mode: str) -> None:
    """The release comes by every registered queue, the development version only by those in which somebody waits."""
    play = program_aware(compatibility=mode)
    band = PriorityBand(0)
    for id in "AB":
        band.push(Item(InferenceRequest(f"{id}1", id), 0, FlowKey(id)))
    [empty, _] = band.queues()
    head = empty.peek()
    assert head is not None
    band.remove(head, 0)
    play.fairness.pick(band)
    known = {"none": set(), "development-2026-08": {"B"}, "release-0.10": {"A", "B"}}
    assert set(play.fairness.programs) == known[mode]


def test_places_in_a_range() -> None:
    assert normal(5, 5, 0) == 0.5
    assert (normal(0, 0, 10), normal(10, 0, 10), normal(2.5, 0, 10)) == (0, 1, 0.25)


def test_the_release_decays_an_idle_queue_at_each_pick() -> None:
    play = program_aware(compatibility="release-0.10", lasDecayFactor=0.5)
    play.attain(A=100)
    seen = []
    for _ in range(2):
        play.arrive("B1")
        play.serve(1)
        seen.append(play.service("A"))
    assert seen == [50, 25]


def test_the_release_decays_nobody_in_flight() -> None:
    play = program_aware(compatibility="release-0.10", lasDecayFactor=0.5)
    play.attain(A=100)
    play.arrive("A1")
    play.send()
    play.arrive("B1")
    play.serve(1)
    assert play.service("A") == 100


# The plugin.


@every_mode
def test_one_queue_is_picked_and_its_time_is_left_on_the_request(mode: str) -> None:
    clock = Clock()
    play = program_aware(compatibility=mode)
    policy: ProgramAwareFairness = play.fairness
    band, clock.now = PriorityBand(0), 5
    request = InferenceRequest("A1", "A")
    band.push(Item(request, 5, FlowKey("A")))
    queue = policy.pick(band)
    assert queue is not None
    assert queue.flow_key.id == "A"
    assert request.attributes == {ENQUEUE_TIME: 5}


@every_mode
def test_before_a_request_it_is_counted(mode: str) -> None:
    play = program_aware(compatibility=mode)
    play.clock.now = 2 * SECOND
    play.fairness.pre_request(InferenceRequest("1", "A", attributes={ENQUEUE_TIME: SECOND}))
    program: Program = play.fairness.programs["A"]
    assert (program.dispatched, program.in_flight, program.waits, program.average_wait) == (1, 1, 1, 1000)
    play.fairness.pre_request(InferenceRequest("2", "A"))
    assert (program.dispatched, program.in_flight, program.waits) == (2, 2, 1), "without the time no wait is counted"
    play.fairness.pre_request(InferenceRequest("3", ""))
    assert play.fairness.programs[DEFAULT_ID].in_flight == 1


@every_mode
def test_only_the_end_of_an_answer_counts(mode: str) -> None:
    play = program_aware(compatibility=mode)
    request = InferenceRequest("1", "A")
    play.fairness.pre_request(request)
    play.clock.at(7)
    program: Program = play.fairness.programs["A"]
    play.fairness.response_body(request, Response(False, Usage(5, 5)))
    assert (program.in_flight, program.last_completion, program.service) == (1, 0, 0)
    play.fairness.response_body(request, Response(True, Usage(5, 5)))
    assert (program.in_flight, program.last_completion, program.service) == (0, 7 * SECOND, 15)


@every_mode
def test_who_is_evicted(mode: str) -> None:
    play = program_aware(compatibility=mode, evictionTtlSeconds=1, evictionSweepSeconds=1)
    play.arrive("A1", "B1", "C1", "D1")
    assert sorted(play.send(3).split()) == ["A1", "B1", "C1"]
    play.complete("A1")
    play.fairness.meet("E", 0)
    play.clock.at(9.5)
    play.complete("C1")
    play.clock.at(10)
    play.fairness.advance(play.clock.now)
    kept = set(play.fairness.programs)
    assert "A" not in kept, "idle for ten seconds"
    assert "E" not in kept, "seen, and never completed"
    assert {"B", "C"} <= kept, "in flight, and recent"


def test_the_mean_of_two_waits() -> None:
    program = Program(0)
    program.record_wait(50)
    program.record_wait(150)
    assert (program.average_wait, program.waits, program.last_completion) == (100, 2, 0)


def test_jains_index() -> None:
    assert jains_index([100, 100, 100]) == pytest.approx(1)
    assert jains_index([]) == jains_index([5]) == jains_index([0, 0]) == 1
    assert jains_index([10, 1000]) < 0.9
    assert jains_index([0, 0, 0, 8]) == 0.25
    assert fairness_index([Program(0, average_wait=9), Program(0, average_wait=5, waits=1)]) == 1


def test_a_program_is_met_once() -> None:
    play = program_aware()
    assert play.fairness.meet("A", 0) is play.fairness.meet("A", 9)


def test_the_dump_has_totals_and_no_ids() -> None:
    play = program_aware()
    assert play.fairness.dump_state() == {"totalPrograms": 0, "totalInFlight": 0, "fairnessIndex": 1}
    play.arrive("secret1", "other1")
    play.send(2)
    dump: dict[str, Any] = play.fairness.dump_state()
    assert dump == {"totalPrograms": 2, "totalInFlight": 2, "fairnessIndex": 1}


def test_a_pick_by_itself_sweeps_first() -> None:
    """As a framework calls it that has nothing but the original's hooks."""
    for type in ("program-aware-fairness", "program-aware-settled-fairness"):
        clock, band = Clock(), PriorityBand(0)
        policy: Any = made(type, parameters={"evictionTtlSeconds": 1, "evictionSweepSeconds": 1}, clock=clock)
        request = InferenceRequest("A1", "A", 5)
        policy.pre_request(request)
        policy.response_body(request, Response(True, Usage(100, 0)))
        band.push(Item(InferenceRequest("A2", "A"), 0, FlowKey("A")))
        clock.at(10)
        policy.pick(band)
        assert policy.service("A", clock.now) == 0
        assert policy.programs.get("A") is None


# What every mode has, and the original has not.


def test_of_equals_the_least_id_whatever_the_order_of_queues() -> None:
    for order in (("A1", "B1", "C1"), ("C1", "B1", "A1"), ("B1", "C1", "A1")):
        play = program_aware()
        play.arrive(*order)
        assert play.send(3) == "A1 B1 C1"


def test_a_pick_reads_the_clock_once() -> None:
    """Two heads that came at the same instant have waited alike, however the clock moves between them."""

    class Hurrying(Clock):
        def __call__(self) -> int:
            self.now += 1_000_000
            return self.now

    clock = Hurrying()
    policy, band = ProgramAwareFairness(clock=clock), PriorityBand(0)
    for id in "BA":
        band.push(Item(InferenceRequest(f"{id}1", id), 0, FlowKey(id)))
    before = clock.now
    queue = policy.pick(band)
    assert clock.now == before + 1_000_000
    assert queue is not None
    assert queue.flow_key.id == "A"


def test_no_service_is_below_zero_and_no_count_is_believed_without_bound() -> None:
    assert weighted_tokens(Usage(-5, -1)) == 0
    assert weighted_tokens(Usage(10**400, 10**400)) < 2e19


def test_a_clock_that_stands_makes_no_wait_below_zero() -> None:
    band = PriorityBand(0)
    band.push(Item(InferenceRequest("A1", "A"), 10, FlowKey("A")))
    [queue] = band.queues()
    assert waited(queue, 9) == 0
    assert best([], 1, 1) is None
