"""The replay of the audit says of every trace what the machine says, and keeps the machine's own state."""

from __future__ import annotations

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from audit_logs import entries, events, record
from sfq_spec.conformance.audit import order as module
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import Record, Unreadable
from sfq_spec.conformance.judge import Wrong, judge
from sfq_spec.machine import Machine, answer, take
from sfq_spec.mutants import BY_NAME, MUTANTS, Mutant
from sfq_spec.trace import Entry


def audited(trace: list[Entry], *, any_tie: bool = False) -> Wrong | None:
    return Order(any_tie=any_tie).take(map(record, trace))


def judged(trace: list[Entry], *, any_tie: bool = False) -> Wrong | None:
    return judge([entry.event for entry in trace], [entry.answer for entry in trace], any_tie=any_tie, with_lag=True)


@pytest.mark.parametrize("lag", [False, True])
def test_the_machine_conforms_and_the_replay_has_its_state(lag: bool) -> None:
    for seed in range(12):
        script = events(seed, 60)
        order, state = Order(), Machine()
        for event, entry in zip(script, entries(script, take, lag=lag), strict=True):
            assert order.take([record(entry)]) is None
            state, _ = answer(state, event)
            assert order.machine() == state


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_told_as_the_machine_tells_it(mutant: Mutant) -> None:
    for seed in range(4):
        for lag in (False, True):
            trace = entries(events(seed, 50), mutant.take, lag=lag)
            for any_tie in (False, True):
                assert audited(trace, any_tie=any_tie) == judged(trace, any_tie=any_tie)


def test_most_mutants_are_told_at_all() -> None:
    told = {mutant.name for mutant in MUTANTS for seed in range(12) if audited(entries(events(seed, 50), mutant.take))}
    assert len(told) >= len(MUTANTS) - 4


def test_a_tie_may_be_broken_otherwise_where_that_is_said() -> None:
    other_tie = [entries(events(seed), BY_NAME["last-id-first"].take) for seed in range(10)]
    assert any(audited(trace) for trace in other_tie)
    assert not any(audited(trace, any_tie=True) for trace in other_tie)


SENT_FIRST = [
    Record("arrive", "A", "A1", 7),
    Record("arrive", "A", "A2", 7),
    Record("arrive", "B", "B1", 9),
    Record("arrive", "B", "B2", 9),
    Record("dispatch", dispatched="A1"),
    Record("dispatch", dispatched="B1"),
    Record("dispatch", dispatched="B2"),
]


def test_the_first_wrong_event_and_why() -> None:
    order = Order()
    wrong = order.take(SENT_FIRST)
    assert wrong is not None
    assert (wrong.at, wrong.legal, wrong.claims) == (6, ("A2",), ("R-SELECT",))
    assert "A.S = 7 is less than B.S = 9" in wrong.sentence
    assert order.events == 7


def test_a_request_sent_after_its_end_is_wrong_not_a_gap() -> None:
    begin = [Record("arrive", "A", "A1", 7), Record("cancel", request="A1"), Record("arrive", "A", "A2", 7)]
    wrong = Order().take([*begin, Record("dispatch", dispatched="A1")])
    assert wrong is not None
    assert wrong.legal == ("A2",)
    with pytest.raises(Unreadable, match="'A9' is dispatched, and its arrival is missing"):
        Order().take([*begin, Record("dispatch", dispatched="A9")])


def test_only_so_many_ended_requests_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATEST", 5)
    order = Order()
    for number in range(20):
        order.take([Record("arrive", "A", f"A{number}", 1), Record("cancel", request=f"A{number}")])
    assert len(order._ended) == len(order._ended_in_order) == 5
    assert order.live == {}


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([Record("dispatch")], "`sfq-spec run`"),
        ([Record("arrive", "A", None, 1)], "field `request`: is missing"),
        ([Record("cancel")], "field `request`: is missing"),
        ([Record("weight", "A")], "field `weight`: is missing"),
        ([Record("arrive", "A", "A1", True)], "field `cost`: True is a truth value"),
        ([*SENT_FIRST[:4], Record("dispatch", "B", dispatched="A1")], "is dispatched for 'B'"),
        (
            [*SENT_FIRST[:4], Record("dispatch", "A", cost=8, dispatched="A1")],
            "has the cost 7 and is dispatched",
        ),
        ([Record("arrive", "A", "A1", 1, lag={"A": "much"})], "field `lag`: 'much' is not a number"),
    ],
)
def test_a_gap_gives_no_verdict(records: list[Record], told: str) -> None:
    with pytest.raises(Unreadable) as error:
        Order().take(records)
    assert told in str(error.value)


def test_a_lag_is_compared_where_it_is_told() -> None:
    trace = SENT_FIRST[:5]
    right = [*trace[:4], replace(trace[4], lag={"A": 7, "B": 0})]
    assert Order().take(right) is None
    for lag in ({"A": 6, "B": 0}, {"B": 0}, {"A": 7, "B": -1}, {"A": 7, "B": 1}):
        assert Order().take([*trace[:4], replace(trace[4], lag=lag)]) is not None


class Careless(Order):
    """Wrong: lets anybody go."""

    def _may_go(self, player: module.Player) -> bool:
        super()._may_go(player)
        return True


class Suspicious(Order):
    """Wrong: lets nobody go."""

    def _may_go(self, player: module.Player) -> bool:
        return False


def test_a_wrong_replay_is_found_out() -> None:
    """One that passes over too much parts from the machine; of one that suspects too much the judge thinks better."""
    assert Careless().take(SENT_FIRST) is None
    with pytest.raises(Unreadable, match="a fault of sfq-spec"):
        Suspicious().take(SENT_FIRST)


def test_a_changed_answer_is_found() -> None:
    for seed in range(10):
        trace = [record(entry) for entry in entries(events(seed), take)]
        for at, told in enumerate(trace):
            changed = replace(told, refused="invalid-cost" if told.refused is UNSET else UNSET)
            wrong = Order().take([*trace[:at], changed, *trace[at + 1 :]])
            assert wrong is not None
            assert wrong.at == at
