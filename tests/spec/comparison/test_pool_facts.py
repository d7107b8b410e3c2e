"""The pool of servers with any scheduler: what it is told, what it may answer, and clients that wait for answers."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_spec.comparison.workload import BadWorkload, Loop, Workload
from sfq_spec.importers.pool import Happened, Pool, Prices, Service
from sfq_spec.importers.rows import SECOND, Arrival
from sfq_spec.scheduler import Broken, MachineScheduler
from sfq_spec.trace import Arrive, Complete, Dispatch, Entry

QUARTER = Pool(2, Fraction(1, 4), Fraction(1, 8))


class Notes(MachineScheduler):
    """It notes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[str, Any]] = []

    def given(self, fields: Mapping[str, Any]) -> None:
        self.told.append(msgspec.json.decode(msgspec.json.encode(fields)))


def seconds(entry: Entry) -> Decimal:
    return Decimal(bytes(entry.extra["time"]).decode())


def test_tokens_are_told_when_they_are_there() -> None:
    notes = Notes()
    arrivals = [Arrival(0, "A", 2, 4, prefix=("a", 1)), Arrival(SECOND * 3 // 4, "B", 0, 1), Arrival(SECOND, "B", 0, 9)]
    list(Service(arrivals, QUARTER, scheduler=notes).trace())
    # half a second of input, then a token each eighth; B-1 from 0.75 to 0.875
    assert notes.told == [
        {"time": 0, "input_tokens": 2, "prefix": ["a", 1]},
        {"time": 0},
        {"time": 0.75, "input_tokens": 0, "produced": {"A-1": 2}},
        {"time": 0.75},
        {"time": 0.875, "input_tokens": 0, "output_tokens": 1, "produced": {"A-1": 1, "B-1": 1}},
        {"time": 1, "input_tokens": 2, "output_tokens": 4, "produced": {"A-1": 1}},
        {"time": 1, "input_tokens": 0},
        {"time": 1},
        {"time": 2.125, "input_tokens": 0, "output_tokens": 9, "produced": {"B-2": 9}},
    ]


def test_a_scheduler_that_does_not_ask_is_told_the_time_only() -> None:
    entries = list(Service([Arrival(0, "A", 2, 4, prefix=(1,))], QUARTER).trace())
    assert all(entry.extra.keys() == {"time"} for entry in entries)


@given(
    st.integers(0, 7),
    st.integers(0, 7),
    st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(2, 7)]),
    st.sampled_from([Fraction(0), Fraction(1, 6), Fraction(3, 11)]),
    st.integers(0, 6 * SECOND),
)
def test_tokens_produced_follow_from_the_seconds(
    inputs: int, outputs: int, input_seconds: Fraction, output_seconds: Fraction, elapsed: int
) -> None:
    pool, arrival = Pool(1, input_seconds, output_seconds), Arrival(0, "A", inputs, outputs)
    since = Fraction(elapsed, SECOND) - inputs * input_seconds
    expected = 0 if since < 0 else outputs if not output_seconds else min(outputs, floor(since / output_seconds))
    assert pool.produced(arrival, elapsed) == expected
    assert pool.produced(arrival, pool.service(arrival)) == outputs, "all of them when it ends"


@given(
    st.lists(
        st.builds(
            Arrival,
            st.integers(0, 8).map(lambda time: time * 300_000),
            st.sampled_from("ABC"),
            st.integers(0, 4),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=15,
    )
)
def test_every_token_is_told_once(arrivals: list[Arrival]) -> None:
    notes = Notes()
    arrivals = sorted(arrivals, key=lambda arrival: arrival.time)
    told: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for entry in Service(arrivals, Pool(2, Fraction(1, 7), Fraction(1, 9)), scheduler=notes).trace():
        for request, tokens in notes.told[-1].get("produced", {}).items():
            assert tokens > 0
            told[request] = told.get(request, 0) + tokens
        if isinstance(entry.event, Complete):
            sizes[entry.event.request] = notes.told[-1]["output_tokens"]
            assert told.get(entry.event.request, 0) == sizes[entry.event.request], "all before it ends"
    assert sum(told.values()) == sum(arrival.output_tokens for arrival in arrivals)


class Says(MachineScheduler):
    """It answers what it was made for."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def dispatch(self) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "returned None, all servers are free, and 1 requests wait"),
        ("B-7", "answered 'B-7', which is no request that waits"),
        ({"refused": "not-waiting"}, "answered 'not-waiting', which is no request that waits"),
    ],
)
def test_an_answer_that_leads_nowhere(answer: object, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        list(Service([Arrival(0, "A", 0, 1)], Pool(1), scheduler=Says(answer)).trace())


def test_a_request_that_is_sent_twice() -> None:
    with pytest.raises(Broken, match="'A-1', which is no request that waits"):
        list(Service([Arrival(0, "A", 0, 1)] * 2, Pool(1), scheduler=Says("A-1")).trace())


def test_nothing_happens_at_the_end_or_later() -> None:
    service = Service([Arrival(0, "A", 0, 2)] * 3, Pool(1, Fraction(0), Fraction(1)), until=4 * SECOND)
    entries = list(service.trace())
    assert [seconds(entry) for entry in entries if isinstance(entry.event, Dispatch)] == [0, 2]
    assert (service.now, service.congestion.elapsed, service.congestion.busy) == (4 * SECOND, 4 * SECOND, 4 * SECOND)


@pytest.mark.parametrize(("after", "times"), [("dispatched", [0, 0.5, 2.5]), ("completed", [0, 2.5, 5])])
def test_a_client_that_waits_for_an_answer(after: Happened, times: list[float]) -> None:
    loop = Loop(tuple(Arrival(0, "A", 0, 2) for _ in range(3)), after, SECOND // 2)
    workload = Workload("loop", "", "", (), (loop,), pool=Pool(1, Fraction(0), Fraction(1)), prices=Prices(0, 1))
    entries = list(workload.service(MachineScheduler()).trace())
    assert [float(seconds(entry)) for entry in entries if isinstance(entry.event, Arrive)] == times


def test_a_request_may_have_a_cost_of_its_own() -> None:
    [entry, *_] = Service([Arrival(0, "A", 5, 5, cost=Fraction(1, 3))], Pool(1)).script()
    assert isinstance(entry.event, Arrive)
    assert entry.event.cost == Fraction(1, 3)


def test_who_sends_in_a_loop_sends_nothing_else() -> None:
    one = Arrival(0, "A", 0, 1)
    with pytest.raises(BadWorkload, match="'A' sends requests of its own and in a loop"):
        Workload("both", "", "", (one,), (Loop((one,)),))
