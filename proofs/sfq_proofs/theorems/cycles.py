"""Leads without bound, as proofs: a turn that ends where it began, with a gain (FAIR-ABUSE, FAIR-BANK; article §2.4).

Counted from v, the state of a small world under reset-on-return comes back after a turn in which A has gained on B, who
waits throughout. Each event of the turn leads from any state that stands so to one that stands so again, whatever v is:
that is an obligation for the solvers. So the turn can be taken any number of times, and the lead has no bound. Under
bank-while-idle no state comes back, as B's meter moves away from A's. There the turns are two, one that saves and one
that spends, both with the distance as a parameter. All turns are also played on the mutant's machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from sfq_proofs.finding import Finding
from sfq_proofs.searches.exhaust import Edge, Graph, Instance, State, events, graph
from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.logic import Term, Terms
from sfq_spec import machine
from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.machine import Machine
from sfq_spec.mutants import BY_NAME
from sfq_spec.trace import Arrive, Dispatch, Event

CLAIMS = ("FAIR-ABUSE", "FAIR-BANK")
WORLD = Instance(2, (1, 2))
LEADER, OTHER = 0, 1
ABUSE, BANK = BY_NAME["reset-on-return"].rules or SFQ, BY_NAME["bank-while-idle"].rules or SFQ


@dataclass(frozen=True)
class Cycle:
    """A run that leads to a state, and a turn that leads from there to the same state, counted from v."""

    state: State
    there: tuple[Edge, ...]
    turn: tuple[Edge, ...]
    gain: Any
    """W of the leader less W of the other, in one turn, throughout which the other waits."""


def find(found: Graph, i: int = LEADER, j: int = OTHER) -> Cycle | None:
    """A shortest turn in which i gains on j, who waits throughout; None where no turn of any length gains."""
    waits = {
        state: [edge for edge in edges if edge.target[1][j]] for state, edges in found.edges.items() if state[1][j]
    }
    if not _grows_for_ever(waits, i, j):
        return None
    turns = {state: turn for state in waits if (turn := _turn(waits, state, i, j))}
    there = {state: _path(found, state) for state in turns}
    home = min(turns, key=lambda state: (len(turns[state]), len(there[state])))
    return Cycle(home, there[home], turns[home], sum(_gain(edge, i, j) for edge in turns[home]))


def _gain(edge: Edge, i: int, j: int) -> Any:
    return {i: edge.charge, j: -edge.charge}.get(edge.user, 0)


def _grows_for_ever(waits: dict[State, list[Edge]], i: int, j: int) -> bool:
    """Whether the greatest gain of a walk goes on growing with its length: then, and only then, is there a turn."""
    best: dict[State, Any] = dict.fromkeys(waits, 0)
    for _ in range(len(waits) + 1):
        before = dict(best)
        for state, edges in waits.items():
            for edge in edges:
                best[edge.target] = max(best[edge.target], before[state] + _gain(edge, i, j))
        if best == before:
            return False
    return True


def _turn(waits: dict[State, list[Edge]], home: State, i: int, j: int) -> tuple[Edge, ...] | None:
    """A shortest walk from a state back to it with a gain."""
    walks: dict[State, tuple[Any, tuple[Edge, ...]]] = {home: (0, ())}
    for _ in waits:
        further: dict[State, tuple[Any, tuple[Edge, ...]]] = {}
        for state, (gain, walk) in walks.items():
            for edge in waits[state]:
                more = gain + _gain(edge, i, j)
                if edge.target not in further or further[edge.target][0] < more:
                    further[edge.target] = more, (*walk, edge)
        if home in further and further[home][0] > 0:
            return further[home][1]
        walks = further
    return None


def _path(found: Graph, to: State) -> tuple[Edge, ...]:
    """A shortest run into a state."""
    came: dict[State, tuple[Edge, ...]] = {found.start: ()}
    ahead = deque(came)
    while to not in came:
        state = ahead.popleft()
        for edge in found.edges[state]:
            if edge.target not in came:
                came[edge.target] = (*came[state], edge)
                ahead.append(edge.target)
    return came[to]


# What the solvers are asked


class World:
    """Two users, A before B, in an arbitrary competition of theirs, with weights of 1."""

    def __init__(self) -> None:
        self.logic = Terms()
        self.users = term.user("A"), term.user("B")
        self.s = Competition(term.number("v"), term.numbers("S"), term.truths("waiting"), term.numbers("w"))
        a, b = self.users
        before = self.logic.precedes
        self.known = (
            a != b,
            self.logic.for_all(lambda u: z3.Or(u == a, u == b)),
            z3.And(before(a, b), z3.Not(z3.Or(before(b, a), before(a, a), before(b, b)))),
            z3.And(self.s.weight[a] == 1, self.s.weight[b] == 1),
        )

    def waiting(self, s: Any, *waits: bool) -> Term:
        """Who waits, one by one."""
        return z3.And(*(s.waiting[user] == waiting for user, waiting in zip(self.users, waits, strict=True)))

    def stands(self, s: Any, state: State) -> Term:
        """The competition is this one, counted from v: who does not wait and is not above v may be anywhere below."""
        lags = [
            s.meter[user] == s.v + z3.RealVal(str(lag)) if waits or lag > 0 else s.meter[user] <= s.v
            for user, lag, waits in zip(self.users, *state, strict=True)
        ]
        return z3.And(self.waiting(s, *state[1]), *lags)

    def step(self, rules: Rules, kind: str, user: int, cost: int) -> Step[Any, Any, Any]:
        """The transition for one kind of edge."""
        logic, u, c = self.logic, self.users[user], z3.RealVal(cost)
        drains = z3.BoolVal(kind == "dispatch last")
        if kind == "arrive":
            return rules.arrive(logic, rules, self.s, u, c)
        if kind == "cancel":
            return rules.cancel(logic, rules, self.s, u, c, z3.BoolVal(True))
        return rules.dispatch(logic, rules, self.s, u, logic.everywhere(c), drains)


def obligations(abuse: Rules = ABUSE, bank: Rules = BANK) -> Iterator[Obligation]:
    """Each event of a turn leads from wherever the turn is to wherever it then is, whatever v and the distance are."""
    cycle = find(graph(WORLD, ABUSE))
    if cycle is not None:
        yield from edge_by_edge("reset-on-return", ("FAIR-ABUSE",), abuse, cycle)
    yield from banking(bank)


def edge_by_edge(name: str, claims: tuple[str, ...], rules: Rules, cycle: Cycle) -> Iterator[Obligation]:
    """A turn of a cycle, taken apart."""
    state = cycle.state
    for number, edge in enumerate(cycle.turn, 1):
        world = World()
        step = world.step(rules, edge.kind, edge.user, edge.cost)
        given = (*world.known, world.stands(world.s, state), *world.logic.facts)
        goal = z3.And(step.enabled, world.stands(step.after, edge.target))
        yield Obligation(f"{name}, event {number} of a turn: {edge.kind}", claims, given, goal)
        state = edge.target


def banking(rules: Rules) -> Iterator[Obligation]:
    """A's meter is `debt` below B's: a dispatch of B adds one, A's return keeps it, a dispatch of A takes one off."""
    turns = (
        ("one saved", "dispatch", OTHER, (False, True), 1),
        ("A returns", "arrive", LEADER, (False, True), 0),
        ("one spent", "dispatch", LEADER, (True, True), -1),
    )
    for name, kind, user, waits, more in turns:
        world, debt = World(), z3.Real("debt")
        (a, b), s = world.users, world.s
        step = world.step(rules, kind, user, 1)
        given = (*world.known, world.waiting(s, *waits), s.meter[b] - s.meter[a] == debt, debt >= 0, *world.logic.facts)
        after, waits_then = step.after, (waits[0] or kind == "arrive", True)
        there = z3.And(world.waiting(after, *waits_then), after.meter[b] - after.meter[a] == debt + more)
        yield Obligation(f"bank-while-idle, {name}", ("FAIR-BANK",), given, z3.And(step.enabled, there))


