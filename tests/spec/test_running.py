"""Executing a script: what is recorded of a scheduler's answers."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import pytest
from msgspec import UNSET

from sfq_spec.running import Run, run
from sfq_spec.scheduler import MachineScheduler, Scheduler, Unsupported, load
from sfq_spec.trace import Answer, Entry, encode, read


def script(*lines: str) -> Iterator[Entry]:
    return read(io.BytesIO("\n".join(lines).encode()))


def lines(trace: Iterable[Entry]) -> list[str]:
    return [encode(entry).decode().rstrip("\n") for entry in trace]


A1 = '{"event":"arrive","user":"A","request":"A1","cost":3}'
B1 = '{"event":"arrive","user":"B","request":"B1","cost":1}'
DISPATCH = '{"event":"dispatch"}'


class Says:
    """Accepts everything, and dispatches what it is told to."""

    def __init__(self, *requests: str | None) -> None:
        self.requests = list(requests)

    def arrive(self, user: str, request: str, cost: object) -> object:
        return {"refused": "invalid-cost"} if cost == 666 else None

    def dispatch(self) -> str | None:
        return self.requests.pop(0)

    def cancel(self, request: str) -> None:
        return None

    def recost(self, request: str, cost: object) -> None:
        return None


@pytest.fixture(params=["machine", "python"])
def scheduler(request: pytest.FixtureRequest) -> Scheduler:
    return MachineScheduler() if request.param == "machine" else load("schedulers.linear_scan:LinearScan")()


def test_the_answer_is_merged_into_the_event(scheduler: Scheduler) -> None:
    assert lines(run(script(A1, B1, DISPATCH, '{"event":"complete","request":"A1"}', A1), scheduler)) == [
        A1,
        B1,
        '{"event":"dispatch","dispatched":"A1","user":"A","cost":3}',
        '{"event":"complete","request":"A1","outcome":"completed"}',
        A1,
    ]


def test_other_fields_stay_and_old_answers_go(scheduler: Scheduler) -> None:
    told = '{"event":"dispatch","dispatched":"B9","user":"B","cost":7,"lag":{"B":1},"time":0.10,"note":{"a":[1, 2]}}'
    old = '{"event":"arrive","user":"A","request":"A1","cost":3,"refused":"invalid-cost","time":1e3}'
    assert lines(run(script(old, told), scheduler)) == [
        '{"event":"arrive","user":"A","request":"A1","cost":3,"time":1e3}',
        '{"event":"dispatch","dispatched":"A1","user":"A","cost":3,"time":0.10,"note":{"a":[1, 2]}}',
    ]


def test_a_refusal_is_an_answer(scheduler: Scheduler) -> None:
    refused = A1[:-1] + ',"refused":"duplicate-request"}'
    assert lines(run(script(A1, A1, DISPATCH, DISPATCH), scheduler)) == [
        A1,
        refused,
        '{"event":"dispatch","dispatched":"A1","user":"A","cost":3}',
        '{"event":"dispatch","dispatched":null}',
    ]


def test_the_cost_at_dispatch_is_the_latest(scheduler: Scheduler) -> None:
    recost = '{"event":"cost","request":"A1","cost":"7/2"}'
    refused = '{"event":"cost","request":"A1","cost":0}'
    assert lines(run(script(A1, recost, refused, DISPATCH), scheduler))[-1] == (
        '{"event":"dispatch","dispatched":"A1","user":"A","cost":"7/2"}'
    )


def test_an_id_that_is_used_again_is_another_request(scheduler: Scheduler) -> None:
    again = '{"event":"arrive","user":"B","request":"A1","cost":5}'
    trace = lines(run(script(A1, DISPATCH, '{"event":"complete","request":"A1"}', again, DISPATCH), scheduler))
    assert trace[-1] == '{"event":"dispatch","dispatched":"A1","user":"B","cost":5}'


def test_what_a_scheduler_says_is_recorded_not_judged() -> None:
    refused = '{"event":"arrive","user":"A","request":"A2","cost":666}'
    cancel = '{"event":"cancel","request":"B1"}'
    events = script(A1, B1, refused, cancel, *[DISPATCH] * 5)
    assert lines(run(events, Says("B1", "A1", "A1", "A2", "never")))[4:] == [
        '{"event":"dispatch","dispatched":"B1","user":"B","cost":1}',
        '{"event":"dispatch","dispatched":"A1","user":"A","cost":3}',
        '{"event":"dispatch","dispatched":"A1","user":"A","cost":3}',
        '{"event":"dispatch","dispatched":"A2"}',
        '{"event":"dispatch","dispatched":"never"}',
    ]


def test_the_lag_is_added_when_it_is_asked_for(scheduler: Scheduler) -> None:
    entries = list(run(script(A1, B1, DISPATCH), scheduler, with_lag=True))
    assert [entry.answer.lag for entry in entries] == [{"A": 0}, {"A": 0, "B": 0}, {"A": 3, "B": 0}]
    with pytest.raises(Unsupported, match="lag"):
        next(run(script(A1), Says(), with_lag=True))


def test_events_are_counted() -> None:
    going = Run(MachineScheduler())
    cancel = '{"event":"cancel","request":"B1"}'
    for entry in script(A1, A1, B1, A1.replace("A1", "A2"), cancel, cancel, DISPATCH):
        going.play(entry)
    assert (going.events, going.dispatched, going.refused, going.waiting) == (7, 1, 2, 1)


def test_what_has_ended_is_forgotten() -> None:
    going = Run(MachineScheduler())
    complete = '{"event":"complete","request":"A1"}'
    for entry in script(A1, complete):
        going.play(entry)
    assert going.waiting == 1, "a completion of a waiting request changes nothing"
    for entry in script(DISPATCH, complete):
        going.play(entry)
    assert not going.requests


def test_one_event_is_read_at_a_time() -> None:
    def endless() -> Iterator[Entry]:
        number = 0
        while True:
            number += 1
            yield from script(f'{{"event":"arrive","user":"A","request":"A{number}","cost":1}}', DISPATCH)

    trace = run(endless(), MachineScheduler())
    assert next(trace).answer == Answer()
    assert next(trace).answer.dispatched == "A1"
    assert next(trace).answer.dispatched is UNSET
