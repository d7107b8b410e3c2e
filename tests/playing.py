"""A method of scheduling as it runs, in few words: requests are named after their users, as A1 or B12."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from sfq_spec.related import policies
from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Method, MethodScheduler
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event, Outcome, SetWeight, Upkeep


class Playing:
    """A scheduler of a method. What is told beside an event is given by name; a clock that is given stays."""

    def __init__(self, method: Method[Any] | str) -> None:
        made = policies.method(method) if isinstance(method, str) else method
        self.scheduler = MethodScheduler(made)

    @property
    def state(self) -> Any:
        """What the method remembers."""
        return self.scheduler.situation.state

    def arrive(self, *requests: str, cost: Fraction | int = 1, **told: Any) -> None:
        """Requests join the queues of their users, one after another."""
        for request in requests:
            self._step(Arrive(user(request), request, Fraction(cost)), told)

    def send(self, times: int = 1, **told: Any) -> str:
        """What so many dispatches send."""
        return " ".join(str(self._step(Dispatch(), told).dispatched) for _ in range(times))

    def complete(self, *requests: str, outcome: Outcome = "completed", **told: Any) -> None:
        """Requests in flight end, each with the same told of it."""
        for request in requests:
            self._step(Complete(request, outcome), told)

    def cancel(self, *requests: str) -> None:
        """Waiting requests are withdrawn."""
        for request in requests:
            self._step(Cancel(request), {})

    def weigh(self, **weights: Fraction | int) -> None:
        """Users have other weights from now on."""
        for name, weight in weights.items():
            self._step(SetWeight(name, Fraction(weight)), {})

    def tell(self, **told: Any) -> None:
        """Something is told beside an event that changes nothing."""
        self._step(Upkeep(), told)

    def serve(self, times: int, after: Fraction | int = 0, **told: Any) -> str:
        """What so many dispatches send, where each request ends before the next goes, `after` seconds later."""
        sent = []
        for _ in range(times):
            request = self.send()
            time = self.scheduler.situation.time + after
            clock: dict[str, Any] = {"time": time} if after else {}
            self.complete(request, **clock, **told)
            sent.append(request)
        return " ".join(sent)

    def _step(self, event: Event, told: dict[str, Any]) -> Answer:
        if "time" in told:
            told = {**told, "time": Fraction(told["time"])}
        return self.scheduler.step(event, Facts(**told))


def user(request: str) -> str:
    """Whose request it is, by its name."""
    return request.rstrip("0123456789")


def names(user: str, count: int, first: int = 1) -> list[str]:
    """So many requests of a user."""
    return [f"{user}{number}" for number in range(first, first + count)]


class Wrong(NamedTuple):
    """A model with one thing wrong, and the tests that must notice."""

    owner: object
    """The class or module in which a function is replaced."""
    name: str
    instead: object
    tests: tuple[Callable[[], None], ...]

    def is_refuted(self) -> bool:
        """Whether each of the tests fails."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.owner, self.name, self.instead)
            return all(map(_fails, self.tests))


def _fails(test: Callable[[], None]) -> bool:
    try:
        test()
    except AssertionError:
        return True
    return False
