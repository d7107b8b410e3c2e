"""What the heap scheduler keeps is enough: its representation simulates the competition (IMPL-REFINE).

For any number of users and any run: where the representation stands for a competition, both select the same user, and
after the same event it stands for the competition that the rules lead to. The scheduler's side is written here as
`sfq_impl` does it, statement by statement: records that are forgotten, users who are gone and keep their place in the
heap, the greatest meter of those who left in place of the greatest of all. It has an exact reading too, through which
the code is held against it (`abstraction`). Of `heapq` it is assumed that the first entry is the least.

Meters are exact numbers here. That counting them from an origin in units of 1/scale changes nothing is a matter of
arithmetic, the lemmas of `units`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic

import z3

from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation, refuted
from sfq_proofs.solver.logic import Term, Terms
from sfq_proofs.solver.model import ZERO, State
from sfq_proofs.theorems.keeping import state
from sfq_spec.competition import SFQ, Rules, nobody_waits
from sfq_spec.logic import Logic, N, T, U
from sfq_spec.sameness import alike

CLAIMS = ("IMPL-REFINE",)


@dataclass(frozen=True)
class Kept(Generic[U, N, T]):
    """What the heap scheduler keeps of a competition."""

    v: N
    greatest: N
    """The greatest meter with which anybody has left."""
    meter: Mapping[U, N]
    waiting: Mapping[U, T]
    weight: Mapping[U, N]
    known: Mapping[U, T]
    """Whether there is a record of the user."""
    gone: Mapping[U, T]
    """Whether the user withdrew all it had, and still has a place in the heap."""
    first: U
    """The user at the top of the heap; anybody where it is empty."""

    def placed(self, logic: Logic[U, N, T], user: U) -> T:
        """The user has a place in the heap."""
        return logic.either(self.waiting[user], self.gone[user])


def before(logic: Logic[U, N, T], h: Kept[U, N, T], a: U, b: U) -> T:
    """The heap's order: by (meter, user id)."""
    tie = logic.both(logic.equal(h.meter[a], h.meter[b]), logic.precedes(a, b))
    return logic.either(h.meter[a] < h.meter[b], tie)


def is_top(logic: Logic[U, N, T], h: Kept[U, N, T]) -> T:
    """What `heapq` sees to: whoever is first has a place, if anybody has, and nobody comes before it."""
    return logic.for_all(
        lambda user: logic.implies(
            h.placed(logic, user), logic.both(h.placed(logic, h.first), logic.no(before(logic, h, user, h.first)))
        )
    )


@dataclass(frozen=True)
class Code:
    """The choices that the code makes, as values, so that a wrong variant is these with one of them replaced."""

    rejoins: Callable[..., Any] = lambda logic, meter, v: logic.maximum(meter, v)
    """The meter of a known user who has no place in the heap, on arrival."""
    new: Callable[..., Any] = lambda h, user: h.v
    """The meter of a record that is made on arrival."""
    left: Callable[..., Any] = lambda logic, greatest, meter: logic.maximum(greatest, meter)
    """The greatest, after somebody left with this meter."""
    level: Callable[..., Any] = lambda logic, v, greatest: logic.maximum(v, greatest)
    """Where the reset leads."""
    finish: Callable[..., Any] = lambda start, cost, weight: start + cost / weight
    keeps: Callable[..., Any] = lambda logic, h, user: logic.either(h.waiting[user], h.meter[user] > h.v)
    """Of whom a record is kept."""
    owes: Callable[..., Any] = lambda logic, h, user: logic.no(h.waiting[user])
    """Whose meters count for the greatest, when records are forgotten."""
    skips: Callable[..., Any] = lambda logic, h: logic.no(h.gone[h.first])
    """What is seen to of the top of the heap."""
    origin_moves: bool = True
    """Rebasing counts from another origin, and says so."""
    charge_is_scaled: bool = True
    """A unit of cost adds scale / weight."""


RIGHT = Code()


def arrive(logic: Logic[U, N, T], code: Code, h: Kept[U, N, T], user: U) -> Kept[U, N, T]:
    """`arrive`, up to the order of the heap."""
    rejoined = code.rejoins(logic, h.meter[user], h.v)
    stays = logic.either(h.waiting[user], h.gone[user])
    known = logic.choose(stays, h.meter[user], rejoined)
    meter = logic.choose(h.known[user], known, code.new(h, user))
    return replace(
        h,
        meter=logic.put(h.meter, user, meter),
        waiting=logic.put(h.waiting, user, logic.true()),
        gone=logic.put(h.gone, user, logic.no(logic.true())),
        known=logic.put(h.known, user, logic.true()),
    )


