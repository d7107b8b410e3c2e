"""What is proved and searched of the program-aware policy: it holds, and each part of it can fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfq_proofs.finding import Finding
from sfq_proofs.related import las_beside, las_hooks, las_rules, las_runs, las_tables
from sfq_proofs.related.known import breaks
from sfq_proofs.related.las_tables import LAS, SETTLED, by, shown
from sfq_proofs.solver.induction import Obligation, prove
from sfq_spec.claims.program_aware import CLAIMS
from sfq_spec.conformance.shorthand import read, write
from sfq_spec.related.attained import Candidate, Table
from sfq_spec.related.behaviour import Fair, Question
from sfq_spec.related.las_questions import Counted, Fresh, Remembered, Rooms, Starved
from sfq_spec.related.model import MethodModel, model

SHORTEST = {
    "LAS-ROOMS": "+A 1×2; +B 1; D×2",
    "LAS-STARVE": "+A 1×2; +B 1×2; D; ✓ A1; D; +B 1; D×2",
    "LAS-FRESH": "+A 1×2; D; +B 1; +C 1; +D 1; ✓ A1; D×3",
}

DOCS = Path(__file__).resolve().parents[2] / "docs"
LEAST = "A 0/0 ms, B 1/1 ms, C 5/0 ms"


def test_every_claim_has_evidence_of_its_level() -> None:
    proved = {claim for one in las_rules.obligations() for claim in one.claims}
    searched = {*las_rules.CLAIMS, *las_tables.CLAIMS, *las_runs.CLAIMS, "LAS-FLIGHT", "LAS-PLUGIN"}
    for claim in CLAIMS:
        assert claim.id in (proved if claim.level == "P" else searched)
    assert searched == {claim.id for claim in CLAIMS}


# The pages.


def told(page: str) -> str:
    """A page without its line breaks."""
    return re.sub(r"\s+", " ", (DOCS / page).read_text(encoding="utf-8"))


def test_the_pages_tell_the_runs_and_tables_that_are_found() -> None:
    page, lengths = told("program-aware.md"), {claim: len(read(run)) for claim, run in SHORTEST.items()}
    assert all(f"`{run}`" in page for run in SHORTEST.values())
    rooms, starve, fresh = lengths.values()
    assert f"| no, after {rooms} and {starve} events |" in page
    assert f"| no, after {fresh} events | no, after {fresh - 1} events, as under SFQ |" in page
    assert LEAST.replace(", ", "; ").replace("/", ", ") in told("errata.md")
    assert f"tables up to a sum of {las_tables.SOME} [[SETTLED-OTHERS]]" in page


@pytest.mark.integration
def test_the_page_tells_how_far_was_searched() -> None:
    page, far = told("program-aware.md"), dict[str, int]()
    for one in las_runs.HOLDS:
        found = las_runs.asked(one.question, one.right(), one.most_states)
        far[one.claim] = min(found.longest, far.get(one.claim, found.longest))
    assert f"in all runs of up to {far['SETTLED-ROOMS']} events [[SETTLED-ROOMS]]" in page
    assert f"in all runs of up to {far['SETTLED-LEAD']} events, where" in page
    lead = las_runs.asked(Fair(), model("las"), 1_000)
    assert f"| no, after {len(lead.run)} events | in all runs of up to {far['SETTLED-LEAD']} events" in page
    settled = las_runs.asked(Fresh(), las_runs.at_once(), 1_000)
    assert f"| no, after {len(settled.run)} events, as under SFQ |" in page


# Statements for the solvers.


@pytest.mark.claims("LAS-HALVES", "LAS-POSITIVE", "LAS-IDLE", "LAS-KEPT", "LAS-PAIR", "LAS-RANGE", "LAS-EVICT")
@pytest.mark.parametrize("obligation", [*las_rules.obligations()], ids=lambda one: one.name)
def test_it_is_proved(obligation: Obligation) -> None:
    assert prove(obligation).holds


@pytest.mark.parametrize("wrong", [*las_rules.wrong()], ids=lambda one: one.name)
def test_what_is_nearly_the_same_is_refuted(wrong: las_rules.Wrong) -> None:
    assert wrong.falls
    assert wrong.claim in las_rules.CLAIMS


def test_each_hypothesis_on_decay_is_needed() -> None:
    [compose] = [one for one in las_rules.obligations() if one.name == "half-lives compose"]
    assert not prove(replace(compose, hypotheses=compose.hypotheses[:-1])).holds, "without the product of two times"
    [order] = [one for one in las_rules.obligations() if one.name == "decay: no order changes"]
    assert not prove(replace(order, hypotheses=())).holds, "where nothing may be left"


# Tables.


@pytest.mark.integration
@pytest.mark.claims("LAS-SELECT", "LAS-CLOCK", "LAS-LOWEST", "LAS-HEAD", "LAS-OTHERS", "LAS-EVICT", "SETTLED-OTHERS")
@pytest.mark.parametrize("findings", [las_tables, las_runs, las_hooks, las_beside], ids=lambda one: one.__name__)
def test_what_is_searched_is_as_stated(findings: Any) -> None:
    for found in findings.findings():
        assert found.holds, found.says


@pytest.mark.claims("LAS-SELECT")
def test_a_choice_that_is_not_the_score_is_found() -> None:
    heavier = replace(LAS, weight_wait=Fraction("0.21"))
    assert las_tables.unlike_the_score(by(heavier), las_tables.SEED) is not None
    assert las_tables.unlike_the_score(by(SETTLED), las_tables.SEED) is not None
    assert las_tables.by_chance(lambda table: next(iter(table))) is not None


@pytest.mark.claims("LAS-CLOCK")
def test_a_pick_that_reads_the_clock_again_is_found() -> None:
    assert las_tables.read_again() is None
    found = las_tables.read_again(las_tables.ReadsForEach)
    assert found is not None


@pytest.mark.claims("LAS-LOWEST", "LAS-HEAD", "LAS-OTHERS")
@pytest.mark.parametrize(
    ("search", "least"),
    [
        pytest.param(las_tables.not_the_lowest, LEAST, id="lowest", marks=pytest.mark.integration),
        pytest.param(lambda pick: las_tables.by_a_third(pick)[0], LEAST, id="others", marks=pytest.mark.integration),  # type: ignore[index]
        pytest.param(lambda pick: las_tables.by_heads(pick)[1], "A 0/0 ms, B 0/1 ms", id="heads"),  # type: ignore[index]
    ],
)
def test_the_least_table_is_found(search: Callable[[Any], Table], least: str) -> None:
    assert shown(search(by(LAS))) == least


@pytest.mark.claims("LAS-EVICT")
def test_what_is_forgotten_is_missed_among_three() -> None:
    """A has less than anybody else, and B goes; without what A has attained A goes."""
    table = {"A": Candidate(Fraction(1), 0), "B": Candidate(Fraction(2), 1), "C": Candidate(Fraction(6), 0)}
    gone = {**table, "A": Candidate(Fraction(0), 0)}
    assert (by(LAS)(table), by(LAS)(gone)) == ("B", "A")
    assert las_tables.wrongly_seen(by(LAS), las_tables.SEED) is None


def test_the_id_decides_only_where_nothing_else_does() -> None:
    plain, tie = {"A": Candidate(Fraction(1), 0), "B": Candidate(Fraction(0), 0)}, {"A": Candidate(Fraction(1), 0)}
    assert las_tables.plainly(by(LAS), plain) == "B"
    assert las_tables.plainly(by(LAS), {"A": tie["A"], "B": tie["A"]}) is None


def test_a_finding_without_its_wrong_variants_does_not_hold() -> None:
    found: Finding = las_tables._told("tables", "LAS-SELECT", True, "as stated", {"wrong": None, "found": object()})
    assert not found.holds
    assert found.refuted == ("found",)


# Runs.


@pytest.mark.claims("LAS-ROOMS", "LAS-STARVE", "LAS-FRESH")
@pytest.mark.parametrize("hope", las_runs.HOPES, ids=lambda hope: hope.claim)
def test_a_hope_is_broken_at_the_end_of_its_run_and_every_event_is_needed(hope: las_runs.Hope) -> None:
    run = read(SHORTEST[hope.claim])
    assert breaks("las", hope.question, run) == len(run)
    for gone in range(len(run)):
        assert not _breaks(hope.question, run[:gone] + run[gone + 1 :])


def _breaks(question: Question, run: list[Any]) -> bool:
    try:
        return breaks("las", question, run) == len(run)
    except KeyError:
        return False


@pytest.mark.integration
@pytest.mark.claims("LAS-ROOMS", "LAS-STARVE", "LAS-FRESH")
@pytest.mark.parametrize("hope", las_runs.HOPES, ids=lambda hope: hope.claim)
def test_the_shortest_run_is_found(hope: las_runs.Hope) -> None:
    assert write(las_runs.asked(hope.question, model("las"), hope.most_states).run) == SHORTEST[hope.claim]


@pytest.mark.claims("LAS-FLIGHT", "LAS-KEPT", "SETTLED-ROOMS", "SETTLED-LEAD")
@pytest.mark.parametrize("one", las_runs.HOLDS, ids=lambda one: f"{one.claim} {one.question.id}")
def test_an_account_holds_and_is_found_false_of_wrong_models(one: las_runs.Holds) -> None:
    """In fewer states than `sfq-prove` goes through."""
    few = min(one.most_states, 500)
    assert las_runs.asked(one.question, one.right(), few).holds
    for wrong, run in one.longer.values():
        assert las_runs.ends_badly(one.question, wrong(), run)
    assert not all(las_runs.asked(one.question, wrong(), few).holds for wrong in one.wrong.values())


@pytest.mark.parametrize("question", [Rooms(), Starved(), Fair()], ids=lambda one: one.id)
def test_sfq_is_asked_the_same_and_holds(question: Question) -> None:
    assert las_runs.asked(question, model("sfq"), 500).holds


def test_the_bound_of_starvation_is_that_of_sfq() -> None:
    assert not las_runs.asked(Starved(1), model("sfq"), 500).holds
    assert las_runs.asked(Starved(2), model("sfq"), 500).holds


def test_new_ids_come_one_after_another() -> None:
    assert breaks("las", Fresh(), read("+B 1; +C 1; +D 1; +A 1; D×3")) is None, "they were there before A"
    assert breaks("las", Fresh(), read("+A 1×2; D; ✓ A1; +C 1; D")) is None, "B comes first, so this is no run"


def test_accounts_say_something() -> None:
    kept, counted = Remembered(las_runs.LAS), Counted()
    run = read("+A 1×2; D; ✓ A1; D; ✓ A2")
    for question in (kept, counted):
        assert breaks("las", question, run) is None
        assert breaks("las-v1", counted, run) is None
    assert breaks("", kept, run, MethodModel(las_runs.Forfeits())) == len(run)
