"""What would become of a stream of requests: the real dispatcher on a virtual clock, before servers that are simulated.

Nothing goes wrong here, and nothing is drawn: the same stream before the same servers comes to the same figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher, Mode
from sfq_impl.fleet.placement import Placement, Server, Strategy
from sfq_impl.fleet.policy import Policy, Usage
from sfq_impl.fleet.request import Outcome, Request, TurnedAway
from sfq_impl.fleet.simulation.engine import Engine, Pace
from sfq_impl.fleet.simulation.leads import Leads
from sfq_impl.fleet.simulation.loop import VirtualLoop, run
from sfq_impl.fleet.simulation.workload import Asked
from sfq_impl.fleet.watching import Observer

Clock = Callable[[], float]


@dataclass(frozen=True)
class Fleet:
    """What is behind the dispatcher, and how it decides."""

    rooms: Sequence[tuple[str, int, int | None]]
    """Name, requests at once, and tokens or None, of each server."""
    policy: Callable[[Clock], Policy]
    pace: Pace = field(default_factory=Pace)
    limits: Limits = field(default_factory=lambda: Limits(requests=None, wait=None))
    mode: Mode = "stall"
    strategy: Callable[[], Strategy] | None = None
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Fate:
    """What became of the requests of a user."""

    asked: int = 0
    served: int = 0
    refused: int = 0
    expired: int = 0
    charged: int = 0
    waits: list[float] = field(default_factory=list)
    """Seconds from arrival to dispatch, of those that were dispatched."""
    firsts: list[float] = field(default_factory=list)
    """Seconds from arrival to the first tokens, of those that had any."""
    output_tokens: int = 0


@dataclass
class Figures:
    """What came of a stream."""

    leads: Leads
    fates: dict[str, Fate] = field(default_factory=dict)
    seconds: float = 0.0
    """From the first arrival to the end of the last answer."""
    busy: float = 0.0
    """The part of all rooms and of that time in which a request was there."""
    longest_queue: int = 0


class Tally:
    """Watches the dispatcher, and counts."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self.waiting = 0

    def arrived(self, request: Request) -> None:
        """A request waits."""
        self.waiting += 1
        self.figures.longest_queue = max(self.figures.longest_queue, self.waiting)
        self.figures.leads.arrived(request.user)

    def refused(self, request: Request, reason: TurnedAway) -> None:
        """A request never waited."""
        self.figures.fates[request.user].refused += 1

    def dispatched(self, request: Request, server: Server) -> None:
        """A request is charged."""
        self.waiting -= 1
        fate = self.figures.fates[request.user]
        fate.charged += request.cost
        fate.waits.append((request.dispatched or 0.0) - request.arrived)
        self.figures.leads.dispatched(request.user, request.cost)

    def withdrawn(self, request: Request) -> None:
        """A request has waited for too long."""
        self.waiting -= 1
        self.figures.fates[request.user].expired += 1
        self.figures.leads.withdrawn(request.user)

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """A request was served."""
        fate = self.figures.fates[request.user]
        fate.served += 1
        fate.output_tokens += usage.output_tokens if usage else 0


class Planned:
    """A run on its way."""

    def __init__(self, asked: Sequence[Asked], fleet: Fleet, observers: Callable[[Clock], Iterable[Observer]]) -> None:
        self.asked = asked
        self.loop = VirtualLoop(0, shuffle=False, most_steps=1 << 62)
        self.figures = Figures(Leads(fleet.weights))
        self.engines = {name: Engine(name, fleet.pace) for name, _, _ in fleet.rooms}
        servers = [Server(name, requests, tokens) for name, requests, tokens in fleet.rooms]
        self.rooms = sum(requests for _, requests, _ in fleet.rooms)
        self.dispatcher = Dispatcher(
            Placement(servers, fleet.strategy() if fleet.strategy else None),
            fleet.policy(self.loop.time),
            limits=fleet.limits,
            observers=[*observers(self.loop.time), Tally(self.figures)],
            mode=fleet.mode,
        )
        for user, weight in fleet.weights.items():
            self.dispatcher.set_weight(user, weight)

    async def main(self, price: Callable[[Asked], int], show: Callable[[int], None]) -> None:
        """From the first request to the end of the last one."""
        tasks = set[asyncio.Task[None]]()

        def over(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.loop.problems.append({"exception": error})

        for number, asked in enumerate(self.asked, start=1):
            if (pause := asked.time - self.loop.time()) > 0:
                await asyncio.sleep(pause)
            fate = self.figures.fates.setdefault(asked.user, Fate())
            fate.asked += 1
            task = self.loop.create_task(self.client(f"{asked.user}-{fate.asked}", asked, price(asked)))
            tasks.add(task)
            task.add_done_callback(over)
            show(number)
        while tasks:
            await asyncio.wait(tasks)
        self.figures.seconds = self.loop.time()
        if self.figures.seconds:
            self.figures.busy /= self.rooms * self.figures.seconds

    async def client(self, name: str, asked: Asked, cost: int) -> None:
        """One request, from its beginning to its end."""
        arrived, work = self.loop.time(), asked.work
        fate = self.figures.fates[asked.user]
        has_begun = False

        def heard(tokens: int) -> None:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                fate.firsts.append(self.loop.time() - arrived)

        try:
            tokens = work.prompt + work.answer
            async with self.dispatcher.slot(
                asked.user, cost, request_id=name, tokens=tokens, priority=asked.priority
            ) as slot:
                begun = self.loop.time()
                await self.engines[slot.server.name].serve(work, heard)
                self.figures.busy += self.loop.time() - begun
                slot.usage = Usage(work.prompt, work.answer)
        except TurnedAway:
            pass  # the tally has counted it


def plan(
    asked: Sequence[Asked],
    fleet: Fleet,
    price: Callable[[Asked], int],
    *,
    observers: Callable[[Clock], Iterable[Observer]] = lambda clock: (),
    show: Callable[[int], None] = lambda arrived: None,
) -> Figures:
    """What comes of a stream. `show` is told how many requests have arrived."""
    planned = Planned(asked, fleet, observers)
    run(planned.loop, planned.main(price, show))
    if planned.loop.problems:
        raise RuntimeError(f"a fault of the simulation: {planned.loop.problems[0].get('exception')!r}")
    return planned.figures
