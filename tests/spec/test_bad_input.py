"""Bad input is a normal case: refusals are answers, bad lines and broken schedulers are named, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

A1 = '{"event":"arrive","user":"A","request":"A1","cost":3}'
B1 = '{"event":"arrive","user":"B","request":"B1","cost":1}'
DISPATCH = '{"event":"dispatch"}'
AFTER = '{"event":"dispatch","dispatched":"A1","user":"A","cost":3}'


class Told(Protocol):
    status: int
    out: str
    err: str


Running = Callable[..., Told]


def arrival(cost: str) -> str:
    return f'{{"event":"arrive","user":"C","request":"C1","cost":{cost}}}'


@pytest.fixture(params=["machine", "python"])
def running(request: pytest.FixtureRequest, command: Running) -> Running:
    """`sfq-spec run -` by the machine, and by a scheduler in Python: both are to behave the same."""
    by = [] if request.param == "machine" else ["--python", "schedulers.linear_scan:LinearScan"]

    def run(stdin: bytes) -> Told:
        return command("run", "-", *by, stdin=stdin)

    return run


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (arrival("0"), "invalid-cost"),
        (arrival("-1"), "invalid-cost"),
        (arrival('"-1/3"'), "invalid-cost"),
        (arrival('"nan"'), "invalid-cost"),
        (arrival('"NaN"'), "invalid-cost"),
        (arrival('"inf"'), "invalid-cost"),
        (arrival('"-Infinity"'), "invalid-cost"),
        ('{"event":"cost","request":"A1","cost":0}', "invalid-cost"),
        ('{"event":"weight","user":"A","weight":0}', "invalid-weight"),
        ('{"event":"weight","user":"A","weight":-0.5}', "invalid-weight"),
        ('{"event":"weight","user":"A","weight":"inf"}', "invalid-weight"),
        (A1, "duplicate-request"),
        ('{"event":"cancel","request":"never"}', "unknown-request"),
        ('{"event":"cost","request":"never","cost":1}', "unknown-request"),
    ],
)
def test_a_refused_event_is_answered_and_the_run_goes_on(running: Running, event: str, code: str) -> None:
    told = running("\n".join([A1, B1, event, DISPATCH]).encode())
    lines = told.out.splitlines()
    assert told.status == 0
    assert json.loads(lines[2])["refused"] == code
    assert (len(lines), lines[3]) == (4, AFTER)
    assert "4 events, 1 dispatch, 1 refused, 1 still waiting" in told.err


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ([DISPATCH], "not-waiting"),
        (['{"event":"cancel","request":"A1"}'], "unknown-request"),
        ([DISPATCH, '{"event":"complete","request":"A1"}'], "unknown-request"),
    ],
)
@pytest.mark.parametrize("event", ['{"event":"cancel","request":"A1"}', '{"event":"cost","request":"A1","cost":2}'])
def test_a_request_that_does_not_wait(running: Running, before: list[str], code: str, event: str) -> None:
    told = running("\n".join([A1, *before, event, B1, DISPATCH]).encode())
    assert told.status == 0
    assert [json.loads(line).get("refused") for line in told.out.splitlines()[-3:]] == [code, None, None]
    assert json.loads(told.out.splitlines()[-1])["dispatched"] == "B1"


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (arrival('"abc"').encode(), "line 4: field `cost`: 'abc' is not a number: write an integer"),
        (arrival('""').encode(), "line 4: field `cost`: '' is not a number"),
        (arrival('"1/0"').encode(), "line 4: field `cost`: '1/0' is not a number"),
        (arrival("null").encode(), "line 4: field `cost`: null is not a number"),
        (arrival("true").encode(), "line 4: field `cost`: True is a truth value"),
        (arrival("NaN").encode(), "line 4: is not JSON"),
        (b'{"event":"arrive","user":"C","request":"C1"}', "line 4: field `cost`: is missing"),
        (b'{"event":"arrive","request":"C1","cost":1}', "line 4: field `user`: is missing"),
        (b'{"event":"arrive","user":7,"request":"C1","cost":1}', "line 4: field `user`: expected `str`, got `int`"),
        (b'{"event":"weight","user":"A","weight":"x"}', "line 4: field `weight`: 'x' is not a number"),
        (b'{"event":"fly"}', "line 4: field `event`: unknown event 'fly': the events are arrive, dispatch"),
        (b'{"event":5}', "line 4: field `event`: is not a text: the events are arrive"),
        (b'{"user":"A"}', "line 4: field `event`: is missing"),
        (b'{"event":"complete","request":"A1","outcome":"lost"}', "line 4: field `outcome`: invalid enum value 'lost'"),
        (b'{"event":"arrive","user":"A","requ', "line 4: is cut off: it ends in the middle of a JSON object"),
        (b'{"event":"arrive","user":"\xff","request":"C1","cost":1}', "line 4: is not UTF-8 (byte 27)"),
        (b'{"event":"dispatch","note":"\xff"}', "line 4: is not UTF-8 (byte 29)"),
        (b'{"event":"dispatch","note":"' + b"x" * 10_000_000 + b'"}', "line 4: is longer than 1,048,576 bytes"),
        (b'{"event":"dispatch","note":' + b"[" * 100_000, "line 4: is nested too deeply"),
        (b"[1, 2]", "line 4: expected `object`, got `array`"),
        (b"hello", "line 4: is not JSON"),
        (b"\x00", "line 4: is not JSON"),
    ],
    ids=lambda value: value.decode("latin-1")[:60] if isinstance(value, bytes) else "",
)
def test_a_bad_line_ends_the_run_and_is_named(running: Running, line: bytes, where: str) -> None:
    told = running(A1.encode() + b"\n\n" + DISPATCH.encode() + b"\n" + line)
    assert told.status == 2
    assert told.out.splitlines() == [A1, AFTER]
    assert told.err.startswith(f"sfq-spec: standard input: {where}")
    assert told.err.count("\n") == 1
    assert len(told.err) < 300


def test_a_bad_line_in_a_file_is_named_with_the_file(command: Running, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(A1 + "\n" + arrival('"abc"'))
    told = command("run", str(script))
    assert (told.status, told.out.splitlines()) == (2, [A1])
    assert told.err.startswith(f"sfq-spec: {script}: line 2: field `cost`: 'abc' is not a number")


def test_the_table_shows_the_run_before_a_bad_line(command: Running) -> None:
    told = command("run", "-", "--table", stdin=f"{A1}\n{DISPATCH}\n{{".encode())
    assert told.status == 2
    assert told.out.splitlines()[-1].split() == ["1", "0", "A", "+3", "3"]
    assert told.err.startswith("sfq-spec: standard input: line 3: is cut off")


@pytest.mark.parametrize("name", ["", "missing.jsonl"])
def test_a_script_that_cannot_be_read(command: Running, tmp_path: Path, name: str) -> None:
    told = command("run", str(tmp_path / name))
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith(f"sfq-spec: {tmp_path / name}: cannot be read: ")


FAULTY = """
class Base:
    def arrive(self, user, request, cost): pass
    def dispatch(self): return None

