"""The vectors that come along are what the specification and its mutants make, byte for byte."""

from __future__ import annotations

from importlib import resources

import msgspec
import pytest
from msgspec.structs import replace

from sfq_spec.claims import BY_ID
from sfq_spec.conformance import generate, handwritten, shorthand
from sfq_spec.conformance.case import make
from sfq_spec.conformance.generate import Disagreement, shortest_difference
from sfq_spec.conformance.protocol import Capabilities
from sfq_spec.conformance.validate import bundled
from sfq_spec.mutants import BY_NAME, MUTANTS

HELD = bundled()
BY_CASE = {case.id: case for case in HELD.cases}


@pytest.mark.deep
def test_they_are_made_again_byte_for_byte() -> None:
    held = resources.files("sfq_spec").joinpath("data/vectors.json").read_bytes()
    assert generate.encoded() == held


def test_what_needs_no_search_is_made_again() -> None:
    made = [*generate.written(), *generate.reaching()]
    assert len(made) > 70
    for case in made:
        assert msgspec.json.encode(case) == msgspec.json.encode(BY_CASE[case.id]), case.id


@pytest.mark.parametrize("name", ["reset-on-return", "clock-at-finish", "newest-first", "holds-heavy-heads"])
def test_a_searched_case_is_found_again(name: str) -> None:
    assert shortest_difference(BY_NAME[name]) == BY_CASE[f"not-{name}"].played()


def test_each_mutant_has_its_case() -> None:
    assert {f"not-{mutant.name}" for mutant in MUTANTS} <= set(BY_CASE)


def test_cases_speak_of_claims_and_flags_that_exist() -> None:
    assert len(BY_CASE) == len(HELD.cases)
    for case in HELD.cases:
        assert set(case.claims) <= set(BY_ID), case.id
        assert set(case.flags) <= set(HELD.flags), case.id
        assert len(case.events) == len(case.expect)


def test_each_flag_has_a_case_that_shows_it() -> None:
    assert set(HELD.flags) == {flag for case in HELD.cases for flag in case.flags}


REPORTS = {
    "llm-d/llm-d-router #707": ("KeepsEveryUser", "one-shot-users", None),
    "llm-d/llm-d-router #2382": ("ReleasesTwice", "released-once", None),
    "llm-d/llm-d-router #1222": ("FloorsCosts", "costs-are-not-floored", None),
    "kubernetes-sigs/gateway-api-inference-extension #2822": (
        "ChargesAnEmptyDispatch",
        "dispatch-of-nothing-charges-nobody",
        None,
    ),
    "volcano-sh/kthena #265": ("FrozenPriority", "priority-is-not-frozen-on-arrival", "+A 2×50; +B 2; D×2"),
    "BerriAI/litellm #20866": ("CancelledStays", "timed-out-request-is-gone", "+A 9×2; +B 1×12; x A1; D×3"),
    "vllm-project/vllm #40004": ("HoldsHeavyHeads", "heavy-heads-are-not-held", None),
    "kubernetes/kubernetes #112169": (
        "RefundsOnCompletion",
        "no-refund-on-failure",
        "+A 9×3; +B 1×30; D×2; ✗ A1; D×6",
    ),
    "kubernetes/kubernetes #95979": (
        "BankWhileIdle",
        "idle-again-and-again-banks-nothing",
        "+A 1; +B 1×30; D×12; +A 1×8; D×8",
    ),
    "tikv/tikv #14507": ("RebaseWraps", "rebasing-below-zero", "+A 2×9; +B 3×9; D×3; upkeep; D×4"),
    "cockroachdb/cockroach #72485": (
        "ForgetsDebtors",
        "forgetting-keeps-debts",
        "+A 9; +B 1×9; D×2; upkeep; +A 1; D×4",
    ),
    "scylladb/seastar 80330bb33": ("ZeroWeight", "zero-shares-are-refused", None),
    "scylladb/seastar pop_front": (
        "WholeCharges",
        "small-charges-are-not-free",
        "w A 10; w B 10; +A 9×4; +B 19×4; D×6",
    ),
    "scylladb/seastar #1899": (
        "WrongUserRemoved",
        "the-right-user-leaves",
        "+A 1; +B 1×4; +C 1×4; D; +A 1; x A2; D×3",
    ),
    "NetSys/bess #717": ("RejoinAtZero", "rejoin-at-zero-starves", "+B 1×20; D×8; +A 1×8; D×6"),
    "Linux 3fe69747": (
        "ClockAtFinish",
        "newcomers-do-not-pay-for-who-runs",
        "+A 10; +B 1×20; D×3; +C 1×5; D×6",
    ),
    "asterinas/asterinas #2208": (
        "WeightRescalesHistory",
        "weight-leaves-history",
        "+A 6×9; +B 6×9; D×4; w A 3; D×6",
    ),
    "ClickHouse/ClickHouse #99233": ("ActivatedTwice", "one-queue-activated-once", "+A 5×2; +B 1×3; D×4"),
    "ClickHouse FairPolicy, by reading": (
        "CancelSkipsReset",
        "cancel-of-the-last-one-resets",
        "+A 9; +B 1×2; D; x B1; x B2; +A 1; +B 1×9; D×3",
    ),
    "sched-ext/scx #2978": ("ChargeAndClockApart", "clock-moves-at-dispatch", None),
    "grpc/grpc-go #3793": ("TiesByInsertion", "ties-go-by-id-not-by-arrival", None),
}
"""Public reports: the flag that cites it, the case that shows it, and the run, where the report gives one."""


@pytest.mark.parametrize("report", REPORTS)
def test_what_was_seen_in_public_has_a_case(report: str) -> None:
    flag, id, run = REPORTS[report]
    assert report in HELD.flags[flag].seen
    assert flag in BY_CASE[id].flags
    assert run is None or BY_CASE[id].played() == shorthand.read(run)


def test_what_is_written_by_hand_is_held_against_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = handwritten.Written("wrong", "B before A.", "+A 1; +B 1; D×2", "B1 A1")
    monkeypatch.setattr(generate, "WRITTEN", (wrong,))
    with pytest.raises(Disagreement, match="A1 B1"):
        list(generate.written())


def test_every_adapter_gets_everything_that_it_can_take_at_once() -> None:
    can = Capabilities(cancel=True, weights=True, recost=True)
    for able in (replace(can, numbers="binary64"), replace(can, numbers="integer"), Capabilities()):
        taken = [case.id for case in HELD.cases if case.id.startswith("mixture-") and not able.lacks(case.requires)]
        assert len(taken) >= 4, able


def test_requirements_are_told() -> None:
    thirds = make("x", "", BY_CASE["weights-fractions"].played())
    assert {"weights", "rational"} <= set(thirds.requires)
    assert "exact" in BY_CASE["meters-near-2-to-63"].requires
    assert BY_CASE["article-table"].requires == ()