def dispatch(logic: Logic[U, N, T], code: Code, h: Kept[U, N, T], cost: N, drains: T) -> Kept[U, N, T]:
    """`dispatch`, up to the order of the heap and who is skipped."""
    user = h.first
    start = h.meter[user]
    finish = code.finish(start, cost, h.weight[user])
    charged = replace(
        h,
        v=start,
        meter=logic.put(h.meter, user, finish),
        waiting=logic.put(h.waiting, user, logic.no(drains)),
    )
    return leave(logic, code, charged, finish, drains)


def cancel(logic: Logic[U, N, T], code: Code, h: Kept[U, N, T], user: U, drains: T) -> Kept[U, N, T]:
    """`cancel`, up to who is skipped."""
    withdrawn = replace(
        h,
        waiting=logic.put(h.waiting, user, logic.no(drains)),
        gone=logic.put(h.gone, user, drains),
    )
    return leave(logic, code, withdrawn, h.meter[user], drains)


def leave(logic: Logic[U, N, T], code: Code, h: Kept[U, N, T], meter: N, left: T) -> Kept[U, N, T]:
    """`_leave`: the greatest, and the reset where nobody waits."""
    greatest = logic.choose(left, code.left(logic, h.greatest, meter), h.greatest)
    over = logic.both(left, logic.for_all(lambda user: logic.no(h.waiting[user])))
    return replace(h, greatest=greatest, v=logic.choose(over, code.level(logic, h.v, greatest), h.v))


def skipped(logic: Logic[U, N, T], code: Code, h: Kept[U, N, T], after: Kept[U, N, T]) -> T:
    """`_skip_gone` may have led from h to a state that differs in who is gone and who is first."""
    fewer = logic.for_all(lambda user: logic.implies(after.gone[user], h.gone[user]))
    return logic.both(fewer, is_top(logic, after), code.skips(logic, after))


def forget(logic: Logic[U, N, T], code: Code, h: Kept[U, N, T]) -> Kept[U, N, T]:
    """`_forget`, up to the order of the heap."""
    nobody = logic.no(logic.true())
    known = logic.put_each(h.known, lambda user: logic.both(h.known[user], code.keeps(logic, h, user)))
    counts = logic.put_each(
        h.meter,
        lambda user: logic.choose(logic.both(known[user], code.owes(logic, h, user)), h.meter[user], h.v),
    )
    return replace(
        h, known=known, greatest=logic.supremum(h.v, counts), gone=logic.put_each(h.gone, lambda user: nobody)
    )


def reweigh(logic: Logic[U, N, T], h: Kept[U, N, T], user: U, weight: N) -> Kept[U, N, T]:
    """`set_weight`; what it does to the units is in `units`."""
    return replace(h, weight=logic.put(h.weight, user, weight))


def stands_for(logic: Logic[U, N, T], h: Kept[U, N, T], s: State) -> dict[str, T]:
    """The relation between the representation and the competition, part by part."""
    every, either, both, no = logic.for_all, logic.either, logic.both, logic.no
    return {
        "virtual time": logic.equal(h.v, s.v),
        "who waits": every(
            lambda u: both(alike(logic, h.waiting[u], s.waiting[u]), logic.equal(h.weight[u], s.weight[u]))
        ),
        "meters": every(lambda u: logic.implies(h.known[u], logic.equal(h.meter[u], s.meter[u]))),
        "whoever is forgotten is settled": every(
            lambda u: either(h.known[u], both(no(h.placed(logic, u)), s.meter[u] <= s.v))
        ),
        "whoever has a place is not behind v": every(
            lambda u: logic.implies(h.placed(logic, u), both(h.known[u], h.meter[u] >= h.v))
        ),
        "whoever is gone does not wait": every(lambda u: no(both(h.gone[u], h.waiting[u]))),
        "the first waits": every(
            lambda u: logic.implies(h.placed(logic, u), both(h.waiting[h.first], no(before(logic, h, u, h.first))))
        ),
        "the greatest is above": every(
            lambda u: either(no(h.known[u]), h.waiting[u], h.meter[u] <= h.greatest, h.meter[u] <= h.v)
        ),
        "the greatest is somebody's": either(
            h.greatest <= h.v, no(every(lambda u: no(both(h.known[u], h.meter[u] >= h.greatest))))
        ),
        "level": either(
            no(nobody_waits(logic, s)),
            both(h.greatest <= h.v, every(lambda u: either(no(h.known[u]), h.meter[u] <= h.v))),
        ),
    }


