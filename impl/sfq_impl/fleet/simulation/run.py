"""Run a scenario: the dispatcher as it is, clients, servers, and whatever goes wrong; and what came of it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sfq_impl.fleet.dispatcher import Dispatcher, Slot
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Fifo, OvertakingSfq, Policy, RoundRobin, Sfq, Usage
from sfq_impl.fleet.recording import Memory
from sfq_impl.fleet.request import TurnedAway
from sfq_impl.fleet.simulation.engine import Broken, Engine
from sfq_impl.fleet.simulation.loop import Deadlock, Endless, VirtualLoop, run
from sfq_impl.fleet.simulation.scenario import Client, Room, Scenario, Trouble
from sfq_impl.fleet.watching import Observer


@dataclass
class Result:
    """What came of a run."""

    scenario: Scenario
    dispatcher: Dispatcher
    loop: VirtualLoop
    trace: Memory
    fates: dict[str, str] = field(default_factory=dict)
    """What each client saw of its request: completed, failed, cancelled, or the name of what turned it away."""
    faults: list[str] = field(default_factory=list)
    """What must not happen whatever the order is: an exception that nobody took, a task that is left, a run that never
    ends."""
    disconnected: set[str] = field(default_factory=set)
    """The requests whose clients went before they had an answer."""
    engines: dict[str, Engine] = field(default_factory=dict)
    rooms: dict[str, Server] = field(default_factory=dict)
    """Every server that there ever was."""


Watch = Callable[[Dispatcher], Iterable[Observer]]
Between = Callable[[Result], None]


class World:
    """A run on its way."""

    def __init__(self, scenario: Scenario, make: Callable[..., Dispatcher]) -> None:
        self.loop = VirtualLoop(scenario.seed, shuffle=scenario.shuffle)
        self.scenario = scenario
        self.trace = Memory(self.loop.time)
        placement = Placement([])
        self.dispatcher = make(
            placement,
            _policy(scenario),
            limits=scenario.limits,
            observers=[self.trace],
            mode=scenario.mode,
        )
        self.result = Result(scenario, self.dispatcher, self.loop, self.trace)
        for room in scenario.rooms:
            self.add(room)
        self.tasks: list[asyncio.Task[None]] = []
        self.closing: asyncio.Task[None] | None = None
        self.is_repaired = False

    @property
    def servers(self) -> list[Server]:
        """Those that the dispatcher knows now."""
        return list(self.dispatcher.placement.servers.values())

    def add(self, room: Room) -> None:
        """A new server."""
        server = Server(room.name, room.requests, room.tokens)
        self.result.rooms[room.name] = self.dispatcher.placement.servers[room.name] = server
        self.result.engines[room.name] = Engine(room.name, room.pace)

    async def main(self) -> None:
        """From the first client to the last, and the dispatcher closed."""
        scenario = self.scenario
        for number, client in enumerate(scenario.clients):
            name = f"{client.user}{number}"
            self.tasks.append(self.loop.create_task(self.client(name, client), name=name))
        for trouble in scenario.troubles:
            self.loop.at_step(trouble.step, lambda trouble=trouble: self.happen(trouble))  # type: ignore[misc]
        repair = self.loop.call_later(scenario.repair, self.repair)
        await asyncio.wait(self.tasks)
        await self.dispatcher.close()
        if self.closing:
            await asyncio.wait([self.closing])
        repair.cancel()

    async def client(self, name: str, client: Client) -> None:
        """One request, from its beginning to its end, as a gateway would handle it."""
        await asyncio.sleep(client.at)
        fates = self.result.fates
        try:
            async with self.dispatcher.slot(client.user, client.cost, request_id=name, tokens=client.tokens) as slot:
                fates[name] = slot.outcome = "completed" if await self.ask(client, slot) else "failed"
        except TurnedAway as reason:
            fates[name] = type(reason).__name__
        except asyncio.CancelledError:
            fates[name] = "cancelled"
            raise

    async def ask(self, client: Client, slot: Slot) -> bool:
        """Whether a server has answered in full. Before the first token other servers are tried."""
        for moves_left in range(client.moves, -1, -1):
            heard = 0
            try:
                async with asyncio.timeout(client.patience) as patience:

                    def hear(tokens: int) -> None:
                        nonlocal heard
                        heard += tokens
                        patience.reschedule(self.loop.time() + client.patience)

                    await self.result.engines[slot.server.name].serve(client.work, hear)
                slot.usage = Usage(client.work.prompt, client.work.answer)
                return True
            except (Broken, TimeoutError):
                slot.server.state = "down"
                self.loop.call_later(1.0, self.up, slot.server)
                if heard or not moves_left:
                    return False
                await slot.move()
        return False

    def up(self, server: Server) -> None:
        """A look at a server that was down: it is taken for up again if it lives."""
        if server.state == "down" and self.result.engines[server.name].is_alive:
            server.state = "up"
            self.dispatcher.changed()

    def repair(self) -> None:
        """All servers are well and up from now on."""
        for engine in self.result.engines.values():
            if engine.mood == "hangs":
                engine.die()
            engine.revive()
        for server in self.result.rooms.values():
            server.state = "up"
        self.is_repaired = True
        self.dispatcher.changed()

    def happen(self, trouble: Trouble) -> None:
        """Something goes wrong. What it raises is nobody's to take, and is noted."""
        try:
            self.trouble(trouble)
        except Exception as error:
            self.fault(f"{trouble.kind}: {error!r}")

    def trouble(self, trouble: Trouble) -> None:
        """Something goes wrong."""
        server = self.servers[trouble.which % len(self.servers)] if self.servers else None
        match trouble.kind:
            case "disconnect":
                living = [task for task in self.tasks if not task.done()]
                if living:
                    task = living[trouble.which % len(living)]
                    task.cancel()
                    self.result.disconnected.add(task.get_name())
            case "weigh":
                users = self.scenario.users
                self.dispatcher.set_weight(users[trouble.which % len(users)], trouble.amount)
            case "close":
                if self.closing is None and not all(task.done() for task in self.tasks):
                    self.closing = self.loop.create_task(self.dispatcher.close(trouble.amount), name="close")
            case "abort":
                if self.closing:
                    self.closing.cancel()
            case "add":
                tokens = self.scenario.rooms[0].tokens
                self.add(Room(f"t{len(self.result.rooms)}", 1 + trouble.which % 2, tokens))
                self.dispatcher.changed()
            case _ if server and not self.is_repaired:
                self.trouble_with(server, trouble)

    def trouble_with(self, server: Server, trouble: Trouble) -> None:
        """Something goes wrong with a server."""
        engine = self.result.engines[server.name]
        match trouble.kind:
            case "die":
                engine.die()
                server.state = "down"
            case "revive":
                engine.revive()
                self.up(server)
            case "refuse":
                engine.mood = "refuses"
            case "hang":
                engine.mood = "hangs"
            case "slow":
                engine.mood = "slow"
            case "drain":
                server.state = "draining"
            case "fill" if engine.is_alive:
                server.state = "up"
                self.dispatcher.changed()
            case "remove" if len(self.servers) > 1:
                del self.dispatcher.placement.servers[server.name]
                server.state = "draining"
                self.dispatcher.changed()

    def fault(self, said: str) -> None:
        """Note what must not happen."""
        if len(self.result.faults) < 10:
            self.result.faults.append(f"step {self.loop.steps}: {said}")


def simulate(
    scenario: Scenario,
    make: Callable[..., Dispatcher] = Dispatcher,
    watch: Watch | None = None,
    between: Between | None = None,
) -> Result:
    """What comes of a scenario.

    `watch` gives further observers, which are told all that happens; `between` is called between any two steps.
    """
    world = World(scenario, make)
    result, loop = world.result, world.loop
    if watch:
        result.dispatcher.observers.extend(watch(result.dispatcher))
    if between:
        loop.after_each = lambda: between(result)
    try:
        run(loop, world.main())
    except (Deadlock, Endless) as error:
        world.fault(str(error))
    if loop.left:
        world.fault(f"tasks are left: {', '.join(loop.left)}")
    world.tasks.clear()
    gc.collect(0)
    for problem in loop.problems:
        world.fault(f"{problem.get('message')}: {problem.get('exception')!r}")
    return result


def _policy(scenario: Scenario) -> Policy:
    if scenario.policy == "sfq":
        return OvertakingSfq() if scenario.mode == "overtake" else Sfq()
    return Fifo() if scenario.policy == "fifo" else RoundRobin()
