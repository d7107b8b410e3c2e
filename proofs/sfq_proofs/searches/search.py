"""Shortest runs by breadth: from the first event on, until something that was looked for happens.

Two runs that lead to the same competition, queues and memory are one; so no run that is found could be shorter, in the
world that is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from sfq_spec.machine import Machine
from sfq_spec.trace import Arrive, Cancel, Dispatch, Upkeep

M = TypeVar("M", bound=Hashable)

Step = Callable[[Machine, M, Any], tuple[Machine, M, bool]]
"""What an event makes of a state and of what is remembered, and whether that is what was looked for."""


@dataclass(frozen=True)
class World:
    """Whose requests may arrive, at which costs, and what else may happen."""

    users: str = "AB"
    costs: tuple[int, ...] = (1, 3)
    kinds: tuple[str, ...] = ()
    """Of `cancel`, `upkeep` and `offer`, a dispatch at which only the next requests of some can be placed."""

    def events(self, state: Machine, run: tuple[Any, ...]) -> Iterator[Any]:
        """What may happen next. A request is named by its user and a number."""
        if state.queues:
            yield Dispatch()
        for user in self.users:
            number = 1 + sum(isinstance(event, Arrive) and event.user == user for event in run)
            for cost in self.costs:
                yield Arrive(user, f"{user}{number}", Fraction(cost))
        if "cancel" in self.kinds:
            yield from (Cancel(request.request) for queue in state.queues.values() for request in queue)
        if "upkeep" in self.kinds:
            yield Upkeep()
        if "offer" in self.kinds:
            yield from (frozenset(set(state.queues) - {user}) for user in state.queues)


def shortest(world: World, step: Step[M], memory: M, longest: int = 8) -> tuple[Any, ...] | None:
    """A shortest run, of at most so many events, that leads to what is looked for."""
    level: list[tuple[Machine, M, tuple[Any, ...]]] = [(Machine(), memory, ())]
    seen: set[Any] = set()
    for _ in range(longest):
        following = []
        for state, remembered, run in level:
            for event in world.events(state, run):
                after, more, found = step(state, remembered, event)
                longer = (*run, event)
                if found:
                    return longer
                if (known := (key(after), more)) not in seen:
                    seen.add(known)
                    following.append((after, more, longer))
        level = following
    return None


def key(state: Machine) -> Hashable:
    """What of a state can matter to what comes: v, the meters, and the costs that wait."""
    s = state.competition
    costs = ((user, *(request.cost for request in queue)) for user, queue in state.queues.items())
    return s.v, frozenset(s.meter.items()), frozenset(costs)
