"""TAG-FOLD: one meter per user sends what the tags of 1996 send (article §2.2).

A forward simulation, for any number of users and queues of any length: after the same events the two machines
stand in the relation `together`, and where they do, the request that the tags select is the one that the meters
select. Weights change only while their user's queue is empty, as tags are fixed on arrival.
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
from sfq_spec.competition import SFQ, Competition, Rules
from sfq_spec.tags import finish_tag, start_tag

CLAIMS = ("TAG-FOLD", "TAG-QUIET")


@dataclass(frozen=True)
class Tags:
    """The tag machine: request k of user u has a start tag and a length; those from `sent` to `arrived` wait."""

    v: Term
    start: Callable[[Term, Term], Term]
    length: Callable[[Term, Term], Term]
    sent: Callable[[Term], Term]
    arrived: Callable[[Term], Term]
    finish: Callable[[Term], Term]
    greatest: Term
    """The largest finish tag among the requests sent."""
    holder: Term
    """Whose request had it."""

    def waits(self, u: Term) -> Term:
        """The user has a request that is not sent."""
        return self.sent(u) < self.arrived(u)

    def head(self, u: Term) -> Term:
        """The start tag of the user's next request."""
        return self.start(u, self.sent(u))


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """The start, an arrival, a change of weight, a dispatch."""
    yield _at_first()
    yield from _arrival(rules)
    yield from _reweighing(rules)
    yield from _sending(rules)


def together(logic: Terms, t: Tags, s: State) -> dict[str, Term]:
    """The relation between the machines, part by part."""
    every, k = logic.for_all, z3.Int("k!")

    def queued(u: Term, after: int) -> Term:
        return z3.And(t.sent(u) <= k, k + after < t.arrived(u))

    return {
        "who waits": every(lambda u: z3.And(s.weight[u] > 0, t.sent(u) <= t.arrived(u), s.waiting[u] == t.waits(u))),
        "virtual time": t.v == s.v,
        "lengths": every(lambda u: z3.ForAll([k], z3.Implies(queued(u, 0), t.length(u, k) > 0))),
        "chain": every(
            lambda u: z3.ForAll(
                [k],
                z3.Implies(
                    queued(u, 1),
                    t.start(u, k + 1) == finish_tag(t.start(u, k), t.length(u, k), s.weight[u]),
                ),
            )
        ),
        "chain ahead": every(
            lambda u: z3.ForAll(
                [k],
                z3.Implies(queued(u, 0), t.finish(u) >= finish_tag(t.start(u, k), t.length(u, k), s.weight[u])),
            )
        ),
        "last finish": every(
            lambda u: z3.Implies(
                t.waits(u),
                t.finish(u) == finish_tag(t.start(u, t.arrived(u) - 1), t.length(u, t.arrived(u) - 1), s.weight[u]),
            )
        ),
        "meter is head's tag": every(lambda u: z3.Implies(t.waits(u), s.meter[u] == t.head(u))),
        "meter is last finish": every(lambda u: z3.Implies(z3.Not(t.waits(u)), s.meter[u] == t.finish(u))),
        "floor": every(lambda u: z3.Implies(t.waits(u), s.meter[u] >= s.v)),
        "greatest is above": every(
            lambda u: z3.Implies(z3.Not(t.waits(u)), z3.Or(t.finish(u) <= t.greatest, t.finish(u) <= s.v))
        ),
        "greatest is held": z3.Or(t.greatest <= s.v, s.meter[t.holder] >= t.greatest),
    }


def machines() -> tuple[Terms, Tags, State]:
    """Both machines in arbitrary states."""
    integer, real = z3.IntSort(), term.REAL
    tags = Tags(
        term.number("v_tags"),
        z3.Function("start", term.USER, integer, real),
        z3.Function("length", term.USER, integer, real),
        z3.Function("sent", term.USER, integer),
        z3.Function("arrived", term.USER, integer),
        z3.Function("F", term.USER, real),
        term.number("greatest"),
        term.user("holder"),
    )
    meters = Competition(term.number("v"), term.numbers("S"), term.truths("waiting"), term.numbers("w"))
    return Terms(), tags, meters


