"""The words in which `sfq-spec audit` tells what it found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol


class Told(Protocol):
    status: int
    out: str
    err: str


Command = Callable[..., Told]


def test_where_nothing_was_dispatched_nothing_is_said_of_leads(command: Command) -> None:
    log = b'{"event":"arrive","user":"A","request":"A1","cost":1}\n'
    told = command("audit", "-", "--mode", "fairness", stdin=log)
    assert told.status == 2
    assert "looked at: 1 event, 1 user, 0 dispatches, 1 still waiting" in told.out
    for said in ("FAIR-LEAD", "lead", "charge:"):
        assert said not in told.out
    found = json.loads(command("audit", "-", "--mode", "fairness", "--json", stdin=log).out)
    assert found["fair_lead"] == {"holds": None, "decided_by": None, "broken_in": None}


def test_names_are_spelled_out_once(command: Command) -> None:
    rows = "B,0,99,1\n" + "".join(f"\x1b[31mred,{n},{n + 1},1\n" for n in range(9))
    columns = ("--user-column", "user", "--arrival-column", "in", "--dispatch-column", "out", "--cost-column", "cost")
    told = command("audit", "-", "--format", "csv", *columns, stdin=f"user,in,out,cost\n{rows}".encode())
    assert r"intervals: '\x1b[31mred' got 9 more than 'B', which" in told.out
    assert "longest wait: 99 s, 19 events: '1' of 'B'" in told.out


BROKEN_ELSEWHERE = "C1+9 A2+9 C3+9 C3 A4+1 A4 A5+1 A2 C6+9 A5 A7+1 B8+9 B9+1 C6"
"""The worst lead is in one interval, and FAIR-LEAD is broken by most in another."""


def test_where_fair_lead_is_broken_by_most_is_told(command: Command) -> None:
    lines = []
    for name in BROKEN_ELSEWHERE.split():
        request, _, cost = name.partition("+")
        arrival = {"event": "arrive", "user": name[0], "request": request, "cost": int(cost or 0)}
        lines.append(json.dumps(arrival if cost else {"event": "dispatch", "dispatched": name}))
    told = command("audit", "-", "--mode", "fairness", stdin="\n".join(lines).encode())
    assert told.status == 1
    assert "\nworst lead: 11, exact over all pairs and intervals: 'A' got 11 more than 'C'" in told.out
    assert "\nFAIR-LEAD is broken: by most where 'A' got 2 more than 'C', which waited throughout" in told.out
