"""Every claim as a named predicate, read on exact states and on solver terms alike (article §2–§3).

A *state* claim speaks of one moment, a *step* claim of one transition, an *interval* claim of what an observer
who started at some moment t1 has written down by now (`Account`). The predicates speak of the users they are
given; who quantifies over users is the caller: a proof over all, a run over those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic

from sfq_spec.competition import Competition, Step, nobody_waits
from sfq_spec.logic import Logic, N, T, U


@dataclass(frozen=True)
class Account(Generic[U, N, T]):
    """What an observer keeps who started at t1. Charges are normalised: cost divided by weight."""

    last: Mapping[U, N]
    """The most recent charge of each user; 0 where there was none."""
    charged: Mapping[U, N]
    """W, the sum of the charges of each user since t1."""
    v1: N
    """Virtual time at t1."""
    meter1: Mapping[U, N]
    """Meters at t1."""
    last1: Mapping[U, N]
    """The most recent charge of each user at t1."""
    throughout: Mapping[U, T]
    """Whether the user has been waiting at every moment since t1."""


def begin(logic: Logic[U, N, T], s: Competition[U, N, T], last: Mapping[U, N], zero: N) -> Account[U, N, T]:
    """The account of an observer who starts now."""
    return Account(last, logic.everywhere(zero), s.v, s.meter, last, s.waiting)


def dispatched(
    logic: Logic[U, N, T], a: Account[U, N, T], after: Competition[U, N, T], user: U, charge: N
) -> Account[U, N, T]:
    """The account after a dispatch of `user` at a normalised charge."""
    a = replace(
        a,
        last=logic.put(a.last, user, charge),
        charged=logic.put(a.charged, user, a.charged[user] + charge),
    )
    return left(logic, a, after, user)


def left(logic: Logic[U, N, T], a: Account[U, N, T], after: Competition[U, N, T], user: U) -> Account[U, N, T]:
    """The account after an event at which `user` may have stopped waiting."""
    still = logic.both(a.throughout[user], after.waiting[user])
    return replace(a, throughout=logic.put(a.throughout, user, still))


# States


def inv_upper(logic: Logic[U, N, T], s: Competition[U, N, T], last: Mapping[U, N], u: U) -> T:
    """INV-UPPER: no meter is further ahead of v than its user's latest charge (article §3.1, sharper)."""
    return s.meter[u] <= s.v + last[u]  # type: ignore[no-any-return]


def inv_lower(logic: Logic[U, N, T], s: Competition[U, N, T], u: U) -> T:
    """INV-LOWER: a waiting user's meter is not below v (article §3.1)."""
    return logic.implies(s.waiting[u], s.meter[u] >= s.v)


def inv_spread(logic: Logic[U, N, T], s: Competition[U, N, T], last: Mapping[U, N], i: U, j: U) -> T:
    """INV-SPREAD: two waiting users are apart by no more than the latest charge of the one ahead (article §3.1)."""
    both_wait = logic.both(s.waiting[i], s.waiting[j])
    return logic.implies(both_wait, s.meter[i] - s.meter[j] <= last[i])


def idle_residue(logic: Logic[U, N, T], s: Competition[U, N, T], last: Mapping[U, N], u: U) -> T:
    """IDLE-RESIDUE: what is remembered is at most one charge, and nothing once v has caught up (article §2.4)."""
    gone = logic.implies(s.v >= s.meter[u], logic.equal(logic.maximum(s.meter[u], s.v), s.v))
    return logic.both(s.meter[u] - s.v <= last[u], gone)


def reset_level(logic: Logic[U, N, T], s: Competition[U, N, T], u: U) -> T:
    """RESET-LEVEL: while nobody waits no meter is above v, so that every joiner starts at v (article §2.5)."""
    return logic.implies(nobody_waits(logic, s), s.meter[u] <= s.v)


# Steps


def inv_mono(before: Competition[U, N, T], step: Step[U, N, T]) -> T:
    """INV-MONO: virtual time never decreases (article §3.1)."""
    return step.after.v >= before.v  # type: ignore[no-any-return]


def disp_before(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], user: U, cost: N) -> T:
    """DISP-BEFORE: before the charge S = v, after it S = v + c/w (article §2.3)."""
    finish = step.charged.v + cost / before.weight[user]
    return logic.both(logic.equal(before.meter[user], step.charged.v), logic.equal(step.charged.meter[user], finish))


