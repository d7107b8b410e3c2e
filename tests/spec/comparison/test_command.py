"""`sfq-spec compare`, as a user meets it: its table, its JSON, its page, and what it does not take."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sfq_spec.commands.comparing import fits, in_lines, split
from sfq_spec.comparison import told as telling
from sfq_spec.comparison.compare import compare, scenario
from sfq_spec.comparison.scenarios import SCENARIOS
from sfq_spec.related import policies

Command = Callable[..., Any]
REQUESTS = b'{"user": "B", "time": 1, "cost": 2}\n{"user": "A", "cost": 1, "weight": 2}\n'


class TestOutput:
    def test_the_list_names_all_scenarios_and_methods(self, command: Command) -> None:
        told = command("compare", "--list")
        assert told.status == 0
        for name in (*SCENARIOS, *policies.NAMES):
            assert re.search(rf"^  {name} +\S", told.out, re.MULTILINE)

    def test_a_table_with_a_row_for_each_method(self, command: Command) -> None:
        told = command("compare", "article")
        assert (told.status, told.err) == (0, "")
        for name in policies.NAMES:
            title = "SFQ" if name == "sfq" else policies.METHODS[name].title
            assert told.out.count(f"\n{title} ") >= 1, name
        assert re.search(r"^SFQ +3 +1\.00 +1\.00 +50\.0 +50\.0 ", told.out, re.MULTILINE)
        assert re.search(r"^  SFQ +A B B B A B B B ", told.out, re.MULTILINE)
        assert max(len(line) for line in told.out.splitlines() if line.startswith("SFQ")) < 120

    @pytest.mark.integration
    @pytest.mark.parametrize("width", [60, 80, 110, 160])
    def test_the_table_of_a_terminal_is_not_cut(self, width: int) -> None:
        comparison = compare(scenario("returns"))
        cells = telling.table(comparison)
        cells = cells if fits(cells, width) else telling.table(comparison, narrow=True)
        rows = [line.plain for line in in_lines(cells, width)]
        assert max(map(len, rows)) <= max(width, 76), "below that, a terminal breaks the lines"
        for title, *figures in cells.rows:
            shown = [row for row in rows if row.split()[-len(" ".join(figures).split()) :] == " ".join(figures).split()]
            assert any(row.startswith(title.split()[0]) for row in shown), title

    def test_methods_in_the_order_asked_for(self, command: Command) -> None:
        told = command("compare", "flood", "--policies", "fifo, drr:quantum=40,sfq,drr")
        rows = re.findall(r"^(FIFO|SFQ|DRR \([^)]*\)) {2}", told.out, re.MULTILINE)
        assert rows == ["FIFO", "DRR (quantum=40)", "SFQ", "DRR (quantum=80)"]

    def test_json_is_the_same_in_every_process(self) -> None:
        arguments = [sys.executable, "-c", "from sfq_spec.cli import main; main()", "compare", "article", "--json"]
        runs = [
            subprocess.run(arguments, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
            for seed in ("1", "2")
        ]
        assert runs[0] == runs[1]
        found = json.loads(runs[0])
        assert [policy["policy"].partition(":")[0] for policy in found["policies"]] == list(policies.NAMES)
        sfq = found["policies"][0]
        assert sfq["first_dispatches"][:8] == list("ABBBABBB")
        assert sfq["lead"]["worst"] == 3
        assert sfq["lead"]["fair_lead_holds"] is True
        assert sfq["over_time"]["charged"]["A"][-1] == 12
        assert sfq["over_time"]["leads"][-1]["time"] <= 24
        assert "decision" not in sfq

    def test_time_is_measured_when_asked_for(self, command: Command) -> None:
        told = command("compare", "article", "--policies", "sfq,fifo", "--json", "--time")
        assert json.loads(told.out)["policies"][0]["decision"]["times_sfq"] == 1

    def test_the_page_stands_alone(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "page.html"
        lines = b'{"user": "<b>", "cost": 2}\n{"user": "A & B", "cost": 1}\n'
        told = command("compare", "-", "--policies", "sfq,fifo", "--html", str(file), stdin=lines)
        assert told.status == 0
        page = file.read_text(encoding="utf-8")
        assert not re.search(r"<script|https?:|@import|url\(|<link|<img", page)
        assert page.count('<section class="method">') == 2
        assert page.count("<figure>") == 6
        assert "&lt;b&gt;" in page
        assert "<b>, " not in page
        assert "A &amp; B" in page
        assert _unclosed(page) == []

    def test_the_page_is_the_same_each_time(self, command: Command) -> None:
        pages = [command("compare", "returns", "--policies", "sfq,fifo", "--html", "-").out for _ in range(2)]
        assert pages[0] == pages[1]
        assert pages[0].startswith("<!doctype html>")
        assert "FAIR-LEAD holds" in pages[0]

    @pytest.mark.parametrize(
        ("number", "shown"),
        [("12000", "12,000"), ("5/2", "2.5"), ("20001/10000", "2"), ("1/3", "0.333"), ("1/90000", "0")],
    )
    def test_numbers_are_rounded(self, number: str, shown: str) -> None:
        assert telling.figure(Fraction(number)) == shown

    def test_a_list_of_policies_is_split_at_policies(self) -> None:
        text = "sfq, las:half_life=60,factor=1/2,drr:quantum=3,fifo"
        assert split(text) == ["sfq", "las:half_life=60,factor=1/2", "drr:quantum=3", "fifo"]


class TestFiles:
    def test_json_lines(self, command: Command) -> None:
        told = command("compare", "-", "--policies", "sfq", "--json", stdin=REQUESTS)
        workload = json.loads(told.out)["workload"]
        assert [(user["user"], user["weight"], user["asks_for"]) for user in workload["users"]] == [
            ("B", 1, 2),
            ("A", 2, "1/2"),
        ]

    @pytest.mark.parametrize(
        ("header", "row"),
        [
            ("arrival_s,client,input_tokens,output_tokens", "1,A,2,3"),
            ("TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03.97,2,3"),
            ("client,req_time,first_token_latency,request_latency,prompt_len,output_len", "A,1,1,1,2,3"),
            ("", '{"timestamp": 1, "input_length": 2, "output_length": 3, "hash_ids": [4]}'),
        ],
    )
    def test_what_import_reads(self, command: Command, header: str, row: str) -> None:
        data = f"{header}\n{row}\n".lstrip().encode()
        told = command("compare", "-", "--policies", "sfq,dlpm", "--json", stdin=data)
        assert told.status == 0, told.err
        assert json.loads(told.out)["workload"]["users"][0]["asks_for"] == 8

    def test_a_script_of_events(self, command: Command) -> None:
        script = command("import", "sample").out.encode()
        told = command("compare", "-", "--policies", "sfq", "--json", "--first", "200", stdin=script)
        found = json.loads(told.out)
        assert found["workload"]["requests"] == found["policies"][0]["dispatched"] == 200

    def test_where_costs_stand_for_tokens_it_says_so(self, command: Command) -> None:
        of_the_cost = "A request with a cost and no tokens holds a server as long as output tokens of that cost"
        tokens = b'{"user": "A", "input_tokens": 1}\n{"user": "B", "output_tokens": 2, "cost": 9}\n'
        for requests, said in ((REQUESTS, True), (tokens, False), (tokens + REQUESTS, True)):
            for option in ([], ["--json"], ["--html", "-"]):
                told = command("compare", "-", "--policies", "sfq", *option, stdin=requests)
                assert (of_the_cost in told.out) is said

    def test_options_change_the_workload(self, command: Command) -> None:
        azure = b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"2023-11-16 18:17:03,2,3\n" * 6
        more = (
            "--users",
            "3",
            "--servers",
            "2",
            "--output-seconds",
            "1",
            "--output-weight",
            "5",
            "--weight",
            "azure-1=4",
        )
        told = command("compare", "-", "--policies", "sfq", "--json", *more, stdin=azure)
        workload = json.loads(told.out)["workload"]
        assert (workload["servers"], workload["output_seconds"], workload["output_weight"]) == (2, 1, 5)
        assert [user["weight"] for user in workload["users"]] == [1, 1, 4]

    def test_where_nobody_waits_it_says_so(self, command: Command) -> None:
        told = command("compare", "-", "--policies", "sfq,fifo", "--servers", "8", stdin=REQUESTS)
        assert told.status == 0
        assert "fewer servers tell them apart, such as --servers 4" in told.out

    @pytest.mark.parametrize("name", ["servegen/r1_sample_t0_x0.1_seed1.csv", "vtc_artifact/overload_VTC.csv"])
    def test_real_requests(self, command: Command, shared_data: Path, name: str) -> None:
        arguments = ("--policies", "sfq,fifo", "--first", "500", "--servers", "4", "--json")
        told = command("compare", str(shared_data / name), *arguments)
        sfq, fifo = json.loads(told.out)["policies"]
        assert sfq["lead"]["fair_lead_holds"] is True
        assert fifo["lead"]["fair_lead_holds"] is False


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "stdin", "reason"),
        [
            ((), b"", "compare needs a WORKLOAD: a file, or one of article, flood"),
            (("flod",), b"", "flod is neither a file nor a scenario: the scenarios are article, flood"),
            (("article", "--policies", "lifo"), b"", "there is no policy 'lifo': the policies are sfq, fifo"),
            (("article", "--policies", ","), b"", "--policies ',' names none: the policies are sfq"),
            (("article", "--policies", "drr:quantum=0"), b"", "quantum is 0: give a credit above zero"),
            (("article", "--policies", "drr:quantum=-1"), b"", "quantum is -1: give a credit above zero"),
            (("article", "--policies", "fifo:x=1"), b"", "no parameter 'x'; fifo has: none"),
            (("article", "--weight", "C=2"), b"", "a weight is given to 'C', who sends nothing: the users are A, B"),
            (("article", "--weight", "A=0"), b"", "not a user and a weight above zero"),
            (("article", "--first", "3"), b"", "--first is for files: the scenario article has its own"),
            (("article", "--json", "--html", "-"), b"", "name a file for the page"),
            (("article", "--time"), b"", "--time adds to --json"),
            (("article", "--list"), b"", "--list goes alone"),
            (("--list", "--json"), b"", "--list goes alone"),
            (("--list", "--input-weight", "0"), b"", "--list goes alone"),
            (("no-file", "--html", "no/page.html"), b"", "no/page.html: cannot be written: No such file"),
            (("-", "--users", "2"), REQUESTS, "only an azure trace is dealt out to users"),
            (("-",), b"", "standard input: there are no requests: the file is empty"),
            (("-",), b"arrival_s,client,input_tokens,output_tokens\n", "there are no requests"),
            (("-",), b'{"user": "A", "weight": 2}\n', "there are no requests"),
            (("-",), b"hello\n", "its first line is neither the header of a format that `sfq-spec import` reads"),
            (
                ("-",),
                b"tenant,started\nA,1\n",
                "if it is a CSV file with columns of its own, only audit reads it: here, write",
            ),
            (
                ("-",),
                b'{"user": "A", "startTime": "2026-01-31"}\n',
                "if it is a spend log of LiteLLM, only audit reads",
            ),
            (("-",), b'[{"user": "A", "startTime": "2026-01-31"}]\n', "if it is a spend log of LiteLLM, only audit"),
            (("-",), b'{"user": "A", "cost": 1}\n\n[1]\n', "line 3: is not a JSON object"),
            (("-",), b'{"user": "A", "cost": 1}\n{"user"\n', "line 2: is not JSON"),
            (("-",), b'{"cost": 1}\n', "line 1: field `user`: is missing"),
            (("-",), b'{"user": 5, "cost": 1}\n', "field `user`: is not a text"),
            (("-",), b'{"user": "", "cost": 1}\n', "field `user`: is empty"),
            (("-",), b'{"user": "A", "time": 1}\n', "field `cost`: is missing: a request has a cost, or input_tokens"),
            (("-",), b'{"user": "A", "cost": 0}\n', "field `cost`: 0 is not above zero"),
            (("-",), b'{"user": "A", "cost": "x"}\n', "field `cost`: 'x' is not a number"),
            (("-",), b'{"user": "A", "weight": -1}\n', "field `weight`: -1 is not above zero"),
            (("-",), b'{"user": "A", "cost": 1, "time": -1}\n', "field `time`: -1 is not a time"),
            (("-",), b'{"user": "A", "input_tokens": 1.5}\n', "field `input_tokens`"),
            (("-",), b'{"user": "A", "cost": 1, "prefix": "x"}\n', "field `prefix`: is not a list"),
            (("-",), b'{"event": "left", "user": "A"}\n', "field `event`: is no event"),
            (("-",), b'{"a":' * 100_000, "is nested too deeply"),
        ],
    )
    def test_it_names_the_fix(self, command: Command, arguments: tuple[str, ...], stdin: bytes, reason: str) -> None:
        told = command("compare", *arguments, stdin=stdin)
        assert (told.status, told.out) == (2, "")
        assert reason in told.err
        assert "Traceback" not in told.err

    def test_a_page_that_cannot_be_written(self, command: Command, tmp_path: Path) -> None:
        told = command("compare", "article", "--policies", "sfq", "--html", str(tmp_path / "no" / "page.html"))
        assert told.status == 2
        assert "cannot be written" in told.err


def _unclosed(page: str) -> list[str]:
    """The elements that are opened and not closed, or closed and not opened."""

    class Reader(HTMLParser):
        open: list[str]

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "br"):
                self.open.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            """Nothing stays open."""

        def handle_endtag(self, tag: str) -> None:
            if self.open and self.open[-1] == tag:
                self.open.pop()
            else:
                self.open.append(f"/{tag}")

    reader = Reader()
    reader.open = []
    reader.feed(page)
    return reader.open
