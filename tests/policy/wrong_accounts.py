"""Ways to get decay and sweeps wrong: each is the policy of `plain.py` with one thing otherwise."""

from __future__ import annotations

import math
from collections.abc import Mapping

from policy.plain import NEVER, Plain, Program, Queue

# Decay.


class NoDecay(Plain):
    """Nothing ever decays."""

    def left(self, seconds: float) -> float:
        return 1.0


class HalfLifeInMilliseconds(Plain):
    """The half-life is taken for milliseconds."""

    def left(self, seconds: float) -> float:
        return super().left(min(60_000.0, seconds * 1000))


class ByE(Plain):
    """A half-life leaves 1/e."""

    def left(self, seconds: float) -> float:
        return math.exp(-seconds / self.half_life)


class InAStraightLine(Plain):
    """Nothing is left after two half-lives."""

    def left(self, seconds: float) -> float:
        return max(0.0, 1 - seconds / (2 * self.half_life))


class WholeSeconds(Plain):
    """Only whole seconds decay."""

    def left(self, seconds: float) -> float:
        return super().left(math.floor(seconds))


class WholeTokens(Plain):
    """A service is a whole number of tokens."""

    def service(self, user: str, now: int) -> float:
        return math.floor(super().service(user, now))


class ZeroIsTheDefault(Plain):
    """A half-life of 0 is taken for one that was not given."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure({name: value for name, value in parameters.items() if name != "lasHalfLifeSeconds" or value})


class NoHalfLifeByDefault(Plain):
    """The half-life of the later versions is 0 where nothing is said."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure({"lasHalfLifeSeconds": 0, **parameters})


class HalfLifeInTheRelease(Plain):
    """The half-life of the release is 60 where nothing is said."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure({"lasHalfLifeSeconds": 60, **parameters} if self.is_release else parameters)


class NoFactorByDefault(Plain):
    """The factor of the release is 1 where nothing is said."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure({"lasDecayFactor": 1, **parameters} if self.is_release else parameters)


class AddingForfeits(Plain):
    """What is due when something is added is forfeited, in every mode."""

    def add(self, program: Program, cost: float, now: int) -> None:
        program.service, program.anchor = program.service + cost, now


class AddingDecays(Plain):
    """What is due when something is added is applied, also in the release."""

    def add(self, program: Program, cost: float, now: int) -> None:
        program.service, program.anchor = self.decayed(program, now) + cost, now


class AddingLeavesTheAnchor(Plain):
    """What was applied when something was added is applied again."""

    def add(self, program: Program, cost: float, now: int) -> None:
        before = program.anchor
        super().add(program, cost, now)
        program.anchor = now if before == NEVER else before


class ReadingLeavesTheAnchor(Plain):
    """What is due is applied at each reading, from the same moment on."""

    def service(self, user: str, now: int) -> float:
        found = super().service(user, now)
        if user in self.programs:
            self.programs[user].service = found
        return found


class SendingMovesTheAnchor(Plain):
    """Decay is due from the last dispatch on."""

    def sent(self, request: str, user: str, now: int) -> None:
        super().sent(request, user, now)
        self.programs[user].anchor = now


class ReadingDecays(Plain):
    """In the release, a service decays also where it is read."""

    def service(self, user: str, now: int) -> float:
        return self.decayed(self.programs[user], now) if user in self.programs else 0.0


class OnlyWhereVisited(Plain):
    """In every mode a service decays only where a pick comes by the empty queue of an idle program."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure(parameters)
        self.is_release = True


class InFlightAsWell(Plain):
    """Where only idle programs decay, so do those with a request in flight."""

    def is_idle(self, user: str) -> bool:
        held, self.programs[user].in_flight = self.programs[user].in_flight, 0
        idle = super().is_idle(user)
        self.programs[user].in_flight = held
        return idle


class WaitingAsWell(Plain):
    """Where only idle programs decay, so do those that wait."""

    def is_idle(self, user: str) -> bool:
        return self.programs[user].in_flight == 0

    def come_by(self, band: Mapping[str, Queue], now: int) -> None:
        super().come_by({user: [] for user in band}, now)


class Everybody(Plain):
    """Where only idle programs decay, so does everybody."""

    def is_idle(self, user: str) -> bool:
        return True


class BelowZeroIsIdle(Plain):
    """With less than none in flight a program is idle."""

    def is_idle(self, user: str) -> bool:
        held, self.programs[user].in_flight = self.programs[user].in_flight, max(0, self.programs[user].in_flight)
        idle = super().is_idle(user)
        self.programs[user].in_flight = held
        return idle


class BothAtOnce(Plain):
    """The factor counts beside a half-life."""

    def come_by(self, band: Mapping[str, Queue], now: int) -> None:
        super().come_by(band, now)
        if self.is_release and self.half_life:
            for user, queue in band.items():
                self.programs[user].service *= 1 if queue else self.factor


class AnEmptyPickIsNone(Plain):
    """A pick where nobody waits takes nothing."""

    def come_by(self, band: Mapping[str, Queue], now: int) -> None:
        if any(band.values()):
            super().come_by(band, now)

    def picked(self, user: str | None) -> None:
        if user is not None:
            super().picked(user)


# Sweeps.


class EvictsAtTheTtl(Plain):
    """A program is forgotten when its time is just over."""

    def is_old(self, id: str, program: Program, now: int) -> bool:
        return program.in_flight == 0 and now - program.completed >= self.ttl


class EvictsInFlight(Plain):
    """A request in flight keeps nobody."""

    def is_old(self, id: str, program: Program, now: int) -> bool:
        return now - program.completed > self.ttl


class EvictsBelowZero(Plain):
    """With less than none in flight a program is forgotten."""

    def is_old(self, id: str, program: Program, now: int) -> bool:
        return program.in_flight <= 0 and now - program.completed > self.ttl


class WaitingKeeps(Plain):
    """A request that waits keeps its program."""

    def is_old(self, id: str, program: Program, now: int) -> bool:
        waits = any(queue for (_, user), queue in self.queues.items() if user == id)
        return super().is_old(id, program, now) and not waits


class ServiceOutlives(Plain):
    """A program that is forgotten keeps its service."""

    def sweep(self, now: int) -> None:
        """Only what else there is of it would go."""


class ZeroForgets(Plain):
    """A time to live of 0 is no time."""

    def sweep(self, now: int) -> None:
        self.programs = {id: each for id, each in self.programs.items() if not self.is_old(id, each, now)}


class WholeSecondsToLive(Plain):
    """The time to live is cut to whole seconds."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure(parameters)
        self.ttl -= self.ttl % 1_000_000_000


class EvictsAtPicks(Plain):
    """A pick forgets whose time is over."""

    def dispatch(self, now: int) -> str | None:
        self.sweep(now)
        return super().dispatch(now)
