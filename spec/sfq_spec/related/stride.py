"""Stride scheduling (Waldspurger and Weihl 1995), as far as the article compares it (article §6.1).

Each client has tickets, a stride that is a quantum divided by them, and a pass; the client of least pass is next, and
its pass grows by its stride. A client that joins starts at the global pass, which grows by a quantum divided by all the
tickets there are. Independent of `competition`: no rule is taken from there.

The memorandum of 1995 differs at a join. It adds what remained of a stride when the client left, and at first a whole
stride: its passes are finish tags where the article's are start tags. `Joins` names the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, Literal

from sfq_spec.logic import Exact, Logic, N, T, U

Joins = Literal["at the global pass", "one stride later"]


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


@dataclass(frozen=True)
class StrideScheduler:
    """Stride over queues: each dispatch is one quantum, whatever the request costs."""

    joins: Joins = "at the global pass"
    quantum: Fraction = Fraction(1)
    state: Stride[str, Fraction, bool] = field(default_factory=lambda: Stride(Fraction(0), Fraction(0), {}, {}, {}))
    queues: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def arrive(self, user: str, request: str, tickets: Fraction = Fraction(1)) -> StrideScheduler:
        """A request waits; its user joins if it had none. `tickets` are those of a user that is new."""
        logic = Exact(self.state.tickets.keys())
        state = self.state
        if user not in state.tickets:
            state = replace(state, tickets={**state.tickets, user: tickets})
        if not self.queues.get(user):
            remain = self.quantum / state.tickets[user] if self.joins == "one stride later" else Fraction(0)
            state = join(logic, state, user, remain)
        return replace(self, state=state, queues={**self.queues, user: (*self.queues.get(user, ()), request)})

    def dispatch(self) -> tuple[StrideScheduler, str | None]:
        """The oldest request of the client that is next; None where nobody waits."""
        logic = Exact([user for user, queue in self.queues.items() if queue])
        for user in logic.users:
            if is_least(logic, self.state, user):
                request, *rest = self.queues[user]
                state = allocate(logic, self.state, user, self.quantum)
                state = state if rest else leave(logic, state, user)
                return replace(self, state=state, queues={**self.queues, user: tuple(rest)}), request
        return self, None
