"""The machine and every other method under one interface: a frozen state of which an event makes the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from sfq_spec import machine
from sfq_spec.machine import Machine
from sfq_spec.related import policies
from sfq_spec.related.facts import NOTHING, Facts
from sfq_spec.related.method import Method, Situation, observe, take
from sfq_spec.requests import Book
from sfq_spec.trace import Answer, Event


class Model(Protocol):
    """One method of scheduling, SFQ included."""

    @property
    def uses_clock(self) -> bool:
        """Whether the time that a line tells makes a difference."""

    @property
    def hears_completions(self) -> bool:
        """Whether a completion makes a difference."""

    def first(self) -> Book[Any]:
        """The state before any event."""

    def take(self, state: Any, event: Event, told: Facts = NOTHING) -> tuple[Any, Answer]:
        """The state after an event, and the answer. Raises a `Refused`."""

    def essence(self, state: Any) -> Any:
        """A hashable value that is the same only for states with the same future: requests told apart by place."""


@dataclass(frozen=True)
class MachineModel:
    """The machine of the specification; it needs no facts."""

    uses_clock: ClassVar[bool] = False
    hears_completions: ClassVar[bool] = False

    def first(self) -> Machine:
        """Nobody has come yet."""
        return Machine()

    def take(self, state: Machine, event: Event, told: Facts = NOTHING) -> tuple[Machine, Answer]:
        """As `machine.step`."""
        return machine.step(state, event)

    def essence(self, state: Machine) -> Any:
        """Meters count from v (KEEP-SHIFT), and not at all of users that idle without debt (KEEP-FORGET)."""
        s = state.competition
        lags = {user: lag for user, lag in state.lag.items() if lag > 0 or user in state.queues}
        return key((lags, s.weight, _places(state)))


@dataclass(frozen=True)
class MethodModel:
    """Another method."""

    method: Method[Any]

    @property
    def uses_clock(self) -> bool:
        """As the method says."""
        return self.method.uses_clock

    @property
    def hears_completions(self) -> bool:
        """Whether the method does anything when a request completes."""
        return type(self.method).complete is not Method.complete

    def first(self) -> Situation[Any]:
        """Nobody has come yet."""
        return Situation(state=self.method.first())

    def take(self, state: Situation[Any], event: Event, told: Facts = NOTHING) -> tuple[Situation[Any], Answer]:
        """The facts are noted first, then the event is carried out."""
        return take(self.method, observe(self.method, state, told), event, told)

    def essence(self, state: Situation[Any]) -> Any:
        """The state of the method as it is; of the requests in flight, whose they are."""
        time = state.time if self.method.uses_clock else None
        return key((state.state, state.weights, time, _places(state)))


def model(policy: str) -> Model:
    """The model that a text such as `drr:quantum=512` names. Raises `BadPolicy`."""
    return MachineModel() if policy == policies.SFQ else MethodModel(policies.method(policy))


def _places(state: Book[Any]) -> Any:
    """The requests without their ids: cost and rank of arrival of each that waits, the number in flight by user."""
    order = {id: rank for rank, id in enumerate(id for id, job in state.live.items() if state.is_waiting(job))}
    waiting = {
        user: tuple((job.cost, order[job.request], getattr(job, "time", None)) for job in queue)
        for user, queue in state.queues.items()
    }
    flying = Counter(job.user for id, job in state.live.items() if id not in order)
    return waiting, flying


PLAIN = frozenset({str, int, bool, Fraction, type(None)})
"""Types of values that are their own keys; they are asked for first, as there are so many of them."""


def key(value: Any) -> Any:
    """A hashable value that is the same for the same state."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return tuple(sorted((name, key(item)) for name, item in value.items()))
    if isinstance(value, tuple):
        return tuple(map(key, value))
    if is_dataclass(value):
        return tuple(key(getattr(value, field.name)) for field in fields(value))
    return value
