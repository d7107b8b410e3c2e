"""A policy that picks queues, as the dispatcher has it, on a clock set by hand; perhaps beside the exact model."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Outcome, Request
from sfq_impl.policy.interfaces import SECOND, FairnessPolicy
from sfq_impl.policy.parameters import PROGRAM_AWARE, ProgramAware, read
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_spec.conformance.las.model import Following, Mode, model
from sfq_spec.related.facts import Facts
from sfq_spec.related.method import MethodScheduler
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch


class Clock:
    """Nanoseconds, as they are set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        """As it was set."""
        return self.now

    def at(self, seconds: float | Fraction) -> None:
        """Set it."""
        self.now = round(Fraction(seconds) * SECOND)

    def after(self, seconds: float | Fraction) -> None:
        """Let so much time pass."""
        self.now += round(Fraction(seconds) * SECOND)


class Play:
    """Requests are named after their users, as A1 or B12."""

    def __init__(self, fairness: FairnessPolicy, clock: Clock, bands: Mapping[int, FairnessPolicy] | None = None):
        self.fairness: Any = fairness
        self.clock = clock
        self.policy = QueuePolicy(fairness, bands, clock=clock)
        self.waiting: dict[str, Request] = {}
        self.in_flight: dict[str, Request] = {}

    def arrive(self, *ids: str, cost: int = 1, priority: int = 0) -> None:
        """Requests join the queues of their users, one after another."""
        for id in ids:
            self.waiting[id] = Request(id, id.rstrip("0123456789"), cost, priority=priority)
            self.policy.arrive(self.waiting[id])

    def next(self) -> str | None:
        """Who goes next; nothing changes by asking."""
        found = self.policy.next()
        return None if found is None else found.id

    def send(self, times: int = 1) -> str:
        """What so many dispatches send; `-` where nobody waits."""
        sent = []
        for _ in range(times):
            found = self.policy.next()
            if found is None:
                sent.append("-")
                continue
            self.policy.dispatch(found)
            self.in_flight[found.id] = self.waiting.pop(found.id)
            sent.append(found.id)
        return " ".join(sent)

    def cancel(self, *ids: str) -> None:
        """Waiting requests are withdrawn."""
        for id in ids:
            self.policy.cancel(self.waiting.pop(id))

    def complete(self, *ids: str, tokens: tuple[int, int] | None = (0, 0), outcome: Outcome = "completed") -> None:
        """Requests in flight end, each with the same tokens told of it, input and output."""
        for id in ids:
            usage = None if tokens is None else Usage(*tokens)
            self.policy.complete(self.in_flight.pop(id), outcome, usage)

    def serve(self, times: int, tokens: tuple[int, int] = (1, 0)) -> str:
        """What so many dispatches send, where each request ends before the next goes."""
        sent = []
        for _ in range(times):
            sent.append(self.send())
            self.complete(sent[-1], tokens=tokens)
        return " ".join(sent)

    def attain(self, **services: int) -> None:
        """Programs attain service, each by one request that is alone."""
        for name, service in services.items():
            self.arrive(f"{name}0")
            assert self.send() == f"{name}0"
            self.complete(f"{name}0", tokens=(service, 0))

    def service(self, name: str) -> float:
        """What a program has attained, as it counts now."""
        found: float = self.fairness.service(name, self.clock.now)
        return found

    def flying(self, name: str) -> int:
        """How many requests of a program are in flight, as its record says."""
        found: int = self.fairness.programs[name].in_flight
        return found


def program_aware(**parameters: Any) -> Play:
    """The program-aware policy with these parameters, as a configuration has them."""
    clock = Clock()
    made = read(ProgramAware, PROGRAM_AWARE, PROGRAM_AWARE, parameters)
    return Play(ProgramAwareFairness(made, clock=clock), clock)


class Beside(Play):
    """The program-aware policy beside the model: a choice that the model does not make must be close to its own."""

    def __init__(self, parameters: Mapping[str, Any], *, kind: type[Following] = Following) -> None:
        play = program_aware(**parameters)
        super().__init__(play.fairness, play.clock)
        mode: Mode = parameters.get("compatibility", "none")
        self.model = model(mode, parameters, kind)
        self.scheduler = MethodScheduler(self.model)
        self.picks = 0
        self.close = 0
        """Choices that were made otherwise, within rounding."""
        self.open = 0
        """Choices that could have been, whichever was made."""

    def arrive(self, *ids: str, cost: int = 1, priority: int = 0) -> None:
        """Requests join the queues of their users, one after another."""
        for id in ids:
            self.scheduler.step(Arrive(id.rstrip("0123456789"), id, Fraction(cost)), self._now())
        super().arrive(*ids, cost=cost, priority=priority)

    def send(self, times: int = 1) -> str:
        """What so many dispatches send; `-` where nobody waits."""
        sent = []
        for _ in range(times):
            mine = self.next()
            assert self.next() == mine, "asked again, it names another"
            self.model.wanted[:] = [] if mine is None else [mine.rstrip("0123456789")]
            theirs = self.scheduler.step(Dispatch(), self._now()).dispatched
            assert mine == theirs, f"{mine} instead of {theirs}; the model allows {self.model.near} besides"
            self.picks += 1
            self.open += mine is not None and bool(self.model.near)
            self.close += mine is not None and self.model.wanted[0] in self.model.near
            sent.append(super().send())
        return " ".join(sent)

    def cancel(self, *ids: str) -> None:
        """Waiting requests are withdrawn."""
        for id in ids:
            self.scheduler.step(Cancel(id), self._now())
        super().cancel(*ids)

    def complete(self, *ids: str, tokens: tuple[int, int] | None = (0, 0), outcome: Outcome = "completed") -> None:
        """Requests in flight end, each with the same tokens told of it, input and output."""
        assert tokens is not None
        for id in ids:
            told = Facts(self._now().time, *tokens)
            self.scheduler.step(Complete(id, outcome), told)
        super().complete(*ids, tokens=tokens, outcome=outcome)

    def exact_service(self, name: str) -> float:
        """The model's service, about."""
        situation = self.scheduler.situation
        now = Fraction(self.clock.now, SECOND)
        swept = self.model._swept(situation.state, now)
        return self.model.about(swept, name, now)

    def _now(self) -> Facts:
        return Facts(Fraction(self.clock.now, SECOND))
