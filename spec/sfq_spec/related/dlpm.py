"""DLPM, deficit longest prefix match (Cao and others 2025), after the one public implementation.

Each client has a deficit that starts at 0; one above zero is credit. Of the waiting requests whose clients have credit
the one with the longest cached prefix goes next, of several the oldest. If nobody who waits has credit, every known
client without credit gets a quantum, and again until somebody has: all rounds are calculated at once. A request is
charged what is not cached when it goes, and a unit for each output token, whether or not there is credit for it. Of one
user, too, a later request may go first.

The algorithm of the paper could not be read, only its abstract and introduction. The rules are those of the public
scheduler mixin for SGLang (`FairScheduler`), with longest prefix match as the order of its queue. As there, a client is
known from when its request is first looked at, and forgotten, with credit or debt, when it has not been seen for an
hour; a charge and a refill count as seeing it (here also when it is first looked at). Weights count for nothing. Here
the order is made afresh for each request and not for each batch, and charges are not rounded down.

The cache holds the blocks of dispatched requests. A prefix is cached as far as its blocks are, from the first on; a
block's hash or name is taken to stand for all that comes before it as well. Where room is limited, blocks that were
used least recently go first, of one request its last.

Used beside the events: `prefix` at arrival, of which all blocks count as equally long, and without which nothing of a
request is cached; `input_tokens` at arrival, or else the cost stands for it; `produced`, and `output_tokens` at
completion for what that had not told; `time`, without which nobody is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.trace import Outcome

ZERO = Fraction(0)


@dataclass(frozen=True)
class Client:
    """What is remembered of a client."""

    deficit: Fraction = ZERO
    seen: Fraction = ZERO
    """When it was last charged or refilled, in seconds."""


@dataclass(frozen=True)
class Clients:
    """What DLPM remembers."""

    known: Mapping[str, Client] = field(default_factory=dict)
    produced: Mapping[str, int] = field(default_factory=dict)
    """Output tokens charged so far, of each request in flight."""
    cached: tuple[str | int, ...] = ()
    """Blocks, the one that was used least recently first."""


At = Situation[Clients]


@dataclass(frozen=True)
class Dlpm(Method[Clients]):
    """The longest cached prefix among those with credit goes next."""

    title: ClassVar[str] = "DLPM"
    uses_clock: ClassVar[bool] = True
    quantum: Fraction = Fraction(512)
    """What a refill gives."""
    price: Fraction = Fraction(1)
    """Of an input token that is not cached; an output token costs 1."""
    blocks: int = 0
    """How many blocks the cache has room for; 0: all that there are."""
    forget: Fraction = Fraction(3600)
    """Seconds after which a client that has not been seen is forgotten."""

    def __post_init__(self) -> None:
        if self.quantum <= 0:
            raise ValueError(f"quantum {self.quantum}: must be above zero, or nobody would ever have credit")
        for name in ("price", "blocks", "forget"):
            if (value := getattr(self, name)) < 0:
                raise ValueError(f"{name} {value}: must be 0 or more")

    def first(self) -> Clients:
        """Nobody is known, and nothing cached."""
        return Clients()

    def dispatch(self, at: At) -> tuple[Clients, Job]:
        """Forget, refill if need be, choose and charge."""
        known = {u: c for u, c in at.state.known.items() if at.time - c.seen <= self.forget}
        cached = frozenset(at.state.cached)
        waiting = (job for queue in at.queues.values() for job in queue)
        order = sorted(waiting, key=lambda job: (-matched(job, cached), job.number))
        looked = order[: next((n for n, job in enumerate(order, 1) if _credit(known, job.user) > 0), None)]
        known = {**{job.user: Client(seen=at.time) for job in looked}, **known}
        if _credit(known, looked[-1].user) <= 0:
            known = self._refilled(at, known)
        job = next(job for job in order if _credit(known, job.user) > 0)
        size = job.cost if job.input_tokens is None else Fraction(job.input_tokens)
        blocks = len(job.prefix)
        fresh = size * (blocks - matched(job, cached)) / blocks if blocks else size
        known = _charged(known, job.user, self.price * fresh, at.time)
        return Clients(known, {**at.state.produced, job.request: 0}, self._cached(at.state.cached, job)), job

    def produce(self, at: At, job: Job, tokens: int) -> Clients:
        """Output is charged as it comes."""
        produced = {**at.state.produced, job.request: at.state.produced[job.request] + tokens}
        known = _charged(at.state.known, job.user, Fraction(tokens), at.time)
        return replace(at.state, known=known, produced=produced)

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Clients:
        """Output that had not been told is charged now."""
        produced = dict(at.state.produced)
        late = (told.output_tokens or 0) - produced.pop(job.request)
        known = _charged(at.state.known, job.user, Fraction(late), at.time) if late > 0 else at.state.known
        return replace(at.state, known=known, produced=produced)

    def _refilled(self, at: At, known: Mapping[str, Client]) -> dict[str, Client]:
        """After the rounds that it takes until somebody who waits has credit; each is given while there is none."""
        rounds = min(self._rounds(known[user]) for user in at.queues)
        return {
            user: Client(client.deficit + min(rounds, self._rounds(client)) * self.quantum, at.time)
            if client.deficit <= 0
            else client
            for user, client in known.items()
        }

    def _rounds(self, client: Client) -> int:
        """How many quanta it takes until a client without credit has some."""
        return -client.deficit // self.quantum + 1

    def _cached(self, cached: tuple[str | int, ...], job: Job) -> tuple[str | int, ...]:
        used = dict.fromkeys(reversed(job.prefix))
        blocks = (*(block for block in cached if block not in used), *used)
        return blocks[-self.blocks :] if self.blocks else blocks


def matched(job: Job, cached: frozenset[str | int]) -> int:
    """How many blocks of a request are cached, from the first on."""
    return next((n for n, block in enumerate(job.prefix) if block not in cached), len(job.prefix))


def _credit(known: Mapping[str, Client], user: str) -> Fraction:
    return known[user].deficit if user in known else ZERO


def _charged(known: Mapping[str, Client], user: str, price: Fraction, time: Fraction) -> dict[str, Client]:
    deficit = _credit(known, user) - price
    return {**known, user: Client(deficit, time)}
