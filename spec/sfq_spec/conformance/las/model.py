"""The exact model of LAS in each mode, with the choices that rounding may make differently.

A policy works in floating point, and the model does not. So beside the one right choice there are those whose score is
closer to it than rounding can tell. The model can follow a policy that makes one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from sfq_spec.related.facts import Facts
from sfq_spec.related.las import NEW, Las, Programs
from sfq_spec.related.method import Job, Situation
from sfq_spec.trace import Outcome

Mode = Literal["release-0.10", "development-2026-08", "none"]
"""What is reproduced: `compatibility` among the parameters of the policy."""
MODES: tuple[Mode, ...] = ("release-0.10", "development-2026-08", "none")

ROUNDING = 1e-9
"""How far a decayed service may be off, as a part of it."""
SMALL = 1e-12
"""How far a score may be off besides."""
ALWAYS = Fraction(10**12)
"""Seconds after which even the longest history is over."""

PARAMETERS = {
    "lasWeightService": "weight_service",
    "lasWeightHeadWait": "weight_wait",
    "lasDecayFactor": "factor",
    "lasHalfLifeSeconds": "half_life",
    "evictionTtlSeconds": "ttl",
    "evictionSweepSeconds": "sweep",
}
"""The names of the model's parameters, by the policy's."""


class Standing(NamedTuple):
    """Where a candidate stands: about its score and its service, and its wait in milliseconds."""

    score: float
    service: float
    wait: int


@dataclass(frozen=True)
class Following(Las):
    """LAS, which makes the choice that it is told of wherever rounding may have made it so."""

    once: bool = True
    """Whether a completion that comes again for a request counts no more."""
    nobody: str = "default-flow"
    """The program of a request that names none."""
    priorities: dict[str, int] = field(default_factory=dict)
    """The priorities of requests, by id; 0 for all others. No program waits at two of them at once."""
    wanted: list[str] = field(default_factory=list)
    """The choice to follow, if there is one."""
    any_tie: list[bool] = field(default_factory=list)
    """Whether it is also followed in ties that are plain: the same service, exactly, and the same wait."""
    near: list[str] = field(default_factory=list)
    """Besides the right one, the users that rounding might have put first in the latest pick."""
    tied: list[str] = field(default_factory=list)
    """The users that were as good as the right one in the latest pick, plainly."""

    def dispatch(self, at: Situation[Programs]) -> tuple[Programs, Job]:
        """Only programs of the highest priority that has any are candidates."""
        programs, job = super().dispatch(replace(at, queues=self.band(at)))
        flying = {user: count for user, count in programs.in_flight.items() if count}
        return replace(programs, in_flight=flying), job

    def band(self, at: Situation[Programs]) -> Mapping[str, tuple[Job, ...]]:
        """The queues of that priority."""
        highest = max(map(self.priority, at.queues.values()))
        return {user: queue for user, queue in at.queues.items() if self.priority(queue) == highest}

    def priority(self, queue: tuple[Job, ...]) -> int:
        """At which priority a program waits."""
        return self.priorities.get(queue[0].request, 0)

    def complete(self, at: Situation[Programs], job: Job, outcome: Outcome, told: Facts) -> Programs:
        """One less in flight, also where none was: a count below zero is not zero."""
        programs = self._swept(at.state, at.time)
        programs = replace(programs, in_flight={job.user: 0} | dict(programs.in_flight))
        return super().complete(replace(at, state=programs), job, outcome, told)

    def empty_pick(self, at: Situation[Programs]) -> Programs:
        """What a pick does where nobody waits."""
        return self._visited(at, self._swept(at.state, at.time))

    def _chosen(self, at: Situation[Programs], programs: Programs) -> str:
        right = super()._chosen(at, programs)
        scores, slack = self.scores(at, programs)
        close = [user for user in sorted(scores) if user != right and scores[right].score - scores[user].score <= slack]
        plain = slack <= SMALL
        alike = [user for user in close if plain and scores[user] == scores[right]]
        self.tied[:] = [user for user in alike if not self.above(at, programs, user, right)]
        self.near[:] = [user for user in close if user not in self.tied]
        followed = [*self.near, *(self.tied if self.any_tie else ())]
        return next((user for user in self.wanted if user in followed), right)

    def scores(self, at: Situation[Programs], programs: Programs) -> tuple[Mapping[str, Standing], float]:
        """Where each candidate stands, and by how much two scores may be off together."""
        services = {user: self.about(programs, user, at.time) for user in at.queues}
        waits = {user: (at.time - at.head(user).time) * 1000 // 1 for user in at.queues}
        least, most = min(services.values()), max(services.values())
        spread, longest, shortest = most - least, max(waits.values()), min(waits.values())
        scores = {}
        for user, service in services.items():
            served = (service - least) / spread if spread else 0.5
            waited = (waits[user] - shortest) / (longest - shortest) if longest > shortest else 0.5
            score = float(self.weight_service) * (1 - served) + float(self.weight_wait) * waited
            scores[user] = Standing(score, service, waits[user])
        off = 0.0
        if self._decays and most:
            off = min(1.0, 4 * ROUNDING * most / spread) if spread else 1.0
        return scores, SMALL + float(self.weight_service) * off

    @property
    def _decays(self) -> bool:
        """Whether services are anything but sums of whole tokens."""
        return bool(self.half_life) or (self.version == "v1" and self.factor < 1)

    def about(self, programs: Programs, user: str, time: Fraction) -> float:
        """A service, in floating point."""
        program = programs.known.get(user, NEW)
        lives = float(self._lives(program, time))
        service: float = self._left(program).near[0] * 2.0**-lives
        return service


def model(
    mode: Mode, parameters: Mapping[str, Any], kind: type[Following] = Following, *, collected: bool = True
) -> Following:
    """The model of a mode with these parameters, which are named as in a configuration of the policy.

    `collected` says whether an empty queue is registered no more after five minutes, which is not the policy's doing.
    """
    given: dict[str, Any] = {
        PARAMETERS[name]: Fraction(str(value)) for name, value in parameters.items() if name in PARAMETERS
    }
    if mode == "release-0.10" or (mode == "none" and "factor" in given):
        given = {"version": "v1", "half_life": Fraction(0)} | given
        if mode == "none" or not collected:
            given["kept"] = ALWAYS
    return kind(**{"once": mode == "none"} | given)
