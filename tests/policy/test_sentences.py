"""Each sentence of the program-aware seed, with the tests that hold what docs/sentences.md says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from sfq_impl.policy.configuration import BadConfiguration, made, parse
from sfq_impl.policy.interfaces import FairnessPolicy, PreRequest, ResponseBodyProcessor
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_proofs.related.las_play import program_aware

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs/sentences.md").read_text(encoding="utf-8")

HELD: Mapping[str, tuple[str, ...]] = {
    "FairnessPolicy, PreRequest, ResponseBodyProcessor": ("test_the_interfaces_are_those_of_the_seed",),
    "schedules per-program queues using aggregated per-program metrics": (
        "test_less_service_is_preferred",
        "test_with_equal_service_the_longer_wait_of_the_head",
    ),
    "Programs are identified by the fairness ID header": ("test_who_a_request_is_of",),
    "A program issuing a few large requests should not dominate": (
        "test_64_rooms",
        "test_free_rooms_before_the_first_completion_go_to_one_program",
        "test_the_figures_of_the_page",
    ),
    "Idle programs should not retain accumulated service indefinitely": (
        "test_idle_for_ten_half_lives_beats_fresh_service",
        "test_the_release_decays_an_idle_queue_at_each_pick",
    ),
    "on return they should compete on near-equal footing": ("test_back_from_a_rest",),
    "Identifies programs via the fairness ID header": (
        "test_who_a_request_is_of",
        "test_programs_are_named_as_in_llm_d",
    ),
    "Tracks per-program metrics through the request lifecycle": (
        "test_before_a_request_it_is_counted",
        "test_only_the_end_of_an_answer_counts",
        "test_the_mean_of_two_waits",
        "test_in_flight_is_dispatched_minus_ended_whatever_comes",
    ),
    "Selects a queue to dispatch from using the configured strategy": (
        "test_one_queue_is_picked_and_its_time_is_left_on_the_request",
        "test_a_wrong_parameter",
    ),
    "programs with the lowest accumulated service score highest": (
        "test_the_lowest_service_need_not_score_highest",
        "test_a_third_program_changes_the_order_of_two",
    ),
    "Decays attained service for inactive programs": (
        "test_the_release_decays_nobody_in_flight",
        "test_what_is_added_after_a_half_life",
        "test_decay_never_reorders_two_idle_programs",
    ),
    "Both wall-clock half-life and per-Pick factor decay": (
        "test_one_half_life_halves",
        "test_the_release_decays_an_idle_queue_at_each_pick",
        "test_defaults",
    ),
    "Evicts idle program state on a periodic sweep so … do not accumulate forever": (
        "test_who_is_evicted",
        "test_the_series_of_a_program_go_with_it",
        "test_as_the_seed_says_an_abandoned_request_pins_its_program",
    ),
    "Attained service, measured as a weighted sum": ("test_the_cost_of_a_request",),
    "Output tokens are weighted twice as much": ("test_the_cost_of_a_request",),
    "Program identity, queue state, token usage": (
        "test_who_a_request_is_of",
        "test_with_equal_service_the_longer_wait_of_the_head",
        "test_what_streams_have_used_is_what_programs_have_attained",
    ),
    "the sample": (
        "test_the_configuration_of_the_seed",
        "test_the_sample_of_llm_d_is_taken_as_it_is",
        "test_the_sample_with_real_engines",
    ),
    "A complete sample is shipped at …": ("test_the_parts_that_choose_a_server_are_refused_by_name",),
    "two shared collectors and one strategy-owned collector": (
        "test_names_types_and_values",
        "test_promtool_reads_the_page",
    ),
    "Abandoned requests block eviction": (
        "test_as_the_seed_says_an_abandoned_request_pins_its_program",
        "test_otherwise_it_is_in_flight_no_more_and_its_program_is_forgotten",
        "test_an_abandoned_request_pins_series_in_a_compatible_mode_and_in_no_other",
    ),
    "A new program ID adds a ProgramMetrics entry plus per-program Prometheus label series": (
        "test_a_thousand_ids_make_as_many_series_or_as_few_as_are_allowed",
    ),
    "The eviction sweep bounds growth": ("test_ids_that_churn_are_bounded_by_the_time_to_live",),
    "lasDecayFactor is per-Pick": (
        "test_the_release_decays_an_idle_queue_at_each_pick",
        "test_the_factor_halves_in_so_many_picks",
    ),
    "Use lasHalfLifeSeconds for predictable wall-clock decay": ("test_half_lives_compose",),
}
"""By the sentence, as the page has it; those of which nothing can be checked are left out."""
NOT_CHECKABLE = "not checkable"


def rows() -> dict[str, str]:
    """What the page says of each sentence."""
    part = PAGE[PAGE.index("## The program-aware fairness policy") :]
    cells = [line[2:-2].split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return {sentence: verdict for _, sentence, verdict in cells[1:]}


def test_every_sentence_that_can_be_checked_has_its_tests() -> None:
    assert {sentence for sentence, verdict in rows().items() if not verdict.startswith(NOT_CHECKABLE)} == set(HELD)


def test_these_tests_are_there() -> None:
    there = {
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    assert sorted({name for names in HELD.values() for name in names} - there) == []


def test_the_interfaces_are_those_of_the_seed() -> None:
    policy = made("program-aware-fairness")
    as_a_policy: FairnessPolicy = policy
    assert isinstance(policy, ProgramAwareFairness)
    assert isinstance(policy, PreRequest)
    assert isinstance(policy, ResponseBodyProcessor)
    assert (as_a_policy.name, as_a_policy.new_state(), as_a_policy.pick(None)) == ("program-aware-fairness", None, None)
    assert not isinstance(made("global-strict-fairness"), PreRequest)


def test_the_parts_that_choose_a_server_are_refused_by_name() -> None:
    """The file that is shipped with the original, in short."""
    pytest.importorskip("yaml", reason="needs PyYAML")
    head = (
        "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nfeatureGates: [flowControl]\n"
    )
    assert parse(head).kind == "EndpointPickerConfig"
    with pytest.raises(BadConfiguration, match="unknown field `schedulingProfiles`"):
        parse(f"{head}schedulingProfiles: []\n")
    with pytest.raises(BadConfiguration, match='plugin "queue-scorer": there is no type "queue-scorer"'):
        made("queue-scorer")
    with pytest.raises(BadConfiguration, match=r"unknown field `flowControl\.defaultNegativePriorityBand`"):
        parse(f"{head}flowControl:\n  defaultNegativePriorityBand: {{}}\n")


def test_ids_that_churn_are_bounded_by_the_time_to_live() -> None:
    """A fresh id each second, for ten minutes: what is remembered is a minute and a sweep of them."""
    play, most = program_aware(evictionTtlSeconds=60, evictionSweepSeconds=10), 0
    for second in range(600):
        play.clock.at(second)
        play.fairness.advance(play.clock.now)
        play.attain(**{f"x{second}y": 1})
        most = max(most, len(play.fairness.programs))
    assert 61 <= most <= 71
