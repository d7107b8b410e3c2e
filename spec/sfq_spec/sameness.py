"""When two competitions cannot be told apart: relations between two states, user by user.

Each is kept by every event, the same one on both sides, and wherever it holds the same user is selected. So the two
dispatch the same requests for ever (`sfq_proofs.theorems.keeping`).
"""

from __future__ import annotations

from collections.abc import Callable

from sfq_spec.competition import Competition, nobody_waits
from sfq_spec.logic import Logic, N, T, U
from sfq_spec.related.stride import Stride


def alike(logic: Logic[U, N, T], a: T, b: T) -> T:
    """Two truth values are the same."""
    return logic.both(logic.implies(a, b), logic.implies(b, a))


def exists(logic: Logic[U, N, T], s: Competition[U, N, T], level: N) -> T:
    """Some user's meter stands there."""
    return logic.no(logic.for_all(lambda user: logic.no(logic.equal(s.meter[user], level))))


def identical(logic: Logic[U, N, T], s: Competition[U, N, T], t: Competition[U, N, T], u: U) -> T:
    """There is no difference."""
    return logic.both(
        alike(logic, s.waiting[u], t.waiting[u]),
        logic.equal(s.weight[u], t.weight[u]),
        logic.equal(s.v, t.v),
        logic.equal(s.meter[u], t.meter[u]),
    )


def shifted(logic: Logic[U, N, T], s: Competition[U, N, T], t: Competition[U, N, T], u: U) -> T:
    """KEEP-SHIFT: the same distance from v, whatever v is (article §7.2)."""
    return logic.both(
        alike(logic, s.waiting[u], t.waiting[u]),
        logic.equal(s.weight[u], t.weight[u]),
        logic.equal(s.meter[u] - s.v, t.meter[u] - t.v),
    )


def forgotten(logic: Logic[U, N, T], s: Competition[U, N, T], t: Competition[U, N, T], u: U) -> T:
    """KEEP-FORGET: the same v and meter; of who does not wait, any two meters that are not above v (article §7.2)."""
    settled = logic.both(logic.no(s.waiting[u]), s.meter[u] <= s.v, t.meter[u] <= t.v)
    return logic.both(
        alike(logic, s.waiting[u], t.waiting[u]),
        logic.equal(s.weight[u], t.weight[u]),
        logic.equal(s.v, t.v),
        logic.either(logic.equal(s.meter[u], t.meter[u]), settled),
    )


def scaled(
    logic: Logic[U, N, T],
    s: Competition[U, N, T],
    t: Competition[U, N, T],
    u: U,
    weight: Callable[[N], N],
    meter: Callable[[N], N],
) -> T:
    """ORDER-SCALE: weights are so many times as great, and v and all meters so many times."""
    return logic.both(
        alike(logic, s.waiting[u], t.waiting[u]),
        logic.equal(weight(s.weight[u]), t.weight[u]),
        logic.equal(meter(s.v), t.v),
        logic.equal(meter(s.meter[u]), t.meter[u]),
    )


def late(logic: Logic[U, N, T], s: Competition[U, N, T], t: Competition[U, N, T], u: U) -> T:
    """RESET-EAGER: all is the same while somebody waits; after that t may still have the reset before it."""
    return logic.both(
        alike(logic, s.waiting[u], t.waiting[u]),
        logic.equal(s.weight[u], t.weight[u]),
        logic.equal(s.meter[u], t.meter[u]),
        t.v <= s.v,
        logic.implies(nobody_waits(logic, s), s.meter[u] <= s.v),
        logic.either(logic.equal(s.v, t.v), logic.both(nobody_waits(logic, s), exists(logic, s, s.v))),
    )


def striding(logic: Logic[U, N, T], s: Competition[U, N, T], t: Stride[U, N, T], u: U, shift: N) -> T:
    """WEIGHT-STRIDE: who waits is active, weights are tickets, a meter is a pass and one constant (article §6.1)."""
    return logic.both(
        alike(logic, s.waiting[u], t.active[u]),
        logic.equal(s.weight[u], t.tickets[u]),
        logic.implies(s.waiting[u], logic.equal(s.meter[u], t.passes[u] + shift)),
    )
