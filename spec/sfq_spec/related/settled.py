"""What can be repaired of LAS with the same hooks: charged at dispatch, settled at completion, and a floor on return.

A program is charged its estimate when its request is dispatched, and what was used instead when it has ended. One that
had nothing waiting begins at the service of the program that was picked last, or where it was if that is more. The
least service goes, of equals whoever has waited longest, then the least id. When nobody waits and nothing is in flight
all begin anew (article §2.6). Services and floor halve with time, as those of LAS do, and programs are forgotten by the
same sweeps.

The seed has nothing of this; it is compared with LAS, and is a policy of its own name. A request that failed or was
cancelled is charged its estimate, or what was told of it where that is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.facts import Facts
from sfq_spec.related.halving import ZERO, Halving, number
from sfq_spec.related.las import used
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.trace import Outcome


@dataclass(frozen=True)
class Account:
    """What a program has been charged."""

    service: Halving
    """As of `anchor`."""
    anchor: Fraction
    """Seconds."""
    completed: Fraction
    """When a request of it last completed; until one has, when it was first seen."""


@dataclass(frozen=True)
class Flying:
    """A request in flight."""

    user: str
    charged: Fraction
    """When it was charged, in seconds."""


@dataclass(frozen=True)
class Accounts:
    """What is remembered."""

    known: Mapping[str, Account] = field(default_factory=dict)
    floor: Halving = ZERO
    """Where a program begins that had nothing waiting, at least; as of `anchor`."""
    anchor: Fraction = Fraction(0)
    flying: Mapping[str, Flying] = field(default_factory=dict)
    """The requests in flight, by id."""


At = Situation[Accounts]


@dataclass(frozen=True)
class Settled(Method[Accounts]):
    """The head of the program of least service goes next."""

    title: ClassVar[str] = "LAS, settled"
    uses_clock: ClassVar[bool] = True
    half_life: Fraction = Fraction(60)
    """Seconds; 0: none."""
    ttl: Fraction = Fraction(3600)
    """Seconds; 0: nobody is forgotten."""
    sweep: Fraction = Fraction(300)
    """Seconds."""

    def first(self) -> Accounts:
        """Nobody has been charged."""
        return Accounts()

    def arrive(self, at: At, job: Job) -> Accounts:
        """Whoever had nothing waiting begins at the floor, or where it was."""
        accounts = self._swept(at)
        if not at.joins(job):
            return accounts
        service, floor = self.service(accounts, job.user, at.time), self.floor(accounts, at.time)
        return self._put(at, accounts, job.user, floor if service < floor else service)

    def dispatch(self, at: At) -> tuple[Accounts, Job]:
        """The least goes, and is where others begin from now on; it is charged its estimate."""
        accounts = self._swept(at)
        chosen, *others = sorted(at.queues, key=lambda user: (at.head(user).time, user))
        for user in others:
            if self.service(accounts, user, at.time) < self.service(accounts, chosen, at.time):
                chosen = user
        job, service = at.head(chosen), self.service(accounts, chosen, at.time)
        floor = self.floor(accounts, at.time)
        accounts = replace(accounts, floor=service if floor < service else floor, anchor=at.time)
        accounts = replace(accounts, flying={**accounts.flying, job.request: Flying(chosen, at.time)})
        return self._put(at, accounts, chosen, service.plus(number(job.cost))), job

    def cancel(self, at: At, job: Job) -> Accounts:
        """Nobody may be left."""
        return self._anew(at, self._swept(at))

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Accounts:
        """The charge becomes what was used: what is left of the estimate is taken back, and the use is added."""
        accounts = self._swept(at)
        lives = self._lives(accounts.flying[job.request].charged, at.time)
        flying = {id: other for id, other in accounts.flying.items() if id != job.request}
        service = self.service(accounts, job.user, at.time)
        if (use := self.charge(job, outcome, told)) != job.cost:
            service = service.plus(number(use)).minus(number(job.cost).halved(lives))
        accounts = self._put(at, replace(accounts, flying=flying), job.user, ZERO if service < ZERO else service)
        account = replace(accounts.known[job.user], completed=at.time)
        return self._anew(at, replace(accounts, known={**accounts.known, job.user: account}))

    @staticmethod
    def charge(job: Job, outcome: Outcome, told: Facts) -> Fraction:
        """What a request that has ended is charged in all."""
        use = used(job, outcome, told)
        return use if outcome == "completed" else max(use, job.cost)

    def service(self, accounts: Accounts, user: str, time: Fraction) -> Halving:
        """What a program has been charged, as it counts at a time."""
        account = accounts.known.get(user)
        return ZERO if account is None else account.service.halved(self._lives(account.anchor, time))

    def floor(self, accounts: Accounts, time: Fraction) -> Halving:
        """The floor, as it counts at a time."""
        return accounts.floor.halved(self._lives(accounts.anchor, time))

    def _lives(self, since: Fraction, time: Fraction) -> Fraction:
        return (time - since) / self.half_life if self.half_life else Fraction(0)

    def _put(self, at: At, accounts: Accounts, user: str, service: Halving) -> Accounts:
        account = accounts.known.get(user) or Account(ZERO, at.time, at.time)
        return replace(accounts, known={**accounts.known, user: replace(account, service=service, anchor=at.time)})

    def _anew(self, at: At, accounts: Accounts) -> Accounts:
        if at.live:
            return accounts
        known = {user: replace(account, service=ZERO) for user, account in accounts.known.items()}
        return replace(accounts, floor=ZERO, known=known)

    def _swept(self, at: At) -> Accounts:
        """Programs without a request in flight are forgotten that were there too long at the latest sweep."""
        accounts = at.state
        if not self.ttl:
            return accounts
        sweep, flying = at.time // self.sweep * self.sweep, {request.user for request in accounts.flying.values()}
        known = {
            user: account
            for user, account in accounts.known.items()
            if user in flying or sweep - account.completed <= self.ttl
        }
        return replace(accounts, known=known)
