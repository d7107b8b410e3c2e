"""The symbolic reading: users of an uninterpreted sort, numbers of sort Real, mappings as arrays.

What is proved of these terms holds for any number of users and any positive rational costs and weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import z3

USER = z3.DeclareSort("User")
REAL = z3.RealSort()
TRUTH = z3.BoolSort()

Term = Any
"""A z3 expression; z3 has no types of its own to offer here."""


class Terms:
    """The logic of `sfq_spec.logic` on solver terms.

    `facts` collects what defines the suprema and mappings that were asked for: every finite set of users has them.
    """

    def __init__(self) -> None:
        self._fresh = itertools.count()
        self._before = z3.Function("before", USER, USER, TRUTH)
        self.facts: list[Term] = []

    def _name(self, stem: str) -> str:
        return f"{stem}!{next(self._fresh)}"

    def true(self) -> Term:
        return z3.BoolVal(True)

    def both(self, *parts: Term) -> Term:
        return z3.And(*parts)

    def either(self, *parts: Term) -> Term:
        return z3.Or(*parts)

    def no(self, part: Term) -> Term:
        return z3.Not(part)

    def implies(self, premise: Term, conclusion: Term) -> Term:
        return z3.Implies(premise, conclusion)

    def choose(self, condition: Term, then: Term, otherwise: Term) -> Term:
        return z3.If(condition, then, otherwise)

    def maximum(self, a: Term, b: Term) -> Term:
        return z3.If(a >= b, a, b)

    def whole(self, a: Term) -> Term:
        return z3.ToReal(z3.ToInt(a))

    def equal(self, a: Term, b: Term) -> Term:
        return a == b

    def same(self, a: Term, b: Term) -> Term:
        return a == b

    def precedes(self, a: Term, b: Term) -> Term:
        return self._before(a, b)

    def for_all(self, holds: Callable[[Any], Term]) -> Term:
        user = z3.Const(self._name("u"), USER)
        return z3.ForAll([user], holds(user))

    def supremum(self, least: Term, numbers: Mapping[Any, Term]) -> Term:
        top, who = z3.Real(self._name("top")), z3.Const(self._name("who"), USER)
        self.facts += [
            top >= least,
            self.for_all(lambda user: top >= numbers[user]),
            z3.Or(top == least, top == numbers[who]),
        ]
        return top

    def put(self, mapping: Any, at: Term, value: Term) -> Any:
        return z3.Store(mapping, at, value)

    def put_each(self, mapping: Any, value: Callable[[Any], Term]) -> Any:
        put = z3.Const(self._name("put"), mapping.sort())
        self.facts.append(self.for_all(lambda user: put[user] == value(user)))
        return put

    def everywhere(self, value: Term) -> Any:
        return z3.K(USER, value)

    def order_is_total(self) -> list[Term]:
        """The axioms of `precedes`. Only claims about ties need them; all others hold for any relation."""
        a, b, c = z3.Consts("a! b! c!", USER)
        before = self._before
        return [
            z3.ForAll([a], z3.Not(before(a, a))),
            z3.ForAll([a, b], z3.Or(a == b, before(a, b), before(b, a))),
            z3.ForAll([a, b, c], z3.Implies(z3.And(before(a, b), before(b, c)), before(a, c))),
        ]


def number(name: str) -> Term:
    """A symbolic number."""
    return z3.Real(name)


def user(name: str) -> Term:
    """A symbolic user."""
    return z3.Const(name, USER)


def truth(name: str) -> Term:
    """A symbolic truth value."""
    return z3.Bool(name)


def numbers(name: str) -> Term:
    """A number for every user."""
    return z3.Array(name, USER, REAL)


def truths(name: str) -> Term:
    """A truth value for every user."""
    return z3.Array(name, USER, TRUTH)
