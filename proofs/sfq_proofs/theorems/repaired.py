"""What holds where a sentence of the article does not (`sfq_spec.repaired`, docs/errata.md)."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from sfq_proofs.finding import Finding
from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation, refuted
from sfq_proofs.solver.model import Model
from sfq_spec import repaired
from sfq_spec.competition import SFQ, Rules
from sfq_spec.mutants import BY_NAME


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """From a common start; and what draining one's queue changes."""
    model = Model(rules)
    i, j = term.user("i"), term.user("j")
    goal = repaired.fair_level(model.logic, model.s, model.a, i, j)
    yield Obligation("from a common start", ("FAIR-LEVEL",), model.known(), goal)
    yield draining(rules)


def draining(rules: Rules = SFQ) -> Obligation:
    """A user's last request goes and another arrives; beside it, both were there."""
    model = Model(rules)
    logic, s, u, o = model.logic, model.s, model.user, model.other
    head = term.numbers("head")
    last = rules.dispatch(logic, rules, s, u, head, z3.BoolVal(True))
    back = rules.arrive(logic, rules, last.after, u, model.cost)
    stayed = rules.dispatch(logic, rules, s, u, head, z3.BoolVal(False))
    given = (
        stayed.enabled,
        u != o,
        model.cost > 0,
        logic.for_all(lambda x: z3.And(head[x] > 0, s.weight[x] > 0)),
        *logic.facts,
    )
    goal = logic.for_all(lambda x: repaired.drain_same(logic, back.after, stayed.after, o, x))
    return Obligation("drained and back", ("DRAIN-SAME",), given, goal)


CLAIMS = ("DRAIN-SAME",)
FORGIVING = ("reset-on-return", "leaving-forgives")


def findings() -> list[Finding]:
    """Rules under which draining one's queue does make a difference."""
    found = tuple(name for name in FORGIVING if refuted(draining(BY_NAME[name].rules or SFQ)))
    says = f"to drain one's queue makes a difference under {' and '.join(found)}"
    return [Finding("wrong rules", CLAIMS, found == FORGIVING, says, found)]
