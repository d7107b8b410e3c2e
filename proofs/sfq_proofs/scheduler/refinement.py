"""Machine and heap scheduler side by side, through every order of events of small worlds (IMPL-REFINE).

The product of the two is searched breadth first. After each event the answers must be the same, the representation
invariant must hold, and what the scheduler's state stands for must be the machine's state: v, the meters that count,
the queues request by request, who is in flight, the weights. So what is found agrees for runs of any length that stay
within the world.

Pairs of states are told apart by their `normal_form`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws
from sfq_proofs.scheduler.faults import Make
from sfq_proofs.scheduler.normal_form import Inside, Room, View, inside, machine_at, parted, room, scheduler_at, view
from sfq_proofs.scheduler.worlds import World, alphabet
from sfq_spec.machine import Machine, answer
from sfq_spec.scheduler import play
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Event, Recost

Key = tuple[int, Inside]
"""The number of the machine's normal form, and the scheduler's."""


@dataclass
class Found:
    """What a search saw."""

    world: World
    states: int = 0
    steps: int = 0
    most_waiting: int = 0
    longest_run: int = 0
    difference: str = ""
    """What first tells the two apart, or breaks the invariant; empty where nothing does."""
    run: tuple[Event, ...] = ()
    """A shortest run that shows the difference."""


class Move(NamedTuple):
    """What the machine does in a state."""

    events: tuple[Event, ...]
    answers: tuple[Answer, ...]
    first: View
    """The state after the first of the events."""
    then: View
    after: int


Besides = Callable[[Callable[[], HeapScheduler], View, Move], str]
"""Is given a way to make the scheduler, the machine before a move, and the move, and says what is wrong."""


def explore(world: World, make: Make = HeapScheduler, besides: Besides | None = None) -> Found:
    """Every state that the two can reach in a world, and every event in each; `besides` may look at more."""
    found, search = Found(world), _Search(world, make)
    ahead = deque(search.begin(found))
    while ahead and not found.difference:
        key = ahead.popleft()
        depth = search.depth[key] + 1
        if world.deepest is not None and depth > world.deepest:
            break
        for move in search.moves(key[0]):
            found.steps += 1
            found.most_waiting = max(found.most_waiting, len(move.then.queues))
            form, found.difference = search.step(key, move)
            if besides and not found.difference:
                found.difference = besides(partial(search.scheduler, key), search.view(key), move)
            if found.difference:
                found.run = search.run(key, move)
                break
            after = move.after, form
            if after not in search.depth:
                search.depth[after], search.came[after] = depth, (key, move)
                found.longest_run = depth
                ahead.append(after)
    found.states = len(search.depth)
    return found


class _Search:
    def __init__(self, world: World, make: Make) -> None:
        self.world, self.make = world, make
        self.depth: dict[Key, int] = {}
        self.came: dict[Key, tuple[Key, Move]] = {}
        self.rooms: list[Room] = []
        self._numbers: dict[Room, int] = {}
        self._moves: dict[int, list[Move]] = {}

    def begin(self, found: Found) -> list[Key]:
        """Both at first, and after what happened before the search."""
        scheduler = self.make()
        machine, found.difference = beside(scheduler, self.world.first)
        if found.difference:
            found.run = self.world.first
            return []
        key = self._number(room(self.world.names, machine)), inside(scheduler)
        self.depth[key] = 0
        return [key]

    def _number(self, at: Room) -> int:
        if at not in self._numbers:
            self._numbers[at] = len(self.rooms)
            self.rooms.append(at)
        return self._numbers[at]

    def moves(self, number: int) -> list[Move]:
        """What may happen in a state of the machine; many states of the scheduler belong to it."""
        if number not in self._moves:
            self._moves[number] = [self._move(number, events) for events in alphabet(self.world, self.rooms[number])]
        return self._moves[number]

    def _move(self, number: int, events: tuple[Event, ...]) -> Move:
        machine, answers, views = machine_at(self.world.names, self.rooms[number]), [], []
        for event in events:
            machine, said = answer(machine, event)
            answers.append(said)
            views.append(view(machine))
        return Move(events, tuple(answers), views[0], views[-1], self._number(room(self.world.names, machine)))

    def scheduler(self, key: Key) -> HeapScheduler:
        """A scheduler in this state."""
        return scheduler_at(self.make, self.world.names, self.rooms[key[0]], key[1])

    def view(self, key: Key) -> View:
        """The machine in this state."""
        return view(machine_at(self.world.names, self.rooms[key[0]]))

    def step(self, key: Key, move: Move) -> tuple[Inside, str]:
        """The scheduler after a move, and where it parts from the machine."""
        try:
            scheduler = self.scheduler(key)
            difference = _differ(scheduler, move.events, move.answers, move.then)
            return () if difference else inside(scheduler), difference
        except Exception as error:
            return (), f"{type(error).__name__}: {error}"

    def run(self, key: Key, last: Move) -> tuple[Event, ...]:
        """The events that lead to a key and then go on, under ids of their own."""
        way = [last]
        while key in self.came:
            key, move = self.came[key]
            way.append(move)
        events = [event for move in reversed(way) for event in move.events]
        return (*self.world.first, *_renamed(self.world, events))


def beside(scheduler: HeapScheduler, events: Sequence[Event]) -> tuple[Machine, str]:
    """The machine after a run, and what first tells a scheduler from it; empty where nothing does."""
    machine = Machine()
    for event in events:
        machine, expected = answer(machine, event)
        try:
            difference = _differ(scheduler, [event], [expected], view(machine))
        except Exception as error:
            difference = f"{type(error).__name__}: {error}"
        if difference:
            return machine, difference
    return machine, ""


def _differ(scheduler: HeapScheduler, events: Sequence[Event], answers: Sequence[Answer], then: View) -> str:
    """What is wrong with a scheduler to which these events happen; empty where nothing is."""
    for event, expected in zip(events, answers, strict=True):
        said = play(scheduler, event)
        if (said.dispatched, said.refused) != (expected.dispatched, expected.refused):
            return f"{event} was answered by {said} instead of {expected}"
    return next(flaws(scheduler), "") or parted(scheduler, then)


def _renamed(world: World, events: list[Event]) -> Iterator[Event]:
    """The events of a search as one run: every request keeps the id under which it came."""
    machine, _ = beside(HeapScheduler(), world.first)
    count = 0
    for event in events:
        if isinstance(event, Arrive | Cancel | Complete | Recost):
            request = event.request
            named = _real(machine, request)
            if named is None and isinstance(event, Arrive):
                count += 1
                named = f"{event.user}-{count}"
            event = _with_id(event, named or request)
        machine, _ = answer(machine, event)
        yield event


def _real(machine: Machine, request: str) -> str | None:
    """The id of the request that is called so by its place; None where there is none."""
    user, place = request[0], request[1:]
    queue = machine.queues.get(user, ())
    if place == "0":
        waiting = {r.request for r in queue}
        return next((r.request for r in machine.live.values() if r.user == user and r.request not in waiting), None)
    at = int(place) if place.isdigit() else 0
    return queue[at - 1].request if 0 < at <= len(queue) else None


def _with_id(event: Arrive | Cancel | Complete | Recost, request: str) -> Event:
    match event:
        case Arrive():
            return Arrive(event.user, request, event.cost)
        case Recost():
            return Recost(request, event.cost)
        case _:
            return type(event)(request)