# The same on the machine


def leads(cycle: Cycle, turns: int, rules: Rules) -> list[Fraction]:
    """The lead after each turn, since the first began, of the machine under these rules."""
    run = events(WORLD, (*cycle.there, *cycle.turn * turns))
    charged = _charges(run, rules)[_dispatches(cycle.there) :]
    each = _dispatches(cycle.turn)
    return [_lead(charged[: each * turn]) for turn in range(1, turns + 1)]


def spent(saved: int, rules: Rules) -> Fraction:
    """A's lead over B, who waits throughout, since A came back after B was dispatched so many times beside it."""
    run: list[Event] = [Arrive("B", f"B{n}", Fraction(1)) for n in range(2 * saved + 3)]
    run += [Dispatch()] * saved
    run += [Arrive("A", f"A{n}", Fraction(1)) for n in range(saved + 2)]
    run += [Dispatch()] * (saved + 2)
    charged = _charges(run, rules)[saved:]
    return max(_lead(charged[:n]) for n in range(1, len(charged)))


def _dispatches(run: Sequence[Edge]) -> int:
    return sum(edge.kind.startswith("dispatch") for edge in run)


def _charges(run: Sequence[Event], rules: Rules) -> list[tuple[str, Fraction]]:
    state, charged = Machine(), list[tuple[str, Fraction]]()
    for event in run:
        taken = machine.take(state, event, rules)
        if isinstance(event, Dispatch) and taken.request is not None:
            charged.append((taken.request.user, taken.request.cost))
        state = taken.state
    return charged


def _lead(charged: Sequence[tuple[str, Fraction]]) -> Fraction:
    sign = dict(zip(WORLD.names, (1, -1), strict=True))
    return sum((cost * sign[user] for user, cost in charged), Fraction(0))


TURNS = 25
"""Turns that are played."""


def findings() -> list[Finding]:
    """The turns, played; and that the article's rules have none."""
    return [_abuse(), _bank()]


def _abuse() -> Finding:
    cycle = find(graph(WORLD, ABUSE))
    gains = cycle is not None and leads(cycle, TURNS, ABUSE) == [turn * cycle.gain for turn in range(1, TURNS + 1)]
    turn = ", ".join(f"{edge.kind} {WORLD.names[edge.user]}" for edge in cycle.turn) if cycle else "none"
    says = f"({turn}) leads back, and A gains {cycle.gain if cycle else 0:g}; no such turn by the article's rules"
    refuted = ("the article's rules",) if find(graph(WORLD)) is None else ()
    return Finding("a turn that gains", ("FAIR-ABUSE",), gains and bool(refuted), says, refuted)


def _bank() -> Finding:
    saved, kept = ([spent(n, rules) for n in range(TURNS)] for rules in (BANK, SFQ))
    says = f"n dispatches of B alone, and A is back for a lead of n + 1; by the article's rules of {max(kept)}"
    refuted = ("the article's rules",) if max(kept) <= 2 else ()
    return Finding(
        "a turn that saves", ("FAIR-BANK",), saved == [*range(1, TURNS + 1)] and bool(refuted), says, refuted
    )
