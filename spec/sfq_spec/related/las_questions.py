"""What is asked of LAS beside the questions that every method is asked: accounts that must hold, and hopes that do not.

Each of the hopes is a sentence that one might take for granted. The searches find a shortest run that breaks it under
LAS, and go through the same runs under the settled policy and under SFQ (`sfq_proofs.related.las_runs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from sfq_spec.related.behaviour import Line, Monitor, Node
from sfq_spec.related.facts import NOTHING
from sfq_spec.related.halving import ZERO, number
from sfq_spec.related.las import Las, used
from sfq_spec.related.model import Model
from sfq_spec.requests import Book
from sfq_spec.trace import Answer, Arrive, Complete, Event

Times = Mapping[str, int]
EQUAL = (1,)
"""Where requests are counted, all have the same cost."""


def sent(before: Node, answer: Answer) -> str | None:
    """Whose request was dispatched."""
    return before.state.live[answer.dispatched].user if isinstance(answer.dispatched, str) else None


def ended(before: Node, event: Event) -> str | None:
    """Whose request in flight has ended."""
    job = before.state.live.get(event.request) if isinstance(event, Complete) else None
    return None if job is None or before.state.is_waiting(job) else job.user


# Accounts.


class Counted(Monitor):
    """LAS-FLIGHT."""

    id = "FLIGHT"
    says = "Of each program as many requests are in flight as were dispatched and have not ended."
    completes = True
    costs = EQUAL

    def first(self, model: Model) -> Node:
        """Nothing is in flight."""
        return Node(model.first(), {})

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Times, bool]:
        """Dispatched less ended, by program."""
        flying = Counter[str](before.memory)
        if (user := sent(before, answer)) is not None:
            flying[user] += 1
        if (user := ended(before, event)) is not None:
            flying[user] -= 1
        there = {user: count for user, count in flying.items() if count}
        state: Any = after
        return there, min(flying.values(), default=0) >= 0 and dict(state.state.in_flight) == there


class Attained(NamedTuple):
    """What a request was charged, and when."""

    user: str
    time: Fraction
    tokens: Fraction


class Remembered(Monitor):
    """LAS-KEPT."""

    id = "KEPT"
    says = "Service is all that was ever charged, each charge halved for its own time, whatever was visited meanwhile."
    completes = True
    timed = True
    costs = EQUAL

    def __init__(self, las: Las) -> None:
        self.las = las

    def first(self, model: Model) -> Node:
        """Nothing was charged."""
        return Node(model.first(), ())

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[tuple[Attained, ...], bool]:
        """Each service beside the sum."""
        state: Any = after
        charged: tuple[Attained, ...] = before.memory
        if (user := ended(before, event)) is not None and isinstance(event, Complete):
            job = before.state.live[event.request]
            charged = (*charged, Attained(user, state.time, Fraction(used(job, event.outcome, NOTHING))))
        return charged, all(
            self.las.service(state.state, user, state.time) == self._sum(charged, user, state.time)
            for user in {each.user for each in charged}
        )

    def _sum(self, charged: tuple[Attained, ...], user: str, time: Fraction) -> Any:
        total = ZERO
        for each in charged:
            if each.user == user:
                total = total.plus(number(each.tokens).halved((time - each.time) / self.las.half_life))
        return total


# Hopes.


class Rooms(Monitor):
    """LAS-ROOMS, SETTLED-ROOMS. Equal costs; nothing completes."""

    id = "ROOMS"
    says = (
        "Before anything has completed, rooms are shared: of two that waited before the first dispatch, and all the "
        "while, neither is sent two more requests than the other."
    )
    costs = EQUAL

    def first(self, model: Model) -> Node:
        """Nothing was sent."""
        return Node(model.first(), (None, {}))

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """Runs without a completion."""
        return iter(()) if isinstance(line.event, Complete) else super().follow(model, node, line)

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Any, bool]:
        """Who waits since the first dispatch, and how often each was sent since."""
        throughout, counts = before.memory
        if (user := sent(before, answer)) is None:
            return before.memory, True
        if throughout is None:
            throughout = frozenset(before.state.queues)
        throughout = tuple(sorted(set(throughout) & after.queues.keys()))
        counts = {**counts, user: counts.get(user, 0) + 1}
        most = max(counts.values())
        return (throughout, counts), all(most - counts.get(other, 0) <= 1 for other in throughout)


class Starved(Monitor):
    """LAS-STARVE. Equal costs: the bound of SFQ is 2 (FAIR-STARVE)."""

    id = "STARVE"
    costs = EQUAL
    completes = True

    def __init__(self, bound: int = 2) -> None:
        self.bound = bound
        self.says = f"While one waits and is sent nothing, no other is sent more than {bound} requests."

    def first(self, model: Model) -> Node:
        """Nobody waits."""
        return Node(model.first(), {})

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Any, bool]:
        """Of each that waits: how often each other was sent since it waits, or was sent itself."""
        passed: Mapping[str, Times] = {user: before.memory.get(user, {}) for user in sorted(after.queues)}
        if (user := sent(before, answer)) is not None:
            passed = {
                other: {} if other == user else {**times, user: times.get(user, 0) + 1}
                for other, times in passed.items()
            }
        return passed, all(times <= self.bound for others in passed.values() for times in others.values())


class Fresh(Monitor):
    """LAS-FRESH. A keeps its id; each other request comes under an id that was never seen. Equal costs."""

    id = "FRESH"
    says = (
        "To take a new id for each request gains nothing: of those that come later under new ids not three are sent "
        "while another waits that keeps its id."
    )
    users = 4
    costs = EQUAL
    completes = True

    def first(self, model: Model) -> Node:
        """Nobody has come."""
        return Node(model.first(), ("A", "A", 0))

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """New ids come one after another, each once. What they have in flight ends for nobody, and need not end."""
        event, latest = line.event, node.memory[0]
        if ended(node, event) not in (None, "A"):
            return iter(())
        if isinstance(event, Arrive) and event.user != "A" and event.user != chr(ord(latest) + 1):
            return iter(())
        return super().follow(model, node, line)

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Any, bool]:
        """The latest new id, now and when A began to wait or was sent; and how many of those between were sent."""
        latest, since, others = before.memory
        if isinstance(event, Arrive) and event.user != "A":
            latest = event.user
        user = sent(before, answer)
        if user == "A" or "A" not in before.state.queues:
            since, others = latest, 0
        elif user is not None and user > since:
            others += 1
        return (latest, since, others), others <= 2