def _obligations(
    name: str, before: list[Any], after: dict[str, Term], lemmas: tuple[str, ...] = ()
) -> Iterator[Obligation]:
    """Every part of the relation after an event. A part named as a lemma helps those that come after it."""
    for part, goal in after.items():
        yield Obligation(f"tags, {name}: {part}", CLAIMS, tuple(before), goal)
        if part in lemmas:
            before = [*before, goal]


def _at_first() -> Obligation:
    logic, t, s = machines()
    start = replace(
        t,
        v=ZERO,
        sent=lambda u: z3.IntVal(0),
        arrived=lambda u: z3.IntVal(0),
        finish=lambda u: ZERO,
        greatest=ZERO,
    )
    meters = Competition(ZERO, logic.everywhere(ZERO), logic.everywhere(z3.BoolVal(False)), s.weight)
    weights = logic.for_all(lambda u: s.weight[u] > 0)
    return Obligation("tags, at first", CLAIMS, (weights,), z3.And(*together(logic, start, meters).values()))


def _arrival(rules: Rules) -> Iterator[Obligation]:
    logic, t, s = machines()
    u, cost = term.user("user"), term.number("cost")
    k = t.arrived(u)
    start = start_tag(t.v, t.finish(u), logic.maximum)
    tagged = replace(
        t,
        start=lambda x, j: z3.If(z3.And(x == u, j == k), start, t.start(x, j)),
        length=lambda x, j: z3.If(z3.And(x == u, j == k), cost, t.length(x, j)),
        arrived=lambda x: z3.If(x == u, k + 1, t.arrived(x)),
        finish=lambda x: z3.If(x == u, finish_tag(start, cost, s.weight[u]), t.finish(x)),
    )
    step = rules.arrive(logic, rules, s, u, cost)
    before = [*together(logic, t, s).values(), cost > 0]
    yield from _obligations("arrive", before, together(logic, tagged, step.after))


def _reweighing(rules: Rules) -> Iterator[Obligation]:
    logic, t, s = machines()
    u, weight = term.user("user"), term.number("weight")
    step = rules.reweigh(logic, rules, s, u, weight)
    before = [*together(logic, t, s).values(), weight > 0, z3.Not(s.waiting[u])]
    yield from _obligations("weight", before, together(logic, t, step.after))


def _sending(rules: Rules) -> Iterator[Obligation]:
    logic, t, s = machines()
    u, o = term.user("user"), term.user("o!")
    first = z3.ForAll(
        [o],
        z3.Implies(
            t.waits(o),
            z3.Or(t.head(u) < t.head(o), z3.And(t.head(u) == t.head(o), z3.Not(logic.precedes(o, u)))),
        ),
    )
    head = term.numbers("head")
    heads = logic.for_all(lambda x: z3.Implies(t.waits(x), head[x] == t.length(x, t.sent(x))))
    drains = t.sent(u) + 1 == t.arrived(u)
    finish = finish_tag(t.head(u), t.length(u, t.sent(u)), s.weight[u])
    ahead = finish > t.greatest
    sent = replace(
        t,
        sent=lambda x: z3.If(x == u, t.sent(u) + 1, t.sent(x)),
        greatest=z3.If(ahead, finish, t.greatest),
        holder=z3.If(ahead, u, t.holder),
    )
    over = logic.for_all(lambda x: z3.Not(sent.waits(x)))
    sent = replace(sent, v=z3.If(over, sent.greatest, t.head(u)))
    step = rules.dispatch(logic, rules, s, u, head, drains)
    before = [*together(logic, t, s).values(), t.waits(u), first, heads, *logic.facts]
    yield Obligation("tags, dispatch: same selection", CLAIMS, tuple(before), step.enabled)
    yield from _obligations("dispatch", before, together(logic, sent, step.after), ("who waits", "virtual time"))
