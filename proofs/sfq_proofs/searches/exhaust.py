"""Every reachable state of small instances, for all time.

Only the distances of the meters from v decide what happens (KEEP-SHIFT), and of a user that does not wait only the
distance above v (KEEP-FORGET). So normalised, the competition of a few users with a few costs has finitely many
states; queues are unbounded, as only whether a user waits is kept. A monitor beside the state turns a claim about
every interval into a claim about reachable states.

Numbers are machine integers and dyadic fractions: exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from sfq_spec import properties as claim
from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.logic import Exact
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event

Concrete = Competition[str, Any, bool]
State = tuple[tuple[Any, ...], tuple[bool, ...]]
"""Per user the meter above v, and whether it waits."""


@dataclass(frozen=True)
class Instance:
    """A small world: so many users, these costs, and their weights (powers of two, so that charges are dyadic)."""

    users: int
    costs: tuple[int, ...]
    weights: tuple[int, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The users' ids."""
        return tuple("ABCDEFGH"[: self.users])

    @property
    def weight(self) -> dict[str, int]:
        """The weight of each user; 1 where none is given."""
        return dict(zip(self.names, self.weights or (1,) * self.users, strict=True))

    @property
    def greatest(self) -> Fraction:
        """c_max, the largest charge."""
        return Fraction(max(self.costs), min(self.weight.values()))

    def bound(self, i: int, j: int) -> Fraction:
        """The greatest lead of i over j that FAIR-LEAD allows: the largest charge of each."""
        weight = list(self.weight.values())
        return Fraction(max(self.costs), weight[i]) + Fraction(max(self.costs), weight[j])


class Edge(NamedTuple):
    """One event: its kind, the user, its cost and charge where it is a dispatch, and the state that it leads to."""

    kind: str
    user: int
    cost: int
    charge: Any
    target: State


@dataclass
class Graph:
    """The reachable states of an instance, with every event that may happen in each."""

    instance: Instance
    edges: dict[State, list[Edge]] = field(default_factory=dict)
    broken: list[tuple[str, State, Edge]] = field(default_factory=list)
    """Claims about single states and steps that some event breaks."""

    @property
    def start(self) -> State:
        """Nobody waits, all meters are level."""
        return (0,) * self.instance.users, (False,) * self.instance.users


def graph(instance: Instance, rules: Rules = SFQ, most: int = 2_000_000) -> Graph:
    """Explore an instance. Raises `RuntimeError` where it has more than `most` states, as a mutant's may."""
    found = Graph(instance)
    ahead = deque([found.start])
    found.edges[found.start] = []
    while ahead:
        state = ahead.popleft()
        for edge, step, before in _steps(instance, rules, state):
            found.edges[state].append(edge)
            found.broken += [(name, state, edge) for name in _broken(instance, before, step, edge)]
            if edge.target not in found.edges:
                found.edges[edge.target] = []
                ahead.append(edge.target)
        if len(found.edges) > most:
            raise RuntimeError(f"more than {most:,} states: this instance is not small, or its rules are not SFQ")
    return found


def _steps(instance: Instance, rules: Rules, state: State) -> Iterator[tuple[Edge, Step[str, Any, bool], Concrete]]:
    names, logic = instance.names, Exact(instance.names)
    s = Competition(
        0, dict(zip(names, state[0], strict=True)), dict(zip(names, state[1], strict=True)), instance.weight
    )
    for place, user in enumerate(names):
        if not state[1][place]:
            step = rules.arrive(logic, rules, s, user, 1)
            yield Edge("arrive", place, 0, 0, _normal(names, step.after)), step, s
            continue
        step = rules.cancel(logic, rules, s, user, 1, True)
        yield Edge("cancel", place, 0, 0, _normal(names, step.after)), step, s
        for cost in instance.costs:
            for drains in (False, True):
                step = rules.dispatch(logic, rules, s, user, dict.fromkeys(names, cost), drains)
                if step.enabled:
                    charge = cost / instance.weight[user]
                    kind = "dispatch last" if drains else "dispatch"
                    yield Edge(kind, place, cost, charge, _normal(names, step.after)), step, s


def _normal(names: tuple[str, ...], s: Concrete) -> State:
    lags = tuple(s.meter[user] - s.v if s.waiting[user] or s.meter[user] > s.v else 0 for user in names)
    return lags, tuple(s.waiting[user] for user in names)


