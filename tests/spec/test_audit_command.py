"""`sfq-spec audit`, as a user meets it, and the known answers for logs that were measured."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pytest

from sfq_spec import sample


class Told(Protocol):
    status: int
    out: str
    err: str


Command = Callable[..., Told]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine does with the sample."""
    from typer.testing import CliRunner

    from sfq_spec.cli import app

    script = CliRunner().invoke(app, ["import", "sample"]).stdout
    path = tmp_path_factory.mktemp("audit") / "trace.jsonl"
    path.write_text(CliRunner().invoke(app, ["run", "-"], input=script.encode()).stdout)
    return path


def lines_of(trace: Path) -> list[str]:
    return trace.read_text().splitlines(keepends=True)


def sender(line: str) -> str:
    """The user of a dispatch."""
    return str(json.loads(line)["user"])


def tampered(trace: Path) -> list[str]:
    """Two answers exchanged: the requests of different users, one after the other."""
    lines = lines_of(trace)
    sent = [at for at, line in enumerate(lines) if '"dispatched"' in line]
    first, second = next((a, b) for a, b in pairwise(sent[99:]) if sender(lines[a]) != sender(lines[b]))
    lines[first], lines[second] = lines[second], lines[first]
    return lines


def test_the_machines_trace_conforms(trace: Path, command: Command) -> None:
    told = command("audit", str(trace))
    assert told.status == 0
    assert told.out.startswith("verdict: conforms: every answer is the machine's\nlooked at: 3,507 events, 1,169 dis")


def test_a_tampered_trace_does_not(trace: Path, tmp_path: Path, command: Command) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_text("".join(tampered(trace)))
    told = command("audit", str(changed))
    assert told.status == 1
    assert re.search(r"first wrong: event \d+ \(.*changed.jsonl: line \d+\)\nbecause: v = .*\nlegal there: ", told.out)
    found = json.loads(command("audit", str(changed), "--json").out)
    wrong = found["wrong"]
    assert found["verdict"] == "does not conform"
    assert wrong["shortest_failing_prefix"] == wrong["event"] == found["events"]
    prefix = "".join(tampered(trace)[: wrong["event"]])
    assert command("audit", "-", stdin=prefix.encode()).status == 1
    shorter = "".join(tampered(trace)[: wrong["event"] - 1])
    assert command("audit", "-", stdin=shorter.encode()).status == 0


def without_an_arrival(lines: list[str]) -> list[str]:
    return [line for line in lines if '"tiny-3"' not in line or "arrive" not in line]


def without_answers(lines: list[str]) -> list[str]:
    return [re.sub(r'"dispatched":"[^"]*",', "", line) for line in lines]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_an_arrival, "line 18: request 'tiny-3' is dispatched"),
        (without_answers, "field `dispatched`: is missing: a trace tells"),
        (lambda lines: [*lines[:50], lines[50][:30]], "line 51: is cut off"),
        (lambda lines: ["client,req_time\n", *lines], "say so by --format vtc"),
        (lambda lines: lines[:0], "nothing was dispatched"),
        (lambda lines: lines[:1], "nothing was dispatched"),
    ],
    ids=["gap", "script", "cut off", "other format", "empty", "no dispatch"],
)
@pytest.mark.parametrize("mode", ["order", "fairness"])
def test_what_is_incomplete_never_passes(
    mode: str, change: Callable[[list[str]], list[str]], reason: str, trace: Path, command: Command
) -> None:
    told = command("audit", "-", "--mode", mode, stdin="".join(change(lines_of(trace))).encode())
    assert told.status == 2
    assert "no verdict" in told.out + told.err
    assert reason in told.out + told.err


