"""What is learnt of costs stays outside (COST-OUTSIDE): estimates move, and the cost of a request does not.

Requests of three users are priced by the estimator that runs, wait their turn in the dispatcher, and teach the
estimator when they have ended, in any order of tasks. The machine, which is told each cost as it was at first, stands
beside it (`shadow`). Estimators, policies and dispatchers that go back over a cost must be told from the right ones.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from sfq_impl.cost import Cost, Estimator
from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Sfq, Usage
from sfq_impl.fleet.request import Expired, Outcome, Request
from sfq_impl.fleet.simulation.loop import VirtualLoop, run
from sfq_proofs.finding import Finding
from sfq_proofs.fleet.faults import Fault, planted
from sfq_proofs.fleet.shadow import Shadow
from sfq_spec.fleet import fixed

SEEDS = 8
REQUESTS = 60
CAP = 1_000


@dataclass
class Prices(Shadow):
    """A shadow that also notes the cost of each request whenever it is told of it."""

    costs: dict[str, list[int]] = field(default_factory=dict)

    def arrived(self, request: Request) -> None:
        """As it is accepted."""
        self._price(request)
        super().arrived(request)

    def dispatched(self, request: Request, server: Server) -> None:
        """As it is charged."""
        self._price(request)
        super().dispatched(request, server)

    def withdrawn(self, request: Request) -> None:
        """As it leaves."""
        self._price(request)
        super().withdrawn(request)

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """As it ends."""
        self._price(request)
        super().ended(request, outcome, usage)

    def _price(self, request: Request) -> None:
        self.costs.setdefault(request.id, []).append(request.cost)


@dataclass
class World:
    """A dispatcher, an estimator, and requests."""

    seed: int
    dispatcher: Dispatcher
    estimator: Estimator
    prices: Prices
    seen: Counter[str] = field(default_factory=Counter)

    async def main(self) -> None:
        """All requests, from the first to the last."""
        rng = random.Random(self.seed)
        await asyncio.gather(*(self.one(f"r{number}", rng) for number in range(REQUESTS)))

    async def one(self, name: str, rng: random.Random) -> None:
        """One request: priced, dispatched, learnt from; or it has waited for too long."""
        await asyncio.sleep(rng.randrange(40))
        user = rng.choice("ABC")
        cost = self.estimator.cost("m", user, 10, cap=CAP)
        self.prices.costs[name] = [cost.units]
        try:
            async with self.dispatcher.slot(user, cost.units, request_id=name) as slot:
                self._look(user, cost, "while it waited")
                await asyncio.sleep(rng.randrange(6))
                slot.usage = Usage(10, rng.choice([1, CAP]))
                self._look(user, cost, "in flight")
                self.estimator.learn(cost.model, user, cost.cap, slot.usage.output_tokens)
        except Expired:
            self.seen["expired"] += 1
        self.prices.costs[name].append(cost.units)

    def _look(self, user: str, cost: Cost, moment: str) -> None:
        """Whether the same request would have another price by now."""
        self.seen[moment] += self.estimator.cost("m", user, 10, cap=CAP).units != cost.units


Make = Callable[..., Dispatcher]


@dataclass(frozen=True)
class Parts:
    """What a world is made of: as it runs, or with a mistake somewhere."""

    name: str = ""
    policy: Callable[[], Sfq] = Sfq
    estimator: Callable[[Dispatcher], Estimator] = lambda dispatcher: Estimator()
    dispatcher: Callable[[], AbstractContextManager[Make]] = lambda: nullcontext(Dispatcher)


def moved(parts: Parts, seed: int) -> tuple[list[str], Counter[str]]:
    """The costs and meters that have moved in a run though they must not, as sentences; and what happened in it."""
    with parts.dispatcher() as make:
        dispatcher = make(Placement([Server("a", 2)]), parts.policy(), limits=Limits(wait=30.0))
        prices = Prices(dispatcher)
        dispatcher.observers.append(prices)
        world = World(seed, dispatcher, parts.estimator(dispatcher), prices)
        run(VirtualLoop(seed), world.main())
    said = [f"{request} was said to cost {costs}" for request, costs in prices.costs.items() if not fixed(costs)]
    return [f"COST-OUTSIDE: {each}" for each in (*said, *prices.wrong)], world.seen


class Settles(Sfq):
    """Gives a request that has ended the cost that its usage tells."""

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """The account is changed."""
        request.cost += usage.output_tokens if usage else 0
        super().complete(request, outcome, usage)


class Corrects(Sfq):
    """Corrects the meter when the usage is known."""

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """The meter is changed, where nobody would see it at once."""
        super().complete(request, outcome, usage)
        record = self.scheduler._users.get(request.user)
        if record is not None and not record.queue and usage:
            record.meter += usage.output_tokens


@dataclass
class Reprices(Estimator):
    """Gives requests that have arrived the price of today."""

    dispatcher: Dispatcher
    waiting: bool
    """Those that wait, or those in flight."""

    def __post_init__(self) -> None:
        super().__init__()

    def learn(self, model: str, user: str, cap: int, actual: int) -> None:
        """And whoever is there already is priced again."""
        super().learn(model, user, cap, actual)
        flying = list(self.dispatcher.in_flight.values())
        there = [request for request, _ in self.dispatcher._turns.values()] if self.waiting else flying
        for request in there:
            request.cost = self.cost(model, request.user, 10, cap=cap).units


class Revises(Estimator):
    """Goes back over the prices that it has told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Cost] = []

    def cost(self, *arguments: object, **named: object) -> Cost:
        """A price, which is remembered."""
        self.told.append(super().cost(*arguments, **named))  # type: ignore[arg-type]
        return self.told[-1]

    def learn(self, model: str, user: str, cap: int, actual: int) -> None:
        """And all prices become those of today."""
        super().learn(model, user, cap, actual)
        for cost in self.told:
            units = super().cost(model, cost.user, cost.input_tokens, cap=cost.cap).units
            object.__setattr__(cost, "units", units)


