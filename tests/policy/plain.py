"""LAS as somebody writes it who has read docs/program-aware.md and docs/formats.md, and nothing of this project's code.

It knows only messages: what comes and goes is JSON. `wrong_choices.py`,
`wrong_endings.py` and `wrong_accounts.py` have ways to get it wrong.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

NEVER = -1
Event = Mapping[str, Any]
Queue = list[tuple[str, int]]
"""Requests, with when they came."""


class Program:
    """What is remembered of a program."""

    def __init__(self, now: int) -> None:
        self.service = 0.0
        self.anchor = NEVER
        self.in_flight = 0
        self.completed = now


class Plain:
    """The policy in a mode; times are nanoseconds."""

    def __init__(self, mode: str, parameters: Mapping[str, float]) -> None:
        self.mode = mode
        self.is_release = mode == "release-0.10"
        self.configure(parameters)
        self.programs: dict[str, Program] = {}
        self.queues: dict[tuple[int, str], Queue] = {}
        """By priority and program: the requests that wait, with when they came."""
        self.owners: dict[str, str] = {}
        """The programs of requests that were sent."""
        self.flying = set[str]()

    def configure(self, parameters: Mapping[str, float]) -> None:
        self.weight_service = parameters.get("lasWeightService", 0.8)
        self.weight_wait = parameters.get("lasWeightHeadWait", 0.2)
        without = self.is_release or (self.mode == "none" and "lasDecayFactor" in parameters)
        self.half_life = parameters.get("lasHalfLifeSeconds", 0 if without else 60)
        self.factor = parameters.get("lasDecayFactor", 0.99997 if self.is_release else 1)
        self.ttl = self.nanoseconds(parameters.get("evictionTtlSeconds", 3600))

    def nanoseconds(self, seconds: float) -> int:
        return round(seconds * 1_000_000_000)

    def run(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        return [self.step(event, self.nanoseconds(event["time"])) or {} for event in events]

    def step(self, event: Event, now: int) -> dict[str, Any] | None:
        match event["event"]:
            case "arrive":
                self.arrive(event, now)
            case "dispatch":
                return {"dispatched": self.dispatch(now)}
            case "cancel":
                return self.cancel(event["request"], now)
            case "complete":
                self.complete(event, now)
            case "upkeep":
                self.sweep(now)
        return None

    # What happens.

    def arrive(self, event: Event, now: int) -> None:
        place = self.priority(event), self.named(event["user"])
        self.queues.setdefault(place, []).append((event["request"], now))

    def priority(self, event: Event) -> int:
        return int(event.get("priority", 0))

    def named(self, user: str) -> str:
        return user or "default-flow"

    def dispatch(self, now: int) -> str | None:
        for priority in self.order({priority for priority, _ in self.queues}):
            band = {user: queue for (of, user), queue in self.queues.items() if of == priority}
            self.come_by(band, now)
            waiting = {user: queue for user, queue in band.items() if queue}
            user = self.choice(waiting, now) if waiting else None
            self.picked(user)
            if user is not None:
                request, _ = waiting[user].pop(0)
                self.sent(request, user, now)
                return request
        return None

    def order(self, priorities: set[int]) -> list[int]:
        return sorted(priorities, reverse=True)

    def sent(self, request: str, user: str, now: int) -> None:
        self.owners[request] = user
        self.flying.add(request)
        self.met(user, now).in_flight += 1

    def cancel(self, request: str, now: int) -> dict[str, Any]:
        for (_, user), queue in self.queues.items():
            for item in queue:
                if item[0] == request:
                    queue.remove(item)
                    self.withdrawn(user, now)
                    return {}
        return {"refused": "not-waiting"}

    def withdrawn(self, user: str, now: int) -> None:
        """Nothing is to be done."""

    def complete(self, event: Event, now: int) -> None:
        request = event["request"]
        if request not in self.owners or (self.mode == "none" and request not in self.flying):
            return
        self.flying.discard(request)
        program = self.met(self.owners[request], now)
        self.add(program, self.cost(event), now)
        program.in_flight = self.one_less(program.in_flight)
        program.completed = self.last(program, event, now)

    def one_less(self, count: int) -> int:
        return count - 1

    def last(self, program: Program, event: Event, now: int) -> int:
        return now

    def sweep(self, now: int) -> None:
        if self.ttl:
            self.programs = {id: each for id, each in self.programs.items() if not self.is_old(id, each, now)}

    def is_old(self, id: str, program: Program, now: int) -> bool:
        return program.in_flight == 0 and now - program.completed > self.ttl

    def met(self, user: str, now: int) -> Program:
        return self.programs.setdefault(user, Program(now))

    # Service.

    def cost(self, event: Event) -> float:
        return float(event["input_tokens"] + 2 * event["output_tokens"])

    def add(self, program: Program, cost: float, now: int) -> None:
        if not self.is_release:
            program.service = self.decayed(program, now)
        program.service += cost
        program.anchor = now

    def decayed(self, program: Program, now: int) -> float:
        """By the clock."""
        if not self.half_life or program.anchor == NEVER:
            return program.service
        return program.service * self.left((now - program.anchor) / 1_000_000_000)

    def left(self, seconds: float) -> float:
        return float(2.0 ** (-seconds / self.half_life))

    def service(self, user: str, now: int) -> float:
        program = self.programs.get(user)
        if program is None:
            return 0.0
        return program.service if self.is_release else self.decayed(program, now)

    def come_by(self, band: Mapping[str, Queue], now: int) -> None:
        """What the release does with empty queues."""
        for user, queue in band.items() if self.is_release else ():
            program = self.met(user, now)
            if not queue and self.is_idle(user):
                if self.half_life:
                    program.service, program.anchor = self.decayed(program, now), now
                else:
                    program.service *= self.factor

    def is_idle(self, user: str) -> bool:
        waits = any(queue for (_, of), queue in self.queues.items() if of == user)
        return self.programs[user].in_flight == 0 and (self.is_release or not waits)

    def picked(self, user: str | None) -> None:
        """What a pick takes from those that are idle, in the default mode."""
        if self.mode == "none" and not self.half_life:
            for id, program in self.programs.items():
                if id != user and self.is_idle(id):
                    program.service *= self.factor

    # The score.

    def choice(self, waiting: Mapping[str, Queue], now: int) -> str:
        services = {user: self.service(user, now) for user in waiting}
        waits = {user: self.wait(queue, now) for user, queue in waiting.items()}
        score = {user: self.score(user, services, waits) for user in waiting}
        return min(waiting, key=lambda user: (-score[user], self.rank(user)))

    def rank(self, user: str) -> Any:
        return user

    def wait(self, queue: Queue, now: int) -> float:
        return (now - queue[0][1]) // 1_000_000

    def score(self, user: str, services: Mapping[str, float], waits: Mapping[str, float]) -> float:
        served = self.place(services[user], services.values())
        return self.weight_service * (1 - served) + self.weight_wait * self.place_of_wait(waits[user], waits.values())

    def place(self, value: float, all_of_them: Iterable[float]) -> float:
        least, most = min(all_of_them), max(all_of_them)
        return (value - least) / (most - least) if most > least else 0.5

    def place_of_wait(self, value: float, all_of_them: Iterable[float]) -> float:
        return self.place(value, all_of_them)


HELLO = {
    "protocol": 1,
    "policy": "las",
    "implementation": {"name": "plain", "language": "python"},
    "capabilities": {"cancel": True, "priorities": True},
}


def main(kind: type[Plain] = Plain) -> None:
    """Answer message after message."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            return
        told: dict[str, Any] = HELLO
        if message["cmd"] == "run":
            answers = kind(message["mode"], message["parameters"]).run(message["events"])
            told = {"seq": message["seq"], "answers": answers}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
