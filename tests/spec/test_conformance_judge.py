"""The judge: each kind of wrong answer is found where it is, and told in a sentence that names the rule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.judge import Wrong, judge
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import Answer, Event

SENT = "+A 3×2; +B 1×2"
"""A1 and A2 cost 3, B1 and B2 cost 1: A1 B1 B2 A2 is the order."""


def right(events: Sequence[Event], *, lag: bool = False) -> list[Answer]:
    state, answers = Machine(), []
    for event in events:
        state, told = answer(state, event)
        answers.append(Answer(dispatched=told.dispatched, refused=told.refused, lag={**state.lag}) if lag else told)
    return answers


def last(run: str, told: Answer, *, any_tie: bool = False) -> Wrong | None:
    """What the judge says where all answers are right, and then the last event gets this one."""
    events = shorthand.read(run)
    return judge(events, [*right(events)[:-1], told], any_tie=any_tie)


def said(run: str, told: Answer, *, any_tie: bool = False) -> str:
    wrong = last(run, told, any_tie=any_tie)
    assert wrong is not None
    assert wrong.at == len(shorthand.read(run)) - 1
    return wrong.sentence


@pytest.mark.parametrize(
    ("run", "told", "sentence", "claim"),
    [
        (
            f"{SENT}; D×2",
            Answer(dispatched="A2"),
            "v = 0; B.S = 0 is less than A.S = 3; A2 was sent: contradicts R-SELECT",
            "R-SELECT",
        ),
        (
            f"{SENT}; D",
            Answer(dispatched="B1"),
            "v = 0; 'A' and 'B' have the same meter 0, and the first id goes first; B1 was sent: contradicts R-SELECT",
            "R-SELECT",
        ),
        (
            f"{SENT}; D",
            Answer(dispatched="A2"),
            "A2 was sent before A1, which arrived before it: contradicts R-FIFO",
            "R-FIFO",
        ),
        (f"{SENT}; D×2", Answer(dispatched="A1"), "A1 was sent again: it has been dispatched before", "R-FIFO"),
        (
            f"{SENT}; D",
            Answer(dispatched="Z9"),
            "Z9 was sent, which is not here: it has not arrived, or has ended",
            "R-FIFO",
        ),
        (
            f"{SENT}; x B1; D×2",
            Answer(dispatched="B1"),
            "B1 was sent, which is not here: it has not arrived, or has ended",
            "R-FIFO",
        ),
        (
            f"{SENT}; D",
            Answer(dispatched=None),
            "v = 0; nothing was sent while A1 of A (S = 0) waits: contradicts ORDER-WORK",
            "ORDER-WORK",
        ),
        ("+A 3; D×2", Answer(dispatched="A1"), "A1 was sent while nobody waits", "ORDER-WORK"),
        ("+A 3; D×2", Answer(), "the answer does not say that nothing goes while nobody waits", "ORDER-WORK"),
        (
            "+A 3; D",
            Answer(refused="not-waiting"),
            "a dispatch was refused with not-waiting: there is nothing to refuse",
            "R-REFUSE",
        ),
        (
            "+A 0",
            Answer(),
            "arrive of A1 with cost 0 was accepted: it must be refused with invalid-cost",
            "R-REFUSE",
        ),
        ("w A -1", Answer(), "weight -1 for 'A' was accepted: it must be refused with invalid-weight", "R-REFUSE"),
        ("x A1", Answer(), "cancel of A1 was accepted: it must be refused with unknown-request", "R-REFUSE"),
        (
            "+A 1; D; c A1 5",
            Answer(refused="unknown-request"),
            "cost 5 for A1 was refused with unknown-request: it must be refused with not-waiting",
            "R-REFUSE",
        ),
        (
            "+A 1; x A1",
            Answer(refused="not-waiting"),
            "cancel of A1 was refused with not-waiting: it is valid",
            "R-REFUSE",
        ),
        ("✓ A1", Answer(refused="not-waiting"), "complete of A1 was refused with not-waiting: it is valid", "R-REFUSE"),
        ("upkeep", Answer(refused="not-waiting"), "upkeep was refused with not-waiting: it is valid", "R-REFUSE"),
    ],
)
def test_what_is_wrong_is_told(run: str, told: Answer, sentence: str, claim: str) -> None:
    wrong = last(run, told)
    assert wrong is not None
    assert (wrong.sentence, claim in wrong.claims) == (sentence, True)
    assert wrong.at == len(shorthand.read(run)) - 1


def test_only_the_first_wrong_answer_counts() -> None:
    events = shorthand.read(f"{SENT}; D×4")
    answers = [*right(events)[:4], *[Answer(dispatched="Z9")] * 4]
    wrong = judge(events, answers)
    assert wrong is not None
    assert wrong.at == 4


def test_what_might_have_gone_is_told() -> None:
    wrong, free = last(f"{SENT}; D", Answer(dispatched="A2")), last(f"{SENT}; D", Answer(dispatched="A2"), any_tie=True)
    assert wrong is not None
    assert free is not None
    assert (wrong.legal, free.legal) == (("A1",), ("A1", "B1"))


def test_right_answers_are_not_wrong() -> None:
    for run in (f"{SENT}; D×5", "+A 0; w A 0; x A1; c A1 2; ✓ A1; D", "+A 1; x A1; +A 1; D; ✓ A2; upkeep"):
        events = shorthand.read(run)
        assert judge(events, right(events)) is None
        assert judge(events, right(events, lag=True), with_lag=True) is None


def test_ties_may_go_to_anybody_where_that_is_allowed() -> None:
    events = shorthand.read("+A,B,C 2×2; D×7")
    order = ["C1", "A1", "B1", "B2", "C2", "A2", None]
    answers = [*[Answer()] * 6, *[Answer(dispatched=sent) for sent in order]]
    assert judge(events, answers, any_tie=True) is None
    wrong = judge(events, answers)
    assert wrong is not None
    assert wrong.at == 6


def test_the_choice_among_equals_is_followed() -> None:
    events = shorthand.read("+A 3; +B 1×4; D×4")
    sent = ["B1", "A1", "B2", "B3"]
    assert judge(events, [*[Answer()] * 5, *[Answer(dispatched=one) for one in sent]], any_tie=True) is None
    sent = ["B1", "B2", "A1", "B3"]
    wrong = judge(events, [*[Answer()] * 5, *[Answer(dispatched=one) for one in sent]], any_tie=True)
    assert wrong is not None
    assert (wrong.at, wrong.sentence[:37]) == (6, "v = 0; A.S = 0 is less than B.S = 1; ")


def test_a_tie_is_no_leave_to_break_the_order_of_a_user() -> None:
    for sent, head in (("A2", "A1"), ("B2", "B1")):
        told = said(f"{SENT}; D", Answer(dispatched=sent), any_tie=True)
        assert told == f"{sent} was sent before {head}, which arrived before it: contradicts R-FIFO"


# Lags


def lagged(run: str, told: dict[str, Fraction | float], slack: Fraction = Fraction(0)) -> Wrong | None:
    """What the judge says of the lags that are told after the last event."""
    events = shorthand.read(run)
    answers = right(events)
    final = Answer(dispatched=answers[-1].dispatched, refused=answers[-1].refused, lag=told)
    return judge(events, [*answers[:-1], final], with_lag=True, slack=slack)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"A": 4, "B": 0}, "the lag of 'A' is told as 4, and S - v is 3"),
        ({"B": 0}, "the lag of 'A' is told as 0, and S - v is 3"),
        ({"A": 3, "B": 1}, "the lag of 'B' is told as 1, and S - v is 0"),
        ({"A": 3, "C": 1}, "the lag of 'C' is told as 1, and S - v is 0"),
        ({"A": float("nan")}, "the lag of 'A' is told as nan, and S - v is 3"),
        ({"A": float("inf")}, "the lag of 'A' is told as inf, and S - v is 3"),
        ({"A": 3, "C": float("-inf")}, "the lag of 'C' is told as -inf, and S - v is 0"),
        ({"A": 3, "B": -1}, "'B' waits with a lag below 0: its meter is below v"),
    ],
)
def test_a_wrong_lag_is_told(told: dict[str, float], sentence: str) -> None:
    wrong = lagged(f"{SENT}; D", {user: Fraction(n) if n % 1 == 0 else n for user, n in told.items()})
    assert wrong is not None
    assert wrong.sentence == sentence


def test_a_user_that_is_not_ahead_may_be_left_out_or_lag() -> None:
    run = "+A 1; +B 9×2; D×3"
    assert lagged(run, {"A": Fraction(-8), "B": Fraction(0)}) is None
    assert lagged(run, {}) is None
    assert lagged(f"{SENT}; D", {"A": Fraction(3)}) is None


def test_lags_of_binary_floats_may_be_off_by_their_rounding() -> None:
    near = Fraction("2.9999999999999996")
    assert lagged(f"{SENT}; D", {"A": near}) is not None
    assert lagged(f"{SENT}; D", {"A": near}, Fraction(1, 2**40)) is None
    assert lagged(f"{SENT}; D", {"A": Fraction("2.99")}, Fraction(1, 2**40)) is not None


def test_lags_are_passed_over_unless_they_are_asked_for() -> None:
    events = shorthand.read("+A 1")
    assert judge(events, [Answer(lag={"A": Fraction(7)})]) is None
