"""What is true where a sentence of the article is not: the predicates that `errata` needs and the article lacks."""

from __future__ import annotations

from sfq_spec import sameness
from sfq_spec.competition import Competition
from sfq_spec.logic import Logic, N, T, U
from sfq_spec.properties import Account


def fair_level(logic: Logic[U, N, T], s: Competition[U, N, T], a: Account[U, N, T], i: U, j: U) -> T:
    """FAIR-LEVEL: from a common start two users waiting throughout differ by one charge at most (article §7.5(1)).

    With equal charges that is one dispatch, and two over an interval that begins anywhere (FAIR-LEAD).
    """
    level = logic.both(a.throughout[i], a.throughout[j], logic.equal(a.meter1[i], a.meter1[j]))
    return logic.implies(level, a.charged[i] - a.charged[j] <= a.last[i])


def drain_same(
    logic: Logic[U, N, T], returned: Competition[U, N, T], stayed: Competition[U, N, T], other: U, u: U
) -> T:
    """DRAIN-SAME: to have drained one's queue and come back before the next dispatch makes no difference (§7.5(4)).

    `returned` is the state after the last request was dispatched and another has arrived, `stayed` the state after the
    dispatch with that other request behind it. It holds while `other` waits; where nobody does, there is a reset.
    """
    return logic.implies(stayed.waiting[other], sameness.identical(logic, returned, stayed, u))


def one_ahead(logic: Logic[U, N, T], a: Account[U, N, T], user: U, other: U, charge: N) -> T:
    """GRAN-FLOOR: over the interval of one dispatch its user is ahead by exactly that charge (article §3.5)."""
    return logic.equal(a.charged[user] - a.charged[other], charge)
