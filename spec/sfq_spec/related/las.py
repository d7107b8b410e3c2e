"""LAS, least attained service: the policy of the program-aware seed, as llm-d has it.

Each program (here a user) has attained service: the input tokens and twice the output tokens of its requests, added
when they complete. At each pick, a program that waits scores 0.8 · (1 − n(service)) + 0.2 · n(wait of its oldest
request, in whole milliseconds); n maps the least of those that wait to 0, the greatest to 1, and all to a half where
there is no difference. The greatest score goes next.

The seed ("What it does", "Unit of Fairness", "Configuration") gives purpose and parameters; score and hooks are those
of the public source, in two versions that decay differently:

    v2  by the clock, with a half-life, whenever service is read or added to; the development version of August 2026
    v1  only when a pick visits the empty queue of a program without a request in flight: by the clock where a half-life
        is given, else by a factor for each such visit. What is due when service is added is forfeited, and an empty
        queue is visited for `kept` seconds. Releases 0.9 and 0.10, which the seed describes.

Programs without a request in flight are forgotten at the first sweep more than `ttl` seconds after their latest
completion; sweeps come at whole multiples of `sweep` seconds. A request that never completes keeps its program.

Where the source leaves it open, or to chance: ties go to the least id (there: random); one reading of the clock serves
a pick (there: one for each queue); a sweep comes before a pick at the same moment. A pick happens at each dispatch
(there also by a ticker, which counts for the factor of v1). One priority band. Weights count for nothing.

Used beside the events: `time`; without it nobody has waited, and neither half-life nor sweep comes to bear.
`input_tokens` at completion, or else at arrival, or else the cost stands for it; `output_tokens` at completion, or else
0. A request that failed or was cancelled is charged only what its completion tells, and in flight no more.

Services are sums of powers of two, and scores are compared exactly (`halving`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal, TypeVar

from sfq_spec.related.attained import added
from sfq_spec.related.facts import Facts
from sfq_spec.related.halving import MANY, ZERO, Halving, Part, number, sign
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.trace import Outcome

V = TypeVar("V")

ONE = Fraction(1)
FACTOR = Fraction("0.99997")


@dataclass(frozen=True)
class Program:
    """What is remembered of a program that has attained service."""

    service: Halving
    """Attained service as it would be if it had all been attained at `anchor`, before what `visits` take from it."""
    anchor: Fraction
    """From when on half-lives are still due, in seconds."""
    completed: Fraction
    """When a request of it last completed, in seconds."""
    visits: int = 0
    """Times that the factor has still to be taken; v1 only, and only while the queue is empty."""


NEW = Program(ZERO, Fraction(0), Fraction(0))
"""A program that has attained nothing."""


@dataclass(frozen=True)
class Programs:
    """What LAS remembers."""

    known: Mapping[str, Program] = field(default_factory=dict)
    """Programs with service above zero."""
    in_flight: Mapping[str, int] = field(default_factory=dict)
    """Requests that have been dispatched and have not ended, by program."""
    emptied: Mapping[str, Fraction] = field(default_factory=dict)
    """Since when the queue of a program is empty; v1 only."""
    swept: Fraction = Fraction(0)
    """When the latest sweep was that has been taken account of."""


At = Situation[Programs]


@dataclass(frozen=True)
class Las(Method[Programs]):
    """The head of the program of greatest score goes next."""

    title: ClassVar[str] = "LAS"
    uses_clock: ClassVar[bool] = True
    version: Literal["v1", "v2"] = "v2"
    half_life: Fraction = Fraction(60)
    """Seconds; 0: none."""
    factor: Fraction = FACTOR
    """Of v1 without a half-life: what a visit leaves of the service."""
    weight_service: Fraction = Fraction("0.8")
    weight_wait: Fraction = Fraction("0.2")
    ttl: Fraction = Fraction(3600)
    """Seconds; 0: nobody is forgotten."""
    sweep: Fraction = Fraction(300)
    """Seconds."""
    kept: Fraction = Fraction(300)
    """Seconds for which v1 visits an empty queue."""

    def __post_init__(self) -> None:
        for name in ("half_life", "weight_service", "weight_wait", "ttl", "kept"):
            if (value := getattr(self, name)) < 0:
                raise ValueError(f"{name} {value}: must be 0 or more")
        if self.sweep <= 0:
            raise ValueError(f"sweep {self.sweep}: must be above zero")
        if not 0 < self.factor <= 1:
            raise ValueError(f"factor {self.factor}: must be above zero, and 1 at most")
        if self.version == "v2" and self.factor != FACTOR:
            raise ValueError("factor: v2 has none; leave it out, or choose version=v1")

    def first(self) -> Programs:
        """No program has been served."""
        return Programs()

    def arrive(self, at: At, job: Job) -> Programs:
        """A queue that has a request is not empty."""
        programs = self._settled(at.state, job.user)
        return replace(programs, emptied=_but(programs.emptied, job.user))

    def dispatch(self, at: At) -> tuple[Programs, Job]:
        """Sweep, decay, choose; nothing is charged, but the request is in flight."""
        programs = self._visited(at, self._swept(at.state, at.time))
        job = at.head(self._chosen(at, programs))
        in_flight = {**programs.in_flight, job.user: programs.in_flight.get(job.user, 0) + 1}
        programs = replace(programs, in_flight=in_flight)
        return (self._emptied(programs, job.user, at.time) if at.is_last(job) else programs), job

    def cancel(self, at: At, job: Job) -> Programs:
        """The queue may be empty now."""
        return at.state if job.user in at.queues else self._emptied(at.state, job.user, at.time)

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """What was used is added to the service, and the request is in flight no more."""
        user, programs = job.user, self._settled(self._swept(at.state, at.time), job.user)
        at = replace(at, state=programs)
        left = programs.in_flight[user] - 1
        in_flight = {**_but(programs.in_flight, user), **({user: left} if left else {})}
        known = _but(programs.known, user)
        if (program := self._added(at, user, number(used(job, outcome, told)))).service.sign:
            known[user] = program
        return _relevant(replace(programs, known=known, in_flight=in_flight))

    def _settled(self, programs: Programs, user: str) -> Programs:
        """What visits have taken from the service of a program is gone for good."""
        if not (program := programs.known.get(user, NEW)).visits:
            return programs
        program = replace(program, service=self._left(program), visits=0)
        return replace(programs, known={**programs.known, user: program})

    def _added(self, at: At, user: str, used: Halving) -> Program:
        """More service. What is due until now still is, with v2, and later; with v1 it is forfeited."""
        program = at.state.known.get(user) or replace(NEW, anchor=at.time)
        lives = self._lives(program, at.time)
        if lives > MANY:
            program, lives = replace(program, service=program.service.halved(lives), anchor=at.time), Fraction(0)
        anchor = at.time if self.version == "v1" else program.anchor
        return Program(added(program.service, used, lives), anchor, at.time)

    def service(self, programs: Programs, user: str, time: Fraction) -> Halving:
        """The attained service of a program, as it counts at a time."""
        program = programs.known.get(user, NEW)
        return self._left(program).halved(self._lives(program, time))

    def _left(self, program: Program) -> Halving:
        """What visits have left of the service."""
        return program.service.times(self.factor**program.visits) if program.visits else program.service

    def _lives(self, program: Program, time: Fraction) -> Fraction:
        """How many half-lives are due; v1 takes account of them only when it visits."""
        due = self.half_life and self.version == "v2"
        return (time - program.anchor) / self.half_life if due else Fraction(0)

    def _chosen(self, at: At, programs: Programs) -> str:
        """The program of greatest score: of two, the sign of the difference of their scores times the range decides."""
        above = partial(self.above, at, programs)
        part = partial(self._part, at, programs)
        wait = _normal({user: Fraction((at.time - at.head(user).time) * 1000 // 1) for user in at.queues})
        first, *others = sorted(at.queues)
        least = most = first
        for user in others:
            least = user if above(least, user) > 0 else least
            most = user if above(user, most) > 0 else most
        spread = above(most, least)
        for user in others:
            ahead = self.weight_wait * (wait[user] - wait[first])
            served = part(self.weight_service, first), part(-self.weight_service, user)
            gain = sign((*served, part(ahead, most), part(-ahead, least))) if spread else ahead
            first = user if gain > 0 else first
        return first

    def above(self, at: At, programs: Programs, user: str, other: str) -> int:
        """1 where a program has attained more than another one, −1 where less, 0 where exactly as much."""
        return sign((self._part(at, programs, ONE, user), self._part(at, programs, -ONE, other)))

    def _part(self, at: At, programs: Programs, factor: Fraction, user: str) -> Part:
        program = programs.known.get(user, NEW)
        return factor, program.service, self._lives(program, at.time)

    def _visited(self, at: At, programs: Programs) -> Programs:
        """What a pick takes from the service of idle programs whose queues it comes by; v1 only."""
        known = dict(programs.known)
        for user, since in programs.emptied.items():
            if user in known and user not in programs.in_flight and at.time - since <= self.kept:
                program = known[user]
                if self.half_life:
                    lives = (at.time - program.anchor) / self.half_life
                    known[user] = replace(program, service=program.service.halved(lives), anchor=at.time)
                elif self.factor < 1:
                    known[user] = replace(program, visits=program.visits + 1)
        return replace(programs, known=known)

    def _swept(self, programs: Programs, time: Fraction) -> Programs:
        """Programs are forgotten that were there too long at the latest sweep, if it has not been taken account of."""
        sweep = time // self.sweep * self.sweep
        if not self.ttl or sweep <= programs.swept:
            return programs
        known = {
            user: program
            for user, program in programs.known.items()
            if user in programs.in_flight or sweep - program.completed <= self.ttl
        }
        return _relevant(replace(programs, known=known, swept=sweep))

    def _emptied(self, programs: Programs, user: str, time: Fraction) -> Programs:
        if self.version == "v2":
            return programs
        return _relevant(replace(programs, emptied={**programs.emptied, user: time}))


@dataclass(frozen=True)
class LasV1(Las):
    """LAS of the releases: a factor for each visit, and no half-life unless one is given."""

    title: ClassVar[str] = "LAS v1"
    version: Literal["v1", "v2"] = "v1"
    half_life: Fraction = Fraction(0)


def used(job: Job, outcome: Outcome, told: Facts) -> Fraction:
    """What a request that has ended is charged: its input tokens, and its output tokens twice."""
    untold = Fraction(0)
    if outcome == "completed":
        untold = job.cost if job.input_tokens is None else Fraction(job.input_tokens)
    read = untold if told.input_tokens is None else Fraction(told.input_tokens)
    return read + 2 * (told.output_tokens or 0)


def _normal(values: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Each value by its place in the range of all; a half where there is no range."""
    least, most = min(values.values()), max(values.values())
    return {
        user: (value - least) / (most - least) if most > least else Fraction(1, 2) for user, value in values.items()
    }


def _relevant(programs: Programs) -> Programs:
    """Without what is known of queues of programs that have nothing to lose and nothing under way."""
    matters = programs.known.keys() | programs.in_flight.keys()
    return replace(programs, emptied={user: since for user, since in programs.emptied.items() if user in matters})


def _but(mapping: Mapping[str, V], user: str) -> dict[str, V]:
    return {other: value for other, value in mapping.items() if other != user}
