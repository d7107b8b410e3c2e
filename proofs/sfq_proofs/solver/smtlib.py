"""Questions about floating-point numbers as SMT-LIB texts, and three solvers that read them.

A text is the same for every solver and from version to version, so that an answer that took minutes can be kept beside
the fingerprint of its question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import bitwuzla
import cvc5
import z3

from sfq_proofs.solver.induction import Answer, read_answer


@dataclass(frozen=True)
class Format:
    """A format of IEEE-754: bits of the exponent, and bits of precision with the hidden one."""

    name: str
    exponent: int
    precision: int


FORMATS = (Format("binary16", 5, 11), Format("binary32", 8, 24), Format("binary64", 11, 53))


@dataclass(frozen=True)
class Text:
    """A number as SMT-LIB writes it. Its sums round to nearest, a tie to the even number."""

    text: str

    def __add__(self, other: Text) -> Text:
        return Text(f"(fp.add RNE {self.text} {other.text})")

    def __sub__(self, other: Text) -> Text:
        return Text(f"(fp.sub RNE {self.text} {other.text})")

    def __mul__(self, other: Text) -> Text:
        return Text(f"(fp.mul RNE {self.text} {other.text})")

    def __truediv__(self, other: Text) -> Text:
        return Text(f"(fp.div RNE {self.text} {other.text})")

    def __le__(self, other: Text) -> str:
        return f"(fp.leq {self.text} {other.text})"

    def __lt__(self, other: Text) -> str:
        return f"(fp.lt {self.text} {other.text})"

    def __ge__(self, other: Text) -> str:
        return f"(fp.geq {self.text} {other.text})"

    def __gt__(self, other: Text) -> str:
        return f"(fp.gt {self.text} {other.text})"


class Writing:
    """The part of `sfq_spec.logic` that predicates about one sum need, as text."""

    def implies(self, premise: str, conclusion: str) -> str:
        """A consequence."""
        return f"(=> {premise} {conclusion})"

    def equal(self, a: Text, b: Text) -> str:
        """The same number; of zeros, the same zero."""
        return f"(= {a.text} {b.text})"


def script(format: Format, assertions: tuple[str, ...]) -> str:
    """The question whether everything asserted can hold of numbers a, c and d of a format.

    A `meter` is a number from +0 to +∞; `limit` is 2^precision.
    """
    e, p = format.exponent, format.precision
    lines = [
        "(set-logic QF_FP)",
        f"(define-sort Number () (_ FloatingPoint {e} {p}))",
        f"(define-fun zero () Number (_ +zero {e} {p}))",
        f"(define-fun one () Number ((_ to_fp {e} {p}) RNE 1.0))",
        f"(define-fun limit () Number ((_ to_fp {e} {p}) RNE {2**p}.0))",
        "(define-fun finite ((x Number)) Bool (not (or (fp.isNaN x) (fp.isInfinite x))))",
        "(define-fun meter ((x Number)) Bool (not (or (fp.isNaN x) (fp.isNegative x))))",
        "(define-fun whole ((x Number)) Bool (fp.eq x (fp.roundToIntegral RNE x)))",
        *(f"(declare-const {name} Number)" for name in "acd"),
        *(f"(assert {assertion})" for assertion in assertions),
    ]
    return "\n".join(lines) + "\n"


def fingerprint(question: str) -> str:
    """A short name for one question and no other."""
    return hashlib.sha256(question.encode()).hexdigest()[:16]


def terms(question: str) -> list[Any]:
    """The assertions of a question as Z3 has them."""
    return list(z3.parse_smt2_string(question))


def _bitwuzla(question: str, patience: int) -> str:
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, patience)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(question, True, False)
    return str(parser.bitwuzla().check_sat())


def _z3(question: str, patience: int) -> str:
    solver = z3.SolverFor("QF_FP")
    solver.set("timeout", patience)
    solver.add(*terms(question))
    return str(solver.check())


def _cvc5(question: str, patience: int) -> str:
    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("fp-exp", "true")
    solver.setOption("tlimit-per", str(patience))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, question + "(check-sat)", "question")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager())
    return said.strip()


SOLVERS: Mapping[str, Callable[[str, int], str]] = {"bitwuzla": _bitwuzla, "z3": _z3, "cvc5": _cvc5}


def ask(solver: str, question: str, patience: int) -> Answer:
    """What a solver says within so many milliseconds: `unsat` where there is no such number."""
    return read_answer(SOLVERS[solver](question, patience))


def versions() -> dict[str, str]:
    """The version of each solver here."""
    return {name: metadata.version("z3-solver" if name == "z3" else name) for name in SOLVERS}
