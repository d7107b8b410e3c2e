"""The command, as a process: pipelines, terminals, exit status."""

from __future__ import annotations

import gzip
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Protocol

import pytest

from sfq_spec import sample

ROOT = Path(__file__).resolve().parents[2]
SFQ_SPEC = [sys.executable, "-c", "from sfq_spec.cli import main; main()"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | {
    "PYTHONPATH": os.pathsep.join([str(ROOT / "spec"), str(ROOT / "tests")]),
    "COLUMNS": "100",
}
A1 = '{"event":"arrive","user":"A","request":"A1","cost":3}'
DISPATCH = '{"event":"dispatch"}'


class Told(Protocol):
    status: int
    out: str
    err: str


Command = Callable[..., Told]


def process(*arguments: str, **options: int) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([*SFQ_SPEC, *arguments], env=ENVIRONMENT, **pipes)  # type: ignore[call-overload, no-any-return]


def test_version_and_help(command: Command) -> None:
    assert command("--version").out.startswith("sfq-spec")
    for arguments in (["--help"], ["import", "--help"], ["run", "-h"], ["sample", "--help"]):
        told = command(*arguments)
        assert told.status == 0
        assert "sfq-spec import sample | sfq-spec run - --table" in told.out or "sample" in arguments
    assert "Examples:\n" in command("sample", "--help").out


def test_a_first_look(command: Command) -> None:
    made = command("import", "sample")
    assert made.status == 0
    assert "the sample: 1,169 requests of 12 users, 17 servers" in made.err
    told = command("run", "-", stdin=made.out.encode())
    assert told.status == 0
    assert "3,507 events, 1,169 dispatches, 0 refused, 0 still waiting, by the machine" in told.err
    table = command("run", "-", "--table", stdin=told.out.encode()).out.splitlines()
    assert len(table) == 2 + 1_169
    assert table[0].split()[:4] == ["Dispatch", "v", "Selected", "Charge"]


def test_the_sample_goes_through_a_file_as_well(command: Command, tmp_path: Path) -> None:
    requests, script = tmp_path / "requests.csv", tmp_path / "script.jsonl"
    requests.write_text(command("sample").out)
    assert requests.read_bytes() == sample.bundled()
    told = command("import", "servegen", str(requests), "-o", str(script))
    assert (told.status, told.out) == (0, "")
    assert script.read_text() == command("import", "sample").out
    assert script.read_text() == command("import", "servegen", "-", stdin=requests.read_bytes()).out


def test_the_options_of_the_pool(command: Command) -> None:
    text = b"arrival_s,client,input_tokens,output_tokens\n0,A,4,2\n0,A,4,2\n"
    options = ["--servers", "1", "--input-seconds", "1/8", "--output-seconds", "0.25"]
    told = command("import", "servegen", "-", *options, "--input-weight", "3", "--output-weight", "5", stdin=text)
    lines = list(map(json.loads, told.out.splitlines()))
    assert [line.get("cost") for line in lines[:2]] == [22, 22]
    assert [(line["event"], line["time"]) for line in lines[2:]] == [
        ("dispatch", 0),
        ("complete", 1),
        ("dispatch", 1),
        ("complete", 2),
    ]


def test_azure_dealt_out(command: Command) -> None:
    text = b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 00:00:00,1,2\n2023-11-16 00:00:01,1,2"
    told = command("import", "azure", "-", "--users", "2", stdin=text)
    assert [json.loads(line).get("user") for line in told.out.splitlines()].count("azure-2") == 1


def test_rejected_requests_are_counted(command: Command) -> None:
    header = "client,req_time,first_token_latency,request_latency,prompt_len,output_len\n"
    told = command("import", "vtc", "-", stdin=(header + "0,1,-1.0,-1.0,3,4\n0,2,0.5,1,3,4\n").encode())
    assert len(told.out.splitlines()) == 3
    assert "standard input: 1 rejected request left out" in told.err


@pytest.mark.parametrize("pack", [lambda content: content, gzip.compress], ids=["plain", "gzip"])
def test_every_reader_takes_compressed_files(command: Command, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    for name, content in (("requests", sample.bundled()), ("script", command("import", "sample").out.encode())):
        (tmp_path / name).write_bytes(pack(content))
    requests, script = str(tmp_path / "requests"), str(tmp_path / "script")
    told = command("import", "servegen", requests)
    assert (told.status, told.out) == (0, command("import", "sample").out)
    told = command("run", script)
    assert told.out == command("run", "-", stdin=Path(script).read_bytes()).out
    (tmp_path / "trace").write_bytes(pack(told.out.encode()))
    assert json.loads(command("shadow", str(tmp_path / "trace")).out)["events"] == 3_507
    assert command("compare", requests, "--policies", "fifo", "--first", "9").status == 0


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "--table"], ["shadow"], ["import", "azure"], ["compare"]], ids=" ".join
)
def test_every_reader_tells_that_a_compressed_file_is_not_whole(
    command: Command, tmp_path: Path, arguments: list[str]
) -> None:
    text = f"{A1}\n{DISPATCH}\n" if arguments[0] != "import" else "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(text.encode())[:-4])
    told = command(*arguments, str(path))
    assert told.status == 2
    assert f"sfq-spec: {path}: is not whole, as gzip" in told.err


