"""One source, two readings: what a transition may ask of the world.

The transitions and the claims are written against `Logic`. Read through `Exact` they run on numbers and
dictionaries; read through the solver terms of `sfq_proofs.solver.logic` they are the formulas that are proved. No
transition branches on a value: it asks `choose`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeVar


class Arithmetic(Protocol):
    """A number of either reading: an exact one, or a term of sort Real."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...


U = TypeVar("U")
"""A user."""
N = TypeVar("N", bound=Arithmetic)
"""A number: meter, virtual time, cost, weight, charge."""
T = TypeVar("T")
"""A truth value."""
V = TypeVar("V")


class Logic(Protocol[U, N, T]):
    """The operations that have an exact and a symbolic reading."""

    def true(self) -> T:
        """What always holds."""

    def both(self, *parts: T) -> T:
        """Every part holds."""

    def either(self, *parts: T) -> T:
        """Some part holds."""

    def no(self, part: T) -> T:
        """The part does not hold."""

    def implies(self, premise: T, conclusion: T) -> T:
        """The conclusion holds, or the premise does not."""

    def choose(self, condition: T, then: N, otherwise: N) -> N:
        """One of two numbers."""

    def maximum(self, a: N, b: N) -> N:
        """The greater of two numbers."""

    def whole(self, a: N) -> N:
        """The greatest integer that is not above a."""

    def equal(self, a: N, b: N) -> T:
        """Two numbers are the same."""

    def same(self, a: U, b: U) -> T:
        """Two users are the same."""

    def precedes(self, a: U, b: U) -> T:
        """User id a comes before user id b; a strict total order."""

    def for_all(self, holds: Callable[[U], T]) -> T:
        """It holds for every user."""

    def supremum(self, least: N, numbers: Mapping[U, N]) -> N:
        """The greatest of `least` and the number of every user."""

    def put(self, mapping: Mapping[U, V], at: U, value: V) -> Mapping[U, V]:
        """The mapping with one entry replaced."""

    def put_each(self, mapping: Mapping[U, V], value: Callable[[U], V]) -> Mapping[U, V]:
        """The mapping with the entry of every user replaced."""

    def everywhere(self, value: V) -> Mapping[U, V]:
        """The same value for every user."""


class Exact:
    """The reading that runs: exact numbers, dictionaries, and the users that are named."""

    def __init__(self, users: Collection[str]) -> None:
        self.users = users

    def true(self) -> bool:
        return True

    def both(self, *parts: bool) -> bool:
        return all(parts)

    def either(self, *parts: bool) -> bool:
        return any(parts)

    def no(self, part: bool) -> bool:
        return not part

    def implies(self, premise: bool, conclusion: bool) -> bool:
        return conclusion or not premise

    def choose(self, condition: bool, then: N, otherwise: N) -> N:
        return then if condition else otherwise

    def maximum(self, a: N, b: N) -> N:
        return a if a >= b else b

    def whole(self, a: N) -> N:
        return a - a % 1  # type: ignore[operator, no-any-return]

    def equal(self, a: N, b: N) -> bool:
        return bool(a == b)

    def same(self, a: str, b: str) -> bool:
        return a == b

    def precedes(self, a: str, b: str) -> bool:
        return a < b

    def for_all(self, holds: Callable[[str], bool]) -> bool:
        return all(map(holds, self.users))

    def supremum(self, least: N, numbers: Mapping[str, N]) -> N:
        return max(least, *numbers.values())

    def put(self, mapping: Mapping[str, V], at: str, value: V) -> Mapping[str, V]:
        return {**mapping, at: value}

    def put_each(self, mapping: Mapping[str, V], value: Callable[[str], V]) -> Mapping[str, V]:
        return {**mapping, **{user: value(user) for user in self.users}}

    def everywhere(self, value: V) -> Mapping[str, V]:
        return dict.fromkeys(self.users, value)
