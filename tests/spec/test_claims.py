"""The ledger: complete, honest, and printed as it stands."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

import sfq_spec
from sfq_spec import ledger
from sfq_spec.claims import BY_ID, CLAIMS, LEVELS
from sfq_spec.ledger import Evidence, Row
from sfq_spec.mutants import MUTANTS

GOOD = Row(
    BY_ID["FAIR-LEAD"],
    Evidence(
        obligations=("step",), solvers=("z3", "cvc5"), witness="a run", mutants=("reset-on-return",), tests=("t",)
    ),
)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_is_stated(claim: Any) -> None:
    assert claim.level in LEVELS
    assert claim.seed.startswith(("article §", "design", "program-aware seed, "))
    assert claim.says.endswith(".")
    assert claim.formula
    found: Any = sfq_spec
    for name in claim.definition.split("."):
        if hasattr(found, "__path__"):
            found = importlib.import_module(f"{found.__name__}.{name}")
        else:
            found = getattr(found, name, None) or found.__dataclass_fields__[name]


def test_ids_are_distinct() -> None:
    assert len(BY_ID) == len(CLAIMS)


def test_nothing_is_marked_above_its_evidence() -> None:
    assert [text for row in ledger.rows() for text in ledger.shortcomings(row)] == []


def test_there_is_no_evidence_for_what_is_not_claimed() -> None:
    assert set(ledger.bundled()) == set(BY_ID)


def test_every_mutant_breaks_a_claim_of_the_ledger() -> None:
    named = {name for row in ledger.rows() for name in row.evidence.mutants}
    assert {mutant.name for mutant in MUTANTS} <= named
    assert {mutant.breaks for mutant in MUTANTS} <= set(BY_ID)


def test_a_claim_with_everything_has_no_shortcoming() -> None:
    assert list(ledger.shortcomings(GOOD)) == []


@pytest.mark.parametrize(
    ("claim", "change", "said"),
    [
        ("FAIR-LEAD", {"obligations": ()}, "marked proved"),
        ("FAIR-LEAD", {"solvers": ("z3",)}, "marked proved"),
        ("FAIR-TIGHT", {}, "marked exhausted"),
        ("FAIR-LEAD", {"witness": ""}, "nothing shows that it is not empty"),
        ("FAIR-LEAD", {"mutants": ()}, "nothing breaks it"),
        ("FAIR-LEAD", {"tests": ()}, "no test names it"),
    ],
)
def test_a_claim_with_a_hole_is_named(claim: str, change: dict[str, Any], said: str) -> None:
    row = Row(BY_ID[claim], msgspec.structs.replace(GOOD.evidence, **change))
    (text,) = ledger.shortcomings(row)
    assert text.startswith(f"{claim}: {said}")


def test_an_erratum_needs_a_refutation() -> None:
    row = Row(replace(BY_ID["FAIR-LEAD"], level="E"), GOOD.evidence)
    assert list(ledger.shortcomings(row)) == ["FAIR-LEAD: marked an erratum, without a run that refutes the wording"]


def test_evidence_is_written_the_same_way_again() -> None:
    assert ledger.write(ledger.read(ledger.write(ledger.bundled()))) == ledger.write(ledger.bundled())


def test_the_table(command: Callable[..., Any]) -> None:
    told = command("claims")
    assert told.status == 0
    assert [line.split()[0] for line in told.out.splitlines()] == list(BY_ID)


def test_for_machines(command: Callable[..., Any]) -> None:
    told = json.loads(command("claims", "--json").out)
    keys = {"claim", "level", "seed", "definition", "obligations", "witness", "mutants", "tests"}
    assert [row["claim"] for row in told] == list(BY_ID)
    assert all(keys <= set(row) and row["level"] in "PXTE" for row in told)


def test_one_in_full(command: Callable[..., Any]) -> None:
    told = command("claims", "FAIR-LEAD").out
    for text in (BY_ID["FAIR-LEAD"].formula, "bound of FAIR-LEAD", "reset-on-return", "tests/spec/test_"):
        assert text in told


def test_an_unknown_claim(command: Callable[..., Any]) -> None:
    told = command("claims", "FAIR-PLAY")
    assert told.status == 2
    assert told.err == "sfq-spec: there is no claim 'FAIR-PLAY': did you mean FAIR-PAIR?\n"
