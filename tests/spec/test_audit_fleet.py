"""`sfq-spec audit --mode fleet`: whether each request ended once, and whether each server had room for what it held."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.simulation.run import simulate
from sfq_impl.fleet.simulation.scenario import draw
from sfq_proofs.fleet.faults import FAULTS, planted
from sfq_spec.competition import Competition
from sfq_spec.conformance.audit import fleet
from sfq_spec.conformance.audit.fleet import FleetFinding, audit_fleet
from sfq_spec.conformance.audit.records import Unreadable
from sfq_spec.fleet import Room, fixed, is_over, once, same_meters, within
from sfq_spec.trace import decode

ROOMS = {"one": Room(2, 10), "two": Room(1)}


def line(told: str) -> bytes:
    """An event in short: `+a`, `+a 7` tokens; `a>one` is sent; `-a` goes; `a.` or `a.failed` ends; `a. s t` moved."""
    name, *rest = told.split()
    event: dict[str, Any]
    if name.startswith("+"):
        event = {"event": "arrive", "user": "u", "request": name[1:], "cost": 1, "tokens": int(rest[0]) if rest else 0}
    elif name.startswith("-"):
        event = {"event": "cancel", "request": name[1:], "ended": rest[0] if rest else "cancelled"}
    elif ">" in name:
        request, server = name.split(">")
        event = {"event": "dispatch", "dispatched": request or None} | ({"server": server} if server else {})
    else:
        request, outcome = name.split(".")
        event = {"event": "complete", "request": request, "outcome": outcome or "completed"}
        event |= {"moved": rest} if rest else {}
    return json.dumps(event).encode()


def audited(told: str, rooms: Mapping[str, Room] = ROOMS) -> FleetFinding:
    return audit_fleet(((f"line {number}", decode(line(one))) for number, one in enumerate(told.split(", "), 1)), rooms)


RIGHT = {
    "sent and ended": ("+a, a>one, a.", {"completed": 1}),
    "withdrawn": ("+a, -a, +b, -b expired, +c, -c refused", {"cancelled": 1, "expired": 1, "refused": 1}),
    "an id again, once it is free": ("+a, a>one, a., +a, a>one, a.", {"completed": 2}),
    "as full as can be": ("+a, +b, +c, a>one, b>one, a., c>one", {"completed": 1}),
    "as many tokens as can be": ("+a 6, +b 4, a>one, b>one, a.", {"completed": 1}),
    "a completion of what waits is none": ("+a, a., a>one, a.", {"completed": 1}),
    "begun before the trace": ("a., +b, b>one, b.", {"completed": 2}),
    "what has moved is on no server": ("+a, +b, a>two, b>two, a. two one, b.", {"completed": 2}),
    "what may still be found to have moved": ("+a, +b, a>two, b>two, a., b. two one", {"completed": 2}),
    "what has failed may have left before": ("+a, +b, a>two, b>two, a.failed, b.", {"failed": 1, "completed": 1}),
    "a server whose room is not told": ("+a, +b, +c, +d, a>three, b>three, c>one, d>two, a.", {"completed": 1}),
    "nobody waits": (">, +a, -a", {"cancelled": 1}),
}
WRONG = {
    "it is accepted twice": ("+a, +a", "FLEET-ONCE", 2, "a is accepted again, and has not ended"),
    "it is accepted while it is served": ("+a, a>one, +a", "FLEET-ONCE", 3, "a is accepted again"),
    "it ends twice": ("+a, a>one, a., a.", "FLEET-ONCE", 4, "a ends a second time"),
    "it is withdrawn twice": ("+a, -a, -a", "FLEET-ONCE", 3, "a ends a second time"),
    "it ends after it was withdrawn": ("+a, -a, a.", "FLEET-ONCE", 3, "a ends a second time"),
    "it ends twice, and began before": ("a., a.", "FLEET-ONCE", 2, "a ends a second time"),
    "it is sent twice": ("+a, a>one, a>two", "FLEET-ONCE", 3, "a is sent, and is on a server already"),
    "it is sent after its end": ("+a, -a, a>one", "FLEET-ONCE", 3, "a is sent, and has ended"),
    "too many": (
        "+a, +b, a>two, b>two, a., b.",
        "FLEET-CAP", 4, "two holds more requests than it has room for: 2, and not 1",
    ),
    "too many tokens": (
        "+a 6, +b 5, a>one, b>one, a., b.",
        "FLEET-CAP", 4, "one holds more tokens than it has room for: 11, and not 10",
    ),
    "too many, though one has moved": (
        "+a, +b, +c, +d, a>one, b>one, c>one, d>one, b. one two, a., c., d.",
        "FLEET-CAP", 8, "one holds more requests than it has room for: 3, and not 2",
    ),
}  # fmt: skip


@pytest.mark.claims("FLEET-ONCE", "FLEET-CAP")
@pytest.mark.parametrize(("told", "ended"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_conforms(told: str, ended: dict[str, int]) -> None:
    found = audited(told)
    assert (found.wrong, found.verdict, dict(found.ended)) == (None, "conforms", ended)
    accepted = {each[1:].split()[0] for each in told.split(", ") if each.startswith("+")}
    assert found.begun_before == (0 if "a" in accepted else told.count("a."))


@pytest.mark.claims("FLEET-ONCE", "FLEET-CAP")
@pytest.mark.parametrize(("told", "claim", "event", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_line(told: str, claim: str, event: int, said: str) -> None:
    found = audited(told)
    assert found.wrong is not None
    assert (found.wrong.at + 1, found.wrong.claims, found.place) == (event, (claim,), f"line {event}")
    assert found.wrong.sentence.startswith(said)
    assert found.verdict == "does not conform"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("+a, b>one", "line 2: b is dispatched, and its arrival is not in the trace"),
        ("+a, a>", "line 2: field `server`: is missing"),
        ("+a -1", "line 1: field `tokens`: is not a whole number"),
    ],
)
def test_a_trace_with_a_gap_has_no_verdict(told: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        audited(told)


def test_a_trace_that_ends_too_early_has_no_verdict() -> None:
    assert audited("+a, a>one").verdict == "no verdict"
    open_ = audited("+a, +b, +c, a>two, b>two, -c")
    assert (open_.verdict, open_.undecided) == ("no verdict", "two at line 5")
    assert audited("+a, +b, a>two, b>two, b. two one").verdict == "conforms"


def test_only_the_latest_ends_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that has been free again in between counts from its last end."""
    monkeypatch.setattr(fleet, "LATEST", 2)
    again = "+a, -a, +b, -b, +a, -a, +c, -c"
    assert audited(f"{again}, b.").begun_before == 1
    wrong = audited(f"{again}, a.").wrong
    assert wrong is not None
    assert wrong.sentence == "a ends a second time"