def test_several_compressed_files_are_one_log(trace: Path, tmp_path: Path, command: Command) -> None:
    lines = lines_of(trace)
    parts = []
    for number, part in enumerate((lines[:1_000], lines[1_000:])):
        parts.append(tmp_path / f"{number}.jsonl.gz")
        parts[-1].write_bytes(gzip.compress("".join(part).encode()))
    told = command("audit", *map(str, parts), "--json")
    assert told.status == 0
    assert json.loads(told.out)["events"] == 3_507
    assert command("audit", str(parts[1])).status == 2


@pytest.mark.parametrize("options", [[], ["--mode", "fairness"], ["--json"]], ids=" ".join)
def test_a_compressed_file_that_is_not_whole_has_no_verdict(
    options: list[str], trace: Path, tmp_path: Path, command: Command
) -> None:
    packed = gzip.compress(trace.read_bytes())
    damaged = packed[:9_000] + b"\xff" * 99 + packed[9_099:]
    for content, why in ((packed[:9_000], "Compressed file ended"), (damaged, ""), (packed[:-1] + b"x", "")):
        path = tmp_path / "trace.jsonl.gz"
        path.write_bytes(content)
        for told in (command("audit", str(path), *options), command("audit", "-", *options, stdin=content)):
            assert (told.status, told.out) == (2, "")
            assert re.search(rf"^sfq-spec: no verdict: .*: is not whole, as gzip: {why}", told.err)


def test_rows_of_a_compressed_file_that_is_not_whole_have_no_verdict(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(sample.bundled())[:9_000])
    columns = ("--user-column", "client", "--arrival-column", "arrival_s", "--dispatch-column", "arrival_s")
    told = command("audit", str(path), "--format", "csv", *columns, "--cost-column", "output_tokens")
    assert told.status == 2
    assert f"no verdict: {path}: is not whole, as gzip" in told.err


def test_the_fairness_of_the_machine(trace: Path, command: Command) -> None:
    found = json.loads(command("audit", str(trace), "--mode", "fairness", "--json").out)
    worst = found["worst_lead"]
    assert found["verdict"] == "conforms"
    assert found["fair_lead"] == {"holds": True, "decided_by": "the certificate", "broken_in": None}
    assert worst["exact"]
    assert worst["lead"] == worst["interval"]["lead"] <= worst["interval"]["fair_lead_allows"]
    assert worst["lead"] <= found["certificate"]["no_lead_above"] <= 2 * found["largest_charge"]
    assert sum(user["share"] for user in found["users"]) == pytest.approx(1, abs=1e-4)
    told = found["over_time"]
    for user in found["users"][:10]:
        assert sum(told["charged"][user["user"]]) == user["charged"]
    assert sum(told["charged_to_others"]) == sum(user["charged"] for user in found["users"][10:])


def test_too_many_users_for_all_pairs(trace: Path, tmp_path: Path, command: Command) -> None:
    told = command("audit", str(trace), "--mode", "fairness", "--most-users", "3")
    assert told.status == 0
    assert "worst lead: not known: more than 3 users" in told.out
    unfair = tmp_path / "unfair.jsonl"
    unfair.write_text("".join(tampered(trace)))
    told = command("audit", str(unfair), "--mode", "fairness", "--most-users", "0")
    assert told.status == 2
    assert "no verdict on FAIR-LEAD: no pair was looked at" in told.out
    assert "worst lead: not looked for: --most-users 0 asks for the certificate alone" in told.out
    assert "which leaves FAIR-LEAD open" in told.out
    told = command("audit", str(unfair), "--mode", "fairness")
    assert told.status == 0
    assert "was not dispatched each time, which does not break FAIR-LEAD" in told.out


def test_a_broken_fair_lead_is_not_called_open(tmp_path: Path, command: Command) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,in,out,cost\n" + "B,0,99,1\n" + "".join(f"A,{n},{n + 1},1\n" for n in range(9)))
    columns = ("--user-column", "user", "--arrival-column", "in", "--dispatch-column", "out", "--cost-column", "cost")
    told = command("audit", str(log), "--format", "csv", *columns)
    assert told.status == 1
    assert "was not dispatched each time, and FAIR-LEAD is broken" in told.out
    assert "leaves FAIR-LEAD open" not in told.out


