"""What may be relied on under LAS and what not, as predicates on one score, one pick and one decay.

A service is anything that can be halved and added to: `Halving` where it runs, a term with an unknown factor where it
is proved, so that what is proved holds for half-lives and for a factor at each pick alike. The scores are those of the
program-aware seed ("What it does"), without rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from sfq_spec.logic import Logic, N, T, U

F = TypeVar("F", bound="Fading")


class Fading(Protocol):
    """A service of either reading."""

    def halved(self: F, lives: Any, /) -> F:
        """What is left of it after so many half-lives, or picks."""

    def plus(self: F, other: F, /) -> F:
        """Both together."""

    def __lt__(self: F, other: F, /) -> Any: ...
    def __le__(self: F, other: F, /) -> Any: ...


def added(service: F, used: F, due: Any) -> F:
    """More service, where so many half-lives are due of what was there, and stay so: what is new is put in as if it had
    been attained before them.
    """
    return service.plus(used.halved(-due))


# Decay


def composes(logic: Logic[Any, Any, T], service: F, a: Any, b: Any) -> T:
    """LAS-HALVES: to decay twice is to decay once for as long (seed, "What it does")."""
    return logic.equal(service.halved(a).halved(b), service.halved(a + b))


def stays_positive(logic: Logic[Any, Any, T], nothing: F, service: F, used: F, lives: Any) -> T:
    """LAS-POSITIVE: what decays, and what is added to, is not below zero."""
    given = logic.both(nothing <= service, nothing <= used)
    return logic.implies(given, logic.both(nothing <= service.halved(lives), nothing <= service.plus(used)))


def keeps_order(logic: Logic[Any, Any, T], mine: F, other: F, lives: Any) -> T:
    """LAS-IDLE: of two services that decay for as long, the lesser stays the lesser, and equal ones stay equal."""
    return logic.both(
        logic.implies(mine < other, mine.halved(lives) < other.halved(lives)),
        logic.implies(logic.equal(mine, other), logic.equal(mine.halved(lives), other.halved(lives))),
    )


def remembers(logic: Logic[Any, Any, T], service: F, used: F, due: Any, later: Any) -> T:
    """LAS-KEPT: what was due when something was added is still taken; both count later as if each had been alone."""
    alone = service.halved(due).halved(later).plus(used.halved(later))
    return logic.equal(added(service, used, due).halved(due + later), alone)


# The score


class Weights(NamedTuple):
    """What little service counts, and what the wait of the oldest request does."""

    service: Any
    wait: Any


def place(logic: Logic[U, N, T], value: N, least: N, most: N) -> N:
    """Where a value is in the range of all, from 0 to 1; a half where there is no range."""
    apart = least < most
    return logic.choose(apart, value - least, value - least + 1) / logic.choose(  # type: ignore[no-any-return]
        apart, most - least, most - least + 2
    )


def score(weights: Weights, served: N, waited: N) -> N:
    """Of a program at these places in the ranges of service and wait; the greatest goes."""
    return weights.service * (1 - served) + weights.wait * waited  # type: ignore[no-any-return,operator]


def goes_before(
    logic: Logic[U, N, T], weights: Weights, users: tuple[U, U], services: tuple[N, N], waits: tuple[N, N]
) -> T:
    """Whether the first of two that wait goes, and nobody else waits: the greater score, or the earlier id."""
    mine, other = (score(weights, _of_two(logic, services, at), _of_two(logic, waits, at)) for at in (0, 1))
    tie = logic.both(logic.equal(mine, other), logic.precedes(*users))
    return logic.either(other < mine, tie)


def _of_two(logic: Logic[U, N, T], values: tuple[N, N], at: int) -> N:
    least = logic.choose(values[0] < values[1], *values)
    return place(logic, values[at], least, logic.maximum(*values))


def less_goes_first(
    logic: Logic[U, N, T], weights: Weights, users: tuple[U, U], services: tuple[N, N], waits: tuple[N, N]
) -> T:
    """LAS-PAIR: of two the one with less service goes, if service counts more than the wait (seed, "What it does")."""
    less = logic.both(weights.wait < weights.service, services[0] < services[1])
    return logic.implies(less, goes_before(logic, weights, users, services, waits))


def near_the_least(logic: Logic[U, N, T], weights: Weights, services: tuple[N, N], most: N, waited: tuple[N, N]) -> T:
    """LAS-RANGE: who goes, though another has attained least, is no further up the range than the weights allow.

    `services` are that of who goes, and the least; `waited` are the places of the two in the range of waits.
    """
    mine, least = (place(logic, service, services[1], most) for service in services)
    goes = score(weights, least, waited[1]) <= score(weights, mine, waited[0])
    return logic.implies(goes, weights.service * mine <= weights.wait)


def seen_if_forgotten(
    logic: Logic[U, N, T], weights: Weights, users: tuple[U, U], services: tuple[N, N], waits: tuple[N, N], nothing: N
) -> T:
    """LAS-EVICT: that the first of two has been forgotten is not seen where it had less than the other, and is seen
    where it had more and the other has something.
    """
    mine, other = services
    kept = goes_before(logic, weights, users, services, waits)
    gone = goes_before(logic, weights, users, (nothing, other), waits)
    same = logic.both(logic.implies(kept, gone), logic.implies(gone, kept))
    counts = logic.both(weights.wait < weights.service, nothing < mine, nothing < other)
    return logic.implies(
        counts,
        logic.both(logic.implies(mine < other, same), logic.implies(other < mine, logic.no(same))),
    )


# A pick, as a table of who waits


class Candidate(NamedTuple):
    """A program that waits: its service, and for how many milliseconds its oldest request has waited."""

    service: Any
    wait: Any


Table = Mapping[str, Candidate]


def scores(logic: Logic[str, Any, Any], weights: Weights, table: Table) -> Mapping[str, Any]:
    """The score of each that waits."""
    services, waits = ([of[at] for of in table.values()] for at in (0, 1))
    return {
        user: score(
            weights,
            place(logic, of.service, min(services), max(services)),
            place(logic, of.wait, min(waits), max(waits)),
        )
        for user, of in table.items()
    }


def is_chosen(logic: Logic[str, Any, Any], weights: Weights, table: Table, chosen: str) -> bool:
    """LAS-SELECT: no score is greater, and none that is as great has an earlier id."""
    each = scores(logic, weights, table)
    return all(each[user] < each[chosen] or (each[user] == each[chosen] and chosen <= user) for user in table)


def lowest_goes(table: Table, chosen: str) -> bool:
    """LAS-LOWEST, as a wording: who goes has attained no more than anybody else (seed, "What it does")."""
    return all(table[chosen].service <= of.service for of in table.values())


def without_heads(one: Table, other: Table) -> bool:
    """LAS-HEAD, as a wording: whether two picks must not differ, because they do so in nothing but the attributes of
    requests (seed, "What it is").
    """
    return {user: of.service for user, of in one.items()} == {user: of.service for user, of in other.items()}
