"""What is to happen in a run, drawn from a seed: who asks for what and when, before which servers, and what goes wrong.

Runs are small and hard: few users, equal costs and times, little room and much trouble, so that two things often happen
at the same moment. What goes wrong is put at a number of steps rather than at a time, so it can hit any `await`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Mode
from sfq_impl.fleet.simulation.engine import Pace, Work

PolicyName = Literal["sfq", "fifo", "round-robin"]

Kind = Literal[
    "disconnect", "die", "revive", "refuse", "hang", "slow", "drain", "fill", "add", "remove", "weigh", "close", "abort"
]
"""A client goes; a server dies, comes back, refuses, hangs, is slow, drains, is up again, is new, is removed; a weight
changes; the dispatcher is closed; its closing is cancelled."""

COSTS = ([1], [1, 2, 3], [5, 5, 50], [1, 10, 100, 1_000])
WEIGHTS = (0.5, 1, 2, 3)


@dataclass(frozen=True)
class Client:
    """Somebody who sends one request."""

    at: float
    user: str
    cost: int
    work: Work
    patience: float
    """Seconds without a token after which it takes the server for dead."""
    moves: int
    """How many other servers it tries, before there is a first token."""

    @property
    def tokens(self) -> int:
        """What the request is expected to hold."""
        return self.work.prompt + self.work.answer


@dataclass(frozen=True)
class Room:
    """A server, as the dispatcher sees it."""

    name: str
    requests: int
    tokens: int | None
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True)
class Trouble:
    """Something that happens right before a step of the loop."""

    step: int
    kind: Kind
    which: int = 0
    """Which client, server or user, counted around."""
    amount: float = 1.0


@dataclass(frozen=True)
class Scenario:
    """A run. The same scenario runs the same way, step for step."""

    seed: int
    clients: tuple[Client, ...]
    rooms: tuple[Room, ...]
    limits: Limits = field(default_factory=Limits)
    mode: Mode = "stall"
    policy: PolicyName = "sfq"
    shuffle: bool = True
    troubles: tuple[Trouble, ...] = ()
    repair: float = 60.0
    """When all that is broken is repaired, so that every run ends."""

    @property
    def users(self) -> list[str]:
        """Those who send something."""
        return sorted({client.user for client in self.clients})


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(seed)
    mode: Mode = rng.choice(["stall", "stall", "overtake"])
    rooms = _rooms(rng, has_tokens=mode == "overtake" or rng.random() < 0.5)
    clients = _clients(rng, rooms)
    end = len(clients) * rng.choice([8, 20, 40])
    return Scenario(
        seed,
        clients,
        rooms,
        _limits(rng),
        mode,
        "sfq",
        rng.random() < 0.8,
        _troubles(rng, end, clients),
    )


def _rooms(rng: random.Random, *, has_tokens: bool) -> tuple[Room, ...]:
    return tuple(
        Room(
            f"s{number}",
            rng.choice([1, 2, 4] if has_tokens else [1, 1, 2]),
            rng.choice([60, 100, 200]) if has_tokens else None,
            Pace(crowd=rng.choice([0, 0.1, 1])),
        )
        for number in range(rng.choice([1, 1, 2, 3]))
    )


def _clients(rng: random.Random, rooms: tuple[Room, ...]) -> tuple[Client, ...]:
    names, costs = "ABCDEF"[: rng.randint(1, 6)], rng.choice(COSTS)
    times = rng.choice([[0.0], [0.0, 0.1], [number / 5 for number in range(20)]])
    largest = max(room.tokens or 100 for room in rooms)
    return tuple(
        Client(
            rng.choice(times),
            rng.choice(names),
            rng.choice(costs),
            Work(rng.choice([1, 10, largest // 2]), rng.choice([0, 1, 8, largest // 2]), rng.choice([1, 4])),
            rng.choice([0.5, 5]),
            rng.choice([0, 1, 3]),
        )
        for _ in range(rng.choice([2, 4, 8, 16, 30]))
    )


def _limits(rng: random.Random) -> Limits:
    def sometimes(most: int) -> int | None:
        return most if rng.random() < 0.08 else None

    wait = rng.choice([None, 0.0, 0.5, 2.0, 5.0, 5.0])
    return Limits(rng.choice([5, 1_000, 1_000]), sometimes(2), sometimes(20), sometimes(8), wait)


def _troubles(rng: random.Random, end: int, clients: tuple[Client, ...]) -> tuple[Trouble, ...]:
    kinds: list[Kind] = ["disconnect", "die", "revive", "refuse", "hang", "slow"]
    kinds += ["drain", "fill", "add", "remove", "weigh", "close", "abort"]
    likely = [rng.choice([3, 20, 60]), *(rng.choice([0, 3, 9]) for _ in kinds[1:11]), rng.choice([0, 0, 1]), 1]
    return tuple(
        Trouble(rng.randint(1, end), kind, rng.randrange(1_000), rng.choice(WEIGHTS))
        for kind in rng.choices(kinds, likely, k=rng.choice([0, 2, len(clients), 2 * len(clients)]))
    )
