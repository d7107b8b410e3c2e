"""The errata, shown: every run refutes its wording with its last event, and in its world none is shorter."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfq_proofs.finding import Finding
from sfq_proofs.searches.search import World, shortest
from sfq_proofs.searches.witness import in_short, replay
from sfq_spec import machine
from sfq_spec.competition import SFQ, Rules
from sfq_spec.errata import ERRATA, TOP, Erratum, refutes
from sfq_spec.machine import Machine
from sfq_spec.trace import Arrive, Dispatch, Event
from sfq_spec.wordings import FLOATS, Moment, Wording

WORLDS = {
    "E-CMAX": World(),
    "E-COUNT": World(costs=(1,)),
    "E-REBASE": World(costs=(1, TOP + 4, TOP + 6)),
    "E-RANGE": World(costs=(1,)),
    "E-STALL": World("A", (1, TOP)),
    "E-SHARE": World(costs=(1,)),
    "E-LONG": World(),
    "E-DELIBERATE": World(costs=(1,), kinds=("cancel",)),
    "E-ONLY": World("ABC", (1,)),
}
"""Where a shortest run is searched for."""

CLAIMS = (*(erratum.id for erratum in ERRATA), "FLOAT-STALL")

QUICK = ("E-COUNT", "E-RANGE", "E-STALL", "E-SHARE", "E-DELIBERATE")
"""Those that are searched at once; the others in the deep tests."""


def search(erratum: Erratum) -> tuple[Any, ...] | None:
    """A shortest run that refutes the wording, in its world, of no more events than the one that is told."""

    def step(state: Machine, wording: Wording, event: Any) -> tuple[Machine, Wording, bool]:
        taken = machine.take(state, event, erratum.rules)
        after, holds = wording.see(Moment(state, event, taken))
        return taken.state, after, not holds

    return shortest(WORLDS[erratum.id], step, erratum.start, len(erratum.trace))


def is_shortest(erratum: Erratum) -> bool:
    """Whether no run of the world that refutes the wording has fewer events."""
    found = search(erratum)
    return found is not None and len(found) == len(erratum.trace) and refutes(erratum, found)


def findings() -> list[Finding]:
    """Every erratum, replayed; the quick ones searched for as well; and what comes of a meter that does not move."""
    return [*map(_finding, ERRATA), _stall()]


def _finding(erratum: Erratum) -> Finding:
    refuted = refutes(erratum, erratum.trace)
    sound = erratum.rules is not SFQ or replay(machine.take, erratum.trace) == []
    minimal = erratum.id not in QUICK or is_shortest(erratum)
    run = " ".join(map(in_short, erratum.trace))
    says = f"“{erratum.wording}” ({erratum.seed}) is false after {run}"
    return Finding("erratum", (erratum.id,), refuted and sound and minimal, says, (erratum.wording,) if refuted else ())


STALLED: tuple[Event, ...] = (
    Arrive("A", "A1", Fraction(TOP)),
    Dispatch(),
    *(Arrive(request[0], request, Fraction(1)) for request in ("A2", "A3", "B1")),
)
"""A's meter is 2^53, B's as well, both wait with requests of 1, and A's id is the earlier one."""


def stalls(rules: Rules) -> bool:
    """FLOAT-STALL: a dispatch of A leaves the competition as it was, to the last number: so B waits for ever."""
    state = Machine()
    for event in STALLED:
        state = machine.take(state, event, rules).state
    taken = machine.take(state, Dispatch(), rules)
    return taken.answer.user == "A" and taken.state.competition == state.competition


def _stall() -> Finding:
    native = 2.0**53 + 1.0 == 2.0**53
    exact = () if stalls(SFQ) else ("the same run on exact meters",)
    says = "2^53 + 1 = 2^53, on Python's floats too: A's dispatch leaves the competition as it was, and B waits"
    return Finding("a meter that stands", ("FLOAT-STALL",), stalls(FLOATS) and native and bool(exact), says, exact)