def select_least(logic: Logic[U, N, T], before: Competition[U, N, T], user: U, other: U) -> T:
    """R-SELECT: nobody who waits has a smaller meter, or the same one and an earlier id (article §2.3)."""
    earlier = logic.both(logic.equal(before.meter[other], before.meter[user]), logic.precedes(other, user))
    return logic.implies(
        before.waiting[other], logic.no(logic.either(before.meter[other] < before.meter[user], earlier))
    )


def reset_alone(logic: Logic[U, N, T], step: Step[U, N, T]) -> T:
    """RESET-ALONE: virtual time is lifted beyond a start tag only when nobody waits (article §3.4)."""
    return logic.either(logic.equal(step.after.v, step.charged.v), nobody_waits(logic, step.after))


def reset_own(logic: Logic[U, N, T], step: Step[U, N, T], user: U, other: U) -> T:
    """RESET-OWN: emptying one's own queue while another waits resets nothing (article §3.4)."""
    emptied = logic.both(logic.no(step.after.waiting[user]), step.after.waiting[other])
    return logic.implies(emptied, logic.equal(step.after.v, step.charged.v))


def idle_floor(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], user: U) -> T:
    """IDLE-FLOOR: whoever returns does so at v or above (article §2.4)."""
    return logic.implies(logic.no(before.waiting[user]), step.after.meter[user] >= before.v)


def idle_prompt(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], user: U, other: U) -> T:
    """IDLE-PROMPT: whoever returns without residue has a meter no greater than any that waits (article §2.4)."""
    returns = logic.both(logic.no(before.waiting[user]), before.meter[user] <= before.v, before.waiting[other])
    return logic.implies(returns, step.after.meter[user] <= before.meter[other])


def untouched(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], u: U) -> T:
    """R-FINAL, R-WEIGHT: the event moves neither v nor a meter, nor who waits (article §2.6, §5.1)."""
    return logic.both(
        logic.equal(step.after.v, before.v),
        logic.equal(step.after.meter[u], before.meter[u]),
        logic.implies(before.waiting[u], step.after.waiting[u]),
        logic.implies(step.after.waiting[u], before.waiting[u]),
    )


# Intervals


def fair_upper(logic: Logic[U, N, T], s: Competition[U, N, T], a: Account[U, N, T], i: U) -> T:
    """FAIR-UPPER: W of any user, however often it leaves, is at most v(t2) − v(t1) + last(t2) (article §3.3)."""
    return a.charged[i] <= s.v - a.v1 + a.last[i]  # type: ignore[no-any-return]


def fair_lower(logic: Logic[U, N, T], s: Competition[U, N, T], a: Account[U, N, T], j: U) -> T:
    """FAIR-LOWER: W of a user waiting throughout is at least v(t2) − v(t1) − last(t1) (article §3.3)."""
    return logic.implies(a.throughout[j], a.charged[j] >= s.v - a.v1 - a.last1[j])


def fair_lead(logic: Logic[U, N, T], a: Account[U, N, T], i: U, j: U) -> T:
    """FAIR-LEAD: nobody is ahead of a user waiting throughout by more than last_i(t2) + last_j(t1) (§3.3)."""
    return logic.implies(a.throughout[j], a.charged[i] - a.charged[j] <= a.last[i] + a.last1[j])


def fair_pair(logic: Logic[U, N, T], a: Account[U, N, T], i: U, j: U, greatest: N) -> T:
    """FAIR-PAIR: two users waiting throughout differ by at most 2 c_max, c_max over all charges that count (§3.2)."""
    both_wait = logic.both(a.throughout[i], a.throughout[j])
    counted = logic.both(a.last[i] <= greatest, a.last[j] <= greatest, a.last1[i] <= greatest, a.last1[j] <= greatest)
    gap = a.charged[i] - a.charged[j]
    within = logic.both(
        gap <= a.last[i] + a.last1[j],
        a.charged[j] - a.charged[i] <= a.last[j] + a.last1[i],
        logic.implies(counted, gap <= greatest + greatest),
    )
    return logic.implies(both_wait, within)


def fair_starve(logic: Logic[U, N, T], a: Account[U, N, T], u: U, j: U, zero: N) -> T:
    """FAIR-STARVE: while u waits and is not dispatched, any other gets at most last_j(t2) + last_u(t1)."""
    passed_over = logic.both(a.throughout[u], logic.equal(a.charged[u], zero))
    return logic.implies(passed_over, a.charged[j] <= a.last[j] + a.last1[u])