class Page(HTMLParser):
    """The outline of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone(trace: Path, tmp_path: Path, command: Command) -> None:
    path = tmp_path / "page.html"
    command("audit", str(trace), "--mode", "fairness", "--html", str(path))
    page = Page(path.read_text())
    assert page.open == []
    assert page.links == []
    assert page.tags.count("svg") == 3
    assert page.tags.count("script") == 0
    assert "two of the largest charges" in page.text
    assert page.text.count("2 others") == 3
    assert "http" not in path.read_text()
    numbers = [float(number) for number in re.findall(r' (?:x|y|cx|cy|x1|x2|y1|y2)="([^"]*)"', path.read_text())]
    assert len(numbers) > 100
    assert all(-1 <= number <= 900 for number in numbers)


def test_the_page_of_a_wrong_trace(trace: Path, tmp_path: Path, command: Command) -> None:
    path, changed = tmp_path / "page.html", tmp_path / "<b>.jsonl"
    changed.write_text("".join(tampered(trace)))
    assert command("audit", str(changed), "--html", str(path)).status == 1
    page = Page(path.read_text())
    assert "does not conform" in page.text
    assert "&lt;b&gt;.jsonl" in path.read_text()
    told = command("audit", str(changed), "--html", "-")
    assert told.out == path.read_text()


def test_whether_a_page_can_be_written_is_told_before_anything_is_read(tmp_path: Path, command: Command) -> None:
    for path, why in ((tmp_path / "no" / "page.html", "No such file"), (tmp_path, "Is a directory")):
        told = command("audit", "nowhere.jsonl", "--html", str(path))
        assert told.status == 2
        assert f"{path}: cannot be written: {why}" in told.err
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.write_text("as it was")
    for path in (old, new):
        assert "nowhere.jsonl: cannot be read" in command("audit", "nowhere.jsonl", "--html", str(path)).err
    assert old.read_text() == "as it was"
    assert not new.exists()


def test_weights_that_the_log_does_not_tell(command: Command) -> None:
    log = "user,in,out,price\n" + "".join(f"{'AB'[n % 3 == 0]},0,{n + 1},1\n" for n in range(30))
    options = ("--user-column", "user", "--arrival-column", "in", "--dispatch-column", "out", "--cost-column", "price")
    equal = command("audit", "-", "--format", "csv", *options, stdin=log.encode())
    assert equal.status == 1
    given = command("audit", "-", "--format", "csv", *options, "--weight", "A=2", "--json", stdin=log.encode())
    found = json.loads(given.out)
    assert given.status == 0
    assert [(user["user"], user["weight"], user["charged"]) for user in found["users"]] == [("A", 2, 10), ("B", 1, 10)]
    assert found["events"] == 60
    misspelt = command("audit", "-", "--format", "csv", *options, "--weight", "a=2", stdin=log.encode())
    assert "a weight is given to a, of whom nothing was dispatched: is the name right?" in misspelt.out
    assert "of whom nothing" not in given.out + equal.out


NAMED = ("--user-column", "u", "--arrival-column", "a", "--dispatch-column", "d", "--cost-column")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--format", "csv"], "csv needs --user-column, --arrival-column, --dispatch-column"),
        (
            ["--format", "csv", "--user-column", "u", "--arrival-column", "a", "--dispatch-column", "d"],
            "csv needs --cost",
        ),
        (["--cost-column", "c"], "--cost-column: only with --format csv; the format here is trace"),
        (
            ["--format", "litellm", "--input-column", "i", "--time-unit", "ms"],
            "--input-column, --time-unit: only with --format csv;",
        ),
        (
            ["--format", "vtc", "--user-column", "u"],
            "--user-column: only with --format csv or litellm; the format here is vtc",
        ),
        (["--weight", "A"], "A is not a user and a weight above zero, such as alice=2"),
        (["--weight", "A=0"], "is not a user and a weight above zero"),
        (["--weight", "A=x"], "'x' is not a number"),
        (["--time-unit", "h"], "h is none of s, ms, us, ns"),
        (["--mode", "fairness", "--ties", "any"], "--ties is for --mode order; the mode here is fairness"),
        (["--format", "vtc", "--placement", "overtake"], "--placement is for --mode order; the mode here is fairness"),
        (["--most-users", "0"], "--most-users is for --mode fairness; the mode here is order"),
        (["--input-weight", "2"], "--input-weight: only where the log counts tokens; here a trace tells the costs"),
        (
            ["--format", "csv", *NAMED, "c", "--output-weight", "1"],
            "--output-weight: only where the log counts tokens; here the column c tells the costs",
        ),
        (["--mode", "shw"], "Invalid value for '--mode': 'shw' is not one of 'order', 'fairness', 'fleet'"),
        (["--json", "--html", "-"], "would both go to standard output"),
        (["nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
    ],
)
def test_usage(arguments: list[str], reason: str, command: Command) -> None:
    told = command("audit", "-", *arguments)
    assert told.status == 2
    assert reason in re.sub(r"[│\s]+", " ", told.err)


KNOWN: dict[str, tuple[int, int]] = {
    "overload_FCFS": (685_824, 768),
    "overload_VTC": (16_128, 768),
    "overload-weighted_VTC": (15_360, 768),
    "real_FCFS": (156_599, 2_633),
    "real_VTC": (21_760, 2_633),
    "real_VTC_oracle": (6_412, 2_633),
    "increase_VTC": (768, 768),
}
"""The worst lead and the largest cost, by two independent programs."""


def audit(command: Command, path: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("audit", str(path), "--format", "vtc", "--json", *options).out)
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str, shared_data: Path, command: Command) -> None:
    path = shared_data / "vtc_artifact" / f"{name}.csv"
    found = audit(command, path)
    assert (found["worst_lead"]["lead"], found["largest_charge"]) == KNOWN[name]
    assert found["worst_lead"]["exact"]
    assert found["certificate"]["no_lead_above"] >= KNOWN[name][0]
    assert found["fair_lead"]["holds"] == (name == "increase_VTC")
    with path.open("rb") as stream:
        piped = command("audit", "-", "--format", "vtc", "--json", stdin=stream.read())
    assert json.loads(piped.out)["worst_lead"] == found["worst_lead"]


def test_requests_that_a_limit_rejected_are_counted(shared_data: Path, command: Command) -> None:
    found = audit(command, shared_data / "vtc_artifact" / "real_RPM10.csv")
    assert found["left_out"] == {"rows": 600, "why": "first_token_latency below 0: rejected"}
    assert found["dispatched"] == 900


def test_the_weights_of_weighted_vtc(shared_data: Path, command: Command) -> None:
    """With the weights that it ran with, its users are charged the same, and the leads are a hundredth."""
    path = shared_data / "vtc_artifact" / "overload-weighted_WVTC.csv"
    without = audit(command, path)
    weights = [text for user in range(4) for text in ("--weight", f"{user}={user + 1}")]
    given = audit(command, path, *weights)
    assert {user["share"] for user in given["users"]} == {0.25}
    assert (without["worst_lead"]["lead"], given["worst_lead"]["lead"]) == (326_400, 1_920)


def test_the_sample_is_a_csv_file_too(command: Command, tmp_path: Path) -> None:
    """Whoever serves each request at once is fair: nobody waits longer than an instant."""
    path = tmp_path / "sample.csv"
    path.write_bytes(sample.bundled())
    columns = ["--user-column", "client", "--arrival-column", "arrival_s", "--dispatch-column", "arrival_s"]
    tokens = ["--input-column", "input_tokens", "--output-column", "output_tokens"]
    told = command("audit", str(path), "--format", "csv", *columns, *tokens)
    assert told.status == 0
    assert "longest wait: 0 s" in told.out
