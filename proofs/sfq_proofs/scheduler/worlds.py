"""Small worlds: a few users with a few costs, and everything that may happen to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfq_impl.state import SLACK
from sfq_proofs.scheduler.normal_form import COUNTED, ORIGIN, Room
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

WARM_UP = (
    Arrive("A", "first", ORIGIN),
    Dispatch(),
    Complete("first"),
    Upkeep(),
    Arrive("A", "second", COUNTED),
    Dispatch(),
    Complete("second"),
)
"""What brings v there. Every search begins with it, so that its runs are runs from the start."""
NOBODY = "nobody's"
"""An id that no request has."""


@dataclass(frozen=True)
class World:
    """A small world: so many users, these costs, and what may happen in it."""

    name: str
    users: int
    costs: tuple[int, ...]
    longest: int
    """Requests that a user may have waiting at a time."""
    weights: tuple[Fraction, ...] = ()
    recosts: bool = False
    refusals: bool = False
    """Also what is refused or passed over, and one request that stays in flight."""
    upkeep: bool = True
    slack: int = SLACK
    """The scheduler's SLACK there."""
    deepest: int | None = None
    """The longest run, in events; None for all runs."""
    before: tuple[Event, ...] = ()
    """What has happened besides `WARM_UP` when the search begins."""

    @property
    def names(self) -> tuple[str, ...]:
        """The users' ids."""
        return tuple("ABCDEFGH"[: self.users])

    @property
    def first(self) -> tuple[Event, ...]:
        """Everything that has happened before the search begins."""
        return WARM_UP + self.before


def alphabet(world: World, at: Room) -> Iterator[tuple[Event, ...]]:
    """What may happen next: mostly single events."""
    yield from _sending(world, at)
    for name, seat in zip(world.names, at.seats, strict=True):
        waiting = [f"{name}{place}" for place in range(1, len(seat.costs) + 1)]
        if len(waiting) < world.longest:
            yield from ((Arrive(name, f"{name}{len(waiting) + 1}", cost),) for cost in world.costs)
        for request, old in zip(waiting, seat.costs, strict=True):
            yield (Cancel(request),)
            if world.recosts:
                yield from ((Recost(request, cost),) for cost in world.costs if cost != old)
        yield from ((SetWeight(name, weight),) for weight in world.weights if weight != seat.weight)
        if world.refusals and waiting:
            yield (Arrive(name, waiting[-1], 1),)
            yield (Complete(waiting[-1]),)
            yield (Recost(waiting[-1], Fraction(0)),)
    if world.upkeep:
        yield (Upkeep(),)
    if world.refusals:
        yield from _refused(world, at)


def _sending(world: World, at: Room) -> Iterator[tuple[Event, ...]]:
    """A dispatch. What it sends ends at once, or stays in flight until the next one."""
    if world.refusals:
        yield (Complete(f"{at.flying}0"), Dispatch()) if at.flying else (Dispatch(),)
        return
    first = min(
        (
            (seat.lag, name)
            for name, seat in zip(world.names, at.seats, strict=True)
            if seat.costs and seat.lag is not None
        ),
        default=None,
    )
    yield (Dispatch(), Complete(f"{first[1]}1")) if first else (Dispatch(),)


def _refused(world: World, at: Room) -> Iterator[tuple[Event, ...]]:
    """What is refused, or passed over."""
    first = world.names[0]
    if at.flying:
        request = f"{at.flying}0"
        yield (Complete(request),)
        yield (Arrive(first, request, 1),)
        yield (Cancel(request),)
        yield (Recost(request, Fraction(1)),)
    yield (Cancel(NOBODY),)
    yield (Recost(NOBODY, Fraction(1)),)
    yield (Complete(NOBODY),)
    yield (SetWeight(first, Fraction(0)),)
    yield (Arrive(first, NOBODY, Fraction(0)),)


def _crowd(order: str) -> tuple[Event, ...]:
    return tuple(Arrive(user, f"{user}1", 1) for user in order)


ONE, TWO = Fraction(1), Fraction(2)

WORLDS = (
    World("2 users, every kind of event", 2, (1, 2), 2, (ONE, TWO), True, True, slack=2, deepest=4),
    World("2 users, weights that do not fit, all runs", 2, (1,), 1, (ONE, Fraction(3, 2)), slack=2),
    World("3 users, all runs", 3, (1,), 1, slack=1),
    World("3 users", 3, (1, 3), 2, slack=2, deepest=5),
    World("6 users", 6, (1,), 1, deepest=4, before=_crowd("ABECDF")),
)
"""What is searched every time: a few seconds."""

DEEP = (
    World("2 users, every kind of event, longer runs", 2, (1, 2), 2, (ONE, TWO), True, True, slack=2, deepest=8),
    World("2 users, two requests each, all runs", 2, (1, 2), 2, slack=1),
    World("3 users, two costs, all runs", 3, (1, 2), 1, slack=1),
    World("6 users, from the start", 6, (1, 2), 1, deepest=8, upkeep=False),
    World("6 users, longer runs", 6, (1, 2), 2, slack=2, deepest=6, before=_crowd("ABECDF")),
)
"""What is searched in the deep tier: minutes."""