def test_the_predicates_themselves() -> None:
    assert [once(accepted, 1) for accepted in range(4)] == [False, True, True, False]
    assert [is_over(accepted, 1) for accepted in range(3)] == [False, True, False]
    assert within([5, 5], Room(2, 10))
    assert not within([5, 6], Room(2, 10))
    assert not within([0, 0, 0], Room(2))
    assert fixed([3, 3])
    assert not fixed([3, 4])


def test_meters_are_the_same_where_v_is_and_whoever_is_ahead() -> None:
    meters = {"ahead": Fraction(5), "at": Fraction(3), "behind": Fraction(1)}
    told = Competition(Fraction(3), meters, dict.fromkeys(meters, True), dict.fromkeys(meters, Fraction(1)))
    same = {"ahead": Fraction(2), "at": Fraction(0)}
    assert same_meters(3, same, told)
    assert same_meters(3, same | {"behind": -7}, told), "who is not ahead may be forgotten"
    assert not same_meters(2, same, told)
    assert not same_meters(3, same | {"ahead": 1}, told)
    assert not same_meters(3, same | {"at": 1}, told)
    assert not same_meters(3, {"at": 0}, told)


def rooms_of(servers: Iterable[Server]) -> dict[str, Room]:
    return {server.name: Room(server.most_requests, server.most_tokens) for server in servers}


def entries(seed: int, make: Callable[..., Any] | None = None) -> FleetFinding:
    """The audit of what the dispatcher itself has written down in a simulated run."""
    result = simulate(draw(seed), make) if make else simulate(draw(seed))
    told = [decode(each) for each in result.trace.lines.splitlines()]
    placed = ((f"line {number}", each) for number, each in enumerate(told, 1))
    return audit_fleet(placed, rooms_of(result.rooms.values()))


LOST_THEIR_SERVER = (2576, 3592, 5254)
"""Runs in which one that waits for another server gives up, while its old one has come back and is full."""


@pytest.mark.claims("FLEET-ONCE", "FLEET-CAP")
def test_the_traces_of_the_dispatcher_conform() -> None:
    found = [entries(seed) for seed in (*range(300), *LOST_THEIR_SERVER)]
    assert not [each.wrong for each in found if each.wrong]
    assert not [each.on_their_way for each in found if each.on_their_way]
    assert sum(each.moved for each in found) > 20
    assert {how for each in found for how in each.ended} == {"completed", "failed", "cancelled", "expired", "refused"}


