"""The representation simulates the competition; wrong descriptions of it do not; the code is as described."""

from __future__ import annotations

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_proofs.scheduler import abstraction, simulation
from sfq_proofs.scheduler.faults import COMMON, NOT_DESCRIBED, Fault, plant, slack
from sfq_proofs.scheduler.simulation import WRONG, Wrong
from sfq_proofs.solver.induction import prove
from sfq_spec.mutants import BY_NAME


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("name", ["heap, dispatch: same selection", "heap, cancel: places", "units: rebasing"])
def test_it_is_proved(name: str) -> None:
    """Here a few; `sfq-prove` puts all of them."""
    (obligation,) = [obligation for obligation in simulation.obligations() if obligation.name == name]
    assert prove(obligation).holds


def test_the_right_description_is_not_refuted() -> None:
    assert not Wrong("none", simulation.RIGHT, "heap, upkeep: records").falls
    assert not Wrong("none", simulation.RIGHT, "no such obligation").falls


def test_wrong_descriptions_name_what_breaks_down() -> None:
    names = {obligation.name for obligation in simulation.obligations()}
    assert len({wrong.name for wrong in WRONG}) == len(WRONG) > 10
    assert {wrong.breaks for wrong in WRONG} <= names


@pytest.mark.parametrize(
    ("mutant", "breaks"),
    [
        ("reset-on-return", "heap, arrive: records"),
        ("cancel-skips-reset", "heap, cancel: records"),
        ("last-id-first", "heap, dispatch: same selection"),
    ],
)
def test_the_description_does_not_fit_wrong_rules(mutant: str, breaks: str) -> None:
    rules = BY_NAME[mutant].rules
    assert rules is not None
    (obligation,) = [o for o in simulation.obligations(rules) if o.name == breaks]
    assert not prove(obligation, patience=2_000).holds


@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("spare", [1, 64])
def test_the_code_is_as_described(spare: int) -> None:
    assert abstraction.unlike(plant(slack(spare)) if spare == 1 else HeapScheduler) == ""


@pytest.mark.integration
@pytest.mark.claims("IMPL-REFINE")
@pytest.mark.parametrize("fault", COMMON, ids=lambda fault: fault.name)
def test_a_planted_fault_is_not_as_described(fault: Fault) -> None:
    assert bool(abstraction.unlike(plant(fault, slack(1)))) == (fault.name not in NOT_DESCRIBED)
