"""What is built on the rules is proved, and each construction that is wrong breaks down where it should."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from sfq_proofs.searches.constructions import WRONG, Wrong, searches
from sfq_proofs.searches.mistakes import apart, sent
from sfq_proofs.solver.induction import Obligation, prove
from sfq_proofs.theorems import batch, keeping, order, placement, replica, stride

MODULES = (keeping, order, batch, stride, replica, placement)


@pytest.mark.integration
@pytest.mark.parametrize("obligations", [module.obligations for module in MODULES], ids=lambda made: made.__module__)
@pytest.mark.claims(
    "R-JOIN",
    "R-LEAVE",
    "R-ADVANCE",
    "R-CHARGE",
    "R-RESET",
    "TAG-QUIET",
    "RESET-EAGER",
    "ORDER-TOTAL",
    "ORDER-BLIND",
    "ORDER-SCALE",
    "ORDER-WORK",
    "KEEP-SHIFT",
    "KEEP-FORGET",
    "BATCH-FRESH",
    "WEIGHT-STRIDE",
    "REPLICA",
    "PLACE-STALL",
    "PLACE-OVERTAKE",
)
def test_every_obligation_is_proved(obligations: Callable[[], Iterable[Obligation]]) -> None:
    failed = [one.name for one in obligations() if not prove(one, solvers=("z3",)).holds]
    assert failed == []


@pytest.mark.integration
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
@pytest.mark.claims(
    "TAG-QUIET",
    "RESET-EAGER",
    "ORDER-SCALE",
    "KEEP-SHIFT",
    "KEEP-FORGET",
    "BATCH-FRESH",
    "WEIGHT-STRIDE",
    "REPLICA",
    "PLACE-STALL",
    "PLACE-OVERTAKE",
)
def test_a_wrong_construction_breaks_down_where_it_should(wrong: Wrong) -> None:
    assert wrong.dead == wrong.breaks
    assert wrong.shows()


def test_a_construction_that_is_right_is_not_refuted() -> None:
    spared = replace(WRONG[0], obligations=lambda: keeping.bisimilar(keeping.pairs()[2]))
    assert spared.dead == ()
    assert not spared.falls


def test_an_obligation_that_is_not_there_does_not_count_as_refuted() -> None:
    assert not replace(WRONG[0], breaks=("late reset, departure: stays",)).falls


def test_a_run_without_a_difference_shows_nothing() -> None:
    assert apart([], sent, sent) == ""


def test_every_wrong_construction_is_a_search() -> None:
    assert [search.claims for search in searches()] == [(wrong.claim,) for wrong in WRONG]
    (found,) = searches()[0].run()
    assert found.holds
    assert found.refuted == (WRONG[0].name,)
