"""The band: every event keeps every invariant, and what follows at one moment (article §3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.model import INVARIANTS, ZERO, Model
from sfq_spec import properties as claim
from sfq_spec.competition import Competition


def obligations(model: Model) -> Iterator[Obligation]:
    """The start, every step, and the consequences."""
    yield from _start(model)
    yield from _steps(model)
    yield from _moments(model)


def _start(model: Model) -> Iterator[Obligation]:
    """With nobody there everything holds; and an observer may start at any moment."""
    logic, s, a = model.logic, model.s, model.a
    nobody = Competition(ZERO, logic.everywhere(ZERO), logic.everywhere(z3.BoolVal(False)), s.weight)
    zeros = logic.everywhere(ZERO)
    first = claim.begin(logic, nobody, zeros, ZERO)
    now = claim.begin(logic, s, a.last, ZERO)
    weights = logic.for_all(lambda u: s.weight[u] > 0)
    for invariant in INVARIANTS:
        goal = invariant.holds(logic, nobody, first)
        yield Obligation(f"at first: {invariant.name}", invariant.claims, (weights,), goal)
        goal = invariant.holds(logic, s, now)
        yield Obligation(f"begin: {invariant.name}", invariant.claims, model.known(), goal)


def _steps(model: Model) -> Iterator[Obligation]:
    for event in model.events.values():
        before = (*model.known(), *event.happens)
        for invariant in INVARIANTS:
            goal = invariant.holds(model.logic, event.step.after, event.account)
            extra = ("WEIGHT-ALL",) if event.name in ("weight", "dispatch") else ()
            yield Obligation(f"{event.name}: {invariant.name}", (*invariant.claims, *extra), before, goal)
        yield Obligation(
            f"{event.name}: v never decreases",
            ("INV-MONO", "FAIR-UPPER", "FAIR-LEAD", "REPLICA"),
            before,
            claim.inv_mono(model.s, event.step),
        )


def _moments(model: Model) -> Iterator[Obligation]:
    logic, s, a = model.logic, model.s, model.a
    i, j = term.user("i"), term.user("j")
    known = model.known()
    yield Obligation("spread", ("INV-SPREAD",), known, claim.inv_spread(logic, s, a.last, i, j))
    yield Obligation("residue", ("IDLE-RESIDUE",), known, claim.idle_residue(logic, s, a.last, i))
