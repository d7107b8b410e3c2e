"""REPLICA, by induction on the number of schedulers (article §8).

The schedulers share nothing, so an event on one is none on the others, and each has the invariants of `model` by
itself. With none the lead is 0; one more adds no more than its own bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term
from sfq_proofs.solver.model import ZERO, Model
from sfq_spec import replica
from sfq_spec.competition import SFQ, Rules
from sfq_spec.replica import Total

CLAIMS = ("REPLICA",)


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """No scheduler, and one more on which j waits throughout."""
    model = Model(rules)
    yield Obligation("replica: none", CLAIMS, (), replica.within(model.logic, replica.none(ZERO)))
    yield one_more(model, model.a.throughout[term.user("j")])


def one_more(model: Model, waits: Term) -> Obligation:
    """The step of the induction, for a scheduler of which `waits` is known."""
    logic, a, i, j = model.logic, model.a, term.user("i"), term.user("j")
    greatest = term.number("greatest")
    so_far: Total[Term] = Total(*map(term.number, ("lead", "allowed", "most")))
    known = (replica.within(logic, so_far), waits, a.last[i] <= greatest, a.last1[j] <= greatest)
    goal = replica.within(logic, replica.plus(so_far, a, i, j, greatest))
    return Obligation("replica: one more", CLAIMS, (*model.known(), *known), goal)
