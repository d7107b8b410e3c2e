"""WEIGHT-STRIDE: with equal costs, and while nobody joins or leaves, SFQ is stride scheduling (article §6.1).

The stride model of `sfq_spec.related.stride` and the competition stand in the relation `sameness.striding`: who waits
is active, weights are tickets, and meters and passes differ by one constant. It holds once everybody has joined a
competition that was level; every dispatch keeps it; and where it holds, both choose the same user.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term, Terms
from sfq_proofs.solver.model import ZERO, State
from sfq_proofs.theorems.keeping import state
from sfq_spec import sameness
from sfq_spec.competition import SFQ, Rules
from sfq_spec.related import stride
from sfq_spec.related.stride import Stride

CLAIMS = ("WEIGHT-STRIDE",)
Clients = Stride[Term, Term, Term]


def together(logic: Terms, s: State, t: Clients, shift: Term) -> Term:
    """The relation between the two, for everybody."""
    return logic.for_all(lambda u: z3.And(s.weight[u] > 0, sameness.striding(logic, s, t, u, shift)))


def gathering(logic: Terms, s: State, t: Clients) -> Term:
    """Before the first dispatch: who waits is level, and nobody is ahead."""
    return z3.And(
        together(logic, s, t, s.v - t.global_pass),
        logic.for_all(lambda u: z3.And(s.meter[u] <= s.v, z3.Implies(s.waiting[u], s.meter[u] == s.v))),
    )


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """Everybody joins, and dispatch after dispatch is the same."""
    yield joining(rules)
    yield from dispatching(rules)


def clients() -> Clients:
    """Any stride scheduler."""
    return Stride(
        term.number("global pass"),
        term.number("global tickets"),
        term.numbers("pass"),
        term.numbers("tickets"),
        term.truths("active"),
    )


def joining(rules: Rules = SFQ, *, at_a_stride: bool = False, gathered: bool = True) -> Obligation:
    """One more joins, as the article has it; or, which is wrong, one stride later, or after a dispatch."""
    logic, s, t = Terms(), state("s"), clients()
    u, cost, shift = term.user("user"), term.number("cost"), term.number("shift")
    remain = cost / t.tickets[u] if at_a_stride else ZERO
    step = rules.arrive(logic, rules, s, u, cost)
    then = stride.join(logic, t, u, remain)
    known = gathering(logic, s, t) if gathered else z3.And(together(logic, s, t, shift), s.meter[u] <= s.v)
    goal = gathering(logic, step.after, then) if gathered else together(logic, step.after, then, shift)
    return Obligation("stride: joining", CLAIMS, (known, z3.Not(s.waiting[u]), cost > 0, *logic.facts), goal)


def dispatching(rules: Rules = SFQ, *, equal_costs: bool = True) -> Iterator[Obligation]:
    """The same is chosen, and the relation is kept; also, which is wrong, with any costs."""
    logic, s, t = Terms(), state("s"), clients()
    u, head, quantum, shift = term.user("user"), term.numbers("head"), term.number("quantum"), term.number("shift")
    stays = z3.BoolVal(False)
    step = rules.dispatch(logic, rules, s, u, head, stays)
    then = stride.allocate(logic, t, u, quantum)
    costs = logic.for_all(lambda x: head[x] == quantum if equal_costs else head[x] > 0)
    known = (together(logic, s, t, shift), quantum > 0, t.global_tickets > 0, costs, *logic.facts)
    same = step.enabled == stride.is_least(logic, t, u)
    yield Obligation("stride: the same is chosen", CLAIMS, known, same)
    goal = together(logic, step.after, then, shift)
    yield Obligation("stride: dispatch", CLAIMS, (*known, step.enabled), goal)
