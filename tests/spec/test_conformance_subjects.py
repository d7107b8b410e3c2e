"""Adapters that are broken, each in its way: there is no verdict, the reason helps, and nothing is left behind."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree as Xml

import pytest

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.subjects import NoVerdict, ProcessSubject, PythonSubject, Skipped
from sfq_spec.scheduler import load
from sfq_spec.trace import Event

# A whole adapter. It keeps to the protocol, and sends requests in the order of their arrival; the tests change one
# thing in it. `spoken` counts the messages, so that a change can wait for its moment.
ADAPTER = """
import json, os, subprocess, sys, time
def play(events):
    waiting, answers = [], []
    for event in events:
        answer = {}
        if event["event"] == "arrive":
            waiting.append(event["request"])
        if event["event"] == "dispatch":
            answer["dispatched"] = waiting.pop(0) if waiting else None
        answers.append(answer)
    return answers
def say(line):
    sys.stdout.buffer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\\n")
    sys.stdout.flush()
hello = {"protocol": 1, "implementation": {"name": "sample"}, "capabilities": {}}
spoken = 0
#BEGIN
for line in sys.stdin:
    message = json.loads(line)
    spoken += 1
    if message["cmd"] == "stop":
        break
    if message["cmd"] == "start":
        #START
        say(hello)
        continue
    told = {"seq": message["seq"], "answers": play(message["events"])}
    #TOLD
    say(told)
    #AFTER
#END
"""
SMOKE = shorthand.read("+A 1; D×2")


class Running(Protocol):
    def __call__(self, *arguments: str, stdin: bytes = b"") -> Told: ...


class Told(Protocol):
    status: int
    out: str
    err: str


Adapter = Callable[..., list[str]]


@pytest.fixture
def adapter(tmp_path: Path) -> Adapter:
    """The command of the adapter above with something in the place of its marks, which writes down its process id."""

    def make(text: str = ADAPTER, **changes: str) -> list[str]:
        for mark, change in changes.items():
            text = text.replace(f"#{mark}", change)
        script = tmp_path / "adapter.py"
        script.write_text(f"import os\nopen({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}} ')\n{text}")
        return [sys.executable, "-S", str(script)]

    return make


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path) -> object:
    yield
    pids = tmp_path / "pids"
    alive = [pid for pid in (pids.read_text().split() if pids.exists() else []) if is_alive(int(pid))]
    assert not alive, "a process is left behind"


def is_alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and was not fetched does not. It has a moment to end."""
    for _ in range(20):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state in "ZX":
            return False
        time.sleep(0.05)
    return True


def reason(command: list[str], events: list[Event] = SMOKE, *, patience: float = 10.0, times: int = 1) -> str:
    """Why there is no verdict."""
    with pytest.raises(NoVerdict) as raised:
        ask(command, events, patience, times)
    return str(raised.value)


def ask(command: list[str], events: list[Event], patience: float = 10.0, times: int = 1) -> None:
    with ProcessSubject(command, patience=patience) as subject:
        for _ in range(times):
            subject.run("sample", events)