SLOW = pytest.mark.integration


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=SLOW), pytest.param("utf-8", marks=SLOW)])
def test_what_standard_output_cannot_write_is_spelled_out(encoding: str) -> None:
    lines = [A1.replace('"A"', '"Jürgen ⇒ 𝄞"'), DISPATCH.replace("}", ',"dispatched":"A1"}')]
    environment = ENVIRONMENT | {"PYTHONIOENCODING": encoding}

    def told(*arguments: str) -> str:
        stdin = "\n".join(lines).encode()
        done = subprocess.run([*SFQ_SPEC, *arguments], input=stdin, env=environment, capture_output=True, check=True)
        return done.stdout.decode(encoding)

    found = json.loads(told("audit", "-", "--mode", "fairness", "--json"))
    assert [user["user"] for user in found["users"]] == ["Jürgen ⇒ 𝄞"]
    name = {"ascii": r"J\u00fcrgen \u21d2 \ud834\udd1e", "latin-1": r"Jürgen \u21d2 \ud834\udd1e"}
    assert name.get(encoding, "Jürgen ⇒ 𝄞") in told("audit", "-", "--mode", "fairness")
    assert ("⇒" if encoding == "utf-8" else r"\u21d2") in told("claims", "FAIR-LEAD")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["import", "shw"], "'shw' is not one of 'servegen'"),
        (["shadow", "-", "--placement", "shw"], "'shw' is not one of 'stall', 'overtake'"),
        (["vectors", "shw"], "'shw' is not one of 'list'"),
        (["import", "sample", "--servers", "0"], "Invalid value for '--servers': "),
        (["import", "sample", "--servers", "x"], "Invalid value for '--servers': "),
    ],
)
def test_a_bad_value_is_told_in_plain_words(command: Command, arguments: list[str], said: str) -> None:
    told = command(*arguments)
    assert told.status == 2
    assert said in told.err
    for leaked in ("Value error", "Input should", "unable to parse"):
        assert leaked not in told.err


def test_where_a_script_goes_is_tried_first(command: Command, tmp_path: Path) -> None:
    told = command("import", "vtc", "nowhere.csv", "-o", str(tmp_path / "no" / "script.jsonl"))
    assert (told.status, told.out) == (2, "")
    assert "script.jsonl: cannot be written" in told.err


def test_a_pipe_is_not_tried() -> None:
    """Whoever reads from it would take the trial for the end."""
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as reader:
        with process("import", "sample", "-o", f"/dev/fd/{theirs}", pass_fds=(theirs,)) as running:  # type: ignore[arg-type]
            os.close(theirs)
            assert reader.read().count(b"\n") == 3_507
            running.communicate()
        assert running.returncode == 0


def test_the_lag(command: Command) -> None:
    told = command("run", "-", "--lag", stdin=f"{A1}\n{A1.replace('A', 'B')}\n{DISPATCH}".encode())
    assert json.loads(told.out.splitlines()[-1])["lag"] == {"A": 3, "B": 0}
    assert "leave one of them out" in command("run", "-", "--lag", "--table", stdin=A1.encode()).err


def test_a_scheduler_from_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((ROOT / "tests" / "schedulers" / "linear_scan.py").read_text())
    done = subprocess.run(
        [*SFQ_SPEC, "run", "-", "--python", "mine:LinearScan"],
        input=f"{A1}\n{DISPATCH}".encode(),
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "event": "dispatch",
        "dispatched": "A1",
        "user": "A",
        "cost": 3,
    }
    assert done.stderr.decode().endswith("by mine:LinearScan\n")


