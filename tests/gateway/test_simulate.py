"""Streams are planned with: the figures are those of the real dispatcher, and the same each time."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from audit_logs import anyone, log
from sfq_impl.fleet.simulation.engine import Pace, Work
from sfq_impl.fleet.simulation.leads import MOST_USERS, Lead, Leads
from sfq_impl.fleet.simulation.planning import Fleet, plan
from sfq_impl.fleet.simulation.workload import Asked, BadWorkload, read, work
from sfq_impl.gateway.cli import app
from sfq_impl.gateway.ordering import ordering
from sfq_impl.gateway.simulating import lines
from sfq_spec import sample
from sfq_spec.cli import app as spec
from sfq_spec.conformance.audit.fairness import Fairness
from sfq_spec.conformance.audit.findings import audit_fairness, audit_order
from sfq_spec.conformance.audit.formats import Tally
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import Record, batches

TABLE = b"time,user,input_tokens,output_tokens\n" + b"".join(
    b"%.1f,%s,%d,%d\n" % (time, user, 100, tokens)
    for time, user, tokens in [*((number / 10, b"flood", 100) for number in range(40)), (2.05, b"ann", 10)]
)


def simulate(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments], input=given)


def told(*arguments: str, given: bytes | None = None) -> list[dict[str, Any]]:
    result = simulate(*arguments, "--json", given=given)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_a_light_user_waits_less_under_sfq_and_all_are_served() -> None:
    found = {each["policy"]: each for each in told("-", "--policy", "fifo", "--policy", "sfq", given=TABLE)}
    fifo, sfq = (found[name]["users"]["ann"]["wait"]["mean"] for name in ("fifo", "sfq"))
    assert sfq < fifo / 2
    for each in found.values():
        assert (each["requests"], each["served"], each["refused"], each["expired"]) == (41, 41, 0, 0)
        assert each["users"]["flood"]["charged"] == 40 * 300
        assert sum(user["share"] for user in each["users"].values()) == pytest.approx(1, abs=1e-5)
        assert set(each["groups"]) == {"heavy", "light"}
        assert each["groups"]["light"] == each["users"]["ann"]
        assert 0 < each["busy"] <= 1


def test_alone_a_request_takes_what_its_tokens_take() -> None:
    [found] = told(
        "-", "--prefill", "0.01", "--decode", "0.1", given=b"time,user,input_tokens,output_tokens\n7,a,50,20"
    )
    assert found["seconds"] == pytest.approx(50 * 0.01 + 20 * 0.1)
    assert found["users"]["a"]["wait"]["longest"] == 0
    assert found["worst_lead"]["lead"] == 0


def test_figures_are_the_same_each_time_and_those_of_the_recorded_trace(tmp_path: Path) -> None:
    first, again = tmp_path / "first.jsonl", tmp_path / "again.jsonl"
    given = sample.generate(3).encode()
    figures = told("-", "--record", str(first), "--requests", "4", given=given)
    assert figures == told("-", "--record", str(again), "--requests", "4", given=given)
    assert first.read_bytes() == again.read_bytes()
    order = audit_order(batches("trace", io.BytesIO(first.read_bytes())), Order())
    assert order.verdict == "conforms"
    fairness = audit_fairness(batches("trace", io.BytesIO(first.read_bytes())), Fairness(), Tally())
    worst = fairness.audit.worst.worst
    assert worst is not None
    assert figures[0]["worst_lead"] == {"lead": worst.lead, "ahead": worst.ahead, "behind": worst.behind}
    assert figures[0]["largest_charge"] == fairness.audit.greatest


@pytest.mark.parametrize("policy", ["fifo", "round-robin", "program-aware-fairness", "sfq-fairness"])
def test_worst_leads_are_exact_for_any_policy(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    [figures] = told("-", "--policy", policy, "--record", str(path), given=sample.generate(5).encode())
    found = audit_fairness(batches("trace", io.BytesIO(path.read_bytes())), Fairness(), Tally())
    assert figures["worst_lead"]["lead"] == found.audit.worst.greatest


def test_weights_and_limits_and_prices_of_a_configuration(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "servers:\n  - {url: http://a:1, requests: 1}\n  - {url: http://b:1, drain: true}\n"
        "weights: {flood: 0.5}\nlimits: {wait: 3}\ncost: {input_weight: 3, output_weight: 1}\n"
        "policy: program-aware-fairness\n"
    )
    [found] = told("-", "--config", str(fleet), given=TABLE)
    assert found["policy"] == "program-aware-fairness"
    assert found["expired"] > 10
    assert found["largest_charge"] == (3 * 100 + 100) / 0.5
    assert found["users"]["flood"]["wait"]["longest"] <= 3
    [more] = told("-", "--config", str(fleet), "--servers", "4", "--policy", "sfq", given=TABLE)
    assert (more["policy"], more["expired"]) == ("sfq", 0)


@pytest.mark.parametrize("run", [False, True])
def test_a_script_and_its_trace_say_the_same(run: bool) -> None:
    script = CliRunner().invoke(spec, ["import", "sample", "--servers", "2"]).stdout_bytes
    if run:
        script = CliRunner().invoke(spec, ["run", "-"], input=script).stdout_bytes
    stream = read(io.BytesIO(script), Pace(decode=0.02))
    assert len(stream.asked) == 1_169
    arrivals = sample.bundled().decode().splitlines()[1:]
    first = arrivals[0].split(",")
    seconds = int(first[2]) * 0.0002 + int(first[3]) * 0.02
    assert stream.asked[0] == Asked(0.0, first[1], work(0, round(seconds / 0.02)), int(first[2]) + 2 * int(first[3]))


def test_a_recorded_trace_has_tokens_weights_and_what_is_left_out() -> None:
    trace = b"""\
{"event":"weight","user":"a","weight":2,"time":5}
{"event":"arrive","user":"a","request":"a1","cost":7,"time":5}
{"event":"arrive","user":"b","request":"b1","cost":7,"time":5}
{"event":"arrive","user":"b","request":"b2","cost":7,"time":5}
{"event":"dispatch","dispatched":"a1","user":"a","cost":7,"time":6}
{"event":"cancel","request":"b1","time":6}
{"event":"arrive","user":"a","request":"a1","cost":7,"time":6,"refused":"duplicate-request"}
{"event":"complete","request":"a1","outcome":"completed","time":9,"input_tokens":3,"output_tokens":4}
"""
    stream = read(io.BytesIO(trace))
    assert stream.asked == (Asked(0.0, "a", work(3, 4), 7),)
    assert (stream.weights, stream.left_out) == ({"a": 2.0}, 2)


@pytest.mark.parametrize(
    "text",
    [
        b"time,user,input_tokens,output_tokens,cost,priority\n2,b,1,2,9,5\n1,a,3,4,,\n",
        b'{"time":2,"user":"b","input_tokens":1,"output_tokens":2,"cost":9,"priority":5}\n'
        b'{"time":1,"user":"a","input_tokens":3,"output_tokens":4}\n',
        b"output_len,prompt_len,req_time,client,cost,priority\n\n2,1,2,b,9,5\n4,3,1,a,,\n",
    ],
)
def test_a_table_in_any_form(text: bytes) -> None:
    assert read(io.BytesIO(text)).asked == (
        Asked(0.0, "a", Work(3, 4, 1)),
        Asked(1.0, "b", Work(1, 2, 1), 9, 5),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        (b"time,user\n1,a\n", "line 2: `input_tokens` is missing; the line has time, user"),
        (b"time,user,input_tokens,output_tokens\n1,a,3\n", "line 2: has 3 fields; the header has 4"),
        (b"time,user,input_tokens,output_tokens\nnow,a,3,4\n", "line 2: `time` is 'now', and not a number"),
        (b"time,user,input_tokens,output_tokens\n1,a,3.5,4\n", "line 2: `input_tokens` is '3.5', and not a whole"),
        (b"time,user,input_tokens,output_tokens\n", "holds no request"),
        (b'{"time":1,"user":"a"}\n', "line 1: `input_tokens` is missing"),
        (b'{"time":\n', "line 1: is not an object of JSON"),
        (b'{"event":"arrive","user":"a","request":"r","cost":1}\n', "line 1: field `time` is missing"),
        (b'{"event":"arrive","user":"a","request":"r","cost":0,"time":1}\n', "line 1: "),
        (b'{"event":"arrive","user":"a"}\n', "line 1: field `request`: is missing"),
    ],
)
def test_a_stream_that_cannot_be_read(text: bytes, said: str) -> None:
    with pytest.raises(BadWorkload) as error:
        read(io.BytesIO(text))
    assert said in str(error.value)
    result = simulate("-", given=text)
    assert (result.exit_code, said in result.output, "Traceback" in result.output) == (2, True, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.csv"], "none.csv: cannot be read"),
        (["-", "--policy", "fair"], "is 'fair'; there are: sfq"),
        (["-", "--group", "paid"], "--group paid: write NAME=PATTERN"),
        (["-", "--policy", "sfq", "--policy", "fifo", "--record", "x"], "--record: the trace of one policy"),
        (["-", "--record", "no/such/folder"], "no/such/folder: cannot be written: No such file"),
        (["-", "--decode", "inf"], "--decode: is inf; it is a finite number"),
        (["-", "--speed", "inf"], "--speed: is inf; it is a finite number"),
        (["-", "--config", "none.yaml"], "none.yaml: cannot be read"),
        (["-", "--servers", "0"], "Invalid value for '--servers'"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], said: str) -> None:
    result = simulate(*arguments, given=TABLE)
    assert result.exit_code == 2
    assert said in result.output


def test_it_is_told_to_people_too() -> None:
    result = simulate("-", "--group", "few=a*", "--users", "1", given=TABLE)
    assert "policy sfq: 41 of 41 requests served" in result.stdout
    assert re.search(r"worst lead: \d+, '\w+' over '\w+', which waited throughout", result.stdout)
    assert "few" in result.stdout
    assert "and 1 users more" in result.stdout


def test_room_is_not_told_twice(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("servers:\n  - {url: http://a:1, requests: 1}\n")
    for option in ("--requests", "--tokens"):
        result = simulate("-", "--config", str(fleet), option, "4", given=TABLE)
        assert (result.exit_code, "go with --servers" in result.stderr) == (2, True)
        assert simulate("-", "--config", str(fleet), option, "4000", "--servers", "1", given=TABLE).exit_code == 0


def test_a_group_without_users_is_told() -> None:
    result = simulate("-", "--group", "paid=p-*", "--group", "all=*", given=TABLE)
    assert (result.exit_code, result.stderr) == (0, "sfq-gateway: --group paid: no user of the stream matches\n")


def test_a_trace_that_cannot_be_written_is_told_before_anything_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfq_impl.gateway.simulating.plan", None)
    assert simulate("-", "--record", "no/such/folder", given=TABLE).exit_code == 2


@pytest.mark.parametrize(("width", "columns"), [(None, 8), (200, 8), (80, 7), (70, 6), (50, 4), (10, 4)])
def test_a_narrow_terminal_has_fewer_columns(width: int | None, columns: int) -> None:
    [result] = told("-", given=TABLE)
    shown = list(lines(result, 3, width))
    assert [len(re.split("  +", line.strip())) - 1 for line in shown if line.strip().startswith("user ")] == [columns]
    assert all(len(line) <= max(width or 200, 50) for line in shown[4:])


def test_a_full_disk_is_told_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "sfq_impl.gateway", "settings"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr == "sfq-gateway: the operating system does not go on: [Errno 28] No space left on device\n"


def test_a_priority_goes_first_and_speed_makes_a_queue() -> None:
    table = b"time,user,input_tokens,output_tokens,priority\n" + b"".join(
        b"%d,%s,10,50,%d\n" % (time, user, priority)
        for time in range(20)
        for user, priority in ((b"low", 0), (b"high", 7))
    )
    arguments = ("-", "--requests", "1", "--policy", "round-robin-fairness")
    [calm] = told(*arguments, "--speed", "0.1", given=table)
    [fast] = told(*arguments, "--speed", "10", given=table)
    assert calm["longest_queue"] < 3 < fast["longest_queue"]
    assert fast["users"]["high"]["wait"]["longest"] < fast["users"]["low"]["wait"]["median"]


def test_leads_by_hand() -> None:
    leads = Leads({"a": 2.0})
    for user in ("a", "a", "b", "b", "b"):
        leads.arrived(user)
    leads.dispatched("a", 5)
    leads.dispatched("b", 9)
    leads.dispatched("a", 5)
    assert leads.worst == Lead("b", "a", Fraction(9))
    leads.dispatched("b", 1)
    assert leads.worst == Lead("b", "a", Fraction(9))
    assert leads.greatest == 9


def test_many_users_are_too_many_for_leads() -> None:
    asked = [Asked(0.0, f"u{number}", work(1, 1)) for number in range(MOST_USERS + 1)]
    found = plan(asked, Fleet([("s", 1, None)], lambda time: ordering("sfq").policy()), lambda each: 1)
    assert found.leads.is_given_up
    assert sum(fate.served for fate in found.fates.values()) == len(asked)


def test_a_request_that_no_server_can_hold_is_refused() -> None:
    [found] = told("-", "--tokens", "150", given=TABLE)
    assert (found["refused"], found["served"]) == (40, 1)


def test_a_fault_of_the_simulation_is_not_hidden() -> None:
    def broken(asked: Asked) -> int:
        return -1

    with pytest.raises(RuntimeError, match="InvalidCost"):
        plan([Asked(0.0, "a", work(1, 1))], Fleet([("s", 1, None)], lambda time: ordering("sfq").policy()), broken)


def test_leads_are_those_of_the_audit_in_any_history() -> None:
    for seed in range(40):
        records = log(seed, anyone, 120, "ABCDE")
        records = [record for record in records if record.event != "cost"]
        weights = {"A": 2.0, "B": 0.5}
        leads, users, costs, waits = Leads(weights), dict[str, str](), dict[str, int](), set[str]()
        given = [Record("weight", user, weight=weight) for user, weight in weights.items()]
        kept = list[Record]()
        for record in records:
            if record.event == "arrive":
                user, request, cost = str(record.user), str(record.request), 1 + len(users) % 7
                record = replace(record, cost=cost)
                users[request], costs[request] = user, cost
                waits.add(request)
                leads.arrived(user)
            elif record.event == "cancel" and record.request in waits:
                waits.discard(record.request)
                leads.withdrawn(users[record.request])
            elif record.event == "dispatch" and record.dispatched in waits:
                waits.discard(record.dispatched)
                leads.dispatched(users[record.dispatched], costs[record.dispatched])
            else:
                continue
            kept.append(record)
        audit = Fairness()
        audit.take(given)
        audit.take(kept)
        audit.finish()
        counted = leads.worst.charge if leads.worst else 0
        assert counted == Fraction(audit.worst.greatest, audit.unit), seed


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda it: b"\x28\xb5\x2f\xfd" + it])
def test_a_stream_that_is_compressed_is_told_to_be(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(pack(TABLE))
    for result in (simulate(str(path)), simulate("-", given=path.read_bytes())):
        assert result.exit_code == 2
        assert re.search(r": is compressed \(\w+\); unpack it, and give what comes out\n$", result.stderr)


def test_a_policy_that_is_not_there_is_told_with_its_option() -> None:
    result = simulate("-", "--policy", "nope", given=TABLE)
    assert result.exit_code == 2
    assert result.stderr.startswith("sfq-gateway: --policy: is 'nope'; there are: sfq, fifo, ")


def test_a_name_that_the_terminal_cannot_write_is_escaped() -> None:
    command = [sys.executable, "-m", "sfq_impl.gateway", "simulate", "-"]
    given = "time,user,input_tokens,output_tokens\n0,Jürgen,1,1\n".encode()
    done = subprocess.run(command, input=given, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"  J\\xfcrgen  " in done.stdout
