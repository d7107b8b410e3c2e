"""Stride scheduling (Waldspurger and Weihl 1995), as far as the article compares it (article §6.1, §6.3).

Each client has tickets, a stride that is a quantum divided by them, and a pass; the client of least pass is next, and
its pass grows by its stride. A client that joins starts at the global pass, which grows by a quantum divided by all the
tickets there are. Independent of `competition`: no rule is taken from there.

The memorandum of 1995 differs at a join. It adds what remained of a stride when the client left, and at first a whole
stride: its passes are finish tags where the article's are start tags. `Joins` names the differences. It was not at hand
in the original; where tickets change, the distance to the global pass is rescaled as it is known to say.

As a method of scheduling: a user is a client while it waits, tickets are weights, and each dispatch is one quantum,
whatever the request costs. Nothing beside the events is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Generic, Literal

from sfq_spec.logic import Exact, Logic, N, T, U, V
from sfq_spec.related.method import Job, Method, Situation

Joins = Literal["at the global pass", "one stride later", "with what remained"]


@dataclass(frozen=True)
class Stride(Generic[U, N, T]):
    """The clients, and what they have been allocated."""

    global_pass: N
    global_tickets: N
    """Those of all active clients."""
    passes: Mapping[U, N]
    tickets: Mapping[U, N]
    active: Mapping[U, T]


def is_least(logic: Logic[U, N, T], s: Stride[U, N, T], client: U) -> T:
    """The active client of least pass; of several the one of least id."""

    def later(other: U) -> T:
        tie = logic.both(logic.equal(s.passes[client], s.passes[other]), logic.no(logic.precedes(other, client)))
        return logic.either(logic.no(s.active[other]), s.passes[client] < s.passes[other], tie)

    return logic.both(s.active[client], logic.for_all(later))


def join(logic: Logic[U, N, T], s: Stride[U, N, T], client: U, remain: N) -> Stride[U, N, T]:
    """A client takes part from now on, `remain` behind the global pass: 0 in the article."""
    return replace(
        s,
        global_tickets=s.global_tickets + s.tickets[client],
        passes=logic.put(s.passes, client, s.global_pass + remain),
        active=logic.put(s.active, client, logic.true()),
    )


def leave(logic: Logic[U, N, T], s: Stride[U, N, T], client: U) -> Stride[U, N, T]:
    """A client takes no part for now."""
    return replace(
        s,
        global_tickets=s.global_tickets - s.tickets[client],
        active=logic.put(s.active, client, logic.no(logic.true())),
    )


def allocate(logic: Logic[U, N, T], s: Stride[U, N, T], client: U, quantum: N) -> Stride[U, N, T]:
    """A quantum for one client."""
    return replace(
        s,
        global_pass=s.global_pass + quantum / s.global_tickets,
        passes=logic.put(s.passes, client, s.passes[client] + quantum / s.tickets[client]),
    )


Clients = Stride[str, Fraction, bool]
"""Whoever waits is an active client."""


@dataclass(frozen=True)
class Strides:
    """What stride scheduling remembers."""

    clients: Clients
    """Those that wait, and no others."""
    remains: Mapping[str, Fraction]
    """How far a client's pass was beyond the global pass when it left, in strides; only for `with what remained`."""


@dataclass(frozen=True)
class StrideScheduling(Method[Strides]):
    """The head of the client of least pass goes next."""

    title: ClassVar[str] = "stride"
    quantum: Fraction = Fraction(1)
    """What every dispatch is taken to cost."""
    joins: Joins = "at the global pass"
    """Where the pass of a client begins that comes or comes back."""

    def __post_init__(self) -> None:
        if self.quantum <= 0:
            raise ValueError(f"quantum {self.quantum}: must be above zero")

    def first(self) -> Strides:
        """There are no clients."""
        return Strides(Stride(Fraction(0), Fraction(0), {}, {}, {}), {})

    def arrive(self, at: Situation[Strides], job: Job) -> Strides:
        """A user that has not been waiting joins."""
        if not at.joins(job):
            return at.state
        clients, tickets = at.state.clients, at.weight(job.user)
        known = replace(clients, tickets={**clients.tickets, job.user: tickets})
        strides = Fraction(self.joins != "at the global pass")
        remain = at.state.remains.get(job.user, strides) * self.quantum / tickets
        return replace(at.state, clients=join(Exact(known.tickets.keys()), known, job.user, remain))

    def dispatch(self, at: Situation[Strides]) -> tuple[Strides, Job]:
        """A quantum for the client of least pass; it leaves with its last request."""
        logic = Exact(at.queues.keys())
        user = next(user for user in at.queues if is_least(logic, at.state.clients, user))
        job = at.head(user)
        given = replace(at.state, clients=allocate(logic, at.state.clients, user, self.quantum))
        return (self._left(given, user) if at.is_last(job) else given), job

    def cancel(self, at: Situation[Strides], job: Job) -> Strides:
        """A user that waits no more leaves."""
        return at.state if job.user in at.queues else self._left(at.state, job.user)

    def reweigh(self, at: Situation[Strides], user: str, before: Fraction) -> Strides:
        """Other tickets: the distance of the pass from the global pass is the same number of strides as before."""
        if user not in at.queues:
            return at.state
        clients, logic, tickets = at.state.clients, Exact(at.queues.keys()), at.weight(user)
        remain = (clients.passes[user] - clients.global_pass) * before / tickets
        left = leave(logic, clients, user)
        known = replace(left, tickets={**left.tickets, user: tickets})
        return replace(at.state, clients=join(logic, known, user, remain))

    def _left(self, state: Strides, user: str) -> Strides:
        s = state.clients
        gone = leave(Exact(s.tickets.keys()), s, user)
        remains = state.remains
        if self.joins == "with what remained":
            strides = (s.passes[user] - s.global_pass) * s.tickets[user] / self.quantum
            remains = {**remains, user: strides}
        kept = replace(
            gone, passes=_but(gone.passes, user), tickets=_but(gone.tickets, user), active=_but(gone.active, user)
        )
        return Strides(kept, remains)


def _but(mapping: Mapping[str, V], user: str) -> Mapping[str, V]:
    return {other: value for other, value in mapping.items() if other != user}
