"""The specification reads along: each divergence is told at once, with a trace that shows it, and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import pytest

from audit_logs import entries, events
from sfq_spec.conformance.audit import shadow as module
from sfq_spec.conformance.audit.shadow import Divergence, Lost, Shadow
from sfq_spec.machine import take
from sfq_spec.mutants import BY_NAME
from sfq_spec.trace import Answer, Arrive, Complete, Dispatch, Entry, SetWeight, encode


class Told(Protocol):
    status: int
    out: str
    err: str


def lines(trace: list[Entry]) -> list[bytes]:
    return list(map(encode, trace))


def followed(trace: list[bytes], **how: Any) -> tuple[Shadow, list[Divergence | Lost]]:
    shadow = Shadow(**how)
    return shadow, [found for line in trace if (found := shadow.take(line)) is not None]


def arrive(request: str, cost: int = 1) -> Entry:
    return Entry(Arrive(request[0], request, Fraction(cost)))


def sent(request: str) -> Entry:
    return Entry(Dispatch(), Answer(dispatched=request))


def done(*requests: str) -> list[Entry]:
    return [Entry(Complete(request)) for request in requests]


RIGHT = [arrive("A1"), sent("A1"), *done("A1")]
WRONG = [arrive("A1"), arrive("B1"), sent("B1"), sent("A1"), *done("A1", "B1")]


def test_the_machine_never_diverges() -> None:
    for seed in range(40):
        trace = lines(entries(events(seed, 80), take))
        shadow, found = followed(trace)
        assert found == []
        assert (shadow.events, shadow.passed_over) == (len(trace), 0)


@pytest.mark.parametrize("name", ["last-id-first", "greatest-first", "no-idle-reset", "cancel-charges"])
def test_what_is_saved_shows_the_divergence_by_itself(name: str) -> None:
    found = [
        each
        for seed in range(20)
        for each in followed(lines(entries(events(seed, 80), BY_NAME[name].take)))[1]
        if isinstance(each, Divergence)
    ]
    assert len(found) >= 5
    for each in found:
        _, again = followed(list(each.lines))
        assert [other.wrong.sentence for other in again if isinstance(other, Divergence)][:1]
        assert again[-1].lines == each.lines  # type: ignore[union-attr]


def test_the_shortest_trace_begins_where_all_were_level() -> None:
    weight = Entry(SetWeight("A", Fraction(2)))
    shadow, [found] = followed(lines([weight, *RIGHT * 3, *WRONG]))
    assert isinstance(found, Divergence)
    assert found.lines == tuple(lines([weight, *WRONG[:3]]))
    assert found.is_whole
    assert (found.line, shadow.divergences, shadow.passed_over) == (13, 1, 1)


def test_after_a_divergence_it_begins_anew_where_nobody_waits() -> None:
    shadow, found = followed(lines([*WRONG, *RIGHT, *WRONG, *RIGHT]))
    assert [type(each) for each in found] == [Divergence, Divergence]
    assert (shadow.divergences, shadow.passed_over, shadow.events) == (2, 2, 16)


def test_weights_hold_when_it_begins_anew() -> None:
    weighted = [Entry(SetWeight("A", Fraction(3))), *WRONG]
    right = entries([arrive("A2", 3).event, arrive("A3", 3).event, arrive("B2", 2).event, arrive("B3", 2).event], take)
    rest = [sent("A2"), sent("B2"), sent("A3"), sent("B3")]
    assert [type(each) for each in followed(lines([*weighted, *right, *rest]))[1]] == [Divergence]
    back = Entry(SetWeight("A", Fraction(1)))
    assert [type(each) for each in followed(lines([*weighted, back, *right, *rest]))[1]] == [Divergence, Divergence]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"no json\n", "line 3: is not JSON"),
        (b'{"event":"dispatch","dispatched":"X9"}\n', "line 3: request 'X9' is dispatched, and its arrival is missing"),
        (b'{"event":"arrive","user":"A"}\n', "line 3: field `request`: is missing"),
    ],
)
def test_what_cannot_be_followed_is_told_once(line: bytes, why: str) -> None:
    trace = [*lines([arrive("A1"), arrive("B1")]), line, line, *lines([sent("B1"), sent("A1"), *RIGHT, *WRONG])]
    shadow, found = followed(trace)
    assert isinstance(found[0], Lost)
    assert why in found[0].why
    assert [type(each) for each in found] == [Lost, Divergence]
    assert shadow.divergences == 1


def test_a_gap_that_is_told_is_no_trouble() -> None:
    shadow, found = followed([*lines([arrive("A1"), arrive("B1")]), b'{"gap":7}\n', *lines([*RIGHT, *WRONG])])
    assert [type(each) for each in found] == [Divergence]
    assert shadow.passed_over == 7 + 1


def test_a_long_period_keeps_its_latest_lines() -> None:
    trace = [arrive("A1"), arrive("B1"), *(Entry(Complete("x")) for _ in range(30)), sent("B1")]
    _, [found] = followed(lines(trace), most_lines=10)
    assert isinstance(found, Divergence)
    assert not found.is_whole
    assert len(found.lines) <= 10
    assert found.as_json()["reproduction_is_whole"] is False


def test_users_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_USERS", 10)
    shadow = Shadow()
    for number in range(100):
        for entry in (Entry(Arrive(f"u{number}", f"r{number}", Fraction(1))), sent(f"r{number}")):
            assert shadow.take(encode(entry)) is None
    assert len(shadow._order.players) <= 11


def test_the_command_saves_and_counts(command: Callable[..., Told], tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(lines([*WRONG, *RIGHT, *WRONG])))
    told = command("shadow", str(path), "--save", str(tmp_path / "found"))
    first, second, last = map(json.loads, told.out.splitlines())
    assert told.status == 1
    assert last == {"events": 13, "passed_over": 2, "divergences": 2}
    assert first["claims"] == ["R-SELECT"]
    assert [event["event"] for event in first["context"]] == ["arrive", "arrive", "dispatch"]
    assert command("audit", first["saved"]).status == 1
    assert Path(second["saved"]).name == "divergence-0002.jsonl"


def test_the_command_accepts_the_machine_and_refuses_what_is_none(command: Callable[..., Told], tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(lines(RIGHT * 5)))
    assert command("shadow", str(path)).status == 0
    path.write_bytes(b"client,time\n1,2\n")
    told = command("shadow", str(path))
    assert told.status == 2
    assert "nothing could be followed of 2 lines" in told.err
    for nothing in (b"", b"\n\n"):
        told = command("shadow", "-", stdin=nothing)
        assert told.status == 2
        assert json.loads(told.out) == {"events": 0, "passed_over": 0, "divergences": 0}
        assert "nothing could be followed, for there are no events" in told.err


def test_a_divergence_is_told_while_the_trace_goes_on() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "from sfq_spec.cli import main; main()", "shadow", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"".join(lines(WRONG[:3])))
        child.stdin.flush()
        assert "R-SELECT" in json.loads(child.stdout.readline())["claims"]
        child.stdin.close()
        assert json.loads(child.stdout.readline())["divergences"] == 1
    assert child.returncode == 1
