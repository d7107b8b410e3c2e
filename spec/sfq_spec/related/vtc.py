"""VTC, the virtual token counter (Sheng and others 2024), by the rule of the paper and by that of its public artifact.

Each user has a counter of tokens, input at one price and output at another, divided by its weight. The head of the
waiting user of least counter goes next and is charged its input; output is charged as it is produced. Both rules lift
the counter of a user that comes to wait to the least of those that wait; they differ where nobody else does:

    paper      to the counter of the user that was last to leave the queue
    artifact   not at all

The paper's text could not be read; its rule is known from secondary accounts that agree with each other. The artifact's
is known from its source (`slora/server/router/vtc_req_queue.py`), which has two more peculiarities. Of equal counters
the one first inserted wins, where ours for the paper, which does not say, is the least id. And in a step in which a
request finishes all that are running are charged a second time: for a request alone this stands for the token that
came with its prompt, all its neighbours pay one output token too much. Here requests that finish in one step count as
finishing one after another, and only if their output was told. Left out of the artifact: memory limits, aborted heads,
and the profiled cost function.

Used beside the events: `input_tokens` at arrival, or else the cost stands for it; `produced`; and `output_tokens` at
completion, of which what `produced` had not told is charged then. Each token is charged once, at the weight of the
moment; nothing is refunded. Without any of these, VTC charges costs at dispatch as SFQ does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.trace import Outcome

ZERO = Fraction(0)


@dataclass(frozen=True)
class Counters:
    """What VTC remembers."""

    served: Mapping[str, Fraction] = field(default_factory=dict)
    produced: Mapping[str, int] = field(default_factory=dict)
    """Output tokens charged so far, of each request in flight."""
    last: str | None = None
    """While nobody waits, who left the queue last; of the paper only."""
    inserted: tuple[str, ...] = ()
    """Users in the order of their first arrival; of the artifact only."""


At = Situation[Counters]


@dataclass(frozen=True)
class Vtc(Method[Counters]):
    """The head of the user of least counter goes next: the rule of the paper."""

    title: ClassVar[str] = "VTC"
    input_price: Fraction = Fraction(1)
    output_price: Fraction = Fraction(2)

    def __post_init__(self) -> None:
        for name in ("input_price", "output_price"):
            if (value := getattr(self, name)) <= 0:
                raise ValueError(f"{name} {value}: must be above zero")

    def first(self) -> Counters:
        """Nobody has been served."""
        return Counters()

    def arrive(self, at: At, job: Job) -> Counters:
        """A user that comes to wait is lifted."""
        if not at.joins(job):
            return at.state
        lifted = max(at.state.served.get(job.user, ZERO), self.level(at, job.user))
        return replace(at.state, served={**at.state.served, job.user: lifted}, last=None)

    def level(self, at: At, user: str) -> Fraction:
        """To what the counter of a user is lifted that comes to wait."""
        served = at.state.served
        others = [served[other] for other in at.queues if other != user]
        if others:
            return min(others)
        return ZERO if at.state.last is None else served[at.state.last]

    def dispatch(self, at: At) -> tuple[Counters, Job]:
        """The least counter; it is charged the input."""
        user = min(at.queues, key=lambda user: self.rank(at, user))
        job = at.head(user)
        size = job.cost if job.input_tokens is None else Fraction(job.input_tokens)
        counters = _charged(at, at.state, user, self.input_price * size)
        counters = replace(counters, produced={**counters.produced, job.request: 0})
        return (self.left(at, counters, user) if at.is_last(job) else counters), job

    def rank(self, at: At, user: str) -> tuple[Fraction, object]:
        """Least first."""
        return at.state.served[user], user

    def cancel(self, at: At, job: Job) -> Counters:
        """Nothing is charged."""
        return at.state if job.user in at.queues else self.left(at, at.state, job.user)

    def produce(self, at: At, job: Job, tokens: int) -> Counters:
        """Output is charged as it comes."""
        produced = {**at.state.produced, job.request: at.state.produced[job.request] + tokens}
        return replace(_charged(at, at.state, job.user, self.output_price * tokens), produced=produced)

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Counters:
        """Output that had not been told is charged now."""
        late = max((told.output_tokens or 0) - at.state.produced[job.request], 0)
        produced = {id: tokens for id, tokens in at.state.produced.items() if id != job.request}
        counters = replace(_charged(at, at.state, job.user, self.output_price * late), produced=produced)
        return self.relevant(at, counters, at.queues.keys())

    def left(self, at: At, counters: Counters, user: str) -> Counters:
        """A user waits no more."""
        others = at.queues.keys() - {user}
        return self.relevant(at, counters if others else replace(counters, last=user), others)

    def relevant(self, at: At, counters: Counters, waiting: Collection[str]) -> Counters:
        """Without the counters of users that would be lifted above them: the level never goes back."""
        under_way = {at.live[id].user for id in counters.produced}
        of_waiting = min((counters.served[user] for user in waiting), default=ZERO)
        level = of_waiting if counters.last is None else counters.served[counters.last]
        needed = under_way | {*waiting, counters.last}
        served = {user: count for user, count in counters.served.items() if user in needed or count > level}
        return replace(counters, served=served)


@dataclass(frozen=True)
class VtcArtifact(Vtc):
    """The same by the rule of the public artifact. Nobody is ever forgotten."""

    title: ClassVar[str] = "VTC artifact"

    def arrive(self, at: At, job: Job) -> Counters:
        """Who comes for the first time is inserted last."""
        known = job.user in at.state.served
        counters = super().arrive(at, job)
        return counters if known else replace(counters, inserted=(*counters.inserted, job.user))

    def rank(self, at: At, user: str) -> tuple[Fraction, object]:
        """Of equal counters the one first inserted."""
        return at.state.served[user], at.state.inserted.index(user)

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Counters:
        """All others that are running pay for an output token which they did not produce."""
        counters = super().complete(at, job, outcome, told)
        if told.output_tokens is None and not at.state.produced[job.request]:
            return counters
        for id in counters.produced:
            counters = _charged(at, counters, at.live[id].user, self.output_price)
        return counters

    def left(self, at: At, counters: Counters, user: str) -> Counters:
        """Nothing is noted."""
        return counters

    def relevant(self, at: At, counters: Counters, waiting: Collection[str]) -> Counters:
        """Every counter stays."""
        return counters


def _charged(at: At, counters: Counters, user: str, price: Fraction) -> Counters:
    charged = counters.served[user] + price / at.weight(user)
    return replace(counters, served={**counters.served, user: charged})
