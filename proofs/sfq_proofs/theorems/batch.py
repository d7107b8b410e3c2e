"""BATCH-FRESH, the half that is proved: what several dispatches in one wake-up may leave to chance (article §7.1).

Selecting afresh, an implementation that sends several requests in one wake-up does what the rules do one by one, and
more than that: it may leave the reset to the end (`late reset` in `keeping`), and may handle an arrival of a user that
waits before or after any dispatch. The second of two requests picked at once is the right one exactly if the first,
once charged, does not come before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Terms
from sfq_proofs.theorems.keeping import state
from sfq_spec import properties as claim
from sfq_spec import sameness
from sfq_spec.competition import SFQ, Rules, nobody_waits

CLAIMS = ("BATCH-FRESH",)


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """An arrival before or after a dispatch, and two picked at once."""
    yield from either_way(rules)
    yield picked_at_once(rules)


def either_way(rules: Rules = SFQ, *, waits: bool = True) -> Iterator[Obligation]:
    """A user that waits gets one more request: before the dispatch or after it, unless that ends the congestion.

    Also, which is wrong, said of a user that does not wait.
    """
    logic, s = Terms(), state("s")
    u, first, cost, head = term.user("user"), term.user("first"), term.number("cost"), term.numbers("head")
    last, drains = term.truth("last"), term.truth("drains")
    arrived = rules.arrive(logic, rules, s, u, cost).after
    then_sent = rules.dispatch(logic, rules, arrived, first, head, last)
    sent = rules.dispatch(logic, rules, s, first, head, drains)
    then_arrived = rules.arrive(logic, rules, sent.after, u, cost).after
    before = (
        s.waiting[u] == z3.BoolVal(waits),
        cost > 0,
        logic.for_all(lambda x: z3.And(s.weight[x] > 0, head[x] > 0)),
        last == z3.And(drains, u != first),
        z3.Not(nobody_waits(logic, sent.after)),
        *logic.facts,
    )
    goal = then_sent.enabled == sent.enabled
    yield Obligation("batch: an arrival leaves the choice", CLAIMS, before, goal)
    goal = logic.for_all(lambda x: sameness.identical(logic, then_sent.after, then_arrived, x))
    yield Obligation("batch: an arrival before or after", CLAIMS, (*before, sent.enabled), goal)


def picked_at_once(rules: Rules = SFQ, *, always: bool = False) -> Obligation:
    """The first of all and the first of the rest; also, which is wrong, with the second always taken for right."""
    logic, s = Terms(), state("s")
    one, two, head = term.user("one"), term.user("two"), term.numbers("head")
    drains, last = term.truth("drains"), term.truth("last")
    sent = rules.dispatch(logic, rules, s, one, head, drains)
    rest = replace(s, waiting=logic.put(s.waiting, one, z3.BoolVal(False)))
    stale = rules.dispatch(logic, rules, rest, two, head, last).enabled
    fresh = rules.dispatch(logic, rules, sent.after, two, head, last).enabled
    goal = fresh if always else claim.batch_second(logic, sent.after, one, two, fresh)
    return Obligation("batch: the second pick", CLAIMS, (sent.enabled, stale, *logic.facts), goal)
