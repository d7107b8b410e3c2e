"""PLACE-STALL and PLACE-OVERTAKE: the order when a selected request fits on no server (article §5.2).

Under `overtake` a user *stands* in the competition while it waits and could be placed at every dispatch since it
joined. The band and the bounds hold of those who stand; for the reset, and for its level, everybody counts who waits.
An interval claim about a user waiting throughout becomes one about a user standing throughout: waiting and placeable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term, Terms
from sfq_proofs.solver.model import INVARIANTS, ZERO, Model, Observed, State
from sfq_proofs.theorems.keeping import nobody
from sfq_spec import placement, sameness
from sfq_spec import properties as claim
from sfq_spec.competition import SFQ, Rules, Step
from sfq_spec.placement import Dispatch

STALL, OVERTAKE = ("PLACE-STALL",), ("PLACE-OVERTAKE",)


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """Both ways."""
    yield from stalling(rules)
    yield from overtaking(rules)


def stalling(rules: Rules = SFQ, stall: Dispatch = placement.stall) -> Iterator[Obligation]:
    """A dispatch is the one without placement, or there is none: the sequence is the same, later. From any state."""
    model = Model(rules)
    logic, s, u, o = model.logic, model.s, model.user, model.other
    head, drains, fits = term.numbers("head"), term.truth("drains"), term.truths("placeable")
    plain = rules.dispatch(logic, rules, s, u, head, drains)
    stalled = stall(logic, rules, s, u, head, drains, fits.__getitem__)
    another = stall(logic, rules, s, o, head, drains, fits.__getitem__)
    same = logic.for_all(lambda x: sameness.identical(logic, stalled.after, plain.after, x))
    sent, facts, order = stalled.enabled, tuple(logic.facts), logic.order_is_total()
    yield Obligation("stall: who is sent is first", STALL, (sent,), plain.enabled)
    yield Obligation("stall: what comes of it", STALL, (sent, *facts), same)
    yield Obligation(
        "stall: nobody else is sent", STALL, (*order, plain.enabled, z3.Not(fits[u])), z3.Not(another.enabled)
    )
    yield Obligation("stall: no longer than need be", STALL, (plain.enabled, fits[u]), sent)


@dataclass(frozen=True)
class Moment:
    """A state under `overtake`, with its account, and who stands in the competition."""

    s: State
    a: Observed
    stands: Term
    prompt: Term
    """The user p joined without residue, and stands and waits for its first turn since."""
    served: Term
    """Who was dispatched since then."""

    @property
    def among(self) -> State:
        """The competition of those who stand."""
        return replace(self.s, waiting=self.stands)

    def invariants(self, logic: Terms) -> dict[str, Term]:
        """Those of the model, said of who stands; RESET-LEVEL of everybody; and the standing of the prompt."""
        s, stands, p = self.s, self.stands, term.user("p")
        said = {
            one.name: one.holds(logic, s if one.name == "level when idle" else self.among, self.a) for one in INVARIANTS
        }
        later = logic.for_all(lambda o: z3.Implies(self.served[o], s.meter[o] > s.v))
        return {
            "who stands waits": logic.for_all(lambda u: z3.Implies(stands[u], s.waiting[u])),
            **said,
            "standing of the prompt": z3.Implies(self.prompt, z3.And(stands[p], s.meter[p] == s.v, later)),
        }


def moment(model: Model) -> Moment:
    """An arbitrary one."""
    return Moment(model.s, model.a, term.truths("stands"), term.truth("prompt"), term.truths("served"))


def overtaking(rules: Rules = SFQ) -> Iterator[Obligation]:
    """Every event keeps every invariant, and the bounds follow."""
    model = Model(rules)
    logic, now = model.logic, moment(model)
    known = tuple(now.invariants(logic).values())
    first = nobody(logic, model.s)
    account = claim.begin(logic, first, logic.everywhere(ZERO), ZERO)
    empty = Moment(first, account, first.waiting, z3.BoolVal(False), now.served)
    weights = logic.for_all(lambda u: model.s.weight[u] > 0)
    yield Obligation("overtake, at first", OVERTAKE, (weights,), z3.And(*empty.invariants(logic).values()))
    begun = replace(now, a=claim.begin(logic, now.among, model.a.last, ZERO))
    yield Obligation("overtake, begin", OVERTAKE, known, z3.And(*begun.invariants(logic).values()))
    for event in model.events.values():
        if event.name != "dispatch":
            goal = z3.And(*_after(model, now, event.name, event.step).invariants(logic).values())
            yield Obligation(f"overtake, {event.name}", OVERTAKE, (*known, *event.happens), goal)
    yield from overtaken(rules)
    yield from _bounds(model, now, known)


def _after(model: Model, now: Moment, name: str, step: Step[Any, Any, Any]) -> Moment:
    """Whoever arrives where nothing waited stands from then on; whoever has nothing left does not."""
    logic, s, u, p = model.logic, now.s, model.user, term.user("p")
    joins = z3.And(z3.BoolVal(name == "arrive"), z3.Not(s.waiting[u]))
    stands = logic.put(now.stands, u, z3.And(z3.Or(now.stands[u], joins), step.after.waiting[u]))
    account = claim.left(logic, now.a, replace(step.after, waiting=stands), u)
    prompt = z3.And(joins, u == p, s.meter[u] <= s.v)
    still, served = z3.And(now.prompt, stands[p]), z3.If(prompt, z3.K(term.USER, z3.BoolVal(False)), now.served)
    return Moment(step.after, account, stands, z3.Or(still, prompt), served)


def overtaken(rules: Rules = SFQ, overtake: Dispatch = placement.overtake) -> Iterator[Obligation]:
    """A dispatch at which some can be placed and others cannot."""
    model = Model(rules)
    logic, s, u, o, p, now = model.logic, model.s, model.user, model.other, term.user("p"), moment(model)
    known = tuple(now.invariants(logic).values())
    head, drains, fits = term.numbers("head"), term.truth("drains"), term.truths("placeable")
    step = overtake(logic, rules, s, u, head, drains, fits.__getitem__)
    field = placement.field(logic, rules, s, fits.__getitem__)
    plain = rules.dispatch(logic, rules, s, u, head, drains)
    stands = logic.put_each(now.stands, lambda x: z3.And(step.after.waiting[x], fits[x]))
    among = replace(step.after, waiting=stands)
    account = claim.dispatched(logic, now.a, among, u, head[u] / s.weight[u])
    still = logic.put_each(now.a.throughout, lambda x: z3.And(now.a.throughout[x], stands[x]))
    prompt, served = z3.And(now.prompt, u != p, stands[p]), logic.put(now.served, u, logic.true())
    after = Moment(step.after, replace(account, throughout=still), stands, prompt, served)
    heads = logic.for_all(lambda x: head[x] > 0)
    before = (*known, heads, step.enabled, *logic.facts)
    goals = after.invariants(logic) | {
        "v never decreases": claim.inv_mono(s, step),
        "the first who can be placed": z3.And(fits[u], claim.select_least(logic, field, u, o)),
        "nobody twice before the prompt": claim.fair_prompt(logic, prompt, now.served[u]),
        "charge": claim.disp_before(logic, field, step, u, head[u]),
        "reset": z3.And(claim.reset_alone(logic, step), claim.reset_own(logic, step, u, o)),
        "rejoining": z3.Implies(field.waiting[o], z3.And(field.meter[o] >= s.v, field.meter[o] >= s.meter[o])),
    }
    for name, goal in goals.items():
        yield Obligation(f"overtake, dispatch: {name}", OVERTAKE, before, goal)
    everybody = logic.for_all(lambda x: z3.Implies(s.waiting[x], z3.And(fits[x], now.stands[x])))
    same = logic.for_all(lambda x: sameness.identical(logic, step.after, plain.after, x))
    goal = z3.And(step.enabled == plain.enabled, z3.Implies(plain.enabled, same))
    given = (now.invariants(logic)["lower band"], everybody, *logic.facts)
    yield Obligation("overtake, dispatch: no difference where all fit", OVERTAKE, given, goal)


def _bounds(model: Model, now: Moment, known: tuple[Term, ...]) -> Iterator[Obligation]:
    logic, s, a = model.logic, now.among, now.a
    i, j, greatest = term.user("i"), term.user("j"), term.number("greatest")
    goals = {
        "INV-SPREAD": claim.inv_spread(logic, s, a.last, i, j),
        "FAIR-UPPER": claim.fair_upper(logic, s, a, i),
        "FAIR-LOWER": claim.fair_lower(logic, s, a, j),
        "FAIR-LEAD": claim.fair_lead(logic, a, i, j),
        "FAIR-PAIR": claim.fair_pair(logic, a, i, j, greatest),
        "FAIR-STARVE": claim.fair_starve(logic, a, i, j, ZERO),
    }
    for name, goal in goals.items():
        yield Obligation(f"overtake, bound of {name}", OVERTAKE, known, goal)
