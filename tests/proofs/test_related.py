"""Every question can be answered with no: by a method that is known for it, or by a faulty one made for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Any, NamedTuple

import pytest

from sfq_proofs.related import search as searching
from sfq_proofs.related.known import RUNS, breaks, known
from sfq_proofs.related.search import Place, after, search
from sfq_spec.conformance.shorthand import write
from sfq_spec.related import behaviour
from sfq_spec.related.behaviour import QUESTIONS, Question
from sfq_spec.related.facts import NOTHING, Facts
from sfq_spec.related.model import MachineModel, Model, model
from sfq_spec.trace import Answer, Dispatch, Event

BY_ID = {question.id: question for question in QUESTIONS}


@dataclass(frozen=True)
class Idle(MachineModel):
    """Sends nothing while three or more requests wait."""

    def take(self, state: Any, event: Event, told: Facts = NOTHING) -> tuple[Any, Answer]:
        if isinstance(event, Dispatch) and sum(map(len, state.queues.values())) >= 3:
            return state, Answer(dispatched=None)
        return super().take(state, event, told)


@dataclass(frozen=True)
class NewestFirst(MachineModel):
    """Turns every queue around before it decides, and sends the newest request of a user."""

    def take(self, state: Any, event: Event, told: Facts = NOTHING) -> tuple[Any, Answer]:
        if isinstance(event, Dispatch):
            turned = {user: queue[::-1] for user, queue in state.queues.items()}
            after, answer = super().take(replace(state, queues=turned), event, told)
            return replace(after, queues={user: queue[::-1] for user, queue in after.queues.items()}), answer
        return super().take(state, event, told)


@pytest.mark.parametrize(("faulty", "question"), [(Idle(), "WORK"), (NewestFirst(), "FIFO")])
def test_a_fault_made_for_a_question_is_found(faulty: Model, question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "model", lambda policy: faulty)
    assert not search("faulty", BY_ID[question]).holds


@pytest.mark.parametrize(
    ("policy", "question", "run"),
    [
        ("fifo", "LEAD", "+A 1×2; +B 1; D×2"),
        ("round-robin", "LEAD", "+A 3; +A 1; +B 1×2; D×3"),
        ("fifo", "PROMPT", "+A 1×2; +B 1; D×2"),
        ("round-robin", "WEIGHT", "w A 2; +A 3; +A 1; +B 1×2; D×3"),
    ],
)
def test_the_shortest_run_is_found(policy: str, question: str, run: str) -> None:
    assert write(search(policy, BY_ID[question]).run) == run


@pytest.mark.parametrize(
    ("policy", "question"),
    [
        ("wfq", "BLIND"),
        ("drr:quantum=2", "BLIND"),
        ("drr:quantum=2", "SCALE"),
        ("las", "FINAL"),
        ("las", "LEVEL"),
        ("virtual-clock", "CLOCK"),
    ],
)
def test_what_a_method_is_known_for_is_found(policy: str, question: str) -> None:
    found = search(policy, BY_ID[question])
    assert not found.holds
    assert breaks(policy, BY_ID[question], found.run) == len(found.run)


@pytest.mark.integration
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_sfq_holds(question: Question) -> None:
    found = search("sfq", question, most_states=3_000)
    assert found.holds
    assert found.longest >= 4


@pytest.mark.parametrize(("policy", "question"), RUNS)
def test_a_known_run_breaks_at_its_end(policy: str, question: str) -> None:
    found = known(policy, question)
    assert found is not None
    assert found.longest == len(found.run)


@pytest.mark.parametrize("policy", ["round-robin", "fifo", "sfq"])
def test_the_lead_is_that_of_all_intervals_looked_at_one_by_one(policy: str) -> None:
    random, verdicts = Random(1), set[bool]()
    for _ in range(300):
        scheduler, question = model(policy), behaviour.Fair()
        place = Place(question.first(scheduler), ())
        points = [Point(frozenset(), {}, {})]
        holds = True
        for _ in range(12):
            event = random.choice(list(searching._events(scheduler, question, place)))
            points.append(_point(points[-1], place.node.state, event, scheduler))
            [(place, held)] = after(scheduler, question, place, event)
            holds = holds and held
        assert holds == all(_fair(points[: end + 1]) for end in range(len(points)))
        verdicts.add(holds)
    assert verdicts == ({True} if policy == "sfq" else {True, False})


class Point(NamedTuple):
    """Who waits, what each has been charged in all, and what last."""

    waiting: frozenset[str]
    charged: dict[str, Fraction]
    last: dict[str, Fraction]


def _point(before: Point, state: Any, event: Event, scheduler: Model) -> Point:
    after, answer = scheduler.take(state, event)
    charged, last = dict(before.charged), dict(before.last)
    if isinstance(answer.dispatched, str):
        job = state.live[answer.dispatched]
        charged[job.user] = charged.get(job.user, Fraction(0)) + job.cost
        last[job.user] = job.cost
    return Point(frozenset(after.queues), charged, last)


def _fair(points: list[Point]) -> bool:
    """FAIR-LEAD for all pairs, in the intervals that end at the last point."""
    end = points[-1]
    for i, j in permutations("AB", 2):
        for begin in range(len(points)):
            if all(j in point.waiting for point in points[begin:]):
                start = points[begin]
                lead = (end.charged.get(i, 0) - start.charged.get(i, 0)) - (
                    end.charged.get(j, 0) - start.charged.get(j, 0)
                )
                if lead > end.last.get(i, 0) + start.last.get(j, 0):
                    return False
    return True
