"""prove(): the hypotheses can be met, the goal follows, two solvers agree, and how long it took.

`unknown` is a failure, never a success. A refutation is only as good as the trace that shows it
(`sfq_proofs.searches.witness`); a proof is two times `unsat`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import cvc5
import z3
from z3 import z3util

from sfq_proofs.solver.logic import USER

Answer = Literal["unsat", "sat", "unknown"]
PATIENCE_MS = 20_000
"""How long a solver may think about one question."""


@dataclass(frozen=True)
class Obligation:
    """One question: whenever all hypotheses hold, the goal holds."""

    name: str
    claims: tuple[str, ...]
    """The claims of the ledger that rest on it."""
    hypotheses: tuple[Any, ...]
    goal: Any

    def asks_the_same(self, other: Obligation | None) -> bool:
        """Whether the other is the very same question, term for term, so that its answer is known."""
        return (
            other is not None
            and len(self.hypotheses) == len(other.hypotheses)
            and all(mine.eq(its) for mine, its in zip(self.hypotheses, other.hypotheses, strict=True))
            and bool(self.goal.eq(other.goal))
        )


@dataclass(frozen=True)
class Verdict:
    """What the solvers said of an obligation."""

    obligation: str
    claims: tuple[str, ...]
    meetable: bool
    """The hypotheses have a model; otherwise anything would follow from them."""
    answers: dict[str, Answer]
    """Per solver: `unsat` where no counterexample exists."""
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Proved: the hypotheses can be met, and every solver finds no counterexample."""
        return self.meetable and bool(self.answers) and set(self.answers.values()) == {"unsat"}


def prove(obligation: Obligation, solvers: Sequence[str] = ("z3", "cvc5"), patience: int = PATIENCE_MS) -> Verdict:
    """Ask every solver for a counterexample."""
    question = (*obligation.hypotheses, z3.Not(obligation.goal))
    answers: dict[str, Answer] = {}
    milliseconds: dict[str, float] = {}
    for name in solvers:
        started = time.perf_counter()
        answers[name] = _z3(_solver(question, patience)) if name == "z3" else _cvc5(question, patience)
        milliseconds[name] = (time.perf_counter() - started) * 1_000
    return Verdict(
        obligation.name, obligation.claims, _meetable(obligation.hypotheses, patience), answers, milliseconds
    )


@lru_cache(maxsize=512)
def _meetable(hypotheses: tuple[Any, ...], patience: int) -> bool:
    """`meetable`, asked once of hypotheses that many obligations share."""
    return meetable(hypotheses, patience)


def meetable(hypotheses: Sequence[Any], patience: int = PATIENCE_MS) -> bool:
    """Whether hypotheses have a model, in a world of two users."""
    return _in_a_small_world(hypotheses, 2, patience) == "sat"


def refuted(obligation: Obligation) -> bool:
    """Whether a counterexample to an obligation exists, as it must for a mutant.

    A solver that gives up on all users has to find one among a few.
    """
    question = (*obligation.hypotheses, z3.Not(obligation.goal))
    answer = _z3(_solver(question, 250))
    if answer == "unknown":
        return any(_in_a_small_world(question, users, 1_000) == "sat" for users in (1, 2, 3))
    return answer == "sat"


def _in_a_small_world(assertions: Sequence[Any], users: int, patience: int) -> Answer:
    """Asked of that many users, where nothing is left to quantify over users: a model here is a model."""
    world = [z3.Const(f"user!{number}", USER) for number in range(users)]
    return _z3(_solver(grounded(assertions, world), patience))


def grounded(assertions: Sequence[Any], world: Sequence[Any]) -> list[Any]:
    """The assertions in a world of just these users, who are distinct; no quantifier over users is left."""
    known: dict[int, Any] = {}
    ground = [_ground(assertion, world, known) for assertion in assertions]
    named = {str(c): c for g in ground for c in z3util.get_vars(g) if c.sort() == USER}
    closed = [z3.Or(*(constant == user for user in world)) for constant in named.values()]
    return [*ground, *closed, z3.Distinct(*world)]


def _ground(expression: Any, world: Sequence[Any], known: dict[int, Any]) -> Any:
    """The expression with every quantifier over users replaced by its instances."""
    key = expression.get_id()
    if key not in known:  # the expression is kept with its image: a z3 id is reused once its expression is gone
        known[key] = expression, _grounded(expression, world, known)
    return known[key][1]


def _grounded(expression: Any, world: Sequence[Any], known: dict[int, Any]) -> Any:
    if z3.is_quantifier(expression):
        if expression.num_vars() == 1 and expression.var_sort(0) == USER:
            body = expression.body()
            instances = [_ground(z3.substitute_vars(body, user), world, known) for user in world]
            return z3.And(*instances) if expression.is_forall() else z3.Or(*instances)
        return expression
    if z3.is_app(expression) and expression.num_args():
        return expression.decl()(*(_ground(part, world, known) for part in expression.children()))
    return expression


def _solver(assertions: Sequence[Any], patience: int) -> Any:
    solver = z3.Solver()
    solver.set("timeout", patience)
    solver.set("ctrl_c", False)  # an interrupt is for Python: Z3 would take it for `unknown`, and go on
    solver.set("random_seed", 0)
    solver.add(*assertions)
    return solver


def _z3(solver: Any) -> Answer:
    return read_answer(str(solver.check()))


def _cvc5(assertions: Sequence[Any], patience: int) -> Answer:
    """The same question, handed over as SMT-LIB text."""
    text = _solver(assertions, patience).sexpr() + "\n(check-sat)"
    terms = cvc5.TermManager()
    other = cvc5.Solver(terms)
    other.setOption("tlimit-per", str(patience))
    other.setOption("arrays-exp", "true")
    other.setOption("fp-exp", "true")
    other.setLogic("ALL")
    parser = cvc5.InputParser(other)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(other, parser.getSymbolManager())
    return read_answer(said.strip())


def read_answer(text: str) -> Answer:
    """What a solver said; anything but a clear word is `unknown`."""
    return text if text in ("unsat", "sat") else "unknown"  # type: ignore[return-value]
