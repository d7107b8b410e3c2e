"""Fairness over every interval: what the invariants say of two users (article §3.2, §3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term
from sfq_proofs.solver.model import ZERO, Model, State
from sfq_spec import properties as claim


def obligations(model: Model) -> Iterator[Obligation]:
    """The bounds, and who is prompt."""
    logic, s, a = model.logic, model.s, model.a
    i, j, greatest = term.user("i"), term.user("j"), term.number("greatest")
    goals = {
        "FAIR-UPPER": claim.fair_upper(logic, s, a, i),
        "FAIR-LOWER": claim.fair_lower(logic, s, a, j),
        "FAIR-LEAD": claim.fair_lead(logic, a, i, j),
        "FAIR-PAIR": claim.fair_pair(logic, a, i, j, greatest),
        "FAIR-STARVE": claim.fair_starve(logic, a, i, j, ZERO),
    }
    for name, goal in goals.items():
        yield Obligation(f"bound of {name}", (name, "WEIGHT-ALL"), model.known(), goal)
    yield from _prompt(model)


def _prompt(model: Model) -> Iterator[Obligation]:
    """`prompt`: the user `p` joined without residue and waits for its first turn. `served`: dispatched since then.

    While p is prompt its meter is v, and whoever was served is above v, so nobody is served twice.
    """
    logic, s = model.logic, model.s
    p, prompt, served = term.user("p"), term.truth("prompt"), term.truths("served")

    def standing(now: State, is_prompt: Term, has_been: Any) -> Term:
        return z3.Implies(
            is_prompt,
            z3.And(
                now.waiting[p],
                now.meter[p] == now.v,
                logic.for_all(lambda o: z3.Implies(has_been[o], now.meter[o] > now.v)),
            ),
        )

    nobody = logic.everywhere(z3.BoolVal(False))
    for event in model.events.values():
        before = (*model.known(), *event.happens, standing(s, prompt, served))
        after, u = event.step.after, event.user
        still, then = prompt, served
        if event.name == "arrive":
            joins = z3.And(u == p, z3.Not(s.waiting[u]), s.meter[u] <= s.v)
            still, then = z3.Or(prompt, joins), z3.If(joins, nobody, served)
        elif event.name == "dispatch":
            still, then = z3.And(prompt, u != p), z3.Store(served, u, True)
            goal = claim.fair_prompt(logic, z3.And(prompt, u != p), served[u])
            yield Obligation("dispatch: nobody twice before the prompt", ("FAIR-PROMPT",), before, goal)
        elif event.name == "cancel":
            still = z3.And(prompt, after.waiting[p])
        goal = standing(after, still, then)
        yield Obligation(f"{event.name}: standing of the prompt", ("FAIR-PROMPT",), before, goal)
