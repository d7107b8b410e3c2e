"""The transition relation: one symbolic state, one symbolic event of each kind, what is known before it.

Everything here is the reading of `sfq_spec.competition` and `sfq_spec.properties` through `Terms`; no rule is
written a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.logic import Term, Terms
from sfq_spec import properties as claim
from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.properties import Account

State = Competition[Any, Any, Any]
Observed = Account[Any, Any, Any]
ZERO = z3.RealVal(0)

BAND = (
    "INV-UPPER",
    "INV-SPREAD",
    "IDLE-RESIDUE",
    "FAIR-LEAD",
    "FAIR-PAIR",
    "FAIR-STARVE",
    "FAIR-UPPER",
    "FAIR-LOWER",
    "REPLICA",
    "FAIR-LEVEL",
)
FLOOR = ("INV-MONO", "INV-LOWER", "INV-SPREAD", "IDLE-PROMPT", "FAIR-PROMPT", *BAND[3:])


@dataclass(frozen=True)
class Event:
    """One kind of event from an arbitrary state: when it may happen, what is then the case."""

    name: str
    step: Step[Any, Any, Any]
    account: Observed
    user: Term
    cost: Term
    happens: tuple[Term, ...]


@dataclass(frozen=True)
class Invariant:
    """What holds at every moment, and which claims rest on that."""

    name: str
    claims: tuple[str, ...]
    holds: Callable[[Terms, State, Observed], Term]


def bookkeeping(logic: Terms, s: State, a: Observed) -> Term:
    """Weights are positive and charges not negative; t1 lies in the past and was in the band."""
    return z3.And(
        a.v1 <= s.v,
        logic.for_all(
            lambda u: z3.And(
                s.weight[u] > 0,
                a.last[u] >= 0,
                a.last1[u] >= 0,
                claim.inv_upper(logic, at_t1(s, a), a.last1, u),
            )
        ),
    )


def at_t1(s: State, a: Observed) -> State:
    """What the account remembers of the state at t1."""
    return Competition(a.v1, a.meter1, s.waiting, s.weight)


def upper(logic: Terms, s: State, a: Observed) -> Term:
    """INV-UPPER for everybody."""
    return logic.for_all(lambda u: claim.inv_upper(logic, s, a.last, u))


def lower(logic: Terms, s: State, a: Observed) -> Term:
    """INV-LOWER for everybody."""
    return logic.for_all(lambda u: claim.inv_lower(logic, s, u))


def level(logic: Terms, s: State, a: Observed) -> Term:
    """RESET-LEVEL for everybody."""
    return logic.for_all(lambda u: claim.reset_level(logic, s, u))


def no_gain(logic: Terms, s: State, a: Observed) -> Term:
    """Whoever was charged since t1 has a meter that shows it: leaving and rejoining drops nothing."""
    return logic.for_all(
        lambda u: z3.And(a.charged[u] >= 0, z3.Or(a.charged[u] == 0, s.meter[u] >= a.v1 + a.charged[u]))
    )


def balance(logic: Terms, s: State, a: Observed) -> Term:
    """The meter of a user waiting throughout has moved by exactly its charges."""
    return logic.for_all(
        lambda u: z3.Implies(a.throughout[u], z3.And(s.waiting[u], a.charged[u] == s.meter[u] - a.meter1[u]))
    )


INVARIANTS = (
    Invariant("bookkeeping", (*BAND, "INV-MONO", "INV-LOWER"), bookkeeping),
    Invariant("upper band", BAND, upper),
    Invariant("lower band", FLOOR, lower),
    Invariant("level when idle", ("RESET-LEVEL",), level),
    Invariant("no gain by leaving", ("FAIR-UPPER", "FAIR-LEAD", "FAIR-STARVE", "FAIR-PAIR", "REPLICA"), no_gain),
    Invariant(
        "balance of who waits",
        ("FAIR-LOWER", "FAIR-LEAD", "FAIR-STARVE", "FAIR-PAIR", "REPLICA", "FAIR-LEVEL"),
        balance,
    ),
)


class Model:
    """An arbitrary state with its account, and every kind of event that may happen in it."""

    def __init__(self, rules: Rules = SFQ) -> None:
        self.logic = logic = Terms()
        self.rules = rules
        self.s = s = Competition(term.number("v"), term.numbers("S"), term.truths("waiting"), term.numbers("w"))
        self.a = Account(
            term.numbers("last"),
            term.numbers("W"),
            term.number("v1"),
            term.numbers("S1"),
            term.numbers("last1"),
            term.truths("throughout"),
        )
        self.user, self.other = term.user("user"), term.user("other")
        self.cost = term.number("cost")
        head, drains = term.numbers("head"), term.truth("drains")
        u, c = self.user, self.cost
        steps = {
            "arrive": rules.arrive(logic, rules, s, u, c),
            "dispatch": rules.dispatch(logic, rules, s, u, head, drains),
            "cancel": rules.cancel(logic, rules, s, u, c, drains),
            "complete": rules.complete(logic, rules, s, u, c),
            "weight": rules.reweigh(logic, rules, s, u, c),
            "upkeep": rules.upkeep(logic, rules, s),
        }
        self.events = {name: self._event(name, step, head) for name, step in steps.items()}

    def _event(self, name: str, step: Step[Any, Any, Any], head: Mapping[Any, Term]) -> Event:
        logic, u = self.logic, self.user
        if name == "dispatch":
            account = claim.dispatched(logic, self.a, step.after, u, head[u] / self.s.weight[u])
            happens = (step.enabled, logic.for_all(lambda x: head[x] > 0))
            return Event(name, step, account, u, head[u], (*happens, *logic.facts))
        account = claim.left(logic, self.a, step.after, u)
        return Event(name, step, account, u, self.cost, (step.enabled, self.cost > 0, *logic.facts))

    def known(self) -> tuple[Term, ...]:
        """Every invariant of the state before the event."""
        return tuple(invariant.holds(self.logic, self.s, self.a) for invariant in INVARIANTS)
