"""The policies of the fleet beside the models of the specification, dispatch by dispatch.

Both play the same thousands of random histories: arrivals, dispatches, withdrawals, ends and weights, with ids that
come again once they are free. Before each dispatch the policy is asked twice who is next; in the end all that waits is
dispatched, so that whatever went wrong on the way comes out. Wrong policies show that it does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec import UNSET

from sfq_impl.fleet.policy import Fifo, OvertakingSfq, Policy, RoundRobin, Sfq, Usage
from sfq_impl.fleet.request import Request
from sfq_proofs.scheduler.faults import BY_NAME, plant
from sfq_spec.related import policies
from sfq_spec.scheduler import play
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Outcome, SetWeight

HISTORIES = 2_000
OUTCOMES: tuple[Outcome, ...] = ("completed", "failed", "cancelled")
COSTS = ([1], [1, 2, 3], [1, 10, 1_000], [2**53, 2**64, 1])
WEIGHTS = (1.0, 2.0, 3.0, 0.5, 0.1, 1e9)


class Difference(AssertionError):
    """A policy that does something else than its model."""


class Pair:
    """A policy and its model, which are told the same."""

    def __init__(self, policy: Policy, model: str) -> None:
        self.policy = policy
        self.model = policies.policy(model)()
        self.waiting: dict[str, Request] = {}
        self.in_flight: dict[str, Request] = {}
        self.trail: list[Event] = []

    def arrive(self, request: Request) -> None:
        self._tell(Arrive(request.user, request.id, Fraction(request.cost)))
        self.policy.arrive(request)
        self.waiting[request.id] = request

    def cancel(self, request: Request) -> None:
        self._tell(Cancel(request.id))
        self.policy.cancel(request)
        del self.waiting[request.id]

    def complete(self, request: Request, outcome: Outcome) -> None:
        self._tell(Complete(request.id, outcome))
        self.policy.complete(request, outcome, None)
        del self.in_flight[request.id]

    def set_weight(self, user: str, weight: float) -> None:
        self._tell(SetWeight(user, Fraction(repr(weight))))
        self.policy.set_weight(user, weight)

    def dispatch(self) -> None:
        expected = self._tell(Dispatch())
        found, again = self.policy.next(), self.policy.next()
        if found is not again:
            raise Difference("asked again, it names another")
        if (found and found.id) != expected:
            raise Difference(f"{found and found.id} is next instead of {expected} after {self.trail}")
        if found:
            self.policy.dispatch(found)
            self.in_flight[found.id] = self.waiting.pop(found.id)

    def _tell(self, event: Event) -> object:
        self.trail.append(event)
        answer = play(self.model, event)
        if answer.refused is not UNSET:
            raise RuntimeError(f"the history is not one that a dispatcher makes: {self.trail}")
        return answer.dispatched


def run(policy: Policy, model: str, seed: int) -> int:
    """Play one history. The number of its dispatches; raises `Difference` at the first that is another."""
    pair, rng = Pair(policy, model), random.Random(seed)
    users = [f"u{number}" for number in range(rng.randint(2, 6))]
    costs, shares = rng.choice(COSTS), [rng.choice([3, 6]), rng.choice([2, 5]), rng.choice([0, 1, 3]), 2, 1]
    for number, kind in enumerate(rng.choices(["arrive", "dispatch", "cancel", "complete", "weight"], shares, k=50)):
        if kind == "arrive":
            used = [event.request for event in pair.trail if isinstance(event, Arrive)]
            free = [name for name in used if name not in pair.waiting and name not in pair.in_flight]
            name = rng.choice(free) if free and rng.random() < 0.2 else f"r{number}"
            pair.arrive(Request(name, rng.choice(users), rng.choice(costs)))
        elif kind == "dispatch":
            pair.dispatch()
        elif kind == "cancel" and pair.waiting:
            pair.cancel(rng.choice(list(pair.waiting.values())))
        elif kind == "complete" and pair.in_flight:
            pair.complete(rng.choice(list(pair.in_flight.values())), rng.choice(OUTCOMES))
        elif kind == "weight":
            pair.set_weight(rng.choice(users), rng.choice(WEIGHTS))
    while pair.waiting:
        pair.dispatch()
    pair.dispatch()
    return sum(isinstance(event, Dispatch) for event in pair.trail)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("policy", "model"), [(Sfq, "sfq"), (OvertakingSfq, "sfq"), (Fifo, "fifo"), (RoundRobin, "round-robin")]
)
@pytest.mark.parametrize("part", range(4))
def test_a_policy_dispatches_what_its_model_does(policy: Callable[[], Policy], model: str, part: int) -> None:
    seeds = range(part * HISTORIES // 4, (part + 1) * HISTORIES // 4)
    assert sum(run(policy(), model, seed) for seed in seeds) > 10 * len(seeds)


class NewestFirst(Fifo):
    def next(self) -> Request | None:
        return next(reversed(self._waiting.values()), None)


class AskingMovesOn(Fifo):
    def next(self) -> Request | None:
        if first := super().next():
            self._waiting[first.id] = self._waiting.pop(first.id)
        return first


class WithdrawnGoesOn(Fifo):
    def cancel(self, request: Request) -> None:
        pass


class TurnStays(RoundRobin):
    def dispatch(self, request: Request) -> None:
        self._leave(request)


class TurnOfTheFirst(RoundRobin):
    def dispatch(self, request: Request) -> None:
        self._queues.move_to_end(next(iter(self._queues)))
        self._leave(request)


class JoinsInFront(RoundRobin):
    def arrive(self, request: Request) -> None:
        super().arrive(request)
        if len(self._queues[request.user]) == 1:
            self._queues.move_to_end(request.user, last=False)


class WithdrawalTakesTheTurn(RoundRobin):
    def cancel(self, request: Request) -> None:
        if next(iter(self._queues)) == request.user:
            self._queues.move_to_end(request.user)
        super().cancel(request)


class KeepsItsPlace(RoundRobin):
    def _leave(self, request: Request) -> bool:
        del self._queues[request.user][request.id]
        left = bool(self._queues[request.user])
        while self._queues and not next(iter(self._queues.values())):
            self._queues.popitem(last=False)
        return left


class WithdrawnIsCharged(Sfq):
    def cancel(self, request: Request) -> None:
        if self.next() is request:
            self.dispatch(request)
        else:
            super().cancel(request)


class EndIsChargedAgain(Sfq):
    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        super().complete(request, outcome, usage)
        record = self.scheduler._users.get(request.user)
        if record and not record.queue:
            record.meter += request.cost


class NoShares(Sfq):
    def set_weight(self, user: str, weight: float) -> None:
        pass


def faulty(name: str) -> Callable[[], Policy]:
    """SFQ with a scheduler that has one of the planted faults."""

    def make() -> Policy:
        policy = Sfq()
        policy.scheduler = plant(BY_NAME[name])()
        return policy

    return make


PLANTED = (
    "v is not advanced",
    "v is advanced to the finish",
    "no charge",
    "weights are ignored",
    "last in, first out",
    "returns where it left",
    "returns at v",
    "cancel of the last one does not reset",
    "no reset",
    "withdrawn requests are sent",
)
WRONG: dict[str, tuple[Callable[[], Policy], str]] = {
    **{kind.__name__: (kind, "fifo") for kind in (NewestFirst, AskingMovesOn, WithdrawnGoesOn, RoundRobin, Sfq)},
    **{
        kind.__name__: (kind, "round-robin")
        for kind in (TurnStays, JoinsInFront, WithdrawalTakesTheTurn, KeepsItsPlace, Fifo)
    },
    **{kind.__name__: (kind, "sfq") for kind in (WithdrawnIsCharged, EndIsChargedAgain, NoShares)},
    **{name: (faulty(name), "sfq") for name in PLANTED},
}


@pytest.mark.parametrize(("policy", "model"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_policy_is_found(policy: Callable[[], Policy], model: str) -> None:
    assert any(differs(policy, model, seed) for seed in range(HISTORIES))


def differs(policy: Callable[[], Policy], model: str, seed: int) -> bool:
    """Whether the policy does something else than the model in one history, or breaks down."""
    try:
        run(policy(), model, seed)
    except RuntimeError:
        raise
    except Exception:
        return True
    return False


def passing_over(make: Callable[[], RoundRobin], seed: int) -> str:
    """What goes wrong where requests are dispatched that are not next, as if others were passed over; empty if nothing.

    The one who was passed over keeps its turn, and whoever went is behind all who waited.
    """
    policy, rng, waiting = make(), random.Random(seed), list[Request]()
    for number in range(30):
        waiting.append(Request(f"r{number}", rng.choice("ABCD"), 1))
        policy.arrive(waiting[-1])
    turns = list(dict.fromkeys(request.user for request in waiting))
    while waiting:
        user = rng.choice(turns)
        request = next(request for request in waiting if request.user == user)
        policy.dispatch(request)
        waiting.remove(request)
        turns.remove(user)
        turns += [user] * any(request.user == user for request in waiting)
        first = policy.next()
        if (first and first.user) != (turns[0] if turns else None):
            return f"it is the turn of {first and first.user}, not of {turns[:1]}"
    return ""


def test_whoever_is_passed_over_in_the_ring_keeps_its_turn() -> None:
    assert [said for seed in range(50) if (said := passing_over(RoundRobin, seed))] == []
    assert any(passing_over(TurnOfTheFirst, seed) for seed in range(50))
