"""The two axes along which the article compares methods (article §6.3), as experiments: one heavy job, and a return.

One server serves a request at a time, so many seconds as it costs; whatever is dispatched is complete before the next
dispatch. Users are told apart by what they send.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sfq_spec.related.facts import Facts
from sfq_spec.related.model import Model, model
from sfq_spec.trace import Answer, Arrive, Complete, Dispatch, Event


@dataclass
class Server:
    """One server in front of which a method decides."""

    scheduler: Model
    time: Fraction = Fraction(0)
    sent: list[str] = field(default_factory=list)
    """The users that were dispatched, in order."""

    def __post_init__(self) -> None:
        self._state = self.scheduler.first()
        self._arrived = 0

    def arrive(self, user: str, costs: Sequence[int]) -> None:
        """Some requests of a user, all at once."""
        for cost in costs:
            self._arrived += 1
            self._take(Arrive(user, f"{user}-{self._arrived}", Fraction(cost)), Facts(self.time, input_tokens=cost))

    def serve(self, count: int) -> list[str]:
        """So many dispatches; the users, in order."""
        for _ in range(count):
            answer = self._take(Dispatch(), Facts(self.time))
            assert isinstance(answer.dispatched, str), "somebody waits"
            job = self._state.live[answer.dispatched]
            self.sent.append(job.user)
            self.time += job.cost
            self._take(Complete(job.request), Facts(self.time, output_tokens=0))
        return self.sent[-count:]

    def _take(self, event: Event, told: Facts) -> Answer:
        self._state, answer = self.scheduler.take(self._state, event, told)
        return answer


@dataclass(frozen=True)
class Heavy:
    """A request of cost k among requests of cost 1 of another user, who has sent nothing before either."""

    cost: int
    before: int
    """Light requests that went before the heavy one."""
    after: int
    """Light requests that went between the heavy one and the same user's next."""


def heavy(policy: str, cost: int) -> Heavy:
    """Who pays for a heavy request, and when: the others by waiting before it, or its own user by waiting after it."""
    server = Server(model(policy))
    server.arrive("light", [1] * 3 * cost)
    server.arrive("heavy", [cost, 1])
    order = server.serve(3 * cost + 2)
    first = order.index("heavy")
    second = order.index("heavy", first + 1)
    return Heavy(cost, first, second - first - 1)


@dataclass(frozen=True)
class Return:
    """A user that comes back after others, who wait all the time, have each had so many requests."""

    absence: int
    wait: int
    """Dispatches of the others before its first."""
    banked: int
    """Its dispatches before any other user's next, from its first on."""
    never: bool
    """Whether it had none at all in the time that was looked at."""


def returning(policy: str, absence: int, others: int = 2) -> Return:
    """What a user finds that was served once, stayed away, and comes back with many requests; all costs are 1."""
    server = Server(model(policy))
    server.arrive("back", [1])
    server.serve(1)
    for number in range(others):
        server.arrive(f"user-{number}", [1] * 4 * absence)
    server.serve(others * absence)
    server.arrive("back", [1] * 2 * absence)
    order = server.serve(2 * absence + others)
    first = order.index("back") if "back" in order else len(order)
    return Return(absence, first, len(list(_run(order[first:]))), first == len(order))


def _run(order: Sequence[str]) -> Iterator[str]:
    for user in order:
        if user != "back":
            return
        yield user