def _broken(instance: Instance, before: Concrete, step: Step[str, Any, bool], edge: Edge) -> Iterator[str]:
    logic, names, user, s = Exact(instance.names), instance.names, instance.names[edge.user], step.after
    most = dict.fromkeys(names, instance.greatest)
    holds = {
        "INV-MONO": claim.inv_mono(before, step),
        "INV-UPPER": all(claim.inv_upper(logic, s, most, u) for u in names),
        "INV-LOWER": all(claim.inv_lower(logic, s, u) for u in names),
        "RESET-LEVEL": all(claim.reset_level(logic, s, u) for u in names),
        "RESET-ALONE": claim.reset_alone(logic, step),
        "RESET-OWN": all(claim.reset_own(logic, step, user, u) for u in names if u != user),
    }
    if edge.kind == "arrive":
        holds["IDLE-FLOOR"] = claim.idle_floor(logic, before, step, user)
        holds["IDLE-PROMPT"] = all(claim.idle_prompt(logic, before, step, user, u) for u in names)
    elif edge.charge:
        holds["DISP-BEFORE"] = claim.disp_before(logic, before, step, user, edge.cost)
        holds["R-SELECT"] = all(claim.select_least(logic, before, user, u) for u in names)
    return (name for name, held in holds.items() if not held)


class Seen(NamedTuple):
    """A state with what the monitor of i against j remembers there."""

    state: State
    lead: Any
    """The greatest W_i − W_j − last_j(t1), over all t1 since when j waits; None where j does not wait."""
    gap: Any
    """The greatest W_i − W_j over the same t1."""
    last_i: Any
    last_j: Any


@dataclass
class Monitored:
    """What an exhaustive search for one ordered pair found."""

    pair: tuple[int, int]
    states: int = 0
    worst: Any = 0
    """The greatest W_i − W_j over all intervals in which j waits throughout."""
    widest: tuple[Edge, ...] = ()
    """A shortest run that attains it."""
    tight: bool = False
    """W_i − W_j = last_i(t2) + last_j(t1) is attained."""
    violation: tuple[Edge, ...] = ()
    """A shortest run that breaks FAIR-LEAD; empty where there is none."""


def monitor(found: Graph, i: int, j: int) -> Monitored:
    """Follow W_i − W_j through every run of an instance (FAIR-LEAD, FAIR-PAIR, FAIR-TIGHT)."""
    first = Seen(found.start, None, None, 0, 0)
    came: dict[Seen, tuple[Seen, Edge] | None] = {first: None}
    ahead, report = deque([first]), Monitored((i, j))
    while ahead:
        seen = ahead.popleft()
        for edge in found.edges[seen.state]:
            after = _advance(seen, edge, i, j)
            if after in came:
                continue
            came[after] = seen, edge
            ahead.append(after)
            if after.lead is not None:
                report.tight = report.tight or (after.lead == after.last_i and after.last_i > 0)
                if after.gap > report.worst:
                    report.worst, report.widest = after.gap, _run(came, after)
                if after.lead > after.last_i and not report.violation:
                    report.violation = _run(came, after)
                    return report
    report.states = len(came)
    return report


def _advance(seen: Seen, edge: Edge, i: int, j: int) -> Seen:
    lead, gap, last_i, last_j = seen.lead, seen.gap, seen.last_i, seen.last_j
    waits = edge.target[1][j]
    if edge.user == i and edge.charge:
        last_i = edge.charge
        if lead is not None:
            lead, gap = lead + edge.charge, gap + edge.charge
    elif edge.user == j and edge.charge:
        last_j = edge.charge
        lead, gap = max(lead - edge.charge, -last_j), max(gap - edge.charge, 0)
    if not waits:
        lead = gap = None
    elif lead is None:
        lead, gap = -last_j, 0
    return Seen(edge.target, lead, gap, last_i, last_j)


def _run(came: dict[Seen, tuple[Seen, Edge] | None], last: Seen) -> tuple[Edge, ...]:
    run: list[Edge] = []
    while (step := came[last]) is not None:
        last, edge = step
        run.append(edge)
    return tuple(reversed(run))


def events(instance: Instance, run: tuple[Edge, ...]) -> list[Event]:
    """The run as events of the machine: whoever joins brings the requests that it will send before it leaves."""
    made: list[Event] = []
    counts = [0] * instance.users
    names = instance.names
    left: dict[int, list[str]] = {}
    for at, edge in enumerate(run):
        user = names[edge.user]
        if edge.kind == "arrive":
            left[edge.user] = []
            for cost in _span(run[at + 1 :], edge.user):
                counts[edge.user] += 1
                left[edge.user].append(f"{user}{counts[edge.user]}")
                made.append(Arrive(user, left[edge.user][-1], cost))
        elif edge.kind == "cancel":
            made.append(Cancel(left[edge.user].pop(0)))
        else:
            left[edge.user].pop(0)
            made.append(Dispatch())
    return made


def _span(run: tuple[Edge, ...], user: int) -> Iterator[int]:
    """The costs of a user's requests until it leaves; one more where it stays or withdraws the rest."""
    for edge in run:
        if edge.user == user and edge.charge:
            yield edge.cost
        if edge.user == user and edge.kind == "dispatch last":
            return
        if edge.user == user and edge.kind == "cancel":
            break
    yield 1
