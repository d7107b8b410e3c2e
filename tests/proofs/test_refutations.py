"""The errata, searched for: no shorter run refutes the wording, and a wording that is true is not refuted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sfq_proofs.searches import refutations
from sfq_proofs.searches.refutations import QUICK, WORLDS, is_shortest, search, stalls
from sfq_spec import wordings
from sfq_spec.competition import SFQ
from sfq_spec.errata import BY_ID, ERRATA, Erratum
from sfq_spec.rounding import rounded
from sfq_spec.trace import Arrive
from sfq_spec.wordings import FLOATS


@pytest.mark.parametrize("name", QUICK)
def test_no_shorter_run_refutes_it(name: str) -> None:
    assert is_shortest(BY_ID[name])


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(set(WORLDS) - set(QUICK)))
def test_no_shorter_run_refutes_it_in_a_larger_world(name: str) -> None:
    assert is_shortest(BY_ID[name])


def test_every_erratum_has_a_world() -> None:
    assert set(WORLDS) == {erratum.id for erratum in ERRATA}
    assert set(QUICK) <= set(WORLDS)


def test_a_run_that_is_too_long_is_noticed() -> None:
    erratum = BY_ID["E-DELIBERATE"]
    longer = (Arrive("B", "B1", Fraction(1)), *erratum.trace)
    assert not is_shortest(replace(erratum, trace=longer))


TRUE = [
    (replace(BY_ID["E-COUNT"], start=wordings.CountsWithin(2)), 9),
    (replace(BY_ID["E-STALL"], rules=SFQ), 6),
    (replace(BY_ID["E-LONG"], start=wordings.BackAtTheBaseline(9)), 6),
]
"""Wordings that hold, and the events of the longest run that is searched."""


@pytest.mark.parametrize(("true", "longest"), TRUE, ids=["at most 2", "exact", "very long"])
def test_a_wording_that_is_true_is_not_refuted(true: Erratum, longest: int) -> None:
    longer = true.trace[:1] * longest
    assert search(replace(true, trace=longer)) is None


@pytest.mark.claims(
    "E-CMAX", "E-COUNT", "E-REBASE", "E-RANGE", "E-STALL", "E-SHARE", "E-LONG", "E-DELIBERATE", "E-ONLY", "FLOAT-STALL"
)
def test_every_finding_holds() -> None:
    findings = refutations.findings()
    assert all(finding.holds and finding.refuted for finding in findings)
    assert [claim for finding in findings for claim in finding.claims] == list(refutations.CLAIMS)


@pytest.mark.claims("FLOAT-STALL")
def test_a_meter_that_stands_still() -> None:
    assert stalls(FLOATS)
    assert stalls(rounded())
    assert not stalls(SFQ)
    assert 2.0**53 + 1.0 == 2.0**53 < 2.0**53 + 2.0
