"""Decay and scores of LAS, put to the solvers (LAS-HALVES and others; predicates in `sfq_spec.related.attained`).

What decay leaves of a token is an unknown function of how long it lasts: positive, at most 1 for any time that has
passed, and of two times together the product. So what is proved holds for each half-life, and for each factor a pick.
A wrong variant of each statement beside it must have a counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from sfq_proofs.finding import Finding
from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation, refuted
from sfq_proofs.solver.logic import Term, Terms
from sfq_spec.related import attained
from sfq_spec.related.attained import Weights

LEFT = z3.Function("left", term.REAL, term.REAL)
"""What is left of a token."""


@dataclass(frozen=True, eq=False)
class Symbolic:
    """A service as a term."""

    value: Term
    left: Any = LEFT

    def halved(self, lives: Term) -> Symbolic:
        """Times what is left."""
        return Symbolic(self.value * self.left(lives), self.left)

    def plus(self, other: Symbolic) -> Symbolic:
        """The sum."""
        return Symbolic(self.value + other.value, self.left)

    def __eq__(self, other: object) -> Any:
        return self.value == other.value if isinstance(other, Symbolic) else NotImplemented

    def __lt__(self, other: Symbolic) -> Term:
        return self.value < other.value

    def __le__(self, other: Symbolic) -> Term:
        return self.value <= other.value


def positive(*times: Term) -> tuple[Term, ...]:
    """Something is left after each of these times, and no more than there was."""
    return tuple(z3.And(LEFT(time) > 0, z3.Implies(time >= 0, LEFT(time) <= 1)) for time in times)


def together(*pairs: tuple[Term, Term]) -> tuple[Term, ...]:
    """What is left after two times is the product, and after none all of it."""
    return (LEFT(z3.RealVal(0)) == 1, *(LEFT(a + b) == LEFT(a) * LEFT(b) for a, b in pairs))


LOGIC = Terms()
NOTHING, MINE, OTHER = (Symbolic(z3.RealVal(0)), Symbolic(term.number("mine")), Symbolic(term.number("other")))
A, B = term.number("a"), term.number("b")
PASSED = (A >= 0, B >= 0)
WEIGHTS = Weights(term.number("weight_service"), term.number("weight_wait"))
WEIGHED = (WEIGHTS.service >= 0, WEIGHTS.wait >= 0)
USERS = term.user("i"), term.user("j")
SERVICES = term.number("service_i"), term.number("service_j")
WAITS = term.number("wait_i"), term.number("wait_j")
TWO = (
    *WEIGHED,
    USERS[0] != USERS[1],
    *LOGIC.order_is_total(),
    *(value >= 0 for value in (*SERVICES, *WAITS)),
)
"""Two programs that wait."""
LEAST, MOST, SERVICE = term.number("least"), term.number("most"), term.number("service")
PLACES = term.number("place"), term.number("place_of_the_least")
MANY = (*WEIGHED, LEAST <= SERVICE, SERVICE <= MOST, LEAST < MOST, *(z3.And(x >= 0, x <= 1) for x in PLACES))
"""One of any number of programs that wait, and the one of them of least service."""


def obligations() -> Iterator[Obligation]:
    """Every statement."""
    say, users = LOGIC, (WEIGHTS, USERS, SERVICES, WAITS)
    law = (*PASSED, *positive(A, B), *together((A, B)))
    yield Obligation("half-lives compose", ("LAS-HALVES",), law, attained.composes(say, MINE, A, B))
    yield Obligation(
        "decay: not below zero", ("LAS-POSITIVE",), (*PASSED, *positive(A)), _positive(NOTHING, MINE, OTHER)
    )
    yield Obligation("decay: no order changes", ("LAS-IDLE",), positive(A), attained.keeps_order(say, MINE, OTHER, A))
    due = (*PASSED, *positive(A, B, -A), *together((A, B), (-A, A), (-A, A + B)))
    yield Obligation("added, and nothing lost", ("LAS-KEPT",), due, attained.remembers(say, MINE, OTHER, A, B))
    yield Obligation("of two, less service goes", ("LAS-PAIR",), TWO, attained.less_goes_first(say, *users))
    near = attained.near_the_least(say, WEIGHTS, (SERVICE, LEAST), MOST, PLACES)
    yield Obligation("near the least", ("LAS-RANGE",), MANY, near)
    last = (*TWO, WEIGHTS.wait < WEIGHTS.service, SERVICES[1] > 0)
    first = attained.goes_before(say, WEIGHTS, USERS, (z3.RealVal(0), SERVICES[1]), WAITS)
    yield Obligation("whoever has attained nothing goes", ("LAS-STARVE",), last, first)
    seen = attained.seen_if_forgotten(say, *users, z3.RealVal(0))
    yield Obligation("of two, one is forgotten", ("LAS-EVICT",), TWO, seen)


def _positive(nothing: Symbolic, mine: Symbolic, used: Symbolic) -> Term:
    return attained.stays_positive(LOGIC, nothing, mine, used, A)


@dataclass(frozen=True)
class Wrong:
    """A statement that is nearly one of these, and is false."""

    name: str
    claim: str
    hypotheses: tuple[Term, ...]
    goal: Term

    @property
    def falls(self) -> bool:
        """Whether it has a counterexample."""
        return refuted(Obligation(self.name, (self.claim,), self.hypotheses, self.goal))


def wrong() -> Iterator[Wrong]:
    """What would be true of other rules, or is said of more than it is true of."""
    say = LOGIC
    law = (*PASSED, *positive(A, B), *(LEFT(time) * (1 + time) == 1 for time in (A, B, A + B)))
    yield Wrong("after a time t, 1/(1 + t) is left", "LAS-HALVES", law, attained.composes(say, MINE, A, B))
    yield Wrong(
        "a refund may be more than there is",
        "LAS-POSITIVE",
        (*PASSED, *positive(A)),
        z3.Implies(MINE.value >= 0, MINE.plus(OTHER).value >= 0),
    )
    apart = (*positive(A, B), *PASSED)
    yield Wrong(
        "each decays for a time of its own, as in the release",
        "LAS-IDLE",
        apart,
        z3.Implies(MINE < OTHER, MINE.halved(A) < OTHER.halved(B)),
    )
    forfeited = MINE.plus(OTHER).halved(B)
    alone = MINE.halved(A).halved(B).plus(OTHER.halved(B))
    due = (*PASSED, *positive(A, B), *together((A, B)))
    yield Wrong("what is due when something is added is forfeited", "LAS-KEPT", due, forfeited == alone)
    even = Weights(WEIGHTS.service, WEIGHTS.service)
    yield Wrong(
        "the wait counts as much as the service",
        "LAS-PAIR",
        TWO,
        z3.Implies(SERVICES[0] < SERVICES[1], attained.goes_before(say, even, USERS, SERVICES, WAITS)),
    )
    half = z3.Implies(
        attained.score(WEIGHTS, attained.place(say, LEAST, LEAST, MOST), PLACES[1])
        <= attained.score(WEIGHTS, attained.place(say, SERVICE, LEAST, MOST), PLACES[0]),
        2 * WEIGHTS.service * attained.place(say, SERVICE, LEAST, MOST) <= WEIGHTS.wait,
    )
    yield Wrong("half of that part of the range", "LAS-RANGE", MANY, half)
    zero = z3.RealVal(0)
    kept = attained.goes_before(say, WEIGHTS, USERS, SERVICES, WAITS)
    gone = attained.goes_before(say, WEIGHTS, USERS, (zero, SERVICES[1]), WAITS)
    little = (*TWO, WEIGHTS.wait < WEIGHTS.service, SERVICES[0] < 1, SERVICES[0] > 0)
    yield Wrong("less than a token is never missed", "LAS-EVICT", little, kept == gone)


CLAIMS = ("LAS-HALVES", "LAS-POSITIVE", "LAS-IDLE", "LAS-KEPT", "LAS-PAIR", "LAS-RANGE", "LAS-EVICT")


def findings() -> list[Finding]:
    """Each wrong variant, refuted."""
    return [
        Finding("wrong statement", (one.claim,), one.falls, f"“{one.name}” has a counterexample", (one.name,))
        for one in wrong()
    ]
