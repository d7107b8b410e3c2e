"""The kit is tried on schedulers with a known fault, and on ones that are right but written otherwise.

The vectors alone must find each fault, without the help of random histories or of lags.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from schedulers import faulty, faulty_heaps, faulty_ids, faulty_linked
from schedulers.correct import CORRECT, FREE, ResetsLate, Tags
from schedulers.linear_scan import LinearScan, Refusal
from sfq_spec.competition import SFQ
from sfq_spec.conformance import shorthand
from sfq_spec.conformance.case import Case, make
from sfq_spec.conformance.diagnose import Diagnosis
from sfq_spec.conformance.histories import USERS, search
from sfq_spec.conformance.protocol import Capabilities
from sfq_spec.conformance.report import lines, suspects
from sfq_spec.conformance.subjects import NoVerdict, PythonSubject, Skipped
from sfq_spec.conformance.validate import Report, bundled, validate
from sfq_spec.mutants import BY_NAME, MUTANTS
from sfq_spec.scheduler import MachineScheduler
from sfq_spec.trace import Answer, Arrive, Cancel, Event

LONGEST = 100
"""Events of the longest vector that is played here; the few longer ones are about many users."""


@functools.cache
def cases() -> tuple[Case, ...]:
    """The vectors, short ones first."""
    return tuple(sorted((case for case in bundled().cases if len(case.events) <= LONGEST), key=lambda c: len(c.events)))


def verdict(factory: Callable[[], Any], *, lag: bool = False, any_tie: bool = False, budget: int = 0) -> Report:
    def made() -> Any:
        scheduler = factory()
        if not lag and hasattr(type(scheduler), "lag") and "__dict__" in dir(scheduler):
            scheduler.lag = None
        return scheduler

    with PythonSubject("sample", made, any_tie=any_tie) as subject:
        return validate(subject, cases(), budget=budget, seed=1)


def named(report: Report) -> list[str]:
    return [mutant.name for mutant in report.diagnosis.mutants]


def test_there_are_enough_faults() -> None:
    assert len(MUTANTS) >= 30
    assert len(faulty.FAULTY) >= 30
    assert len(set(faulty.FAULTY)) == len(faulty.FAULTY)


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "charges-twice"])
def test_a_mutant_does_not_conform_and_is_named(name: str) -> None:
    report = verdict(lambda: MachineScheduler(BY_NAME[name].take))
    assert not report.conforms
    assert (named(report), report.diagnosis.but_refusals) == ([name], False)
    assert any(f"In every run it behaves as {name}. {BY_NAME[name].mistake}" in line for line in lines(report))


def test_charges_that_are_all_twice_are_seen_where_lags_are_told() -> None:
    def twice() -> MachineScheduler:
        return MachineScheduler(BY_NAME["charges-twice"].take)

    assert verdict(twice).conforms
    report = verdict(twice, lag=True)
    assert (report.conforms, named(report)) == (False, ["charges-twice"])


def test_lags_that_are_wrong_in_another_way_have_no_name() -> None:
    class Shifted(LinearScan):
        def lag(self) -> dict[str, Any]:
            return {user: lag + 1 for user, lag in super().lag().items()}

    report = verdict(Shifted, lag=True)
    assert (report.conforms, report.diagnosis) == (False, Diagnosis())


@pytest.mark.integration
@pytest.mark.parametrize("factory", faulty.FAULTY)
def test_a_fault_of_another_kind_does_not_conform(factory: Callable[[], Any]) -> None:
    known = {
        "RoundRobin": ["counts-requests"],
        "LastInFirstOut": ["newest-first"],
        "ChargesOnCompletion": ["charges-on-completion"],
        "ChargesRefusals": ["charges-a-refusal"],
    }
    report = verdict(factory)
    assert not report.conforms
    assert named(report) == known.get(factory.__name__, [])
    assert report.shortest is not None
    assert len(report.shortest.prefix) <= 60


@pytest.mark.parametrize(
    "factory",
    [
        faulty.JoinsBeforeItRefuses,
        faulty.AcceptsDuplicates,
        faulty.ReleasesTwice,
        faulty.ZeroWeight,
    ],
)
def test_a_fault_in_refusals_alone_is_told_as_one(factory: Callable[[], Any]) -> None:
    report = verdict(factory)
    assert report.diagnosis == Diagnosis(but_refusals=True)
    assert "Apart from refusals, it behaves as it should: look at what it does with invalid events." in lines(report)


def test_a_mutant_that_also_refuses_nothing_is_still_named() -> None:
    class Lenient(faulty.LastInFirstOut):
        def _check(self, number: Any, code: str) -> None:
            if number != number or number in (float("inf"), 0) or number < 0:
                raise Refusal("invalid-cost")

    report = verdict(Lenient)
    assert (named(report), report.diagnosis.but_refusals) == (["newest-first"], True)
    assert any(line.startswith("Apart from refusals, it behaves as newest-first.") for line in lines(report))


@pytest.mark.parametrize(
    ("factory", "id"),
    [
        (faulty.JoinsBeforeItRefuses, "refused-cost-of-a-user-who-returns"),
        (faulty.ForgetsWeights, "upkeep-keeps-weights"),
        (faulty_heaps.StalePlace, "stale-place-is-not-found-again"),
        (faulty.ReleasesTwice, "released-once"),
        (faulty.ChargesAnEmptyDispatch, "dispatch-of-nothing-charges-nobody"),
        (faulty.ClockOnCompletion, "clock-moves-at-dispatch"),
        (faulty.FloorsCosts, "costs-are-not-floored"),
        (faulty.FloorsCosts, "small-costs-are-not-floored"),
        (faulty.AtLeastOne, "small-costs-are-not-floored"),
        (faulty.TiesByInsertion, "ties-go-by-id-not-by-arrival"),
        (faulty.CancelledStays, "timed-out-request-is-gone"),
        (faulty.FrozenPriority, "priority-is-not-frozen-on-arrival"),
        (faulty.WrapsOnRebase, "upkeep-lagging-idle"),
        (faulty_heaps.ActivatedTwice, "one-queue-activated-once"),
        (faulty.ZeroWeight, "zero-shares-are-refused"),
        (faulty.RefundsFailures, "no-refund-on-failure"),
        (faulty_heaps.WrongUserRemoved, "cancel-last-of-the-first-user"),
        (faulty.Float32, "meters-near-2-to-24"),
        (faulty.TiesByUtf16, "ties-utf-16"),
        (faulty_heaps.OnlyDown, "cancel-moves-up-in-the-heap"),
        (faulty_heaps.OnlyDown, "cancel-in-a-heap-of-nine-each-way"),
        (faulty_heaps.OnlyUp, "cancel-in-a-heap-of-six-each-way"),
        (faulty_heaps.OnlyUp, "cancel-in-a-heap-of-eight-each-way"),
        (faulty_heaps.OnlyDownOfFour, "cancel-in-a-heap-of-four-children"),
        (faulty_heaps.LeftChildOnly, "cancel-in-a-heap-of-seven-each-way"),
        (faulty_heaps.OnlyChildMissed, "cancel-and-come-back-in-the-heap"),
        (faulty_heaps.PlaceNotNoted, "cancel-who-was-moved-in-the-heap"),
        (faulty_heaps.SwapNotesOne, "cancel-in-a-heap-with-weights"),
        (faulty_heaps.PlaceKept, "cancel-the-last-place-and-come-back"),
        (faulty_heaps.StalePlace, "cancel-the-last-place-and-come-back"),
        (faulty_linked.EndKept, "cancel-end-and-more"),
        (faulty_linked.EndKept, "cancel-end-again-and-again"),
        (faulty_linked.EndKeptWhenEmpty, "cancel-only-one-and-more"),
        (faulty_linked.StaleBack, "cancel-neighbours"),
        (faulty_linked.StaleBack, "cancel-neighbours-backwards"),
        (faulty_linked.StaleBackOfTheFirst, "cancel-head-after-dispatch"),
        (faulty_linked.FirstKept, "cancel-head-and-more"),
        (faulty_linked.FirstKept, "cancel-two-heads-in-turn"),
        (faulty_linked.RestCut, "cancel-and-more-of-others"),
        (faulty_linked.FreedLinkIsTied, "cancel-in-three-queues"),
        (faulty_linked.FreedInFlight, "cancel-after-a-slot-is-free"),
        (faulty_linked.CountDrifts, "cancel-and-idle-again"),
        (faulty_ids.TombstoneStays, "id-again-after-cancel"),
        (faulty_ids.TombstoneLifted, "id-again-after-cancel"),
        (faulty_ids.OldCost, "id-again-with-another-cost"),
        (faulty_ids.OldOwner, "id-again-of-another-user"),
        (faulty_ids.KeepsCompleted, "id-again-after-completion"),
        (faulty_ids.KeepsFailed, "id-again-after-failure"),
        (faulty_ids.FreesWhatWaits, "id-not-again-while-it-waits"),
        (faulty_ids.CostOfTheHead, "new-cost-of-the-head"),
        (faulty_ids.CostOfTheHead, "cancelled-head-takes-its-cost"),
        (faulty_ids.NewCostMoves, "new-cost-moves-nobody"),
        (faulty_ids.WeightOfTheEntry, "new-weight-of-who-waits"),
        (faulty_ids.WeightOfTheEntry, "new-weights-and-costs-in-the-heap"),
        (faulty_ids.NewCostToTheEnd, "new-cost-keeps-its-place"),
    ],
)
def test_the_case_that_is_about_a_fault_finds_it(factory: Callable[[], Any], id: str) -> None:
    case = next(case for case in cases() if case.id == id)
    with PythonSubject("sample", factory) as subject:
        report = validate(subject, [case])
    assert [result.id for result in report.failed if result.id != "shortened"] == [id]


@pytest.mark.parametrize("factory", CORRECT)
def test_a_correct_scheduler_conforms(factory: Callable[[], Any]) -> None:
    report = verdict(factory, lag=factory is not ResetsLate, budget=20)
    assert report.conforms, "\n".join(lines(report))
    assert report.histories >= 20
    assert report.diagnosis == Diagnosis()


@pytest.mark.parametrize("factory", FREE)
def test_a_tie_may_go_to_anybody_where_that_is_said(factory: Callable[[], Any]) -> None:
    assert verdict(factory, lag=True, any_tie=True, budget=20).conforms
    assert verdict(factory).conforms == (factory is LinearScan)


@pytest.mark.parametrize("name", ["reset-on-return", "frozen-clock", "newest-first", "cancels-the-head"])
def test_a_fault_is_named_whatever_the_rule_for_ties(name: str) -> None:
    mutant, last = BY_NAME[name], BY_NAME["last-id-first"].rules
    assert last is not None
    free = replace(mutant, rules=replace(mutant.rules or SFQ, is_first=last.is_first))
    report = verdict(lambda: MachineScheduler(free.take), any_tie=True)
    assert (report.conforms, named(report)) == (False, [name])


def test_a_random_history_finds_a_fault_and_is_made_short() -> None:
    with PythonSubject("sample", faulty.TiesByInsertion) as subject:
        report = validate(subject, cases()[:1], budget=30, seed=7)
    assert report.shortest is not None
    assert report.shortest.id == "random"
    assert 1 <= report.histories <= 30
    assert len(report.shortest.prefix) <= 4


SELDOM = ("WholeMeters", "AtLeastOne", "ForgetsWeights", "OldCost", "OnlyDown", "OnlyDownOfFour", "ClockOnCompletion")
"""Faults that some seeds do not find in 200 random histories."""


@pytest.mark.deep
@pytest.mark.parametrize("factory", [factory for factory in faulty.FAULTY if factory.__name__ not in SELDOM])
def test_random_histories_alone_find_a_fault(factory: Callable[[], Any]) -> None:
    found = 0
    for seed in range(3):
        with PythonSubject("sample", factory) as subject:
            report = validate(subject, cases()[:1], budget=200, seed=seed)
        found += not report.conforms
    assert found >= 2


def test_a_history_that_is_made_short_names_requests_as_vectors_do() -> None:
    with PythonSubject("sample", faulty_heaps.StalePlace) as subject:
        report = validate(subject, cases()[:1], budget=200, seed=1)
    assert report.shortest is not None
    arrived = [event for event in report.shortest.prefix if isinstance(event, Arrive)]
    assert len(arrived) > 1
    assert arrived[0].request == f"{arrived[0].user}1"
    assert {event.request for event in arrived} <= {f"{user}{n}" for user in USERS for n in range(1, len(arrived) + 1)}


class Crashes(PythonSubject):
    """Ends without an answer where anything is cancelled."""

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        if any(isinstance(event, Cancel) for event in events):
            raise NoVerdict(f"case {id}: it has ended")
        return super().run(id, events)


def test_where_there_is_no_verdict_the_run_is_told() -> None:
    with Crashes("sample", LinearScan) as subject:
        for run, told in (("+A 1×2; x A2; D", "+A 1×2; x A2; D"), ("+A 1; +B 1; " * 300 + "x A2", "+A 1; +B 1; ")):
            with pytest.raises(NoVerdict) as raised:
                validate(subject, [make("sample", "A cancel.", shorthand.read(run))])
            reason = str(raised.value)
            assert reason.startswith(f"case sample: it has ended\nthe run: {told}")
            assert len(reason) < 1_100
        with pytest.raises(NoVerdict, match=r"case random-\d+: it has ended\nthe run: .*x "):
            validate(subject, cases()[:1], budget=100, seed=1)


def test_kinds_of_fault_are_told_where_no_mistake_explains_it() -> None:
    report = verdict(faulty.TiesByUtf16)
    assert suspects(report)[0][0] == "IdsByBytes"
    assert any(line.startswith("The cases that fail are about IdsByBytes (") for line in lines(report))
    explained = verdict(lambda: MachineScheduler(BY_NAME["newest-first"].take))
    assert explained.failed
    assert not suspects(explained)


def test_a_seed_draws_the_same_histories_again() -> None:
    def drawn(seed: int) -> list[list[Event]]:
        found: list[list[Event]] = []
        search(found.append, Capabilities(cancel=True, weights=True), budget=5, seed=seed)
        return found

    assert drawn(7) == drawn(7) != drawn(8)


def test_one_that_fails_now_and_then_does_not_conform() -> None:
    class Moody(LinearScan):
        made = 0

        def __init__(self) -> None:
            super().__init__()
            Moody.made += 1

        def dispatch(self) -> str | None:
            return None if Moody.made % 7 == 0 else super().dispatch()

    with PythonSubject("sample", Moody) as subject:
        report = validate(subject, cases()[:1], budget=50, seed=7)
    assert not report.conforms
    assert report.failed[-1].case.comment.endswith("the scheduler is not deterministic, or keeps state.")


def test_nothing_but_skips_is_no_verdict() -> None:
    needy = [case for case in cases() if "cancel" in case.requires]
    with PythonSubject("sample", Tags) as subject, pytest.raises(NoVerdict, match=r"nothing was checked: needs cancel"):
        validate(subject, needy)


class SkipsHistories(PythonSubject):
    """Takes part in the vectors alone."""

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        return Skipped("not today") if id.startswith("random") else super().run(id, events)


def test_histories_that_are_skipped_are_not_counted_as_played() -> None:
    case = next(case for case in bundled().cases if case.id == "article-table")
    with SkipsHistories("skips", MachineScheduler) as subject:
        assert validate(subject, [case], budget=5, seed=1).histories == 0
    with PythonSubject("plays", MachineScheduler) as subject:
        assert validate(subject, [case], budget=5, seed=1).histories > 0
