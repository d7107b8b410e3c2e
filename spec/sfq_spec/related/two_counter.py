"""A method of two counters, inspired by the abstract of Equinox (Wei and others 2025). It is not that method.

Of Equinox only the abstract could be read: one counter for the user's side, of weighted tokens and latency, one for the
operator's, of throughput and utilisation, both predicted, and a score that mixes them by parameters. No formula, no
coefficient and no code is public. What follows is the simplest rule of that shape, with coefficients of our choosing;
nothing that it does or fails to do says anything about the published method.

    user's counter      input tokens, and output tokens at a price, less `latency` for each second that a request of the
                        user has waited for its dispatch: who has been served badly has received less
    operator's counter  seconds for which requests of the user were in flight

The head of the user with the least `users` · first + `operators` · second goes next, ties to the least id. What is
added to a counter is divided by the weight. A user that comes to wait while others do is lifted, in each counter, to
the least of those that wait.

Used beside the events: `input_tokens` at arrival, or else the cost stands for it; `output_tokens` at completion;
`time`, without which nothing waits and nothing runs for any length of time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.trace import Outcome

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Sides:
    """What is remembered."""

    users: Mapping[str, Fraction] = field(default_factory=dict)
    """Tokens less waiting, by user."""
    operators: Mapping[str, Fraction] = field(default_factory=dict)
    """Seconds in flight, by user."""
    begun: Mapping[str, Fraction] = field(default_factory=dict)
    """When each request in flight was dispatched."""


At = Situation[Sides]


@dataclass(frozen=True)
class TwoCounter(Method[Sides]):
    """The head of the user goes next whose two counters, mixed, are least."""

    title: ClassVar[str] = "two counters"
    uses_clock: ClassVar[bool] = True
    users: Fraction = ONE
    """How much the user's side counts."""
    operators: Fraction = ONE
    """How much the operator's side counts."""
    output_price: Fraction = Fraction(2)
    latency: Fraction = ONE
    """Tokens that a second of waiting makes up for."""

    def __post_init__(self) -> None:
        for name in ("users", "operators", "output_price", "latency"):
            if (value := getattr(self, name)) < 0:
                raise ValueError(f"{name} {value}: must be 0 or more")

    def first(self) -> Sides:
        """Nobody has been served."""
        return Sides()

    def arrive(self, at: At, job: Job) -> Sides:
        """A user that comes to wait is lifted."""
        if not at.joins(job):
            return at.state
        others = at.queues.keys() - {job.user}
        return replace(
            at.state,
            users=_lifted(at.state.users, job.user, others),
            operators=_lifted(at.state.operators, job.user, others),
        )

    def dispatch(self, at: At) -> tuple[Sides, Job]:
        """The least mixture; the user's side is charged the input, and credited the wait."""
        users, operators = at.state.users, at.state.operators
        user = min(at.queues, key=lambda user: (self.users * users[user] + self.operators * operators[user], user))
        job = at.head(user)
        size = job.cost if job.input_tokens is None else Fraction(job.input_tokens)
        charge = (size - self.latency * (at.time - job.time)) / at.weight(user)
        begun = {**at.state.begun, job.request: at.time}
        return replace(at.state, users={**users, user: users[user] + charge}, begun=begun), job

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Sides:
        """The user's side is charged the output, the operator's the time in flight."""
        user, weight, begun = job.user, at.weight(job.user), dict(at.state.begun)
        ran = at.time - begun.pop(job.request)
        output = self.output_price * (told.output_tokens or 0)
        users, operators = at.state.users, at.state.operators
        return Sides(
            {**users, user: users[user] + output / weight}, {**operators, user: operators[user] + ran / weight}, begun
        )


def _lifted(counter: Mapping[str, Fraction], user: str, others: Collection[str]) -> dict[str, Fraction]:
    own = counter.get(user, ZERO)
    return {**counter, user: max(own, min((counter[other] for other in others), default=own))}
