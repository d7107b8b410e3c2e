"""Every method of scheduling, put to every question of `sfq_spec.related.behaviour`: all runs of small worlds.

Breadth first, so that a run which breaks an answer is a shortest one. States that have been seen are not gone on from
again: what may still happen depends on the state and on what the monitor remembers, which is all that is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from sfq_spec.related.behaviour import Line, Node, Question, Weighted
from sfq_spec.related.facts import NOTHING, Facts
from sfq_spec.related.model import Model, model
from sfq_spec.trace import Arrive, Complete, Dispatch, Event, SetWeight

COSTS = (1, 3)
MOST_WAITING = 2
"""Requests of one user that wait at once."""
MOST_STATES = 5_000
"""A search ends with the length of run at which there are more."""
LONGEST = 12


@dataclass(frozen=True)
class Found:
    """What came of a search: a shortest run that breaks it; or none, up to some length."""

    policy: str
    question: str
    run: tuple[Event, ...] = ()
    """Empty where it held in all runs."""
    longest: int = 0
    """Events of the longest runs, all of which were gone through; 0: there is no end to them, and all were."""
    states: int = 0

    @property
    def holds(self) -> bool:
        """Whether no run breaks it."""
        return not self.run


class Place(NamedTuple):
    """A moment of a run, and the run."""

    node: Node
    events: tuple[Event, ...]


def search(
    policy: str,
    question: Question,
    *,
    scheduler: Model | None = None,
    most_states: int = MOST_STATES,
    longest: int = LONGEST,
) -> Found:
    """Put one question to one method; to a model that no name stands for, if one is given."""
    scheduler = scheduler or model(policy)
    level = [Place(question.first(scheduler), ())]
    if isinstance(question, Weighted):
        level = [place for place, _ in after(scheduler, question, level[0], SetWeight("A", 2))]
    seen: set[Any] = set()
    for length in range(1, longest + 1):
        following: list[Place] = []
        for place in level:
            for event in _events(scheduler, question, place):
                for reached, holds in after(scheduler, question, place, event):
                    if not holds:
                        return Found(policy, question.id, reached.events, length, len(seen))
                    if (known := question.essence(scheduler, reached.node)) not in seen:
                        seen.add(known)
                        following.append(reached)
            if len(seen) > most_states:
                return Found(policy, question.id, (), length - 1, len(seen))
        level = following
        if not level:
            return Found(policy, question.id, (), 0, len(seen))
    return Found(policy, question.id, (), longest, len(seen))


def after(scheduler: Model, question: Question, place: Place, event: Event) -> Iterator[tuple[Place, bool]]:
    """The moments that may come after an event, and whether it held there. The clock goes on by a second an event."""
    timed = question.timed or scheduler.uses_clock
    line = Line(event, Facts(time=Fraction(len(place.events))) if timed else NOTHING)
    for node, holds in question.follow(scheduler, place.node, line):
        yield Place(node, (*place.events, event)), holds


def _events(scheduler: Model, question: Question, place: Place) -> Iterator[Event]:
    state = place.node.state
    for user in "ABCD"[: question.users]:
        if len(state.queues.get(user, ())) < MOST_WAITING:
            number = 1 + sum(isinstance(event, Arrive) and event.user == user for event in place.events)
            for cost in question.costs or COSTS:
                yield Arrive(user, f"{user}{number}", cost)
    if state.queues:
        yield Dispatch()
    if question.completes or scheduler.hears_completions:
        waiting = {request.request for queue in state.queues.values() for request in queue}
        flying = [id for id in state.live if id not in waiting]
        if flying:
            yield Complete(flying[0])