PARTS = {
    "records": ("virtual time", "who waits", "meters", "whoever is forgotten is settled"),
    "places": ("whoever has a place is not behind v", "whoever is gone does not wait", "the first waits"),
    "greatest": ("the greatest is somebody's",),
    "reset": ("the greatest is above", "level"),
}
"""What is asked at a time."""


def obligations(rules: Rules = SFQ, code: Code = RIGHT) -> Iterator[Obligation]:
    """The start, the selection, every event, forgetting, and the units."""
    yield from _first(rules)
    yield from _selection(rules)
    order = tuple(Terms().order_is_total())
    for name, (given, goal) in _events(rules, code).items():
        parts = PARTS if name in ("arrive", "dispatch", "cancel", "upkeep") else {"all": tuple(goal)}
        for part, names in parts.items():
            known = (*given, *order) if part == "places" else given
            yield Obligation(f"heap, {name}: {part}", CLAIMS, known, z3.And(*(goal[name] for name in names)))
    yield from units(code)


def kept(name: str) -> Kept[Any, Any, Any]:
    """An arbitrary representation."""
    return Kept(
        term.number(f"v_{name}"),
        term.number(f"greatest_{name}"),
        term.numbers(f"meter_{name}"),
        term.truths(f"waiting_{name}"),
        term.numbers(f"weight_{name}"),
        term.truths(f"known_{name}"),
        term.truths(f"gone_{name}"),
        term.user(f"first_{name}"),
    )


def _positive(logic: Terms, s: State) -> Term:
    return logic.for_all(lambda u: s.weight[u] > 0)


def _first(rules: Rules) -> Iterator[Obligation]:
    logic, s, h = Terms(), state("s"), kept("h")
    nobody = logic.everywhere(z3.BoolVal(False))
    start = replace(s, v=ZERO, meter=logic.everywhere(ZERO), waiting=nobody)
    empty = replace(h, v=ZERO, greatest=ZERO, waiting=nobody, weight=s.weight, known=nobody, gone=nobody)
    goal = z3.And(*stands_for(logic, empty, start).values())
    yield Obligation("heap, at first", CLAIMS, (_positive(logic, s),), goal)


def _selection(rules: Rules) -> Iterator[Obligation]:
    """Where the heap is empty nobody waits; else its first user is the one that the rules select."""
    logic, s, h = Terms(), state("s"), kept("h")
    u, head = term.user("user"), term.numbers("head")
    enabled = rules.dispatch(logic, rules, s, u, head, term.truth("drains")).enabled
    given = (*stands_for(logic, h, s).values(), *logic.order_is_total())
    goal = enabled == z3.And(u == h.first, h.waiting[h.first])
    yield Obligation("heap, dispatch: same selection", CLAIMS, given, goal)
    goal = z3.Implies(h.placed(logic, u), z3.Not(nobody_waits(logic, s)))
    yield Obligation("heap, dispatch: nobody waits where it is empty", CLAIMS, given, goal)