DISPATCHERS = (
    Fault(
        "the dispatcher prices by usage",
        "fleet/dispatcher",
        "        self.policy.complete(request, outcome, usage)\n",
        "        request.cost = usage.output_tokens if usage else request.cost\n"
        "        self.policy.complete(request, outcome, usage)\n",
        "COST-OUTSIDE",
    ),
    Fault(
        "the dispatcher charges what is in flight besides",
        "fleet/dispatcher",
        "        self.policy.dispatch(request)\n",
        "        request.cost += sum(other.user == request.user for other in self.in_flight.values())\n"
        "        self.policy.dispatch(request)\n",
        "COST-OUTSIDE",
    ),
)
WRONG = (
    Parts("the policy settles at the end", policy=Settles),
    Parts("the policy corrects the meter", policy=Corrects),
    Parts("the estimator prices who waits again", estimator=lambda dispatcher: Reprices(dispatcher, True)),
    Parts("the estimator prices what is in flight again", estimator=lambda dispatcher: Reprices(dispatcher, False)),
    Parts("the estimator revises what it has told", estimator=lambda dispatcher: Revises()),
    *(Parts(fault.name, dispatcher=lambda fault=fault: planted(fault)) for fault in DISPATCHERS),  # type: ignore[misc]
)
"""Worlds in which something that was learnt gets inside."""


def findings() -> list[Finding]:
    """What the seeds show."""
    seen, wrong = Counter[str](), list[str]()
    for seed in range(SEEDS):
        found, happened = moved(Parts(), seed)
        seen += happened
        wrong += found
    lacking = [moment for moment in ("while it waited", "in flight", "expired") if seen[moment] < 10]
    refuted = tuple(parts.name for parts in WRONG if is_seen(parts))
    says = (
        f"{SEEDS} runs of {REQUESTS} requests: each costs to its end what it was estimated at, and the meters are the "
        "machine's, while estimates move as it waits and as it runs"
    )
    said = next(iter(wrong), f"too seldom: {', '.join(lacking)}" if lacking else says)
    holds = not wrong and not lacking and len(refuted) == len(WRONG)
    return [Finding("costs, learnt", ("COST-OUTSIDE",), holds, said, refuted)]


def is_seen(parts: Parts) -> bool:
    """Whether some run shows what is wrong with them."""
    return any(moved(parts, seed)[0] for seed in range(SEEDS))