SEEN = {
    "ends a request that ended": "FLEET-ONCE",
    "has room for one more": "FLEET-CAP",
    "does not count tokens": "FLEET-CAP",
}


@pytest.mark.claims("FLEET-ONCE", "FLEET-CAP")
@pytest.mark.parametrize("name", SEEN)
def test_a_fault_of_a_dispatcher_is_seen_in_its_trace(name: str) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == name]
    with planted(fault) as make:
        told = [entries(seed, make).wrong for seed in range(40)]
    assert {claim for wrong in told if wrong is not None for claim in wrong.claims} == {SEEN[name]}


def written(path: Path, told: str) -> str:
    path.write_bytes(b"\n".join(map(line, told.split(", "))) + b"\n")
    return str(path)


def test_the_command(command: Callable[..., Any], tmp_path: Path) -> None:
    right = written(tmp_path / "a.jsonl", "+a, +b, a>one, b>four, a., b. one four")
    told = command("audit", right, "--mode", "fleet", "--room", "one=2,10")
    assert told.status == 0
    assert "conforms: each request that ended did so once, and what was completed had room" in told.out
    for said in ("ended: 2 completed", "moved: 1 to another", "the room of four;"):
        assert said in told.out
    wrong = written(tmp_path / "b.jsonl", "+a, +b, a>one, b>one, a., b.")
    told = command("audit", wrong, "--mode", "fleet", "--room", "one=1")
    assert told.status == 1
    assert f"first wrong: event 4 ({wrong}: line 4)" in told.out
    assert "breaks: FLEET-CAP" in told.out
    told = command("audit", wrong, "--mode", "fleet", "--room", "one=1", "--json")
    assert json.loads(told.out)["wrong"]["claims"] == ["FLEET-CAP"]
    page = tmp_path / "page.html"
    assert command("audit", wrong, "--mode", "fleet", "--html", str(page)).status == 0
    assert "Fleet of" in page.read_text()


def test_the_room_of_a_server_that_is_misspelt_is_no_verdict(command: Callable[..., Any], tmp_path: Path) -> None:
    """Unless the rooms of all servers that there were are told: then the further one had nothing to hold."""
    path = written(tmp_path / "a.jsonl", "+a, +b, a>one, b>four, a., b.")
    told = command("audit", path, "--mode", "fleet", "--room", "one=2", "--room", "fuor=1")
    assert told.status == 2
    assert "verdict: no verdict: nothing was sent to fuor, and the room of four is not told" in told.out
    told = command("audit", path, "--mode", "fleet", "--room", "fuor=1", "--json")
    found = json.loads(told.out)
    assert (told.status, found["verdict"]) == (2, "no verdict")
    assert (found["servers_not_seen"], found["servers_without_room"]) == (["fuor"], ["four", "one"])
    rooms = ("--room", "one=2", "--room", "four=1", "--room", "six=1")
    told = command("audit", path, "--mode", "fleet", *rooms)
    assert told.status == 0
    assert "note: nothing was sent to six" in told.out
    wrong = written(tmp_path / "b.jsonl", "+a, a>one, a., a.")
    assert command("audit", wrong, "--mode", "fleet", "--room", "oen=1").status == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mode", "fleet", "--room", "one"], "one is not a server and its room, such as one=8"),
        (["--mode", "fleet", "--room", "one=8,"], "one=8, is not a server and its room"),
        (["--mode", "fleet", "--format", "vtc"], "--mode fleet reads traces; the format here is vtc"),
        (["--room", "one=8"], "--room is for --mode fleet; the mode here is order"),
        (["--mode", "fleet", "--weight", "u=2"], "--weight is for --mode order or fairness; the mode here is fleet"),
    ],
)
def test_what_is_asked_wrongly_is_named(
    command: Callable[..., Any], tmp_path: Path, arguments: list[str], said: str
) -> None:
    told = command("audit", written(tmp_path / "a.jsonl", "+a, a>one, a."), *arguments)
    assert told.status == 2
    assert said in " ".join(told.err.split())


def test_a_line_that_is_none_is_named(command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line("+a") + b"\n\nso\n")
    told = command("audit", str(path), "--mode", "fleet")
    assert told.status == 2
    assert f"no verdict: {path}: line 3: is not JSON" in told.err


def test_a_request_may_be_refused_by_the_dispatcher() -> None:
    entry = decode(b'{"event":"arrive","user":"u","request":"a","cost":1,"refused":"duplicate-request"}')
    whole = [decode(line("+a")), entry, decode(line("-a"))]
    assert audit_fleet([("", each) for each in whole], {}).verdict == "conforms"
    told = [("", replace(each, answer=whole[0].answer)) for each in whole]
    assert audit_fleet(told, {}).verdict == "does not conform"
