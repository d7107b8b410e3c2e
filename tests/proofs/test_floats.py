"""Floating point: lemmas and wrong variants in every format, the record of long answers, and real floats beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sfq_proofs import deep
from sfq_proofs.cli import app
from sfq_proofs.deep import Record
from sfq_proofs.solver.induction import prove, refuted
from sfq_proofs.solver.smtlib import FORMATS, Format, ask, fingerprint, script
from sfq_proofs.theorems import floats, rounded
from sfq_proofs.theorems.floats import LEMMAS, Lemma
from sfq_spec import rounding
from sfq_spec.competition import SFQ, Competition
from sfq_spec.logic import Exact
from sfq_spec.machine import Machine, take
from sfq_spec.mutants import BY_NAME
from sfq_spec.rounding import is_exact, nearest
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event

every_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
every_lemma = pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
numbers = st.floats(0, allow_nan=False, allow_infinity=False)
"""From 0 to the greatest float; that of two zeros −0 is no meter is said in the lemmas."""
LOGIC: Any = Exact(())


@pytest.mark.integration
@every_format
@every_lemma
def test_every_wrong_variant_has_a_counterexample(lemma: Lemma, format: Format) -> None:
    assert ask("bitwuzla", lemma.wrong.question(format), floats.PATIENCE_MS) == "sat"


@every_lemma
def test_the_hypotheses_of_a_lemma_can_be_met(lemma: Lemma) -> None:
    assert ask("bitwuzla", script(floats.FIRST, lemma.given), floats.PATIENCE_MS) == "sat"


@pytest.mark.integration
@pytest.mark.claims("FLOAT-BAND", "FLOAT-EXACT", "FLOAT-STRICT", "REBASE-EXACT")
def test_the_lemmas_hold_in_every_format_now_or_as_recorded() -> None:
    found = floats.findings()
    assert [finding.claims[0] for finding in found] == list(floats.CLAIMS)
    assert all(finding.holds for finding in found)
    assert sum(len(finding.refuted) for finding in found) == len(LEMMAS)


def test_two_more_solvers_agree_in_binary16() -> None:
    verdicts = [prove(obligation) for obligation in floats.obligations()]
    assert len(verdicts) == sum(not lemma.recorded for lemma in LEMMAS)
    assert all(verdict.holds for verdict in verdicts)


@pytest.mark.deep
@every_format
@every_lemma
def test_the_recorded_answers_are_given_again(lemma: Lemma, format: Format) -> None:
    assert ask("bitwuzla", lemma.question(format), deep.PATIENCE_MS) == "unsat"


# The record


def test_the_record_has_every_answer_that_is_not_asked_for_at_once() -> None:
    record = deep.bundled()
    for lemma in LEMMAS:
        for format in lemma.recorded:
            said = deep.recorded(lemma.question(next(f for f in FORMATS if f.name == format)), record)
            assert said["bitwuzla"] == "unsat"
            assert (set(said) == {"bitwuzla"}) == (format == "binary64")
    assert set(record.solvers) == {"bitwuzla", "z3", "cvc5"}
    assert all(kept.answer == "unsat" for kept in record.answers)


def _with_answers(record: Record, **change: Any) -> Record:
    return msgspec.structs.replace(record, answers=tuple(msgspec.structs.replace(a, **change) for a in record.answers))


@pytest.mark.parametrize(
    "record",
    [
        msgspec.structs.replace(deep.bundled(), answers=()),
        _with_answers(deep.bundled(), answer="unknown"),
        _with_answers(deep.bundled(), question="0" * 16),
        _with_answers(deep.bundled(), solver="z3"),
    ],
    ids=["no answers", "unknown", "another question", "another solver"],
)
def test_a_record_that_does_not_answer_the_question_proves_nothing(record: Record) -> None:
    monotone = next(lemma for lemma in LEMMAS if lemma.recorded)
    assert floats.is_proved(monotone, FORMATS[1], deep.bundled())
    assert not floats.is_proved(monotone, FORMATS[1], record)


@pytest.mark.integration
def test_without_a_record_the_claims_that_need_it_fail() -> None:
    found = floats.findings(msgspec.structs.replace(deep.bundled(), answers=()))
    assert [finding.claims[0] for finding in found if not finding.holds] == ["FLOAT-BAND", "REBASE-EXACT"]


def test_a_counterexample_of_any_solver_counts() -> None:
    lemma, format = LEMMAS[4], FORMATS[1]
    good = deep.bundled()
    bad = [msgspec.structs.replace(kept, answer="sat") if kept.solver == "z3" else kept for kept in good.answers]
    assert floats.is_proved(lemma, format, good)
    assert not floats.is_proved(lemma, format, msgspec.structs.replace(good, answers=tuple(bad)))


def test_a_changed_question_has_another_fingerprint() -> None:
    lemma = LEMMAS[4]
    texts = {fingerprint(replace(lemma, given=given).question(f)) for given in ((), lemma.given) for f in FORMATS}
    assert len(texts) == 2 * len(FORMATS)


def test_asking_writes_a_record_that_is_read_again() -> None:
    told: list[str] = []
    lemma = LEMMAS[2]
    asked = [(lemma.name, floats.FIRST.name, lemma.question(floats.FIRST), ("bitwuzla", "z3", "cvc5"))]
    record = deep.asked(asked, told.append, 20_000)
    assert msgspec.json.decode(deep.encode(record), type=Record) == record
    assert deep.recorded(asked[0][2], record) == {"bitwuzla": "unsat", "z3": "unsat", "cvc5": "unsat"}
    assert len(told) == 3


def test_patience_runs_out_as_unknown() -> None:
    lemma = next(lemma for lemma in LEMMAS if lemma.recorded)
    assert {ask(solver, lemma.question(FORMATS[2]), 50) for solver in ("bitwuzla", "z3", "cvc5")} == {"unknown"}


# The band


@pytest.mark.claims("FLOAT-BAND")
def test_whatever_rounds_monotonically_keeps_the_band() -> None:
    verdicts = [prove(obligation) for obligation in rounded.obligations()]
    assert len(verdicts) == 7
    assert all(verdict.holds for verdict in verdicts)


def test_the_band_needs_every_lemma_and_the_rules() -> None:
    (finding,) = rounded.findings()
    assert finding.holds
    assert len(finding.refuted) == 8


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("clock-at-finish", ["rounded, dispatch"]),
        ("rejoin-at-zero", ["rounded, arrive"]),
        ("cancel-skips-reset", ["rounded, cancel"]),
        ("last-id-first", []),
    ],
)
def test_wrong_rules_leave_the_band_in_rounded_sums_too(name: str, broken: list[str]) -> None:
    rules = BY_NAME[name].rules
    assert rules is not None
    assert [obligation.name for obligation in rounded.obligations(rules) if refuted(obligation)] == broken


# The same predicates on Python's floats


@given(numbers, numbers, numbers)
def test_sums_of_floats_are_as_the_lemmas_say(a: float, c: float, d: float) -> None:
    assert rounding.monotone(LOGIC, a, c, d)
    assert rounding.grows(LOGIC, a, c)
    assert rounding.commutes(LOGIC, a, c)
    v, *meters = sorted((a, c, d))
    assert rounding.keeps_order(LOGIC, v, *meters)


def test_the_wrong_variants_fail_on_floats() -> None:
    top = 2.0**53
    assert not rounding.strictly_grows(LOGIC, top, 1.0)
    assert rounding.strictly_grows(LOGIC, top - 1, 1.0)
    assert (top + 1.0) + 1.0 != top + (1.0 + 1.0)
    assert math.ulp(0.0) / 4.0 == 0.0


@given(numbers, numbers)
def test_nearest_is_what_the_processor_does(a: float, c: float) -> None:
    if math.isfinite(a + c) and a + c > 1e-300:
        assert nearest(Fraction(a) + Fraction(c)) == a + c
    if c and math.isfinite(a / c) and a / c > 1e-300:
        assert nearest(Fraction(a) / Fraction(c)) == a / c


@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_whole_sums_are_exact_up_to_the_limit(a: int, c: int) -> None:
    assert is_exact(Fraction(a + c)) or a + c > 2**53
    assert float(a) + float(c) == a + c or a + c > 2**53


def test_the_first_whole_number_that_is_not_a_float() -> None:
    assert not is_exact(Fraction(2**53 + 1))
    assert nearest(Fraction(2**53 + 1)) == 2**53
    assert nearest(Fraction(2**53 + 3)) == 2**53 + 4
    assert nearest(Fraction(13), precision=3) == 12
    assert nearest(Fraction(0)) == 0


@pytest.mark.claims("REBASE-EXACT")
@given(st.floats(2.0**-500, 2.0**500), st.floats(0, 1))
def test_rebasing_is_exact_from_v_to_2v(v: float, share: float) -> None:
    meter = min(v + v * share, 2 * v)
    assert Fraction(meter - v) == Fraction(meter) - Fraction(v)


# Whole runs

events = st.lists(
    st.one_of(
        st.tuples(st.just("+"), st.sampled_from("ABC"), st.integers(0, 40), st.integers(1, 2**20)),
        st.tuples(st.just("D"), st.none(), st.none(), st.none()),
        st.tuples(st.just("x"), st.integers(0, 30), st.none(), st.none()),
    ),
    max_size=60,
)


def _played(steps: Sequence[Any], whole: bool) -> list[Event]:
    """The steps as events: charges over 60 orders of magnitude, or whole ones."""
    out: list[Event] = []
    arrived: list[str] = []
    for number, (kind, who, size, part) in enumerate(steps):
        if kind == "+":
            arrived.append(f"{who}{number}")
            cost = Fraction(part) if whole else Fraction(float(part) * 10.0 ** (size - 20))
            out.append(Arrive(who, arrived[-1], cost))
        elif kind == "x" and arrived:
            out.append(Cancel(arrived.pop(who % len(arrived))))
        else:
            out.append(Dispatch())
    return out


@pytest.mark.claims("FLOAT-BAND")
@given(events)
def test_no_run_in_floats_leaves_the_band(steps: Sequence[Any]) -> None:
    state, last = Machine(), dict[str, Fraction]()
    for event in _played(steps, whole=False):
        if isinstance(event, Cancel) and not any(r.request == event.request for q in state.queues.values() for r in q):
            continue
        before, taken = state.competition.v, take(state, event, rounding.rounded())
        state, s = taken.state, taken.state.competition
        if isinstance(event, Dispatch) and taken.request is not None:
            last[taken.request.user] = taken.request.cost
        assert s.v >= before
        assert all(s.meter[user] >= s.v for user in state.queues)
        assert all(rounding.band(s, last.get(user, Fraction(0)), user) for user in s.meter)


def test_the_band_can_be_left() -> None:
    s = Competition(Fraction(1), {"A": Fraction(5)}, {"A": True}, {"A": Fraction(1)})
    assert rounding.band(s, Fraction(4), "A")
    assert not rounding.band(s, Fraction(3), "A")


@pytest.mark.claims("FLOAT-EXACT")
@given(events)
def test_with_whole_charges_floats_do_what_exact_numbers_do(steps: Sequence[Any]) -> None:
    exact, floating = Machine(), Machine()
    for event in _played(steps, whole=True):
        if isinstance(event, Cancel) and not any(r.request == event.request for q in exact.queues.values() for r in q):
            continue
        exact, floating = take(exact, event, SFQ).state, take(floating, event, rounding.rounded()).state
        assert exact == floating


def test_without_whole_charges_they_do_not() -> None:
    run = [Arrive("A", f"A{n}", Fraction(1, 10)) for n in range(4)] + [Dispatch()] * 3
    exact, floating = Machine(), Machine()
    for event in run:
        exact, floating = take(exact, event, SFQ).state, take(floating, event, rounding.rounded()).state
    assert exact != floating


# The command


@pytest.mark.parametrize("kept", [True, False])
def test_answers_are_kept_only_if_all_are_proofs(kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [question for question in floats.questions() if question[1] == "binary16"][:1]
    monkeypatch.setattr(floats, "questions", lambda: iter(quick))
    monkeypatch.setattr(deep, "FILE", tmp_path / "deep.json")
    if not kept:
        monkeypatch.setattr(deep, "ask", lambda *asked: "unknown")
    told = CliRunner().invoke(app, ["deep", "--write"])
    assert told.exit_code == (0 if kept else 1)
    assert told.stdout.count(quick[0][0]) == 3
    assert (tmp_path / "deep.json").exists() == kept