def test_a_whole_adapter_is_no_complaint(adapter: Adapter) -> None:
    with ProcessSubject(adapter()) as subject:
        assert subject.hello.implementation.name == "sample"
        for _ in range(3):
            answers = subject.run("sample", SMOKE)
            assert not isinstance(answers, Skipped)
            assert [told.dispatched for told in answers[1:]] == ["A1", None]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"BEGIN": "sys.exit(3)"}, ["start: the adapter has ended", "its exit status is 3"]),
        ({"BEGIN": "raise KeyError('library')"}, ["start: the adapter has ended", "on standard error", "library"]),
        (
            {"BEGIN": "say(b'loading\\n')"},
            ["start: the answer 'loading'", "what is not an answer goes to standard err"],
        ),
        ({"START": "hello['protocol'] = 2"}, ["speaks protocol 2, and this is 1"]),
        ({"START": "del hello['implementation']"}, ["start: ", "field `implementation` is missing: write"]),
        (
            {"START": "hello['capabilities']['ties'] = 'fifo'"},
            ["start: ", "field `capabilities.ties`: 'fifo' is none of any, user-id"],
        ),
        (
            {"START": "hello['capabilities']['cancels'] = True"},
            ["start: ", "field `capabilities.cancels` is not known"],
        ),
        ({"TOLD": "sys.exit(0)"}, ["case sample: the adapter has ended without an answer; its exit status is 0"]),
        ({"TOLD": "os.abort()"}, ["case sample: the adapter has ended without an answer; it was ended by SIGABRT"]),
        ({"TOLD": "1/0"}, ["case sample: the adapter has ended", "its exit status is 1", "ZeroDivisionError"]),
        ({"TOLD": "told['seq'] += 1"}, ["case sample: the answer is to message 2, and 1 was asked"]),
        ({"TOLD": "say(told)", "AFTER": "spoken"}, ["the answer is to message 1, and 2 was asked"]),
        ({"TOLD": "say(b'\\xff\\xfe\\n')"}, ["case sample: the answer '\ufffd\ufffd' is not what the protocol says"]),
        ({"TOLD": 'say(b\'{"seq": 1, "errored": "\\xff"}\\n\')'}, ["case sample: ", "is not what the protocol says"]),
        ({"TOLD": "say(b'\\n')"}, ["case sample: the answer '' is not what the protocol says"]),
        ({"TOLD": "say(b'{' * 50)\n    break"}, ["case sample: the answer '{{{{{", "is not what the protocol says"]),
        (
            {"TOLD": "say(b'{\"seq\":1,\"answers\":' + b'[' * 99999 + b'\\n')"},
            ["case sample: ", "not what the protocol"],
        ),
        ({"TOLD": "told['answers'].pop()"}, ["case sample: 2 answers to 3 events: give one for each"]),
        ({"TOLD": "told['answers'] = []"}, ["case sample: 0 answers to 3 events"]),
        ({"TOLD": "del told['answers']"}, ["case sample: 0 answers to 3 events"]),
        ({"TOLD": "told['answers'].append({})"}, ["case sample: 4 answers to 3 events"]),
        ({"TOLD": "told['answers'].reverse()"}, ["answer 1 is to an event `arrive`, and says `dispatched`", "order"]),
        ({"TOLD": "told['answers'][1] = {}"}, ["answer 2 is to an event `dispatch`, and does not say `dispatched`"]),
        ({"TOLD": "told['answers'][0] = {'refused': 'no'}"}, ["answer 1", "refuses with 'no'", "invalid-cost"]),
        (
            {"TOLD": "told['answers'][1] = {'dispatched': 7}"},
            ["case sample: ", "`answers[1].dispatched`: must be a text"],
        ),
        ({"TOLD": "told['answers'][0] = {'lag': {'A': 'x'}}"}, ["field `answers[0].lag`: 'x' is not a number"]),
        (
            {"TOLD": 'say(b\'{"seq":1,"answers":[{"lag":{"A":1e\' + b\'9\' * 30 + b\'}}]}\\n\')'},
            ["not what the protocol"],
        ),
        ({"TOLD": "told['errored'] = 'KeyError: A'; del told['answers']"}, ["the scheduler failed: KeyError: A"]),
        ({"TOLD": "told['skipped'] = 'no'"}, ["case sample: there is more than one of `answers`, `skipped`"]),
        ({"TOLD": "told['answer'] = []"}, ["case sample: ", "field `answer` is not known"]),
    ],
)
def test_what_is_broken_is_told(adapter: Adapter, changes: dict[str, str], told: list[str]) -> None:
    said = reason(adapter(**changes), times=2)
    assert [part for part in told if part not in said] == [], said


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    assert reason(["no-such-adapter"]) == "no-such-adapter cannot be started: No such file or directory"
    assert reason([str(tmp_path)]).endswith("cannot be started: Permission denied")
    assert "cannot be started: embedded null byte" in reason(["\0"])


