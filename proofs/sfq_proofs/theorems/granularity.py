"""GRAN-FLOOR: how fine any rule can be that sends whole requests (article §3.5).

Over the interval that holds one dispatch and nothing else, its user is ahead of any other by that charge: proved of an
arbitrary state. So while two users have a backlog, of charges d and e, no order keeps every lead below the larger of
them, once it has gone on for as many dispatches as the lighter charge goes into the heavier: checked of all orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product

from sfq_proofs.finding import Finding
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.model import ZERO, Model
from sfq_spec import properties as claim
from sfq_spec import repaired
from sfq_spec.competition import SFQ, Rules

CLAIMS = ("GRAN-FLOOR",)
CHARGES = tuple((Fraction(d), Fraction(e)) for d in (1, 2, 3, 5) for e in (1, 2, 3, 5))
Floor = Callable[[Fraction, Fraction], Fraction]


def obligations(rules: Rules = SFQ) -> Iterator[Obligation]:
    """One dispatch, seen by an observer who starts right before it."""
    model = Model(rules)
    logic, s, event, other = model.logic, model.s, model.events["dispatch"], model.other
    now = claim.begin(logic, s, model.a.last, ZERO)
    charge = event.cost / s.weight[event.user]
    then = claim.dispatched(logic, now, event.step.after, event.user, charge)
    given = (*event.happens, event.user != other, s.weight[event.user] > 0)
    yield Obligation("one dispatch", CLAIMS, given, repaired.one_ahead(logic, then, event.user, other, charge))


def worst(order: Sequence[int], charges: tuple[Fraction, Fraction]) -> Fraction:
    """The greatest lead, of either user, over any interval of an order of dispatches."""
    ahead = list(accumulate((charges[0] if user == 0 else -charges[1] for user in order), initial=Fraction(0)))
    return max(ahead) - min(ahead)


def least(charges: tuple[Fraction, Fraction]) -> Fraction:
    """The least of the worst leads, over all orders of that many dispatches."""
    longest = math.ceil(max(charges) / min(charges))
    return min(worst(order, charges) for order in product((0, 1), repeat=longest))


def findings() -> list[Finding]:
    """All orders, for some pairs of charges."""
    orders = sum(2 ** math.ceil(max(pair) / min(pair)) for pair in CHARGES)
    found = {pair: least(pair) for pair in CHARGES}
    holds = all(least_ >= max(pair) for pair, least_ in found.items())
    attained = any(least_ == max(pair) for pair, least_ in found.items())
    refuted = (
        () if all(least_ >= sum(pair) for pair, least_ in found.items()) else ("a floor of both charges together",)
    )
    says = f"{orders} orders for {len(CHARGES)} pairs of charges: none keeps every lead below the larger charge"
    return [Finding("all orders", CLAIMS, holds and attained and bool(refuted), says, refuted)]
