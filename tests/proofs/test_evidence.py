"""The evidence hangs together, and each way in which it can fail makes it fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfq_proofs import catalogue
from sfq_proofs.evidence import Evidence, Kill, kill
from sfq_proofs.finding import Finding
from sfq_proofs.searches.witness import Witness, replay, shortest
from sfq_proofs.solver.induction import Verdict
from sfq_proofs.solver.kill_table import EXPECTED
from sfq_spec.claims import BY_ID, CLAIMS
from sfq_spec.machine import take
from sfq_spec.mutants import BY_NAME, MUTANTS
from sfq_spec.trace import Arrive, Dispatch

PROVED = Verdict("step", ("INV-MONO",), True, {"z3": "unsat", "cvc5": "unsat"}, {"z3": 1.0, "cvc5": 2.0})
DEAD = Kill("no-idle-reset", ("step",), ("INV-MONO",), Witness((Dispatch(),), ("INV-MONO",)), True, expected=("step",))
WHOLE = Evidence((PROVED,), (), (DEAD,))


def test_whole_evidence_holds() -> None:
    (summary,) = WHOLE.summaries()
    assert (summary.claim.id, summary.holds, summary.mutants) == ("INV-MONO", True, ("no-idle-reset",))
    assert (summary.solvers, summary.milliseconds, summary.obligations) == (("z3", "cvc5"), 3.0, 1)
    assert WHOLE.holds


def test_evidence_that_was_gathered_for_one_claim_speaks_of_no_other() -> None:
    shared = replace(PROVED, claims=("INV-MONO", "INV-LOWER"))
    assert len(list(replace(WHOLE, verdicts=(shared,)).summaries())) == 2
    assert [one.claim.id for one in replace(WHOLE, verdicts=(shared,), only="INV-MONO").summaries()] == ["INV-MONO"]


@pytest.mark.parametrize(
    "broken",
    [
        replace(WHOLE, verdicts=(replace(PROVED, answers={"z3": "unsat", "cvc5": "unknown"}),)),
        replace(WHOLE, verdicts=(replace(PROVED, meetable=False),)),
        replace(WHOLE, verdicts=(PROVED, replace(PROVED, claims=(), meetable=False))),
        replace(WHOLE, kills=()),
        replace(WHOLE, kills=(replace(DEAD, confirmed=False),)),
        replace(WHOLE, kills=(replace(DEAD, obligations=()),)),
        replace(WHOLE, kills=(replace(DEAD, obligations=(*DEAD.obligations, "another")),)),
        replace(WHOLE, findings=(Finding("world", ("INV-MONO",), False, ""),)),
    ],
    ids=["unknown", "vacuous", "unowned", "no mutant", "not shown", "survives", "dies elsewhere", "search"],
)
def test_evidence_with_a_hole_does_not_hold(broken: Evidence) -> None:
    assert not broken.holds


def test_every_obligation_belongs_to_claims_of_the_ledger() -> None:
    names = [obligation.name for obligation in catalogue.obligations()]
    assert len(names) == len(set(names))
    for obligation in catalogue.obligations():
        assert obligation.claims
        assert set(obligation.claims) <= set(BY_ID), obligation.name


def test_every_proved_claim_has_an_obligation() -> None:
    owned = {claim for obligation in catalogue.obligations() for claim in obligation.claims}
    assert {claim.id for claim in CLAIMS if claim.level == "P"} <= owned


def test_the_kill_table_speaks_of_the_mutants_of_the_competition() -> None:
    assert set(EXPECTED) == {mutant.name for mutant in MUTANTS if mutant.rules}
    assert len(MUTANTS) == len(BY_NAME) >= 15
    for mutant in MUTANTS:
        assert mutant.breaks
        assert (mutant.rules is None) != (mutant.wrap is None)


@pytest.mark.parametrize("name", ["reset-on-return", "cancel-skips-reset", "newest-first"])
def test_a_mutant_dies_where_it_should(name: str) -> None:
    assert kill(name).as_expected


def test_a_mutant_that_is_right_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = replace(BY_NAME["newest-first"], wrap=None)
    monkeypatch.setitem(BY_NAME, "newest-first", right)
    monkeypatch.setattr("sfq_proofs.searches.witness.LONGEST", 4)
    spared = kill("newest-first")
    assert spared.witness is None
    assert not spared.as_expected


def test_a_witness_is_shortest() -> None:
    witness = shortest(BY_NAME["reset-on-return"])
    assert witness is not None
    assert len(witness.events) == 5
    for gone in range(5):
        fewer = witness.events[:gone] + witness.events[gone + 1 :]
        assert "FAIR-UPPER" not in replay(BY_NAME["reset-on-return"].take, fewer)


def test_a_replay_without_a_mistake_breaks_nothing() -> None:
    assert replay(take, [Arrive("A", "A1", 1), Dispatch()]) == []