@pytest.mark.integration
@pytest.mark.parametrize("mark", ["START", "TOLD"])
def test_a_hang_takes_its_time_and_no_more(adapter: Adapter, mark: str) -> None:
    began = time.monotonic()
    said = reason(adapter(**{mark: "time.sleep(600)"}), patience=1.0)
    assert "no answer within 1 s: is each line flushed? --patience gives more time" in said
    assert time.monotonic() - began < 8


def test_what_is_late_is_not_taken_for_the_next_answer(adapter: Adapter) -> None:
    assert "no answer within 0.5 s" in reason(adapter(TOLD="time.sleep(1.5)"), patience=0.5, times=2)


def test_an_adapter_that_does_not_read(adapter: Adapter) -> None:
    many = shorthand.read("+A 1×20000")
    began = time.monotonic()
    said = reason(adapter(START="say(hello); time.sleep(600)"), many, patience=1.0)
    assert "case sample: the adapter does not read what it is asked" in said
    assert time.monotonic() - began < 10


FLOODS = {
    "lines": "while True: say(b'x' * 1000 + b'\\n')",
    "one line": "while True: say(b'x' * 100_000)",
    "null lines": "while True: say(b'\\n' * 100_000)",
}


@pytest.mark.integration
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_does_not_fill_the_memory(adapter: Adapter, flood: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = reason(adapter(TOLD=FLOODS[flood]))
    assert "is not what the protocol says" in said or "a line of more than 16,777,216 bytes" in said
    assert len(said) < 500
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 150_000, "kilobytes"


def resident() -> int:
    """Bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.integration
@pytest.mark.parametrize("line", ["b'x' * 100_000 + b'\\n'", "b'x' * 100_000"])
def test_a_flood_that_nobody_waits_for_is_not_kept(adapter: Adapter, line: str) -> None:
    with ProcessSubject(adapter(AFTER=f"while True: say({line})")) as subject:
        subject.run("sample", SMOKE)
        before = resident()
        time.sleep(1.5)
        assert resident() - before < 100_000_000


@pytest.mark.integration
def test_a_flood_after_the_answer(adapter: Adapter) -> None:
    assert "is not what the protocol says" in reason(adapter(AFTER=FLOODS["lines"]), times=2)
    with ProcessSubject(adapter(AFTER=FLOODS["lines"])) as subject:
        subject.run("sample", SMOKE)


def test_standard_error_is_free(adapter: Adapter) -> None:
    with ProcessSubject(adapter(TOLD="sys.stderr.write('x' * 5_000_000)")) as subject:
        assert len(subject.run("sample", SMOKE)) == 3  # type: ignore[arg-type]
    said = reason(adapter(TOLD="sys.stderr.write('x' * 5_000_000 + 'the last words'); sys.exit(4)"))
    assert said.endswith("the last words")
    assert len(said) < 2_500


def test_what_an_adapter_starts_ends_with_it(adapter: Adapter, tmp_path: Path) -> None:
    child = f"subprocess.Popen(['sleep', '600']); open({str(tmp_path / 'pids')!r}, 'a').write(f'{{kid.pid}} ')"
    text = ADAPTER.replace("#BEGIN", child.replace("subprocess.Popen", "kid = subprocess.Popen"))
    assert "has ended" in reason(adapter(text, TOLD="sys.exit(0)"), patience=1.0)
    with ProcessSubject(adapter(text)) as subject:
        subject.run("sample", SMOKE)
    assert len((tmp_path / "pids").read_text().split()) == 4


@pytest.mark.integration
def test_an_adapter_that_stays_after_stop(adapter: Adapter) -> None:
    with ProcessSubject(adapter(END="time.sleep(600)")) as subject:
        subject.run("sample", SMOKE)


def test_no_descriptor_and_no_thread_is_left(adapter: Adapter) -> None:
    def held() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), len(list(Path("/proc/self/task").iterdir()))

    before = held()
    for change in (FLOODS["lines"], "sys.exit(1)"):
        reason(adapter(TOLD=change))
    for _ in range(40):
        if held() <= before:
            break
        time.sleep(0.05)
    assert held() <= before


def test_a_skip_is_none_of_these(adapter: Adapter) -> None:
    told = "told = {'seq': message['seq'], 'skipped': 'no weights yet', 'issue': 'https://example.org/1'}"
    with ProcessSubject(adapter(TOLD=told)) as subject:
        assert subject.run("sample", SMOKE) == Skipped("no weights yet (https://example.org/1)")


def test_a_scheduler_in_python_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing.py").write_text(
        "class Failing:\n    def arrive(self, user, request, cost): pass\n    def dispatch(self): raise KeyError('A')\n"
    )
    monkeypatch.chdir(tmp_path)
    with PythonSubject("failing:Failing", load("failing:Failing")) as subject, pytest.raises(NoVerdict) as raised:
        subject.run("sample", SMOKE)
    assert str(raised.value).startswith("case sample, event 2: `dispatch` raised KeyError: 'A' (failing.py, line 3")
    assert str(raised.value).endswith("\nThe run: +A 1; D")


# The command


def validate(command: Running, adapter: list[str], *options: str) -> Told:
    return command("validate", "--budget", "5", "--seed", "1", *options, "--", *adapter)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"BEGIN": "sys.exit(3)"}, "start: the adapter has ended"),
        ({"START": "hello['protocol'] = 2"}, "the adapter speaks protocol 2"),
        ({"TOLD": "time.sleep(600)"}, "case smoke: no answer within 0.5 s"),
        ({"TOLD": "if spoken > 5: sys.exit(9)"}, "the adapter has ended without an answer; its exit status is 9"),
        ({"TOLD": "if spoken > 5: say(b'what?\\n')"}, "the answer 'what?' is not what the protocol says"),
        ({"TOLD": "if spoken > 60: time.sleep(600)"}, "case random-"),
        ({"TOLD": "told['answers'][1:] = [{'dispatched': 'A2'}] * 2"}, "smoke test: one request of one user arrives"),
        ({"TOLD": "told = {'seq': message['seq'], 'skipped': 'closed'}"}, "the smoke test was skipped (closed)"),
        ({"TOLD": "if spoken > 2: told = {'seq': message['seq'], 'skipped': 'closed'}"}, "nothing was checked: closed"),
        ({"START": "hello['capabilities']['lag'] = True"}, "says that it tells lags, and tells none"),
    ],
)
def test_a_broken_adapter_is_exit_status_2(
    command: Running, adapter: Adapter, tmp_path: Path, changes: dict[str, str], told: str
) -> None:
    broken = adapter(**changes)
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    only = ["--only", "R-SELECT"] if "random" in told or "nothing" in told else []
    if "random" in told:
        only = ["--only", "article-table"]
        broken = adapter(TOLD="if message['id'].startswith('random-3'): time.sleep(600)")
    said = validate(
        command, broken, "--patience", "0.5", "--json", "--junit", str(junit), "--markdown", str(markdown), *only
    )
    assert said.status == 2
    assert "no verdict: " in said.err
    assert told in said.err
    assert told in json.loads(said.out)["reason"]
    assert json.loads(said.out)["verdict"] == "no-verdict"
    assert [case.find("error") is not None for case in Xml.parse(junit).getroot()] == [True]
    assert "no verdict" in markdown.read_text()


def test_a_scheduler_that_is_wrong_is_exit_status_1(command: Running, adapter: Adapter) -> None:
    said = command("validate", "--only", "article-table", "--budget", "0", "--", *adapter())
    assert said.status == 1
    assert "does not conform" in said.out


def test_ties_are_the_adapters_to_tell(command: Running, adapter: Adapter) -> None:
    said = validate(command, adapter(), "--any-tie")
    assert said.status == 2
    assert "--any-tie is for --python" in said.err


def test_an_interrupt_leaves_nothing(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(event: Event) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfq_spec.conformance.subjects._kind", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ask(adapter(TOLD="told['answers'].reverse()"), SMOKE)
