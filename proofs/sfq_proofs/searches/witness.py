"""Shortest runs: what a mutant does wrong, from the first event on (breadth first, so none is shorter).

The search is over small worlds: two users, costs 1 and 3, and the kinds of event that the mutant needs. A run that
is found is played again on the mutant, where it must break the claim, and on the machine of the article, where it
must break none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfq_spec.machine import Machine, take
from sfq_spec.mutants import Mutant, Take
from sfq_spec.refusals import Refused
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, SetWeight, Upkeep
from sfq_spec.watch import Watch

USERS = ("A", "B")
COSTS = (1, 3)
LONGEST = 10
"""Events of the longest run that is searched for."""


@dataclass(frozen=True)
class Witness:
    """A run from the first state, and the claims that its last event breaks."""

    events: tuple[Event, ...]
    broken: tuple[str, ...]


@dataclass(frozen=True)
class _Node:
    state: Machine
    watch: Watch
    arrived: tuple[int, ...]
    events: tuple[Event, ...]

    @property
    def key(self) -> Any:
        s, w = self.state.competition, self.watch
        return (
            s.v, tuple(s.meter.items()), tuple(s.weight.items()), tuple(self.state.queues.items()),
            frozenset(self.state.live), repr((w.last, w.spent, w.floor, w.lead, w.prompt, w.order)),
        )  # fmt: skip


def shortest(mutant: Mutant) -> Witness | None:
    """The shortest run that breaks the mutant's claim; None where none of up to `LONGEST` events does."""
    for events, _, broken in runs(mutant.take, mutant.needs, LONGEST):
        if mutant.breaks in broken:
            return Witness(events, tuple(broken))
    return None


def exercising(longest: int = 4) -> dict[str, tuple[Event, ...]]:
    """Per claim that the watch checks, a shortest run of the article's machine in which it says something."""
    found: dict[str, tuple[Event, ...]] = {}
    for events, watch, _ in runs(take, ("weight", "cancel", "complete", "upkeep", "duplicate"), longest):
        for claim in watch.seen:
            found.setdefault(claim, events)
    return found


def runs(take: Take, needs: tuple[str, ...], longest: int) -> Iterator[tuple[tuple[Event, ...], Watch, list[str]]]:
    """All runs of up to so many events, shorter ones first; none goes on after it has broken a claim."""
    level = [_Node(Machine(), Watch(), (0,) * len(USERS), ())]
    seen: set[Any] = set()
    for _ in range(longest):
        following: list[_Node] = []
        for node in level:
            for event, arrived in _events(node, needs):
                state, watch, broken = played(take, node.state, node.watch, event)
                events = (*node.events, event)
                yield events, watch, broken
                grown = _Node(state, watch, arrived, events)
                if not broken and (key := grown.key) not in seen:
                    seen.add(key)
                    following.append(grown)
        level = following


def replay(take: Take, events: Sequence[Event]) -> list[str]:
    """The claims that a run breaks, in the order in which it does."""
    state, watch = Machine(), Watch()
    broken: list[str] = []
    for event in events:
        state, watch, now = played(take, state, watch, event)
        broken += now
    return broken


def holds_for_the_article(witness: Witness) -> bool:
    """Whether the machine of the article gets through the same run."""
    return replay(take, witness.events) == []


def played(take: Take, state: Machine, watch: Watch, event: Event) -> tuple[Machine, Watch, list[str]]:
    """One event, seen by a copy of the watch."""
    watch = watch.copy()
    try:
        taken = take(state, event)
    except Refused:
        return state, watch, watch.refused(state, state)
    if isinstance(taken.answer.refused, str):
        return taken.state, watch, watch.refused(state, taken.state)
    return taken.state, watch, watch.observe(state, event, taken)


def _events(node: _Node, needs: tuple[str, ...]) -> Iterator[tuple[Event, tuple[int, ...]]]:
    state, arrived = node.state, node.arrived
    yield Dispatch(), arrived
    for place, user in enumerate(USERS):
        counted = tuple(count + (at == place) for at, count in enumerate(arrived))
        for cost in COSTS:
            yield Arrive(user, f"{user}{counted[place]}", cost), counted
        if "weight" in needs and state.competition.weight.get(user) != 2:
            yield SetWeight(user, 2), arrived
    for request in state.live.values():
        waiting = state.is_waiting(request)
        if "cancel" in needs and waiting:
            yield Cancel(request.request), arrived
        if "complete" in needs and not waiting:
            yield Complete(request.request), arrived
        if "duplicate" in needs:
            yield Arrive(request.user, request.request, 1), arrived
    if "upkeep" in needs:
        yield Upkeep(), arrived


def in_short(event: Event) -> str:
    """An event in short: `+A1(3)` arrives with cost 3, `D` a dispatch, `xA1` a cancel, `wA=2` a weight."""
    match event:
        case Arrive(request=request, cost=cost):
            return f"+{request}({cost})"
        case Dispatch():
            return "D"
        case Cancel(request=request):
            return f"x{request}"
        case Complete(request=request):
            return f"ok{request}"
        case SetWeight(user=user, weight=weight):
            return f"w{user}={weight}"
        case _:
            return "upkeep"