class Raises(Base):
    def dispatch(self): return {}["A1"]

class Exits(Base):
    def arrive(self, user, request, cost): raise SystemExit(0)

class Odd(Base):
    def dispatch(self): return 5

class Prints(Base):
    def arrive(self, user, request, cost): print("an arrival")

class Fails:
    def __init__(self): raise OSError("no licence")

class Needs(Base):
    def __init__(self, capacity): pass

print("on import")
value = 5
"""


@pytest.fixture
def faulty(command: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    """`sfq-spec run - --python` with a factory of the module `faulty`, in the current directory."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    monkeypatch.chdir(tmp_path)

    def run(factory: str, *events: str) -> Told:
        return command("run", "-", "--python", factory, stdin="\n".join([A1, *events]).encode())

    return run


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("faulty", "'faulty' names no scheduler: write module:factory, such as my_scheduler:Scheduler"),
        ("not_there:Scheduler", "there is no module 'not_there': start in the folder that holds it"),
        ("faulty:Scheduler", "`faulty:Scheduler`: 'faulty' has no 'Scheduler': its classes are Base, Exits"),
        ("faulty:value", "`faulty:value` is 5 and cannot be called: name a class, or a function without"),
        ("faulty:Fails", "`faulty:Fails` is called without arguments, and raised OSError: no licence (faulty.py, line"),
        ("faulty:Needs", "`faulty:Needs` is called without arguments, and raised TypeError"),
        ("builtins:list", "`builtins:list` made [], which has no method `arrive`: a scheduler needs"),
    ],
)
def test_a_factory_that_leads_to_no_scheduler(faulty: Running, factory: str, reason: str) -> None:
    told = faulty(factory)
    assert (told.status, told.out) == (2, "")
    assert told.err.splitlines()[-1].startswith(f"sfq-spec: {reason}")
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("factory", "event", "reason", "lines"),
    [
        ("Raises", DISPATCH, "line 2: `dispatch` raised KeyError: 'A1' (faulty.py, line 7, in dispatch)", 1),
        ("Exits", DISPATCH, "line 1: `arrive` raised SystemExit: 0; its code 0 is not one of", 0),
        ("Odd", DISPATCH, "line 2: `dispatch` returned 5: return None, the id of a request", 1),
        ("Base", '{"event":"cancel","request":"A1"}', "line 2: the scheduler has no method `cancel`, which this", 1),
        ("Base", '{"event":"weight","user":"A","weight":2}', "line 2: the scheduler has no method `set_weight` or", 1),
        ("Base", '{"event":"cost","request":"A1","cost":2}', "line 2: the scheduler has no method `recost` or", 1),
    ],
)
def test_a_scheduler_that_gives_no_answer(faulty: Running, factory: str, event: str, reason: str, lines: int) -> None:
    told = faulty(f"faulty:{factory}", event)
    assert told.status == 2
    assert told.out.splitlines() == [A1][:lines]
    assert f"sfq-spec: standard input: {reason}" in told.err.replace(" (faulty.py, line 10, in arrive)", "")
    assert "Traceback" not in told.err


