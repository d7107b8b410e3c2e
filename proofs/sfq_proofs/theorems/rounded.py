"""FLOAT-BAND: the band of meters, with every sum and every charge read as a rounded one (article §3.1, §7.2).

The transitions and predicates are those of the exact proof. In the finished formulas each `+` is replaced by one
unknown function of two numbers, each `/` by another, and of these only instances of the lemmas in `floats` are known.
What is left of numbers is their order, in which the floats from +0 to +∞ have their places. So whatever rounds
monotonically keeps the band: v never decreases, no waiting meter is below v, and none is above fl(v + last).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import z3

from sfq_proofs.finding import Finding
from sfq_proofs.solver.induction import Obligation, refuted
from sfq_proofs.solver.logic import REAL, Term, Terms
from sfq_proofs.solver.model import ZERO, Event, Model, Observed, State, level, lower, upper
from sfq_spec import properties as claim
from sfq_spec import rounding
from sfq_spec.competition import SFQ, Competition, Rules
from sfq_spec.mutants import BY_NAME

CLAIMS = ("FLOAT-BAND",)
LEAVE_THE_BAND = ("clock-at-finish", "frozen-clock", "bank-while-idle", "no-idle-reset")
"""Mutants that leave the band, rounded or not."""
SUM = z3.Function("fl_sum", REAL, REAL, REAL)
QUOTIENT = z3.Function("fl_quotient", REAL, REAL, REAL)


@dataclass(frozen=True)
class Rounding:
    """What is known of a rounded sum. Without any one of these the band is not proved."""

    monotone: bool = True
    grows: bool = True
    commutes: bool = True
    charges: bool = True

    def known(self, logic: Terms, before: State, event: Event, o: Term) -> Iterator[Term]:
        """The instances of the lemmas that a step for the sake of user o needs."""
        user, last = event.user, event.account.last[o]
        charge = event.cost / before.weight[user]
        charged, after = event.step.charged.v, event.step.after.v
        if self.charges:
            yield z3.Implies(z3.And(event.cost > 0, before.weight[user] > 0), charge >= 0)
        if self.grows:
            yield _of_meters(rounding.grows(logic, before.meter[user], charge), before.meter[user], charge)
            yield _of_meters(rounding.grows(logic, before.v, last), before.v, last)
        if self.monotone:
            yield _of_meters(rounding.monotone(logic, last, before.v, after), last, before.v)
            yield _of_meters(rounding.monotone(logic, last, charged, after), last, charged)
        if self.commutes:
            for v in (before.v, charged, after):
                yield _of_meters(rounding.commutes(logic, last, v), last, v)


def _of_meters(lemma: Term, *numbers: Term) -> Term:
    return z3.Implies(z3.And(*(number >= 0 for number in numbers)), lemma)


def obligations(rules: Rules = SFQ, known: Rounding = Rounding()) -> Iterator[Obligation]:
    """The start, and every step, for one arbitrary user."""
    model = Model(rules)
    logic, s, a, o = model.logic, model.s, model.a, model.other
    weights = logic.for_all(lambda u: s.weight[u] > 0)
    nobody = Competition(ZERO, logic.everywhere(ZERO), logic.everywhere(z3.BoolVal(False)), s.weight)
    start = claim.begin(logic, nobody, logic.everywhere(ZERO), ZERO)
    yield _rounded("rounded, at first", [rounding.grows(logic, ZERO, ZERO)], _band(logic, nobody, start))
    for event in model.events.values():
        given = [_band(logic, s, a), weights, *event.happens, *known.known(logic, s, event, o)]
        after, account = event.step.after, event.account
        goal = z3.And(
            after.v >= 0,
            after.meter[o] >= 0,
            account.last[o] >= 0,
            claim.inv_upper(logic, after, account.last, o),
            claim.inv_lower(logic, after, o),
            claim.reset_level(logic, after, o),
            claim.inv_mono(s, event.step),
        )
        yield _rounded(f"rounded, {event.name}", given, goal)


def findings() -> list[Finding]:
    """The proof breaks down without any one of the lemmas, and for rules that leave the band."""
    lemmas = [field.name for field in fields(Rounding)]
    needed = [name for name in lemmas if _breaks_down(known=replace(Rounding(), **{name: False}))]
    dead = [name for name in LEAVE_THE_BAND if _breaks_down(BY_NAME[name].rules or SFQ)]
    says = f"the band needs every lemma: {', '.join(needed)}"
    holds = needed == lemmas and dead == list(LEAVE_THE_BAND)
    return [Finding("rounded sums", CLAIMS, holds, says, (*(f"without “{name}”" for name in needed), *dead))]


def _breaks_down(rules: Rules = SFQ, known: Rounding = Rounding()) -> bool:
    return any(refuted(obligation) for obligation in obligations(rules, known))


def _band(logic: Terms, s: State, a: Observed) -> Term:
    """Numbers are not negative, and everybody is in the band."""
    numbers = logic.for_all(lambda u: z3.And(s.meter[u] >= 0, a.last[u] >= 0))
    return z3.And(s.v >= 0, numbers, upper(logic, s, a), lower(logic, s, a), level(logic, s, a))


def _rounded(name: str, given: Sequence[Term], goal: Term) -> Obligation:
    known: dict[int, tuple[Term, Term]] = {}
    return Obligation(name, CLAIMS, tuple(unexact(part, known) for part in given), unexact(goal, known))


def unexact(expression: Term, known: dict[int, tuple[Term, Term]]) -> Term:
    """The expression with every sum and quotient of numbers replaced by a rounded one."""
    key = expression.get_id()
    if key not in known:  # kept with its image, as in `induction.grounded`
        known[key] = expression, _unexact(expression, known)
    return known[key][1]


def _unexact(expression: Term, known: dict[int, tuple[Term, Term]]) -> Term:
    if z3.is_quantifier(expression):
        bound = [z3.FreshConst(expression.var_sort(at), "u") for at in range(expression.num_vars())]
        body = unexact(z3.substitute_vars(expression.body(), *reversed(bound)), known)
        return z3.ForAll(bound, body) if expression.is_forall() else z3.Exists(bound, body)
    parts = [unexact(part, known) for part in expression.children()]
    if z3.is_add(expression):
        return SUM(*parts)
    if z3.is_div(expression):
        return QUOTIENT(*parts)
    return expression.decl()(*parts) if parts else expression