def _events(rules: Rules, code: Code) -> dict[str, tuple[tuple[Term, ...], dict[str, Term]]]:
    """Per event what is known before, and what must hold after."""
    logic, s, h = Terms(), state("s"), kept("h")
    u, cost, drains = term.user("user"), term.number("cost"), term.truth("drains")
    weight, head = term.number("weight"), term.numbers("head")
    then = kept("then")
    skip = replace(then, v=h.v)

    def related(
        given: tuple[Term, ...], after: Kept[Any, Any, Any], t: State
    ) -> tuple[tuple[Term, ...], dict[str, Term]]:
        known = (*stands_for(logic, h, s).values(), _positive(logic, s), *given, *logic.facts)
        return known, stands_for(logic, after, t)

    def moved(after: Kept[Any, Any, Any]) -> Kept[Any, Any, Any]:
        """The same with a first user, and maybe other users gone, of which nothing is known yet."""
        return replace(after, gone=skip.gone, first=skip.first)

    arrived = replace(arrive(logic, code, h, u), first=then.first)
    sent = dispatch(logic, code, h, cost, drains)
    withdrawn = cancel(logic, code, h, u, drains)
    less = replace(forget(logic, code, h), first=then.first)
    placed = h.placed(logic, h.first)
    return {
        "arrive": related((is_top(logic, arrived), cost > 0), arrived, rules.arrive(logic, rules, s, u, cost).after),
        "dispatch": related(
            (placed, cost > 0, head[h.first] == cost, skipped(logic, code, sent, moved(sent))),
            moved(sent),
            rules.dispatch(logic, rules, s, h.first, head, drains).after,
        ),
        "cancel": related(
            (h.waiting[u], cost > 0, skipped(logic, code, withdrawn, moved(withdrawn))),
            moved(withdrawn),
            rules.cancel(logic, rules, s, u, cost, drains).after,
        ),
        "weight": related((weight > 0,), reweigh(logic, h, u, weight), rules.reweigh(logic, rules, s, u, weight).after),
        "complete": related((), h, rules.complete(logic, rules, s, u, cost).after),
        "upkeep": related((is_top(logic, less),), less, rules.upkeep(logic, rules, s).after),
    }


def units(code: Code = RIGHT) -> Iterator[Obligation]:
    """Comparing, charging and rebasing meters that are counted is comparing, charging and keeping what is meant.

    A meter x is counted as (x − origin) · scale. Rebasing counts from another origin, the meter of the first user, and
    in another unit: by `ratio` as many of them.
    """
    names = ("x", "y", "origin", "scale", "base", "ratio", "cost", "weight", "rate")
    x, y, origin, scale, base, ratio, cost, weight, rate = map(term.number, names)
    given = (scale > 0, ratio > 0, weight > 0, cost > 0)

    def counted(meter: Term) -> Term:
        return (meter - origin) * scale

    def rebased(meter: Term) -> Term:
        return (meter - (base if code.origin_moves else origin)) * (ratio * scale)

    yield Obligation("units: the order is the same", CLAIMS, given, (x < y) == (counted(x) < counted(y)))
    known = (*given, rate * weight == scale if code.charge_is_scaled else rate * weight == 1)
    yield Obligation("units: a charge", CLAIMS, known, counted(x) + cost * rate == counted(x + cost / weight))
    yield Obligation("units: rebasing", CLAIMS, given, (counted(x) - counted(base)) * ratio == rebased(x))


@dataclass(frozen=True)
class Wrong:
    """A scheduler that would keep too little, or the wrong thing, and what breaks down then."""

    name: str
    code: Code
    breaks: str
    """The obligation that has a counterexample."""

    @property
    def falls(self) -> bool:
        """Whether it breaks down."""
        asked = [obligation for obligation in obligations(code=self.code) if obligation.name == self.breaks]
        return len(asked) == 1 and refuted(asked[0])


WRONG = (
    Wrong("joins where it left", Code(rejoins=lambda logic, meter, v: meter), "heap, arrive: records"),
    Wrong("joins at v", Code(rejoins=lambda logic, meter, v: v), "heap, arrive: records"),
    Wrong("a new record begins at 0", Code(new=lambda h, user: h.v - h.v), "heap, arrive: records"),
    Wrong("a leaver is not counted", Code(left=lambda logic, greatest, meter: greatest), "heap, dispatch: records"),
    Wrong("the latest leaver counts", Code(left=lambda logic, greatest, meter: meter), "heap, cancel: records"),
    Wrong("no reset", Code(level=lambda logic, v, greatest: v), "heap, cancel: records"),
    Wrong("debts are forgotten", Code(keeps=lambda logic, h, user: h.waiting[user]), "heap, upkeep: records"),
    Wrong("who waits is forgotten", Code(keeps=lambda logic, h, user: h.meter[user] > h.v), "heap, upkeep: records"),
    Wrong("no debt counts", Code(owes=lambda logic, h, user: logic.no(logic.true())), "heap, upkeep: reset"),
    Wrong("whoever is gone stays first", Code(skips=lambda logic, h: logic.true()), "heap, cancel: places"),
    Wrong("weights are ignored", Code(finish=lambda start, cost, weight: start + cost), "heap, dispatch: records"),
    Wrong("rebasing leaves the origin", Code(origin_moves=False), "units: rebasing"),
    Wrong("charges ignore the unit", Code(charge_is_scaled=False), "units: a charge"),
)
"""Wrong variants of what the scheduler keeps, each refuted."""
