"""The errata as they are told: every run refutes its sentence, on the page as in the code, and does its harm."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sfq_spec import wordings
from sfq_spec.claims import BY_ID as CLAIMS
from sfq_spec.competition import SFQ, Rules
from sfq_spec.errata import BY_ID, ERRATA, TOP, Erratum, refutes, told_by
from sfq_spec.logic import Exact
from sfq_spec.machine import Machine, take
from sfq_spec.related import attained
from sfq_spec.related.attained import Candidate, Weights
from sfq_spec.related.las import Las
from sfq_spec.rounding import rebasing, rounded
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event, Upkeep
from sfq_spec.watch import Watch

DOCS = Path(__file__).resolve().parents[2] / "docs"
every_erratum = pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.id)


def events(text: str) -> tuple[Event, ...]:
    """A run as the page writes it, `+A1(2^53+6)` an arrival, `D` a dispatch, `xA2` a cancel."""
    out: list[Event] = []
    for word in text.split():
        if arrival := re.fullmatch(r"\+((\w)\d+)\((2\^53)?\+?(\d+)?\)", word):
            request, user, top, more = arrival.groups()
            out.append(Arrive(user, request, Fraction((TOP if top else 0) + int(more or 0))))
        else:
            out.append(Dispatch() if word == "D" else Cancel(word.removeprefix("x")))
    return tuple(out)


def users(run: tuple[Event, ...], rules: Rules = SFQ) -> str:
    """Whose requests are dispatched."""
    state, sent = Machine(), ""
    for event in run:
        taken = take(state, event, rules)
        state, sent = taken.state, sent + (taken.request.user if isinstance(event, Dispatch) and taken.request else "")
    return sent


def section(name: str) -> str:
    text = (DOCS / "errata.md").read_text(encoding="utf-8")
    return text.partition(f"\n## {name}:")[2].partition("\n## ")[0]


@every_erratum
def test_the_run_makes_the_sentence_false_with_its_last_event(erratum: Erratum) -> None:
    assert refutes(erratum, erratum.trace)
    assert told_by(erratum, erratum.trace)[-2:] == [True, False]


@every_erratum
def test_every_event_of_the_run_is_needed(erratum: Erratum) -> None:
    for gone in range(len(erratum.trace)):
        assert not refutes(erratum, erratum.trace[:gone] + erratum.trace[gone + 1 :])


@every_erratum
def test_the_machine_breaks_no_claim_on_the_way(erratum: Erratum) -> None:
    state, watch = Machine(), Watch()
    for event in erratum.trace:
        taken = take(state, event)
        assert watch.observe(state, event, taken) == []
        state = taken.state


@every_erratum
def test_the_repaired_sentence_rests_on_claims(erratum: Erratum) -> None:
    assert erratum.by
    assert {CLAIMS[name].level for name in erratum.by} == {"P"}
    assert CLAIMS[erratum.id].level == "E"


@every_erratum
def test_the_page_tells_the_same_run_and_the_same_words(erratum: Erratum) -> None:
    told = section(erratum.id)
    runs = [events(line) for line in re.findall(r"^ {4}(\+.*)$", told, re.MULTILINE)]
    assert runs == [erratum.trace]
    quoted = re.sub(r"\s*\n> ?", " ", told)
    assert erratum.wording in quoted
    assert all(f"[{name}]" in told for name in erratum.by)
    assert erratum.seed.split()[1].rstrip(",").partition("(")[0] in told


def test_the_page_has_no_other_erratum() -> None:
    text = (DOCS / "errata.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (E-\w+):", text, re.MULTILINE) == [erratum.id for erratum in ERRATA]


# The wordings can hold, and what is said of them is so


def test_a_run_without_the_cause_refutes_nothing() -> None:
    plain = events("+A1(1) +A2(1) +B1(1) +B2(1) D D D D")
    for erratum in ERRATA:
        assert all(told_by(erratum, plain)), erratum.id


def test_a_run_that_is_refused_refutes_nothing() -> None:
    assert not refutes(BY_ID["E-DELIBERATE"], (Cancel("A1"),))
    assert not refutes(BY_ID["E-DELIBERATE"], ())


@pytest.mark.claims("E-CMAX")
@pytest.mark.parametrize("heavy", [3, 10, 100])
def test_the_gap_is_what_was_charged_before(heavy: int) -> None:
    run = events(f"+A1({heavy}) +A2(1) D " + " ".join(f"+B{n}(1)" for n in range(heavy + 1)) + " D" * heavy)
    assert users(run) == "A" + "B" * heavy
    assert not all(told_by(BY_ID["E-CMAX"], run))


@pytest.mark.claims("E-COUNT")
def test_two_is_the_most() -> None:
    run = BY_ID["E-COUNT"].trace
    assert users(run) == "BAA"
    assert all(told_by(replace(BY_ID["E-COUNT"], start=wordings.CountsWithin(2)), run))


@pytest.mark.claims("E-REBASE")
def test_rebasing_changes_who_is_next() -> None:
    run = BY_ID["E-REBASE"].trace
    assert users((*run, Dispatch()), rounded()) == "ABBB"
    assert users((*run, Upkeep(), Dispatch()), rebasing()) == "ABBA"
    state = Machine()
    for event in run:
        state = take(state, event, rounded()).state
    s = state.competition
    assert [s.v, s.meter["A"], s.meter["B"]] == [1, TOP + 6, TOP + 4]
    assert float(s.meter["A"]) - 1.0 == float(s.meter["B"]) - 1.0 == float(TOP + 4)


@pytest.mark.claims("E-RANGE")
def test_the_range_grows_without_bound() -> None:
    run = events("+A1(1) D " + " ".join(f"+B{n}(1) D" for n in range(30)))
    state = Machine()
    for event in run:
        state = take(state, event).state
    meters = state.competition.meter
    assert meters["B"] - meters["A"] == 30


@pytest.mark.claims("E-STALL")
def test_a_user_is_first_for_ever() -> None:
    again = " ".join(f"+A{n}(1)" for n in range(2, 22))
    run = events(f"+A1(2^53) D {again} +B1(1)" + " D" * 20)
    assert users(run, rounded()) == "A" * 21
    assert users(run) == "AAB" + "A" * 18


@pytest.mark.claims("E-SHARE", "DRAIN-SAME")
def test_one_at_a_time_and_at_once_is_the_same_share() -> None:
    drained = "+A1(1) +B1(1) +B2(1) +B3(1) +B4(1) D +A2(1) D D +A3(1) D D"
    backlog = "+A1(1) +A2(1) +A3(1) +B1(1) +B2(1) +B3(1) +B4(1) D D D D D"
    late = "+A1(1) +B1(1) +B2(1) +B3(1) +B4(1) D D D D +A2(1) D"
    assert users(events(drained)) == users(events(backlog)) == "ABABA"
    assert users(events(late)) == "ABBBA"


@pytest.mark.claims("E-LONG")
@pytest.mark.parametrize("long", [2, 5, 20])
def test_no_number_of_dispatches_is_long_enough(long: int) -> None:
    served = " ".join(f"+B{n}(1)" for n in range(long + 1))
    run = events(f"+A1({long + 1}) {served}" + " D" * (long + 1) + " +A2(1)")
    assert refutes(replace(BY_ID["E-LONG"], start=wordings.BackAtTheBaseline(long)), run)


@pytest.mark.claims("E-DELIBERATE")
def test_to_withdraw_and_send_again_pays() -> None:
    stays = "+A1(5) +A2(1) D +B1(1) +B2(1) D"
    withdraws = "+A1(5) +A2(1) D xA2 +A3(1) +B1(1) +B2(1) D"
    others = "+A1(5) +A2(1) D +C1(1) xA2 +A3(1) +B1(1) D D D"
    assert users(events(stays)) == "AB"
    assert users(events(withdraws)) == "AA"
    assert users(events(others)) == "ABCA"


@pytest.mark.claims("E-ONLY")
def test_another_estimate_changes_the_order_of_the_others() -> None:
    run = "+A1({}) +A2(1) D +C1(1) D +C2(1) D +B1(1) D D"
    assert users(events(run.format(1))) == "ACABC"
    assert users(events(run.format(3))) == "ACCBA"


# The program-aware policy: a sentence, by the formula that its sources have


def scores(programs: list[tuple[int, int]]) -> list[float]:
    table = {str(at): Candidate(Fraction(s), Fraction(w)) for at, (s, w) in enumerate(programs)}
    weights = Weights(Las().weight_service, Las().weight_wait)
    return [float(score) for score in attained.scores(Exact(table), weights, table).values()]


@pytest.mark.claims("LAS-LOWEST")
def test_the_lowest_service_need_not_score_highest() -> None:
    assert scores([(0, 0), (100, 1), (10_000, 0)]) == [0.8, 0.992, 0]
    assert scores([(0, 0), (100, 1)]) == [0.8, 0.2]


# Sentence by sentence


def verdicts() -> list[str]:
    rows = re.findall(r"^\| (.*) \|$", (DOCS / "sentences.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [row.rsplit(" | ", 1)[-1] for row in rows]


NAME = r"(?<![\w-])[A-Z]+(?:-[A-Z]+)+(?![\w-])"


def test_a_verdict_is_no_better_than_its_claims() -> None:
    checked = 0
    for verdict in verdicts():
        word = re.match(r"(proved|exhausted|tested)", verdict)
        first = re.split(r"[;:] (?:see|false|in floating|with an exception|of any two)|; ", verdict)[0]
        names = [name for name in re.findall(NAME, first) if not name.startswith("E-")]
        if word and names:
            checked += 1
            wanted = {"proved": "P", "exhausted": "X", "tested": "T"}[word[1]]
            assert {CLAIMS[name].level for name in names} <= {wanted}, verdict
    assert checked > 100


def test_every_erratum_is_named_by_a_sentence() -> None:
    named = {name for verdict in verdicts() for name in re.findall(NAME, verdict) if name.startswith("E-")}
    assert named == set(BY_ID)
    refuted = {n for v in verdicts() if "false" in v for n in re.findall(NAME, v) if n.startswith("E-")}
    assert refuted == set(BY_ID)
