"""prove() can fail: on a false goal, on hypotheses that nothing meets, on a solver that gives up."""

from __future__ import annotations

import z3

from sfq_proofs.solver import induction, logic
from sfq_proofs.solver.induction import Obligation, Verdict, meetable, prove, refuted
from sfq_proofs.solver.logic import Terms

X, Y = logic.number("x"), logic.number("y")


def obligation(*hypotheses: object, goal: object) -> Obligation:
    return Obligation("test", ("TEST",), hypotheses, goal)


def test_what_follows_is_proved_by_both_solvers() -> None:
    verdict = prove(obligation(X > 0, Y >= X, goal=Y > 0))
    assert verdict.holds
    assert verdict.answers == {"z3": "unsat", "cvc5": "unsat"}
    assert set(verdict.milliseconds) == {"z3", "cvc5"}


def test_what_does_not_follow_is_not() -> None:
    wrong = obligation(X > 0, goal=X > 1)
    verdict = prove(wrong)
    assert not verdict.holds
    assert verdict.answers == {"z3": "sat", "cvc5": "sat"}
    assert refuted(wrong)


def test_anything_follows_from_hypotheses_that_nothing_meets() -> None:
    vacuous = obligation(X > 0, X < 0, goal=X > 1)
    verdict = prove(vacuous)
    assert verdict.answers == {"z3": "unsat", "cvc5": "unsat"}
    assert not verdict.meetable
    assert not verdict.holds
    assert not refuted(vacuous)


def test_unknown_is_a_failure() -> None:
    assert not Verdict("test", ("TEST",), True, {"z3": "unsat", "cvc5": "unknown"}).holds
    assert not Verdict("test", ("TEST",), True, {}).holds


def test_a_question_that_is_too_hard_is_unknown_to_both() -> None:
    n = z3.Int("n")
    f = z3.Function("f", z3.IntSort(), z3.IntSort())
    hard = obligation(z3.ForAll([n], f(f(n)) == f(n) * f(n + 1)), goal=f(f(7)) == 3)
    verdict = prove(hard, patience=100)
    assert set(verdict.answers.values()) == {"unknown"}
    assert not verdict.holds


def test_quantified_hypotheses_are_met_in_a_world_of_two() -> None:
    terms, meter = Terms(), logic.numbers("meter")
    some, other = logic.user("some"), logic.user("other")
    rising = terms.for_all(lambda u: meter[u] >= X)
    assert meetable([rising, meter[some] > meter[other]])
    assert not meetable([rising, meter[some] < X])


def test_users_are_distinct_where_it_counts() -> None:
    terms, some, other = Terms(), logic.user("some"), logic.user("other")
    alone = terms.for_all(lambda u: u == some)
    assert not meetable([alone])
    assert not refuted(obligation(some == other, goal=terms.same(some, other)))


def test_a_counterexample_with_three_users_is_found() -> None:
    terms, meter = Terms(), logic.numbers("meter")
    i, j, k = (logic.user(name) for name in "ijk")
    distinct = z3.Distinct(i, j, k)
    claim = terms.for_all(lambda u: z3.Or(meter[u] == meter[i], meter[u] == meter[j]))
    assert refuted(obligation(distinct, goal=claim))


def test_both_solvers_are_given_the_same_text() -> None:
    """cvc5 reads what z3 writes, the order of users and constant arrays included."""
    terms = Terms()
    zero = terms.everywhere(z3.RealVal(0))
    some, other = logic.user("some"), logic.user("other")
    goal = z3.Or(some == other, terms.precedes(some, other), terms.precedes(other, some))
    verdict = prove(obligation(*terms.order_is_total(), zero[some] == 0, goal=goal))
    assert verdict.holds
    assert not prove(obligation(zero[some] == 0, goal=goal)).holds


def test_patience_is_bounded() -> None:
    assert 0 < induction.PATIENCE_MS <= 20_000