def test_the_production_scheduler_gives_the_trace_of_the_machine(command: Command) -> None:
    script = command("import", "sample").out.encode()
    theirs = command("run", "-", "--python", "sfq_impl.heap:HeapScheduler", stdin=script)
    assert theirs.status == 0
    assert theirs.out == command("run", "-", stdin=script).out


def test_each_line_is_answered_before_the_next_is_read() -> None:
    with process("run", "-") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for event, answer in ((A1, A1), (DISPATCH, '{"event":"dispatch","dispatched":"A1","user":"A","cost":3}')):
            running.stdin.write(event.encode() + b"\n")
            running.stdin.flush()
            ready, _, _ = select.select([running.stdout], [], [], 30)
            assert ready, "no answer while standard input is open"
            assert running.stdout.readline().decode().rstrip() == answer
        running.stdin.close()
        assert running.wait() == 0


@pytest.mark.parametrize("arguments", [["import", "sample"], ["sample"], ["run", "-"]])
def test_a_closed_pipe_ends_it_quietly(command: Command, arguments: list[str]) -> None:
    script = command("import", "sample").out.encode() if arguments == ["run", "-"] else b""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with process(*arguments, stdout=write_end) as running:
        os.close(write_end)
        _, said = running.communicate(script)
    assert said.decode().count("\n") <= 1
    assert "rror" not in said.decode()
    assert running.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("wb") as full, process("sample", stdout=full.fileno()) as running:
        _, said = running.communicate()
    assert said.decode().startswith("sfq-spec: the operating system does not go on: ")
    assert said.decode().count("\n") == 1
    assert running.returncode == 2


def in_a_terminal(*arguments: str, stdin: str = "", columns: int = 100, stderr: bool = False) -> str:
    """What a command shows with its standard output, or its standard error, on a terminal."""
    ours, theirs = pty.openpty()
    ends = (
        {"stdout": subprocess.DEVNULL, "stderr": theirs} if stderr else {"stdout": theirs, "stderr": subprocess.DEVNULL}
    )
    shown: list[bytes] = []

    def watch() -> None:
        with suppress(OSError):  # how the last reader of a terminal is told that it is closed
            while data := os.read(ours, 1 << 16):
                shown.append(data)

    watching = Thread(target=watch)
    watching.start()
    environment = ENVIRONMENT | {"COLUMNS": str(columns), "TERM": "xterm"}
    done = subprocess.run([*SFQ_SPEC, *arguments], input=stdin.encode(), env=environment, check=False, **ends)  # type: ignore[call-overload]
    os.close(theirs)
    watching.join()
    os.close(ours)
    assert done.returncode == 0
    return b"".join(shown).decode()


def test_in_a_terminal_there_is_progress(tmp_path: Path) -> None:
    script = str(tmp_path / "script.jsonl")
    for arguments, what in ((["import", "sample", "-o", script], "serving"), (["run", script], "running")):
        shown = in_a_terminal(*arguments, stderr=True)
        assert what in shown
        assert "100%" in shown


@pytest.mark.parametrize(("columns", "fits"), [(120, True), (50, False)])
def test_in_a_terminal_the_table_is_drawn_and_fits(columns: int, fits: bool) -> None:
    lines = [A1.replace("A", user) for user in "ABCDEFGHIJ"] + [DISPATCH] * 3
    shown = in_a_terminal("run", "-", "--table", stdin="\n".join(lines), columns=columns)
    assert "Dispatch" in shown
    assert "A (tie)" in shown
    assert ("S_J" in shown) is fits
    assert ("S after" in shown) is not fits


def test_in_a_pipe_there_is_only_plain_text() -> None:
    environment = ENVIRONMENT | {"LC_ALL": "C"}
    for arguments in (["run", "-", "--table"], ["run", "-"], ["--help"], ["import", "--help"]):
        done = subprocess.run(
            [*SFQ_SPEC, *arguments],
            input=f"{A1.replace('A', 'Ä')}\n{DISPATCH}".encode(),
            env=environment,
            capture_output=True,
            check=True,
        )
        assert b"\x1b" not in done.stdout + done.stderr
        assert ("Ä" in done.stdout.decode()) is ("run" in arguments)
