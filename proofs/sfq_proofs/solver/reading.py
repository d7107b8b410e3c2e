"""An independent check of the reading: the same transition, evaluated by the solver and by Python.

The proofs speak of terms, the runs of numbers; both come from one source. Here a concrete state is written into the
terms, the solver is asked what the transition makes of it, and the answer must be the one that the exact reading
gives, number for number, user for user.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import grounded
from sfq_proofs.solver.logic import Terms
from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.logic import Exact
from sfq_spec.machine import ExactCompetition

KINDS = ("arrive", "dispatch", "cancel", "complete", "weight", "upkeep")

Outcome = tuple[bool, Fraction, dict[str, Fraction], dict[str, bool], dict[str, Fraction]]
"""Whether the event may happen, and then v, the meters, who waits, and the weights."""


def step_of(
    logic: Any, rules: Rules, s: Any, kind: str, user: Any, head: Mapping[Any, Any], drains: Any
) -> Step[Any, Any, Any]:
    """The transition of one kind of event, in whichever reading the logic is; a number that it needs is head[user]."""
    match kind:
        case "arrive":
            return rules.arrive(logic, rules, s, user, head[user])
        case "dispatch":
            return rules.dispatch(logic, rules, s, user, head, drains)
        case "cancel":
            return rules.cancel(logic, rules, s, user, head[user], drains)
        case "complete":
            return rules.complete(logic, rules, s, user, head[user])
        case "weight":
            return rules.reweigh(logic, rules, s, user, head[user])
        case _:
            return rules.upkeep(logic, rules, s)


def exactly(
    s: ExactCompetition, kind: str, user: str, head: Mapping[str, Fraction], drains: bool, rules: Rules = SFQ
) -> Outcome:
    """What the exact reading gives."""
    step = step_of(Exact(s.meter.keys()), rules, s, kind, user, head, drains)
    after = step.after
    return bool(step.enabled), after.v, dict(after.meter), dict(after.waiting), dict(after.weight)


def by_the_solver(
    s: ExactCompetition, kind: str, user: str, head: Mapping[str, Fraction], drains: bool, rules: Rules = SFQ
) -> Outcome:
    """What the solver's model of the terms gives. Raises `ValueError` where there is not exactly one outcome."""
    logic, symbolic, heads = Terms(), _symbolic(), term.numbers("head")
    world = {name: term.user(f"user:{name}") for name in s.meter}
    step = step_of(logic, rules, symbolic, kind, world[user], heads, z3.BoolVal(drains))
    told = _told(step, world)
    state = [symbolic.v == _real(s.v)]
    for name, u in world.items():
        state += [
            symbolic.meter[u] == _real(s.meter[name]),
            symbolic.weight[u] == _real(s.weight[name]),
            symbolic.waiting[u] == s.waiting[name],
            heads[u] == _real(head[name]),
            *(logic.precedes(u, other) == (name < another) for another, other in world.items()),
        ]
    named = {name: z3.Const(f"told:{name}", value.sort()) for name, value in told.items()}
    equations = [named[name] == value for name, value in told.items()]
    solver = z3.Solver()
    solver.set("ctrl_c", False)
    solver.add(*grounded([*state, *logic.facts, *equations], list(world.values())))
    if solver.check() != z3.sat:
        raise ValueError(f"{kind} has no outcome")
    model = solver.model()
    values = {name: model.eval(constant, model_completion=True) for name, constant in named.items()}
    solver.add(z3.Or(*(named[name] != value for name, value in values.items())))
    if solver.check() != z3.unsat:
        raise ValueError(f"{kind} has more than one outcome")
    return (
        z3.is_true(values["enabled"]),
        values["v"].as_fraction(),
        {name: values[f"meter:{name}"].as_fraction() for name in world},
        {name: z3.is_true(values[f"waiting:{name}"]) for name in world},
        {name: values[f"weight:{name}"].as_fraction() for name in world},
    )


def _symbolic() -> Competition[Any, Any, Any]:
    return Competition(term.number("v"), term.numbers("S"), term.truths("waiting"), term.numbers("w"))


def _told(step: Step[Any, Any, Any], world: Mapping[str, Any]) -> dict[str, Any]:
    after = step.after
    told = {"enabled": step.enabled, "v": after.v}
    for name, u in world.items():
        told |= {
            f"meter:{name}": after.meter[u],
            f"waiting:{name}": after.waiting[u],
            f"weight:{name}": after.weight[u],
        }
    return told


def _real(number: Fraction) -> Any:
    return z3.RealVal(str(number))
