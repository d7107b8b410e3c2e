"""The vectors that come along are what the specification and its mutants make, byte for byte."""

from __future__ import annotations

from importlib import resources

import msgspec
import pytest

from sfq_spec.claims import BY_ID
from sfq_spec.conformance import generate, handwritten
from sfq_spec.conformance.case import make
from sfq_spec.conformance.generate import Disagreement, shortest_difference
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


def test_what_is_written_by_hand_is_held_against_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = handwritten.Written("wrong", "B before A.", "+A 1; +B 1; D×2", "B1 A1")
    monkeypatch.setattr(generate, "WRITTEN", (wrong,))
    with pytest.raises(Disagreement, match="A1 B1"):
        list(generate.written())


def test_requirements_are_told() -> None:
    thirds = make("x", "", BY_CASE["weights-fractions"].played())
    assert {"weights", "rational"} <= set(thirds.requires)
    assert "exact" in BY_CASE["meters-near-2-to-63"].requires
    assert BY_CASE["article-table"].requires == ()
