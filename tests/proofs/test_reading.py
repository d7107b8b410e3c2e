"""The symbolic reading is the exact one: evaluated in the solver's model, every transition gives the same."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sfq_proofs.solver.logic import Terms
from sfq_proofs.solver.reading import KINDS, by_the_solver, exactly
from sfq_spec.competition import SFQ, Competition
from sfq_spec.machine import ExactCompetition
from sfq_spec.mutants import MUTANTS

Case = tuple[ExactCompetition, str, Mapping[str, Fraction], bool]


def number(rng: random.Random) -> Fraction:
    return Fraction(rng.choice([0, 1, 1, 2, 3, rng.randint(0, 10**6)]), rng.choice([1, 1, 2, 3, 7]))


def case(seed: int, kind: str) -> Case:
    """A state of one to four users, reachable or not, and an event."""
    rng = random.Random(f"{kind}{seed}")
    users = "ABCD"[: rng.randint(1, 4)]
    s = Competition(
        number(rng),
        {user: number(rng) for user in users},
        {user: rng.random() < 0.6 for user in users},
        {user: number(rng) + 1 for user in users},
    )
    return s, rng.choice(users), {user: number(rng) + 1 for user in users}, rng.random() < 0.5


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_the_readings_agree(kind: str) -> None:
    outcomes = set()
    for seed in range(40):
        s, user, head, drains = case(seed, kind)
        exact = exactly(s, kind, user, head, drains)
        assert by_the_solver(s, kind, user, head, drains) == exact, (seed, s)
        outcomes.add((exact[0], exact[1] != s.v, exact[2] != s.meter))
    assert len(outcomes) > 1 or kind in ("complete", "weight", "upkeep")


@pytest.mark.integration
@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.rules], ids=lambda mutant: mutant.name)
def test_they_agree_on_wrong_rules_too(mutant: Any) -> None:
    for kind in KINDS:
        s, user, head, drains = case(7, kind)
        assert by_the_solver(s, kind, user, head, drains, mutant.rules) == exactly(
            s, kind, user, head, drains, mutant.rules
        )


def test_a_reading_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terms, "maximum", lambda self, a, b: a)
    differ = 0
    for seed in range(40):
        s, user, head, drains = case(seed, "arrive")
        differ += by_the_solver(s, "arrive", user, head, drains) != exactly(s, "arrive", user, head, drains)
    assert differ > 0


def test_a_transition_without_a_single_outcome_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terms, "supremum", lambda self, least, numbers: Terms.whole(self, least) + _free(self))
    s, user, head, _ = case(3, "dispatch")
    alone = replace(s, waiting=dict.fromkeys(s.waiting, False) | {user: True})
    with pytest.raises(ValueError, match="more than one outcome"):
        by_the_solver(alone, "dispatch", user, head, True, SFQ)


def _free(terms: Terms) -> Any:
    from sfq_proofs.solver import logic

    return logic.number("anything")
