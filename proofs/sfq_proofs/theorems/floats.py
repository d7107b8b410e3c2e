"""What IEEE-754 makes of one sum, bit by bit, in binary16, binary32 and binary64 (article §7.2, §7.3).

The domain is what a meter or a charge can be: a number from +0 to +∞, neither NaN nor −0, so that overflow is covered.
A result is exact if rounding it up and rounding it down give the same. Beside each lemma stands a wrong variant of it,
which must have a counterexample. What the band of meters needs of these lemmas is in `rounded`.

Two lemmas take minutes in the wide formats, and in binary64 only Bitwuzla answers: `sfq-prove deep` asks them again,
and the answers are kept beside the fingerprints of their questions (`deep`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sfq_proofs import deep
from sfq_proofs.deep import Question, Record
from sfq_proofs.finding import Finding
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.smtlib import FORMATS, SOLVERS, Format, Text, Writing, ask, script, terms
from sfq_spec import rounding

PATIENCE_MS = 20_000
FIRST = FORMATS[0]
"""The format in which everything is asked at once, of all solvers."""


@dataclass(frozen=True)
class Wrong:
    """A statement that is nearly a lemma, and is false."""

    name: str
    given: tuple[str, ...]
    goal: str

    def question(self, format: Format) -> str:
        """Is there a counterexample, as there must be?"""
        return script(format, (*self.given, f"(not {self.goal})"))


@dataclass(frozen=True)
class Lemma:
    """Of all numbers a, c, d of a format: where everything given holds, the goal does."""

    name: str
    claims: tuple[str, ...]
    given: tuple[str, ...]
    goal: str
    wrong: Wrong
    recorded: tuple[str, ...] = ()
    """The formats in which an answer takes long, and is kept (`deep`)."""

    def question(self, format: Format) -> str:
        """Is there a counterexample?"""
        return script(format, (*self.given, f"(not {self.goal})"))

    def obligation(self, format: Format) -> Obligation:
        """The lemma for `induction.prove`."""
        *given, goal = terms(script(format, (*self.given, self.goal)))
        return Obligation(f"{format.name}: {self.name}", self.claims, tuple(given), goal)


ZERO, ONE, LIMIT, A, C, D = map(Text, ("zero", "one", "limit", "a", "c", "d"))
SAY: Any = Writing()
METERS = ("(meter a)", "(meter c)", "(meter d)")
FINITE = ("(finite a)", "(finite c)", "(finite d)")
POSITIVE = (ZERO < C, ZERO < D)
WHOLE = ("(whole a)", "(whole c)")
UP, DOWN = Text("(fp.add RTP a c)"), Text("(fp.add RTN a d)")
SUM_EXACT = "(fp.eq (fp.add RTP a c) (fp.add RTN a c))"
DIFFERENCE_EXACT = "(fp.eq (fp.sub RTP a c) (fp.sub RTN a c))"

CLAIMS = ("FLOAT-BAND", "FLOAT-EXACT", "FLOAT-STRICT", "REBASE-EXACT")

LEMMAS = (
    Lemma(
        "a sum of meters is a meter",
        ("FLOAT-BAND",),
        METERS,
        f"(meter {(A + C).text})",
        Wrong("a difference of meters is a meter", METERS, f"(meter {(A - C).text})"),
    ),
    Lemma(
        "a charge is a meter",
        ("FLOAT-BAND",),
        (*METERS, *FINITE, *POSITIVE),
        f"(meter {(C / D).text})",
        Wrong("a charge is above zero", (*METERS, *FINITE, *POSITIVE), ZERO < C / D),
    ),
    Lemma(
        "addition commutes",
        ("FLOAT-BAND",),
        METERS,
        rounding.commutes(SAY, A, C),
        Wrong("addition is associative", METERS, SAY.equal((A + C) + D, A + (C + D))),
    ),
    Lemma(
        "a charge does not lower a meter",
        ("FLOAT-BAND",),
        METERS,
        rounding.grows(SAY, A, C),
        Wrong("a charge raises a meter", (*METERS, *FINITE, *POSITIVE), rounding.strictly_grows(SAY, A, C)),
    ),
    Lemma(
        "addition is monotone",
        ("FLOAT-BAND",),
        METERS,
        rounding.monotone(SAY, A, C, D),
        Wrong("addition that rounds up or down at will is monotone", METERS, SAY.implies(C <= D, UP <= DOWN)),
        recorded=("binary32", "binary64"),
    ),
    Lemma(
        "whole sums up to 2^precision are exact",
        ("FLOAT-EXACT",),
        (*METERS, *WHOLE, UP <= LIMIT),
        SUM_EXACT,
        Wrong("whole sums up to 2^precision + 2 are exact", (*METERS, *WHOLE, UP <= LIMIT + (ONE + ONE)), SUM_EXACT),
    ),
    Lemma(
        "below 2^precision a charge of at least 1 raises a meter",
        ("FLOAT-STRICT",),
        (*METERS, A < LIMIT, ONE <= C),
        rounding.strictly_grows(SAY, A, C),
        Wrong("at 2^precision too", (*METERS, A <= LIMIT, ONE <= C), rounding.strictly_grows(SAY, A, C)),
    ),
    Lemma(
        "from v to 2v, less v is exact",
        ("REBASE-EXACT",),
        (*METERS, *FINITE, C <= A, A <= C + C),
        DIFFERENCE_EXACT,
        Wrong("from v to 4v, less v is exact", (*METERS, *FINITE, C <= A, A <= (C + C) + (C + C)), DIFFERENCE_EXACT),
    ),
    Lemma(
        "less v, no order is reversed",
        ("REBASE-EXACT",),
        (*METERS, *FINITE, A <= C),
        rounding.keeps_order(SAY, A, C, D),
        Wrong("less v, no two become the same", (*METERS, *FINITE, A <= C, C < D), C - A < D - A),
        recorded=("binary16", "binary32", "binary64"),
    ),
)


def obligations() -> Iterator[Obligation]:
    """What Z3 and cvc5 answer at once: in binary16 all lemmas but those that are hard in a wide format."""
    for lemma in LEMMAS:
        if not lemma.recorded:
            yield lemma.obligation(FIRST)


def findings(record: Record | None = None) -> list[Finding]:
    """What Bitwuzla says in every format, now or as recorded; and of the wrong variants in binary16."""
    return [_finding(claim, record or deep.bundled()) for claim in CLAIMS]


def _finding(claim: str, record: Record) -> Finding:
    lemmas = [lemma for lemma in LEMMAS if claim in lemma.claims]
    proved = [is_proved(lemma, format, record) for lemma in lemmas for format in FORMATS]
    wrong = [lemma.wrong for lemma in lemmas]
    dead = tuple(one.name for one in wrong if ask("bitwuzla", one.question(FIRST), PATIENCE_MS) == "sat")
    kept = sum(len(lemma.recorded) for lemma in lemmas)
    says = f"in {', '.join(format.name for format in FORMATS)}: {len(proved) - kept} answers of Bitwuzla"
    if kept:
        says += f", and {kept} recorded on {record.on} of version {record.solvers['bitwuzla']}"
    return Finding("floats, bit by bit", (claim,), all(proved) and len(dead) == len(lemmas), says, dead)


def is_proved(lemma: Lemma, format: Format, record: Record) -> bool:
    """Whether Bitwuzla says so, now or in the record; there no other solver may have found a counterexample."""
    if format.name not in lemma.recorded:
        return ask("bitwuzla", lemma.question(format), PATIENCE_MS) == "unsat"
    said = deep.recorded(lemma.question(format), record)
    return said.get("bitwuzla") == "unsat" and "sat" not in said.values()


def questions() -> Iterator[Question]:
    """What `sfq-prove deep` asks: all of every solver, but the hard lemmas of the widest format of Bitwuzla alone."""
    for lemma in LEMMAS:
        for format in FORMATS:
            alone = format.name in lemma.recorded and format == FORMATS[-1]
            yield lemma.name, format.name, lemma.question(format), ("bitwuzla",) if alone else tuple(SOLVERS)
