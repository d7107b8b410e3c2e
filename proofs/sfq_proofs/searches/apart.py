"""Where a difference shows: shortest runs on which a shortcut sends something else, or breaks a claim.

To forget a debtor (KEEP-DEBT), to pick two users at once (BATCH-FRESH), to let one overtake and set v by its meter
(PLACE-OVERTAKE). Of the first it is also shown that the difference shows sooner or later from *every* state: the states
of a small world are sorted by what may ever come of them, and a debtor forgotten is never of the same sort.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from sfq_proofs.finding import Finding
from sfq_proofs.searches.exhaust import Graph, Instance, State, graph
from sfq_proofs.searches.search import World, key, shortest
from sfq_proofs.searches.witness import in_short
from sfq_spec import machine, placement, properties
from sfq_spec.competition import SFQ, Rules
from sfq_spec.machine import Machine, Taken
from sfq_spec.mutants import BY_NAME
from sfq_spec.trace import Dispatch
from sfq_spec.watch import Watch

CLAIMS = ("KEEP-DEBT", "BATCH-FRESH", "PLACE-OVERTAKE")
WORLDS = (Instance(2, (1, 2, 3)), Instance(3, (1, 2)))


@dataclass(frozen=True)
class Beside:
    """A second machine on the same run."""

    state: Machine = field(default_factory=Machine, compare=False)
    key: Hashable = None
    picked: tuple[str, ...] = ()
    """Users picked in advance."""

    def then(self, state: Machine, picked: tuple[str, ...] = ()) -> Beside:
        """The same, in its next state."""
        return Beside(state, key(state), picked)


def forgetful() -> tuple[Any, ...] | None:
    """A run on which it is seen that upkeep has forgotten a debtor."""
    forgets = BY_NAME["forgets-debtors"].take

    def step(state: Machine, beside: Beside, event: Any) -> tuple[Machine, Beside, bool]:
        right, wrong = machine.take(state, event), forgets(beside.state, event)
        return right.state, beside.then(wrong.state), right.answer != wrong.answer

    return shortest(World(costs=(1,), kinds=("upkeep",)), step, Beside())


def at_once(state: Machine, picked: tuple[str, ...]) -> tuple[Taken, tuple[str, ...]]:
    """A dispatch of whom an earlier one has picked; where none is left, two are picked by the meters as they are."""
    s = state.competition
    waiting = sorted(state.queues, key=lambda user: (s.meter[user], user))
    first, *rest = [user for user in picked if user in state.queues] or waiting[:2]
    rules = replace(SFQ, is_first=lambda logic, s, user, head: user == first)
    return machine.take(state, Dispatch(), rules), tuple(rest)


def picking() -> tuple[Any, ...] | None:
    """A run on which it is seen that two users are picked at once."""

    def step(state: Machine, beside: Beside, event: Any) -> tuple[Machine, Beside, bool]:
        right = machine.take(state, event)
        if not isinstance(event, Dispatch):
            return right.state, beside.then(machine.take(beside.state, event).state, beside.picked), False
        wrong, rest = at_once(beside.state, beside.picked)
        return right.state, beside.then(wrong.state, rest), right.answer != wrong.answer

    return shortest(World(), step, Beside(), 7)


def broken_by_picking(run: tuple[Any, ...]) -> list[str]:
    """The claims that the run breaks, if two are picked at once."""
    state, watch, picked, broken = Machine(), Watch(), tuple[str, ...](), list[str]()
    for event in run:
        taken, picked = at_once(state, picked) if isinstance(event, Dispatch) else (machine.take(state, event), picked)
        broken += watch.observe(state, event, taken)
        state = taken.state
    return broken


def overtaking(join: Any = lambda S, v, maximum: S) -> tuple[Any, ...] | None:
    """A run at whose last dispatch somebody takes part below v, which another has set in overtaking it.

    By default nobody leaves and rejoins who cannot be placed.
    """
    rules = replace(SFQ, join=join)

    def overtake(logic: Any, _: Rules, s: Any, *of_dispatch: Any) -> Any:
        return placement.overtake(logic, rules, s, *of_dispatch)

    def step(state: Machine, memory: None, event: Any) -> tuple[Machine, None, bool]:
        if not isinstance(event, frozenset | Dispatch):
            return machine.take(state, event).state, None, False
        offered = event if isinstance(event, frozenset) else frozenset(state.queues)
        logic = state.logic
        among = placement.field(logic, rules, state.competition, offered.__contains__)
        below = not all(properties.inv_lower(logic, among, user) for user in state.queues)
        taken = machine.take(state, Dispatch(), placement.placing(overtake, offered.__contains__))
        return taken.state, None, below

    return shortest(World(costs=(1,), kinds=("offer",)), step, None)


def sorts(found: Graph) -> dict[State, int]:
    """The states of a world, sorted: two are of one sort exactly if no run of events tells them apart."""
    sort: dict[State, int] = dict.fromkeys(found.edges, 0)
    count = 1
    while True:
        known: dict[Any, int] = {}
        sort = {
            state: known.setdefault(frozenset((e.kind, e.user, e.cost, sort[e.target]) for e in edges), len(known))
            for state, edges in found.edges.items()
        }
        if len(known) == count:
            return sort
        count = len(known)


def debtors(instance: Instance, rules: Rules = SFQ) -> tuple[int, int]:
    """In how many states a user that does not wait is ahead of v, and in how many of them nobody sees it forgotten."""
    found = graph(instance, rules)
    sort = sorts(found)
    pairs = [
        (state, forgotten)
        for state in found.edges
        for user, (lag, waits) in enumerate(zip(*state, strict=True))
        if lag > 0 and not waits
        if (forgotten := (tuple(0 if at == user else other for at, other in enumerate(state[0])), state[1])) in sort
    ]
    return len(pairs), sum(sort[state] == sort[forgotten] for state, forgotten in pairs)


def findings() -> list[Finding]:
    """A shortest run of each, and the debtors of every state."""
    return [_debt(), _batch(), _place()]


def _debt() -> Finding:
    counts = [debtors(instance) for instance in WORLDS]
    run = forgetful()
    states, unseen = sum(count for count, _ in counts), sum(unseen for _, unseen in counts)
    refuted = ("reset-on-return",) if debtors(WORLDS[0], BY_NAME["reset-on-return"].rules or SFQ)[1] else ()
    says = f"{states} states with a debtor, in {unseen} of them it can be forgotten; seen after {_told(run)}"
    holds = states > 0 and unseen == 0 and run is not None
    return Finding("debts", ("KEEP-DEBT",), holds and bool(refuted), says, refuted)


def _batch() -> Finding:
    run = picking()
    broken = broken_by_picking(run or ())
    says = f"two picked at once break {', '.join(broken)} after {_told(run)}"
    return Finding(
        "two at once", ("BATCH-FRESH",), "INV-LOWER" in broken, says, ("picks-two-at-once",) if broken else ()
    )


def _place() -> Finding:
    run, none = overtaking(), overtaking(SFQ.join)
    says = f"v set by who overtakes breaks INV-LOWER after {_told(run)}; not with leaving and rejoining"
    holds = run is not None and none is None
    return Finding("overtaken", ("PLACE-OVERTAKE",), holds, says, ("overtakes-naively",) if run else ())


def _told(run: tuple[Any, ...] | None) -> str:
    if run is None:
        return "no run"
    return " ".join(f"D{{{','.join(sorted(e))}}}" if isinstance(e, frozenset) else in_short(e) for e in run)
