"""The heap scheduler, by examples whose answers were found by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import pytest

from sfq_impl.heap import HeapScheduler, Overlapping
from sfq_impl.representation import flaws
from sfq_spec.scheduler import play
from sfq_spec.trace import (
    DuplicateRequest,
    Event,
    InvalidCost,
    InvalidWeight,
    NotWaiting,
    Refused,
    UnknownRequest,
)

Script = Callable[[str], list[Event]]


@pytest.fixture
def after(script: Script) -> Callable[[str], HeapScheduler]:
    """A scheduler to which these events have happened."""

    def make(line: str) -> HeapScheduler:
        scheduler = HeapScheduler()
        for event in script(line):
            play(scheduler, event)
        return scheduler

    return make


After = Callable[[str], HeapScheduler]


def dispatched(scheduler: HeapScheduler, events: list[Event]) -> str:
    """The requests that go, in order, while the events happen; the invariant holds after each."""
    gone = []
    for event in events:
        answer = play(scheduler, event)
        assert list(flaws(scheduler)) == []
        if isinstance(answer.dispatched, str):
            gone.append(answer.dispatched)
    return " ".join(gone)


def appearance(scheduler: HeapScheduler) -> object:
    """All that can be seen from outside."""
    return (
        scheduler.virtual_time,
        scheduler.lag,
        scheduler.waiting_users,
        scheduler.waiting_requests,
        scheduler.requests_in_flight,
        scheduler.next_request,
        scheduler.weight("A"),
    )


def test_the_table_of_the_article(after: After) -> None:
    scheduler = after("+A 3×5; +B 1×9")
    rows = []
    for _ in range(8):
        request = scheduler.dispatch()
        assert request is not None
        lag, v = scheduler.lag, scheduler.virtual_time
        rows.append((v, request.user, request.cost, lag["A"] + v, lag["B"] + v))
    assert rows == [
        (0, "A", 3, 3, 0),
        (0, "B", 1, 3, 1),
        (1, "B", 1, 3, 2),
        (2, "B", 1, 3, 3),
        (3, "A", 3, 6, 3),
        (3, "B", 1, 6, 4),
        (4, "B", 1, 6, 5),
        (5, "B", 1, 6, 6),
    ]


FIELD = [
    ("kthena 265", "+A 2×50; +B 2; D×2", "A1 B1"),
    ("litellm 20866", "+A 9×2; +B 1×12; x A1; D×3", "A2 B1 B2"),
    ("kubernetes 112169", "+A 9×3; +B 1×30; D×2; ✗A1; D×6", "A1 B1 B2 B3 B4 B5 B6 B7"),
    (
        "kubernetes 95979",
        "+A 1; +B 1×30; D×12; +A 1×8; D×8",
        "A1 B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 A2 A3 B12 A4 B13 A5 B14 A6",
    ),
    ("tikv 14507", "+A 2×9; +B 3×9; D×3; upkeep; D×4", "A1 B1 A2 B2 A3 A4 B3"),
    ("cockroach 72485", "+A 9; +B 1×9; D×2; upkeep; +A 1; D×4", "A1 B1 B2 B3 B4 B5"),
    ("seastar pop_front", "w A 10; w B 10; +A 9×4; +B 19×4; D×6", "A1 B1 A2 A3 B2 A4"),
    ("seastar 1899", "+A 1; +B 1×4; +C 1×4; D; +A 1; x A2; D×3", "A1 B1 C1 B2"),
    ("bess 717", "+B 1×20; D×8; +A 1×8; D×6", "B1 B2 B3 B4 B5 B6 B7 B8 A1 A2 B9 A3 B10 A4"),
    ("Linux 3fe69747", "+A 10; +B 1×20; D×3; +C 1×5; D×6", "A1 B1 B2 C1 B3 C2 B4 C3 B5"),
    ("asterinas 2208", "+A 6×9; +B 6×9; D×4; w A 3; D×6", "A1 B1 A2 B2 A3 B3 A4 A5 A6 B4"),
    ("ClickHouse 99233", "+A 5×2; +B 1×3; D×4", "A1 B1 B2 B3"),
    ("ClickHouse FairPolicy", "+A 9; +B 1×2; D; x B1; x B2; +A 1; +B 1×9; D×3", "A1 A2 B3 B4"),
    ("grpc-go 3793", "+B 1×3; +A 1×3; +C 1×3; D×9", "A1 B1 C1 A2 B2 C2 A3 B3 C3"),
]
"""Public reports of faults in schedulers of this kind: where, the shortest run that shows it, and the right order."""


@pytest.mark.parametrize(("line", "order"), [case[1:] for case in FIELD], ids=[case[0] for case in FIELD])
def test_what_goes_wrong_in_the_field(script: Script, line: str, order: str) -> None:
    assert dispatched(HeapScheduler(), script(line)) == order


ORDERS = [
    ("a new cost counts when it is dispatched", "+A 1×2; +B 5×3; c A1 50; D×4", "A1 B1 B2 B3"),
    ("a new cost of a request further back", "+A 1×3; +B 1×3; c A2 9; D×6", "A1 B1 A2 B2 B3 A3"),
    ("weights share by their ratio", "w A 3; +A 3×9; +B 3×9; D×8", "A1 B1 A2 A3 A4 B2 A5 A6"),
    ("weights that are fractions", "w A 1/3; w B 2/3; +A 1×9; +B 1×9; D×6", "A1 B1 B2 A2 B3 B4"),
    ("a large ratio of weights", "w A 1000000007; +A 1000×9; +B 1×9; D×6", "A1 B1 A2 A3 A4 A5"),
    ("a weight set while idle", "+A 6; +B 6×9; D×2; w A 3; +A 6×9; D×6", "A1 B1 A2 B2 A3 A4 A5 B3"),
    ("a weight set in debt", "+A 9; +B 3×9; D×2; w A 9; +A 9×9; D×6", "A1 B1 B2 B3 A2 B4 A3 A4"),
    ("a weight set before the user is known", "w B 1/2; +A 2×9; +B 2×9; D×6", "A1 B1 A2 A3 B2 A4"),
    ("cancel the first", "+A 1×3; +B 1×3; x A1; D×4", "A2 B1 A3 B2"),
    ("cancel one in the middle", "+A 1×3; +B 1×3; x A2; D×4", "A1 B1 A3 B2"),
    ("cancel all of a user who is first", "+A 1×2; +B 1×2; x A1; x A2; D×2", "B1 B2"),
    ("cancel all of one, who comes back in place", "+A 1; +B 1×3; +C 1; D×3; +A 1; x A2; +A 1; D×2", "A1 B1 C1 A3 B2"),
    ("a debt outlives cancel and return", "+A 9×2; +B 1×12; D; x A2; +A 1; D×3", "A1 B1 B2 B3"),
    ("a dispatch that ends the competition", "+A 9; +B 1; D×2; +A 1×2; +B 1×2; D×4", "A1 B1 A2 B2 A3 B3"),
    ("nobody is there", "D; +A 1; x A1; D×2", ""),
]


@pytest.mark.parametrize(("line", "order"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS])
def test_order(script: Script, line: str, order: str) -> None:
    assert dispatched(HeapScheduler(), script(line)) == order


def test_ties_go_by_code_point() -> None:
    users = ["\U0001f600", "�", "z", "é", "A", "a", "Z", "10", "9"]
    scheduler = HeapScheduler()
    for user in users:
        scheduler.arrive(user, f"of {user}", 1)
    order = [request.user for _ in users if (request := scheduler.dispatch())]
    assert order == ["10", "9", "A", "Z", "a", "z", "é", "�", "\U0001f600"]


def test_v_and_meters_stay_in_their_band(script: Script) -> None:
    scheduler = HeapScheduler()
    for event in script("+A 7×9; +B 2×9; +C 3×2; D×5; x B4; w A 2; +D 5×3; D×6; upkeep; D×20"):
        play(scheduler, event)
        assert all(0 <= scheduler.lag[user] <= 7 for user in scheduler.waiting_users)


IMPOSSIBLE_COSTS: list[object] = [
    0,
    -1,
    0.0,
    -2.5,
    math.nan,
    math.inf,
    -math.inf,
    Fraction(-1, 2),
    Decimal("NaN"),
    Decimal(0),
]
NO_NUMBERS: list[object] = ["abc", "3", None, True, False, 1j, [], b"1", Decimal("1e999999999"), Decimal("Infinity")]


@pytest.mark.parametrize("bad", IMPOSSIBLE_COSTS + NO_NUMBERS, ids=repr)
def test_a_cost_or_weight_that_is_none_is_refused(after: After, bad: Any) -> None:
    scheduler = after("+A 3×2; +B 1; D")
    before = appearance(scheduler)
    with pytest.raises(InvalidCost, match="cost"):
        scheduler.arrive("A", "new", bad)
    for request in ("A2", "A1"):  # the cost is looked at before the request is looked up
        with pytest.raises(InvalidCost, match="cost"):
            scheduler.recost(request, bad)
    with pytest.raises(InvalidWeight, match="weight"):
        scheduler.set_weight("A", bad)
    assert appearance(scheduler) == before
    assert list(flaws(scheduler)) == []


REFUSALS: list[tuple[str, Callable[[HeapScheduler], object], type[Exception]]] = [
    ("arrive as one that waits", lambda s: s.arrive("C", "A2", 1), DuplicateRequest),
    ("arrive as one in flight", lambda s: s.arrive("C", "A1", 1), DuplicateRequest),
    ("cancel in flight", lambda s: s.cancel("A1"), NotWaiting),
    ("cancel a cancelled one", lambda s: s.cancel("A3"), UnknownRequest),
    ("cancel a completed one", lambda s: s.cancel("B1"), UnknownRequest),
    ("cancel an unknown one", lambda s: s.cancel("nothing"), UnknownRequest),
    ("recost in flight", lambda s: s.recost("A1", 5), NotWaiting),
    ("recost a cancelled one", lambda s: s.recost("A3", 5), UnknownRequest),
    ("recost a completed one", lambda s: s.recost("B1", 5), UnknownRequest),
    ("user is a number", lambda s: s.arrive(7, "new", 1), TypeError),  # type: ignore[arg-type]
    ("user is a list", lambda s: s.arrive([], "new", 1), TypeError),  # type: ignore[arg-type]
    ("user is missing", lambda s: s.arrive(None, "new", 1), TypeError),  # type: ignore[arg-type]
    ("user is bytes", lambda s: s.set_weight(b"A", 1), TypeError),  # type: ignore[arg-type]
    ("request is a number", lambda s: s.arrive("A", 7, 1), TypeError),  # type: ignore[arg-type]
    ("request is a list", lambda s: s.cancel([]), TypeError),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("refused", "error"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_a_refused_call_changes_nothing(
    after: After, refused: Callable[[HeapScheduler], object], error: type[Exception]
) -> None:
    scheduler = after("+A 3×4; +B 1×3; D×2; ✓B1; x A3")
    before = appearance(scheduler)
    with pytest.raises(error) as told:
        refused(scheduler)
    assert issubclass(error, Refused) or "an id is a str" in str(told.value)
    assert appearance(scheduler) == before
    assert list(flaws(scheduler)) == []


def test_completion_is_never_refused_and_moves_no_meter(after: After) -> None:
    scheduler = after("+A 3×3; +B 1×2; D×2")
    before = scheduler.lag, scheduler.virtual_time, scheduler.next_request
    for request in ("A1", "A1", "A2", "nothing"):
        scheduler.complete(request, "failed")
    assert (scheduler.lag, scheduler.virtual_time, scheduler.next_request) == before
    assert (scheduler.requests_in_flight, scheduler.waiting_requests) == (1, 3)
    scheduler.arrive("C", "A1", 1)
    with pytest.raises(DuplicateRequest):
        scheduler.arrive("C", "A2", 1)


def test_numbers_are_read_as_they_are_written() -> None:
    scheduler = HeapScheduler()
    scheduler.set_weight("A", 0.1)
    scheduler.set_weight("B", Decimal("2.50"))  # type: ignore[arg-type]
    assert (scheduler.weight("A"), scheduler.weight("B"), scheduler.weight("C")) == (Fraction(1, 10), Fraction(5, 2), 1)
    scheduler.arrive("A", "a", Decimal("0.3"))  # type: ignore[arg-type]
    scheduler.arrive("B", "b", Fraction(1, 3))
    scheduler.arrive("C", "c", 1)
    scheduler.dispatch()
    scheduler.dispatch()
    assert scheduler.lag == {"A": 3, "B": Fraction(2, 15), "C": 0}


def test_an_id_of_a_subclass_is_taken_as_its_text() -> None:
    class Team(StrEnum):
        RED = "red"

    scheduler = HeapScheduler()
    scheduler.arrive(Team.RED, "1", 1)
    scheduler.arrive("red", "2", 1)
    request = scheduler.dispatch()
    assert request is not None
    assert type(request.user) is str
    assert scheduler.waiting_users == ("red",)


def test_a_weight_that_is_one_again_is_not_kept() -> None:
    scheduler = HeapScheduler()
    for weight in (3, 1):
        scheduler.set_weight("A", weight)
    assert scheduler.weight("A") == 1
    assert list(flaws(scheduler)) == []


def test_an_id_is_free_again_after_a_cancel_and_a_completion() -> None:
    scheduler = HeapScheduler()
    for _ in range(3):
        scheduler.arrive("A", "one", 1)
        scheduler.cancel("one")
        scheduler.arrive("A", "one", 1)
        assert scheduler.dispatch() is not None
        scheduler.complete("one")
    assert scheduler.requests_in_flight == 0


CALLS: list[Callable[[HeapScheduler], object]] = [
    lambda s: s.arrive("A", "new", 1),
    lambda s: s.dispatch(),
    lambda s: s.cancel("A2"),
    lambda s: s.set_weight("A", 2),
    lambda s: s.recost("A2", 2),
    lambda s: s.upkeep(),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_within_a_call_is_refused(after: After, call: Callable[[HeapScheduler], object]) -> None:
    scheduler = after("+A 3×2; +B 1; D")
    before = appearance(scheduler)
    scheduler._busy = True
    with pytest.raises(Overlapping, match="lock"):
        call(scheduler)
    scheduler._busy = False
    assert appearance(scheduler) == before
