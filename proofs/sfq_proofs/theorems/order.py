"""The choice, and the rules one by one: what a single transition does, and what it does not depend on.

ORDER-WORK speaks of a finite set of users: whoever is selected waits; one who waits alone is selected; and where there
is a first among those who wait, there is one among them and one more. By induction on their number a dispatch is
possible whenever somebody waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term, Terms
from sfq_proofs.solver.model import Event, Model, State
from sfq_proofs.theorems import folding
from sfq_spec import properties as claim
from sfq_spec import sameness
from sfq_spec.competition import SFQ, Rules
from sfq_spec.tags import start_tag

NOBODY = z3.K(term.USER, z3.BoolVal(False))


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """The choice, the tag that needs no v, and the rules."""
    model = Model(rules)
    yield from _choice(model)
    yield from _again(model)
    yield quiet()
    for event in model.events.values():
        for name, claims, goal in _goals(model, event):
            yield Obligation(f"{event.name}: {name}", claims, event.happens, goal)


def _choice(model: Model) -> Iterator[Obligation]:
    logic, rules, s, u, o = model.logic, model.rules, model.s, model.user, model.other
    order, drains = tuple(logic.order_is_total()), term.truth("drains")

    def selected(now: State, user: Term, head: str = "head") -> Term:
        return rules.dispatch(logic, rules, now, user, term.numbers(head), drains).enabled

    first = selected(s, u)
    goal = claim.order_total(logic, first, selected(s, o), u, o)
    yield Obligation("order: one is first", ("ORDER-TOTAL",), order, goal)
    otherwise = replace(s, v=term.number("other v"), weight=term.numbers("other w"))
    goal = claim.order_blind(logic, first, selected(otherwise, u, "other head"))
    yield Obligation("order: blind", ("ORDER-BLIND",), (), goal)
    yield Obligation("order: who is first waits", ("ORDER-WORK",), (first,), s.waiting[u])
    alone = replace(s, waiting=logic.put(NOBODY, o, logic.true()))
    yield Obligation("order: one alone is first", ("ORDER-WORK",), order, selected(alone, o))
    more = replace(s, waiting=logic.put(s.waiting, o, logic.true()))
    goal = claim.order_work(logic, first, selected(more, u), selected(more, o))
    yield Obligation("order: first among one more", ("ORDER-WORK",), order, goal)


def _again(model: Model) -> Iterator[Obligation]:
    """The same event in the same state leads to the same state: nothing is left open, the level of a reset included."""
    logic, rules, s, u = model.logic, model.rules, model.s, model.user
    head, cost, drains = term.numbers("head"), model.cost, term.truth("drains")
    again = {
        "dispatch": rules.dispatch(logic, rules, s, u, head, drains).after,
        "cancel": rules.cancel(logic, rules, s, u, cost, drains).after,
    }
    for name, after in again.items():
        goal = _identical(logic, model.events[name].step.after, after)
        yield Obligation(f"order: {name} has one outcome", ("ORDER-TOTAL",), tuple(logic.facts), goal)


def _identical(logic: Terms, s: State, t: State) -> Term:
    return logic.for_all(lambda u: sameness.identical(logic, s, t, u))


def quiet(*, waits: bool = True) -> Obligation:
    """In the relation of TAG-FOLD, a request that arrives behind others takes the finish tag before it, whatever v is.

    Also, which is wrong, said of one that arrives where nothing waits.
    """
    logic, t, s = folding.machines()
    u = term.user("user")
    before = (*folding.together(logic, t, s).values(), t.waits(u) == z3.BoolVal(waits))
    tag = start_tag(t.v, t.finish(u), logic.maximum)
    goal = z3.And(claim.tag_quiet(logic, t.v, t.finish(u)), tag == t.finish(u))
    return Obligation("tags: quiet", ("TAG-QUIET",), before, goal)


def _goals(model: Model, event: Event) -> Iterator[tuple[str, tuple[str, ...], Term]]:
    """What an event does by the rules, and that it does no more. Only what happens is given: no invariant is used."""
    logic, s, step, u, o = model.logic, model.s, event.step, event.user, model.other
    if event.name == "dispatch":
        yield "R-ADVANCE", ("R-ADVANCE",), claim.r_advance(logic, s, step, u)
        yield "R-CHARGE", ("R-CHARGE",), claim.r_charge(logic, s, step, u, event.cost, o)
    else:
        yield "no charge", ("R-CHARGE",), claim.charges_nothing(logic, s, step, o)
    if event.name == "arrive":
        yield "R-JOIN", ("R-JOIN",), claim.r_join(logic, s, step, u, o)
        quiet = claim.untouched(logic, s, step, o)
        yield "quiet", ("TAG-QUIET",), z3.Implies(s.waiting[u], quiet)
    if event.name in ("dispatch", "cancel"):
        kept = step.charged if event.name == "dispatch" else s
        yield "R-LEAVE", ("R-LEAVE",), claim.r_leave(logic, kept, step, o)
        yield "R-RESET", ("R-RESET",), claim.r_reset(logic, step, o)