def test_what_a_scheduler_prints_is_not_in_the_trace(faulty: Running) -> None:
    told = faulty("faulty:Prints", DISPATCH)
    assert told.status == 0
    assert told.out.splitlines() == [A1, '{"event":"dispatch","dispatched":null}']
    assert "an arrival\n" in told.err


def test_completion_and_upkeep_are_not_needed(faulty: Running) -> None:
    told = faulty("faulty:Base", '{"event":"complete","request":"A1"}', '{"event":"upkeep"}')
    assert (told.status, len(told.out.splitlines())) == (0, 3)


def test_a_lag_that_is_not_there(command: Running, faulty: Running) -> None:
    told = command("run", "-", "--lag", "--python", "faulty:Base", stdin=A1.encode())
    assert told.status == 2
    assert "line 1: the scheduler has no `lag`: add a method lag()" in told.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["import", "servegen"], "import servegen needs a FILE, or - for standard input"),
        (["import", "sample", "x.csv"], "import sample takes no FILE: to read x.csv, say import servegen x.csv"),
        (["import", "servegen", "missing.csv"], "missing.csv: cannot be read: No such file"),
        (["import", "sample", "-o", "missing/out"], "missing/out: cannot be written: No such file"),
        (["import", "fly", "x.csv"], "'fly' is not one of 'servegen', 'azure', 'mooncake', 'vtc', 'sample'"),
        (["import", "sample", "--servers", "0"], "--servers"),
        (["import", "sample", "--servers", "x"], "--servers"),
        (["import", "sample", "--input-seconds", "abc"], "'abc' is not a number"),
        (["import", "sample", "--output-seconds", "-1"], "-1 is not a number of seconds, from 0 up"),
        (["import", "sample", "--output-seconds", "nan"], "nan is not a number of seconds"),
        (["import", "sample", "--input-weight", "1.5"], "--input-weight"),
        (["import", "sample", "--output-weight", "-1"], "--output-weight"),
        (["import", "sample", "--users", "5"], "only azure takes it: sample tells its users itself"),
        (["import", "azure", "x", "--users", "0"], "--users"),
        (["sample", "--seed", "x"], "--seed"),
        (["run"], "SCRIPT"),
        (["fly"], "No such command 'fly'"),
        (["run", "-", "--fly"], "No such option"),
    ],
)
def test_usage(
    command: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = command(*arguments)
    assert (told.status, told.out) == (2, "")
    assert reason in told.err
    assert "Traceback" not in told.err


def test_a_bad_row_leaves_no_script(command: Running, tmp_path: Path) -> None:
    requests, out = tmp_path / "requests.csv", tmp_path / "script.jsonl"
    requests.write_text("arrival_s,client,input_tokens,output_tokens\n0,c1,2,3\n1,c1,2,many\n")
    told: Any = command("import", "servegen", str(requests), "-o", str(out))
    assert told.status == 2
    assert told.err == (
        f"sfq-spec: {requests}: line 3: field `output_tokens`: 'many' is not a whole number of tokens, from 0 up\n"
    )
    assert not out.exists()
