"""The competition: virtual time, meters, and who waits; one transition per event (article §2).

Written once. Read through `Exact` it is the model that runs; read through solver terms it is the transition
relation that is proved, for any number of users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic

from sfq_spec import rules as scalar
from sfq_spec.logic import Logic, N, T, U


@dataclass(frozen=True)
class Competition(Generic[U, N, T]):
    """What decides who is next. Nothing else does."""

    v: N
    """Virtual time: the start tag of the latest dispatch, or the level of the latest reset."""
    meter: Mapping[U, N]
    """S, the start tag of each user's next request."""
    waiting: Mapping[U, T]
    """Whether the user's own queue holds a request."""
    weight: Mapping[U, N]
    """w, the share of the user; charges are divided by it."""


@dataclass(frozen=True)
class Step(Generic[U, N, T]):
    """A transition: whether it may happen, and what is then the case."""

    enabled: T
    after: Competition[U, N, T]
    charged: Competition[U, N, T]
    """The moment after the charge and before a reset; the same as `after` where nothing is reset."""


def nobody_waits(logic: Logic[U, N, T], s: Competition[U, N, T]) -> T:
    """The end of a period of congestion (article §2.5)."""
    return logic.for_all(lambda user: logic.no(s.waiting[user]))


def is_first(logic: Logic[U, N, T], s: Competition[U, N, T], user: U, head: Mapping[U, N]) -> T:
    """R-SELECT. The waiting user of least (S, id). `head`, the cost of each user's next request, is not used."""

    def not_before(other: U) -> T:
        tie = logic.both(logic.equal(s.meter[user], s.meter[other]), logic.no(logic.precedes(other, user)))
        return logic.implies(s.waiting[other], logic.either(s.meter[user] < s.meter[other], tie))

    return logic.both(s.waiting[user], logic.for_all(not_before))


def settle(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], user: U) -> Competition[U, N, T]:
    """Whoever may have left, `user`, has left: reset if the period of congestion is over (article §2.5)."""
    level = rules.reset(s.v, logic.supremum(s.v, s.meter), logic.maximum)
    return replace(s, v=logic.choose(rules.is_over(logic, s, user), level, s.v))


def arrive(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], user: U, cost: N) -> Step[U, N, T]:
    """A request is appended; only a queue that was empty rejoins (article §2.4)."""
    joined = rules.join(s.meter[user], s.v, logic.maximum)
    meter = logic.choose(s.waiting[user], s.meter[user], joined)
    after = replace(s, meter=logic.put(s.meter, user, meter), waiting=logic.put(s.waiting, user, logic.true()))
    return Step(logic.true(), after, after)


def dispatch(
    logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], user: U, head: Mapping[U, N], drains: T
) -> Step[U, N, T]:
    """Select, advance, charge; `drains` tells that this was the user's last request (article §2.3)."""
    start = s.meter[user]
    charged = replace(
        s,
        v=rules.advance(start, s.v),
        meter=logic.put(s.meter, user, rules.charge(start, head[user], s.weight[user])),
        waiting=logic.put(s.waiting, user, logic.no(drains)),
    )
    return Step(rules.is_first(logic, s, user, head), settle(logic, rules, charged, user), charged)


def cancel(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], user: U, cost: N, drains: T) -> Step[U, N, T]:
    """A waiting request is withdrawn, uncharged; the last one anywhere ends the period (article §2.5, §5.1)."""
    left = replace(s, waiting=logic.put(s.waiting, user, logic.no(drains)))
    return Step(s.waiting[user], settle(logic, rules, left, user), left)


def complete(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], user: U, cost: N) -> Step[U, N, T]:
    """R-FINAL. Completion and failure change nothing (article §2.6, §5.1)."""
    return Step(logic.true(), s, s)


def reweigh(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], user: U, weight: N) -> Step[U, N, T]:
    """R-WEIGHT. The meter stays; the weight counts from the next charge on (article §4.4)."""
    after = replace(s, weight=logic.put(s.weight, user, weight))
    return Step(logic.true(), after, after)


def upkeep(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T]) -> Step[U, N, T]:
    """Housekeeping has nothing to do in exact arithmetic, and must never be observable (article §7.2)."""
    return Step(logic.true(), s, s)


Scalar = Callable[..., Any]
Transition = Callable[..., Step[Any, Any, Any]]


@dataclass(frozen=True)
class Rules:
    """Every rule as a value, so that a mutant is these with one of them replaced."""

    join: Scalar = scalar.join
    advance: Scalar = scalar.advance
    charge: Scalar = scalar.charge
    reset: Scalar = scalar.reset
    is_first: Callable[..., Any] = is_first
    is_over: Callable[..., Any] = lambda logic, s, user: nobody_waits(logic, s)
    arrive: Transition = arrive
    dispatch: Transition = dispatch
    cancel: Transition = cancel
    complete: Transition = complete
    reweigh: Transition = reweigh
    upkeep: Transition = upkeep


SFQ = Rules()
"""The rules of the article."""
