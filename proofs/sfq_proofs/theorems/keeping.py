"""Competitions that cannot be told apart: bisimulations, for any number of users and any horizon.

A relation between two states holds at first, is kept by every event that happens on both sides, the reset and its
supremum included, and wherever it holds a dispatch or cancel is possible on one side exactly when it is on the other.
So the same events give the same dispatches for ever. The relations stand in `sfq_spec.sameness`, the variants of the
rules in `sfq_spec.variants`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term, Terms
from sfq_proofs.solver.model import ZERO, State
from sfq_proofs.solver.reading import KINDS, step_of
from sfq_spec import properties as claim
from sfq_spec import sameness, variants
from sfq_spec.competition import SFQ, Competition, Rules, Step

Relation = Callable[[Terms, State, State, Term], Term]
"""What is to hold between two states, for one user."""
Scale = Callable[[Term], Term]


@dataclass(frozen=True)
class Lemma:
    """What helps with meters that are calculated: the charge is algebra, and the reset only compares."""

    meter: Scale
    """The meter on the right; it keeps the order."""
    algebra: Callable[[Term, Term, Term], Term]
    """What holds of any cost, weight and charge."""
    by_order: Relation
    """The relation with `scaled` in place of `meter`, of which is known only that it keeps the order."""


@dataclass(frozen=True)
class Pair:
    """Two sets of rules, the relation between their states, and how an event on the right differs."""

    name: str
    claims: tuple[str, ...]
    left: Rules
    right: Rules
    related: Relation
    cost: Scale = lambda cost: cost
    """The cost on the right of a request."""
    weight: Scale = lambda weight: weight
    """The weight on the right of a user."""
    given: tuple[Term, ...] = ()
    """What is known of the numbers in the relation."""
    from_below: bool = False
    """Whether the relation needs INV-LOWER, which is then part of it."""
    in_two: bool = True
    """Whether a dispatch is shown in two parts, the charge and what comes after it: quicker, where both are related."""
    lemma: Lemma | None = None

    def together(self, logic: Terms, s: State, t: State) -> Term:
        """The relation for all users, and that weights are positive."""

        def parts(u: Term) -> Iterator[Term]:
            yield from (s.weight[u] > 0, t.weight[u] > 0, self.related(logic, s, t, u))
            if self.from_below:
                yield claim.inv_lower(logic, s, u)

        return logic.for_all(lambda u: z3.And(*parts(u)))


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """Every pair, and what may happen on one side alone."""
    for pair in pairs(rules):
        yield from bisimilar(pair)
    yield from alone(rules)


def pairs(rules: Rules = SFQ) -> tuple[Pair, ...]:
    """The rules beside themselves or a variant of themselves."""
    return (
        Pair("shift", ("KEEP-SHIFT",), rules, variants.rebasing(rules), sameness.shifted),
        Pair("forget", ("KEEP-FORGET",), rules, variants.forgetting(rules), sameness.forgotten, from_below=True),
        Pair("late reset", ("RESET-EAGER", "BATCH-FRESH"), rules, variants.lazily(rules), sameness.late, in_two=False),
        scale(rules),
    )


scaled = z3.Function("scaled", term.REAL, term.REAL)
"""Any map of numbers that keeps their order."""


def scale(rules: Rules) -> Pair:
    """All costs times a and all weights times b: the meters are k = a/b times as great."""
    a, b, k = (term.number(name) for name in "abk")

    def related(meter: Scale) -> Relation:
        return lambda logic, s, t, u: sameness.scaled(logic, s, t, u, lambda w: w * b, meter)

    def algebra(c: Term, w: Term, charge: Term) -> Term:
        return z3.Implies(z3.And(w > 0, c == charge * w), (c * a) / (w * b) == charge * k)

    return Pair(
        "scale",
        ("ORDER-SCALE",),
        rules,
        rules,
        related(lambda S: S * k),
        cost=lambda cost: cost * a,
        weight=lambda weight: weight * b,
        given=(b > 0, k > 0, a == b * k),
        lemma=Lemma(lambda S: S * k, algebra, related(scaled)),
    )


def bisimilar(pair: Pair) -> Iterator[Obligation]:
    """The relation holds at first; every event keeps it; what is possible on one side is possible on the other."""
    logic = Terms()
    s, t = state("l"), state("r")
    first = logic.for_all(lambda u: z3.And(s.weight[u] > 0, t.weight[u] == pair.weight(s.weight[u])))
    goal = pair.together(logic, nobody(logic, s), nobody(logic, t))
    yield Obligation(f"{pair.name}, at first", pair.claims, (*pair.given, first), goal)
    for kind in KINDS:
        logic = Terms()
        left, right, given = _event(logic, pair, kind, s, t)
        before = (*pair.given, pair.together(logic, s, t), given)
        if kind in ("dispatch", "cancel"):
            same = left.enabled == right.enabled
            yield Obligation(f"{pair.name}, {kind}: the same are possible", pair.claims, before, same)
        if kind == "dispatch" and pair.in_two:
            yield from _in_two(logic, pair, before, s, left, right)
        else:
            before = (*before, left.enabled, *logic.facts)
            goal = pair.together(logic, left.after, right.after)
            yield Obligation(f"{pair.name}, {kind}: stays", pair.claims, before, goal)


def _in_two(
    logic: Terms, pair: Pair, before: tuple[Term, ...], s: State, left: Step[Any, Any, Any], right: Step[Any, Any, Any]
) -> Iterator[Obligation]:
    name, claims, lemma = pair.name, pair.claims, pair.lemma
    if lemma is None:
        before = (*before, left.enabled)
    else:
        yield Obligation(f"{name}, algebra", claims, pair.given, lemma.algebra(*map(term.number, "cwd")))
        cost, weight = term.numbers("head")[term.user("user")], s.weight[term.user("user")]
        before = (*before, lemma.algebra(cost, weight, cost / weight))
    goal = pair.together(logic, left.charged, right.charged)
    yield Obligation(f"{name}, dispatch: the charge", claims, before, goal)
    known: tuple[Term, ...] = ()
    if lemma is not None:
        x, y = term.number("x"), term.number("y")
        order = z3.And(lemma.meter(ZERO) == 0, _in_order(lemma.meter, x, y))
        yield Obligation(f"{name}, order", claims, pair.given, order)
        known = (scaled(ZERO) == 0, _all_in_order(logic, left.charged))
        pair = replace(pair, related=lemma.by_order)
    known = (*known, pair.together(logic, left.charged, right.charged), *logic.facts)
    goal = pair.together(logic, left.after, right.after)
    yield Obligation(f"{name}, dispatch: stays", claims, known, goal)


def _in_order(f: Scale, x: Term, y: Term) -> Term:
    return (f(x) <= f(y)) == (x <= y)


def _all_in_order(logic: Terms, s: State) -> Term:
    """`scaled` keeps the order of v and the meters of all users, and so of every pair of numbers in the state."""
    v, meter = s.v, s.meter
    return logic.for_all(
        lambda i: z3.And(
            _in_order(scaled, v, meter[i]),
            _in_order(scaled, meter[i], v),
            logic.for_all(lambda j: _in_order(scaled, meter[i], meter[j])),
        )
    )


def _event(
    logic: Terms, pair: Pair, kind: str, s: State, t: State
) -> tuple[Step[Any, Any, Any], Step[Any, Any, Any], Term]:
    """The same event on both sides, and what is known of its numbers."""
    u, drains, head, other = term.user("user"), term.truth("drains"), term.numbers("head"), term.numbers("other head")
    number = pair.weight if kind == "weight" else pair.cost
    given = logic.for_all(lambda x: z3.And(head[x] > 0, other[x] == number(head[x])))
    left = step_of(logic, pair.left, s, kind, u, head, drains)
    right = step_of(logic, pair.right, t, kind, u, other, drains)
    return left, right, given


def state(name: str) -> State:
    """An arbitrary state."""
    return Competition(
        term.number(f"v_{name}"), term.numbers(f"S_{name}"), term.truths(f"waiting_{name}"), term.numbers(f"w_{name}")
    )


def nobody(logic: Terms, s: State) -> State:
    """The first state, with any weights: nobody waits, and all meters are 0."""
    return replace(s, v=ZERO, meter=logic.everywhere(ZERO), waiting=logic.everywhere(z3.BoolVal(False)))


def alone(rules: Rules) -> Iterator[Obligation]:
    """What may happen on the right alone, at any moment: a shift by any number, forgetting one user, the late reset."""
    shift, forget, late, _ = pairs(rules)
    logic, s, t = Terms(), state("l"), state("r")
    u, x = term.user("user"), term.number("x")
    moved = replace(t, v=t.v + x, meter=logic.put_each(t.meter, lambda o: t.meter[o] + x))
    before = (shift.together(logic, s, t), *logic.facts)
    yield Obligation("shift, alone by any number", shift.claims, before, shift.together(logic, s, moved))
    before = (forget.together(logic, s, t), z3.Not(t.waiting[u]), t.meter[u] <= t.v, x <= t.v)
    less = replace(t, meter=logic.put(t.meter, u, x))
    yield Obligation("forget, alone anybody settled", forget.claims, before, forget.together(logic, s, less))
    now = variants.reset_now(logic, rules, t)
    before = (late.together(logic, s, t), *logic.facts)
    idle = logic.for_all(lambda o: z3.Not(t.waiting[o]))
    goal = z3.And(late.together(logic, s, now), z3.Implies(idle, now.v == s.v))
    yield Obligation("late reset, alone at any moment", late.claims, before, goal)
