"""A method of scheduling, beside SFQ: pure functions over a state of its own, and the scheduler that they make.

Queues, ids and refusals are those of the machine; only who is next, and what is remembered for that, is the method's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from sfq_spec.refusals import InvalidCost, InvalidWeight
from sfq_spec.related.facts import NOTHING, BadFact, Facts, read
from sfq_spec.requests import Book, Request, admit, end, in_flight, positive, reprice, send, waiting, withdraw
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event, Outcome, Recost, SetWeight, Upkeep

S = TypeVar("S")
"""What a method remembers: a frozen value."""

ONE = Fraction(1)


@dataclass(frozen=True)
class Job(Request):
    """A request, with what methods other than SFQ ask of it."""

    number: int = 0
    """How many requests arrived before it."""
    time: Fraction = Fraction(0)
    """When it arrived."""
    input_tokens: int | None = None
    """None where nothing was told."""
    prefix: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Situation(Book[Job], Generic[S]):
    """Everything that a method may look at. `state` is its own."""

    state: S = None  # type: ignore[assignment]
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """Of users that were given one; 1 for all others."""
    time: Fraction = Fraction(0)
    """The latest that was told, in seconds."""
    has_clock: bool = False
    """Whether any line told the time."""
    arrivals: int = 0

    def weight(self, user: str) -> Fraction:
        """The weight of a user."""
        return self.weights.get(user, ONE)

    def joins(self, job: Job) -> bool:
        """Whether the arrival of this request, which waits now, has turned its user's queue from empty to not empty."""
        return self.is_last(job)

    def head(self, user: str) -> Job:
        """The request that has waited longest of a user that waits."""
        return self.queues[user][0]


@dataclass(frozen=True)
class Method(ABC, Generic[S]):
    """One method. The fields of a subclass are its parameters, given as in `drr:quantum=512`.

    Every function gets the situation as it is once the event has been carried out, except `dispatch`, which is to
    decide, and gets it before. Each returns the state that follows.
    """

    title: ClassVar[str]
    """Its name, for people."""
    uses_clock: ClassVar[bool] = False
    """Whether the time that a line tells makes a difference."""

    @abstractmethod
    def first(self) -> S:
        """The state before any event."""

    @abstractmethod
    def dispatch(self, at: Situation[S]) -> tuple[S, Job]:
        """The waiting request that goes next; called only where somebody waits. It is charged, and leaves, by this."""

    def arrive(self, at: Situation[S], job: Job) -> S:
        """A request has joined the end of its user's queue."""
        return at.state

    def cancel(self, at: Situation[S], job: Job) -> S:
        """A waiting request has been withdrawn."""
        return at.state

    def complete(self, at: Situation[S], job: Job, outcome: Outcome, told: Facts) -> S:
        """A request in flight has ended."""
        return at.state

    def reweigh(self, at: Situation[S], user: str, before: Fraction) -> S:
        """A user has another weight than before."""
        return at.state

    def reprice(self, at: Situation[S], before: Job, after: Job) -> S:
        """A waiting request has another cost than before."""
        return at.state

    def produce(self, at: Situation[S], job: Job, tokens: int) -> S:
        """A request in flight has produced output tokens."""
        return at.state


class MethodScheduler(Generic[S]):
    """A method as a scheduler that keeps its own state (the contract is `sfq_spec.scheduler`).

    A refused event raises a `Refused` and leaves the state. `given` takes what a line tells beside its event.
    """

    def __init__(self, method: Method[S]) -> None:
        self.method = method
        self.situation: Situation[S] = Situation(state=method.first())
        self._told = NOTHING

    def given(self, fields: Mapping[str, Any]) -> None:
        """The other fields of the line whose event comes next. Raises `BadFact`."""
        self._told = read(fields)

    def arrive(self, user: str, request: str, cost: int | float | Fraction) -> Answer:
        """A request joins the end of its user's queue."""
        return self.step(Arrive(user, request, cost))

    def dispatch(self) -> Answer:
        """The request that goes next, with its user and its cost."""
        return self.step(Dispatch())

    def cancel(self, request: str) -> Answer:
        """A waiting request is withdrawn."""
        return self.step(Cancel(request))

    def complete(self, request: str, outcome: Outcome = "completed") -> Answer:
        """A dispatched request has ended."""
        return self.step(Complete(request, outcome))

    def weight(self, user: str, weight: int | float | Fraction) -> Answer:
        """The user's share, from the next charge on."""
        return self.step(SetWeight(user, weight))

    def cost(self, request: str, cost: int | float | Fraction) -> Answer:
        """A new estimate for a waiting request."""
        return self.step(Recost(request, cost))

    def step(self, event: Event, told: Facts | None = None) -> Answer:
        """Carry out one event. Raises a `Refused`, or `BadFact` where the clock goes back: then nothing is noted."""
        told, self._told = self._told if told is None else told, NOTHING
        self.situation = observe(self.method, self.situation, told)
        self.situation, answer = take(self.method, self.situation, event, told)
        return answer


def observe(method: Method[S], at: Situation[S], told: Facts) -> Situation[S]:
    """Note the clock and the tokens that a line told; its event comes after. Raises `BadFact`: the clock goes back."""
    if told.time is not None:
        if told.time < at.time and at.has_clock:
            raise BadFact(f"field `time`: {told.time} comes before {at.time}: the clock never goes back")
        at = replace(at, time=told.time, has_clock=True)
    asks = type(method).produce is not Method.produce
    for request, tokens in told.produced.items() if asks else ():
        if (job := in_flight(at, request)) is not None and tokens:
            at = replace(at, state=method.produce(at, job, tokens))
    return at


def take(method: Method[S], at: Situation[S], event: Event, told: Facts = NOTHING) -> tuple[Situation[S], Answer]:
    """The situation after an event, and the answer. Raises a `Refused`."""
    match event:
        case Arrive():
            return _arrive(method, at, event, told), Answer()
        case Dispatch():
            return _dispatch(method, at)
        case Cancel():
            job = waiting(at, event.request)
            left = withdraw(at, job)
            return replace(left, state=method.cancel(left, job)), Answer()
        case Complete():
            if (ended := in_flight(at, event.request)) is None:
                return at, Answer()
            left = end(at, ended)
            return replace(left, state=method.complete(left, ended, event.outcome, told)), Answer()
        case SetWeight():
            before = at.weight(event.user)
            weights = {**at.weights, event.user: positive(event.weight, InvalidWeight)}
            at = replace(at, weights=weights)
            return replace(at, state=method.reweigh(at, event.user, before)), Answer()
        case Recost():
            cost = positive(event.cost, InvalidCost)
            old = waiting(at, event.request)
            new = replace(old, cost=cost)
            at = reprice(at, old, new)
            return replace(at, state=method.reprice(at, old, new)), Answer()
        case Upkeep():
            return at, Answer()


def _arrive(method: Method[S], at: Situation[S], event: Arrive, told: Facts) -> Situation[S]:
    cost = positive(event.cost, InvalidCost)
    job = Job(event.user, event.request, cost, at.arrivals, at.time, told.input_tokens, told.prefix)
    at = replace(admit(at, job), arrivals=at.arrivals + 1)
    return replace(at, state=method.arrive(at, job))


def _dispatch(method: Method[S], at: Situation[S]) -> tuple[Situation[S], Answer]:
    if not at.queues:
        return at, Answer(dispatched=None)
    state, job = method.dispatch(at)
    return replace(send(at, job), state=state), Answer(dispatched=job.request, user=job.user, cost=job.cost)