def fair_prompt(logic: Logic[U, N, T], prompt: T, served: T) -> T:
    """FAIR-PROMPT: while a user that joined without residue waits for its turn, nobody is dispatched twice."""
    return logic.no(logic.both(prompt, served))


# The rules themselves


def r_join(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], user: U, other: U) -> T:
    """R-JOIN: who was not waiting is lifted to v, and nothing else moves (article §2.4)."""
    lifted = logic.maximum(before.meter[other], before.v)
    rejoins = logic.both(logic.same(other, user), logic.no(before.waiting[other]))
    return logic.both(
        step.after.waiting[user],
        logic.equal(step.after.v, before.v),
        logic.equal(step.after.meter[other], logic.choose(rejoins, lifted, before.meter[other])),
        logic.implies(step.after.waiting[other], logic.either(before.waiting[other], logic.same(other, user))),
    )


def r_leave(logic: Logic[U, N, T], kept: Competition[U, N, T], step: Step[U, N, T], u: U) -> T:
    """R-LEAVE: whoever leaves, and whatever is reset, every meter is kept (article §2.4)."""
    return logic.equal(step.after.meter[u], kept.meter[u])


def r_advance(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], user: U) -> T:
    """R-ADVANCE: v is the start tag of the request that is dispatched (article §2.3)."""
    return logic.equal(step.charged.v, before.meter[user])


def r_charge(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], user: U, cost: N, other: U) -> T:
    """R-CHARGE: a dispatch adds c/w, as both are then, to the meter of its user alone (article §2.3, §4.4)."""
    finish = before.meter[user] + cost / before.weight[user]
    kept = logic.either(logic.same(other, user), logic.equal(step.charged.meter[other], before.meter[other]))
    return logic.both(logic.equal(step.charged.meter[user], finish), kept)


def charges_nothing(logic: Logic[U, N, T], before: Competition[U, N, T], step: Step[U, N, T], u: U) -> T:
    """R-CHARGE: no other event charges; at most it lifts a meter to v (article §2.3, §5.1)."""
    return step.after.meter[u] <= logic.maximum(before.meter[u], before.v)  # type: ignore[no-any-return]


def r_reset(logic: Logic[U, N, T], step: Step[U, N, T], u: U) -> T:
    """R-RESET: where nobody waits v is lifted to the greatest meter, and no further (article §2.5)."""
    over, level, before = nobody_waits(logic, step.after), step.after.v, step.charged
    attained = logic.no(logic.for_all(lambda user: logic.no(logic.equal(before.meter[user], level))))
    lifted = logic.both(level >= before.v, level >= before.meter[u])
    least = logic.either(logic.equal(level, before.v), attained)
    return logic.both(
        logic.implies(over, logic.both(lifted, least)),
        logic.either(over, logic.equal(level, before.v)),
    )


def tag_quiet(logic: Logic[U, N, T], v: N, finish: N) -> T:
    """TAG-QUIET: max(v, F) = F, and F is above v, so that v has no part in the tag (article §2.2)."""
    return logic.both(logic.equal(logic.maximum(v, finish), finish), v < finish)


# The choice


def order_total(logic: Logic[U, N, T], one: T, other: T, i: U, j: U) -> T:
    """ORDER-TOTAL: if i is first and j is first, they are the same user (article §7.3)."""
    return logic.implies(logic.both(one, other), logic.same(i, j))


def order_blind(logic: Logic[U, N, T], first: T, otherwise: T) -> T:
    """ORDER-BLIND: who is first with some costs, weights and v is first with any others (article §5.1)."""
    return logic.both(logic.implies(first, otherwise), logic.implies(otherwise, first))


def order_work(logic: Logic[U, N, T], first: T, still: T, newcomer: T) -> T:
    """ORDER-WORK: with one more who waits, either who was first still is, or the newcomer is (article §5.2)."""
    return logic.implies(first, logic.either(still, newcomer))


def batch_second(logic: Logic[U, N, T], charged: Competition[U, N, T], one: U, two: U, fresh: T) -> T:
    """BATCH-FRESH: the second of two picked at once is right exactly if the first, once charged, is not before it.

    `charged` is the state after the dispatch of the first, `fresh` whether a fresh selection gives the second (§7.1).
    """
    tie = logic.both(logic.equal(charged.meter[one], charged.meter[two]), logic.precedes(one, two))
    before = logic.both(charged.waiting[one], logic.either(charged.meter[one] < charged.meter[two], tie))
    return logic.both(logic.implies(fresh, logic.no(before)), logic.implies(logic.no(before), fresh))
