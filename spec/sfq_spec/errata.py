"""The errata: sentences that do not survive being made precise, each with a run that refutes it and what is true.

`docs/errata.md` tells them in prose. `sfq_proofs.searches.refutations` plays every run, and searches for shorter ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfq_spec import machine, wordings
from sfq_spec.competition import SFQ, Rules
from sfq_spec.machine import Machine
from sfq_spec.refusals import Refused
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event
from sfq_spec.wordings import FLOATS, Moment, Wording

TOP = 2**53
"""2^53: the next whole number is not a float."""


@dataclass(frozen=True)
class Erratum:
    """One sentence, and what refutes it."""

    id: str
    seed: str
    wording: str
    """The words in question."""
    exactly: str
    """What they say, in plain mathematics."""
    repaired: str
    """What is true instead."""
    by: tuple[str, ...]
    """The claims that the repaired sentence rests on."""
    start: Wording
    """The sentence as a predicate on runs."""
    trace: tuple[Event, ...]
    """A shortest run whose last event makes it false."""
    rules: Rules = SFQ
    """Those of the article; in floating point where the sentence is about that."""

    @property
    def definition(self) -> str:
        """The predicate, `module.name` in `sfq_spec`."""
        return f"wordings.{type(self.start).__name__}"


def told_by(erratum: Erratum, events: Sequence[Event]) -> list[bool]:
    """Whether the sentence holds after each event of a run. Raises `Refused` where an event is not valid."""
    state, wording, held = Machine(), erratum.start, list[bool]()
    for event in events:
        taken = machine.take(state, event, erratum.rules)
        wording, holds = wording.see(Moment(state, event, taken))
        held.append(holds)
        state = taken.state
    return held


def refutes(erratum: Erratum, events: Sequence[Event]) -> bool:
    """Whether a run makes the sentence false with its last event, and not before."""
    try:
        held = told_by(erratum, events)
    except Refused:
        return False
    return bool(held) and not held[-1] and all(held[:-1])


def _run(text: str, one: int = 1, other: int = 3) -> tuple[Event, ...]:
    """A run in short: `A` a request of A at the cost `one`, `A!` at the other; `D` a dispatch, `xA2` a cancel."""
    made: list[Event] = []
    counts: dict[str, int] = {}
    for word in text.split():
        if word == "D":
            made.append(Dispatch())
        elif word.startswith("x"):
            made.append(Cancel(word[1:]))
        else:
            user, cost = word[0], {"": one, "!": other}[word[1:]]
            counts[user] = counts.get(user, 0) + 1
            made.append(Arrive(user, f"{user}{counts[user]}", Fraction(cost)))
    return tuple(made)


ERRATA = (
    Erratum(
        "E-CMAX",
        "article §1.2, used in §2.4, §3.1, §3.2, §3.3, §9",
        "the largest cost appearing in the interval",
        "i, j waiting throughout [t1, t2] ⇒ |W_i − W_j| ≤ 2 c_max, c_max the largest cost dispatched or waiting in it",
        "c_max is the largest charge in the interval or before it; sharper, the bound is last_i(t2) + last_j(t1).",
        ("FAIR-LEAD", "FAIR-PAIR"),
        wordings.WithinTwo(),
        _run("A! A D B B B B D D D"),
    ),
    Erratum(
        "E-COUNT",
        "article §7.5(1)",
        "always remains at most 1",
        "equal costs, i, j waiting throughout ⇒ |n_i − n_j| ≤ 1",
        "At most 1 from a common start, at most 2 over any interval in which both wait.",
        ("FAIR-LEVEL", "FAIR-LEAD"),
        wordings.CountsWithin(1),
        _run("B B D A A A D D"),
    ),
    Erratum(
        "E-REBASE",
        "article §7.2",
        "without changing the selection order",
        "subtracting v from v and every meter leaves the order of (S, id), in binary64",
        "In exact arithmetic; in floating point while v ≤ S ≤ 2 v, as it is once v has reached the largest charge and "
        "users below v are forgotten. Elsewhere meters may become equal, and none is reversed.",
        ("KEEP-SHIFT", "REBASE-EXACT"),
        wordings.SameOrder(),
        (
            *(Arrive("A", "A1", Fraction(TOP + 6)), Arrive("A", "A2", Fraction(1)), Dispatch()),
            *(Arrive("B", "B1", Fraction(1)), Dispatch(), Arrive("B", "B2", Fraction(TOP + 4)), Dispatch()),
            Arrive("B", "B3", Fraction(1)),
        ),
        FLOATS,
    ),
    Erratum(
        "E-RANGE",
        "article §7.2",
        "reduces the range to the width of the band",
        "after subtracting v: max S − min S ≤ c_max",
        "With users forgotten who do not wait and are not above v; then every meter left is in [v, v + last].",
        ("KEEP-FORGET", "INV-UPPER", "INV-LOWER"),
        wordings.WidthOfTheBand(),
        _run("A D B D B D"),
    ),
    Erratum(
        "E-STALL",
        "article §2.2",
        "strictly greater than v",
        "c > 0 ⇒ fl(S + c) > v for S ≥ v",
        "In exact arithmetic; in floating point with charges of at least 1 and meters below 2^53.",
        ("TAG-QUIET", "FLOAT-STRICT", "FLOAT-BAND"),
        wordings.StrictlyGreater(),
        _run("A! D A D", other=TOP),
        FLOATS,
    ),
    Erratum(
        "E-SHARE",
        "article §7.5(4)",
        "receives the same share as a continuously backlogged user",
        "A sends one at a time, B waits throughout ⇒ between two requests of A: W_B − W_A ≤ 2 c_max",
        "It gets at most as much, within the bound of §3.3. It gets the same, dispatch for dispatch, if its next "
        "request is there before the next dispatch.",
        ("FAIR-LEAD", "FAIR-UPPER", "DRAIN-SAME"),
        wordings.SameShare(),
        _run("B A D B D B D B D A"),
    ),
    Erratum(
        "E-LONG",
        "article §7.5(3)",
        "a long idle period rejoins at the baseline",
        "A returns after 2 dispatches of others, or any number that one may call long ⇒ S_A = v",
        "At the baseline once v has passed its meter, and always after a global idle; never below v.",
        ("IDLE-RESIDUE", "IDLE-FLOOR", "RESET-LEVEL"),
        wordings.BackAtTheBaseline(2),
        _run("A! B D B D B D A"),
    ),
    Erratum(
        "E-DELIBERATE",
        "article §3.4, and the introduction",
        "cannot be triggered deliberately",
        "nothing that a user does with its own waiting requests lowers its residue, max(S_u − v, 0)",
        "Not while another user waits, as the sentence goes on to say. A user who waits alone can bring it about at "
        "any moment; of those who wait nobody is harmed, as there is nobody else.",
        ("RESET-OWN", "RESET-ALONE"),
        wordings.KeepsItsResidue(),
        _run("A A D xA2"),
    ),
    Erratum(
        "E-ONLY",
        "article §5.1",
        "it affects only how long that user waits afterward",
        "another estimate for a request of A ⇒ the other users' requests go in the same order among themselves",
        "It does not affect the choice at hand. Afterwards it affects when that user's turn comes, and through it when "
        "the turns of others come, and where they join.",
        ("ORDER-BLIND",),
        wordings.OthersAsBefore(),
        _run("A A D C D C D B D"),
    ),
)
"""Every erratum of the article."""

BY_ID = {erratum.id: erratum for erratum in ERRATA}
