"""Schedulers in Python that hang, crash, print or raise: the kit survives each, and says where it was."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from sfq_spec.conformance import notes, shorthand
from sfq_spec.conformance.hosted import HostedSubject
from sfq_spec.conformance.playing import Played, played
from sfq_spec.conformance.subjects import Errored, NoVerdict, ProcessSubject, Skipped, Subject
from sfq_spec.conformance.validate import Report, bundled, validate

SCHEDULER = """
    import ctypes, os, re, sys, threading, time
    from schedulers.linear_scan import LinearScan

    class Sample(LinearScan):
        def dispatch(self):
            if len(self.owners) >= 3:
                FAULT
            return super().dispatch()
"""
RUN = shorthand.read("+A 1; D; +B 1×2; D; D")
"""Three requests are known at the second dispatch, which is event 5."""


class Told(Protocol):
    status: int
    out: str
    err: str


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes the scheduler above with a fault, and names it."""
    monkeypatch.chdir(tmp_path)

    def write(fault: str, text: str = SCHEDULER) -> str:
        (tmp_path / "sample.py").write_text(textwrap.dedent(text).replace("FAULT", fault))
        return "sample:Sample"

    return write


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("notes")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert not list(folder.iterdir()), "notes are left behind"


def reason(name: str, *, patience: float = 10.0) -> str:
    with pytest.raises(NoVerdict) as raised, HostedSubject(name, patience=patience) as subject:
        subject.run("sample", RUN)
    assert not isinstance(raised.value, Errored)
    return str(raised.value)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fault", "where"),
    [
        ("while True: pass", "(sample.py, line 8, in dispatch)"),
        ("lock = threading.Lock(); lock.acquire(); lock.acquire()", "(sample.py, line 8, in dispatch)"),
        ("re.match('(a+)+$', 'a' * 60 + 'b')", "in match)"),
        ("time.sleep(600)", "(sample.py, line 8, in dispatch)"),
    ],
)
def test_a_hang_takes_its_time_and_is_found(written: Callable[[str], str], fault: str, where: str) -> None:
    name, began = written(fault), time.monotonic()
    said = reason(name, patience=1.0)
    assert said.startswith("case sample, event 5: no answer within 1 s: --patience gives more time (")
    assert where in said
    assert said.endswith("\nThe run: +A 1; D; +B 1×2; D")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("fault", "how"),
    [
        ("os._exit(7)", "its exit status is 7"),
        ("os.abort()", "(sample.py, line 8, in dispatch); it was ended by SIGABRT"),
        ("ctypes.string_at(0)", "it was ended by SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
    ],
)
def test_a_crash_is_found(written: Callable[[str], str], fault: str, how: str) -> None:
    said = reason(written(fault))
    assert said.startswith("case sample, event 5: the scheduler's process has ended without an answer")
    assert how in said


def test_what_is_no_answer_is_no_verdict(written: Callable[[str], str]) -> None:
    assert reason(written("return 7")).startswith("case sample, event 5: `dispatch` returned 7: return None, the id")
    assert reason(written("return chr(0xd800)")) == "case sample: an id among the answers is not Unicode"


def test_a_factory_that_hangs_or_fails(written: Callable[..., str]) -> None:
    waits = "import time\nclass Sample:\n    def __init__(self): time.sleep(600)\n"
    assert "start: no answer within 0.5 s" in reason(written("", waits), patience=0.5)
    fails = "class Sample:\n    def __init__(self): raise OSError('closed')\n"
    assert "is called without arguments, and raised OSError: closed" in reason(written("", fails))
    assert reason("sample:Nothing").startswith("`sample:Nothing`: 'sample' has no 'Nothing'")
    assert "importing 'sample' raised SystemExit: 3" in reason(written("", "import sys; sys.exit(3)"))


def test_what_it_prints_is_heard_and_in_nobodys_way(written: Callable[[str], str]) -> None:
    heard: list[str] = []
    fault = "print('printed'); os.write(1, b'raw\\n'); sys.stderr.write('told \\u00e9\\n'); sys.stdin.read()"
    with HostedSubject(written(fault), heard=heard.append) as subject:
        assert len(subject.run("sample", RUN)) == len(RUN)  # type: ignore[arg-type]
    assert set("".join(heard).split()) == {"printed", "raw", "told", "é"}


def test_it_finds_what_is_found_here(
    written: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written("pass")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "there is no module 'sample'" in reason(name)
    monkeypatch.syspath_prepend(str(tmp_path))
    with HostedSubject(name) as subject:
        assert subject.hello.implementation.language == "python"
        assert subject.hello.capabilities.numbers == "rational"
        assert len(subject.run("sample", RUN)) == len(RUN)  # type: ignore[arg-type]


def test_a_file_in_the_folder_is_not_taken_for_the_library(written: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise SystemExit('taken')")
    with HostedSubject(written("pass")) as subject:
        assert len(subject.run("sample", RUN)) == len(RUN)  # type: ignore[arg-type]


def test_large_and_odd_lags_come_across(written: Callable[..., str]) -> None:
    text = """
    from fractions import Fraction
    class Sample:
        def arrive(self, user, request, cost): pass
        def dispatch(self): return None
        def lag(self): return {"A": 2**64 + 1, "B": Fraction(1, 3), "C": float("nan"), "D": -(2**63)}
    """
    with HostedSubject(written("", text)) as subject:
        answers = subject.run("sample", RUN[:1])
    assert not isinstance(answers, Skipped)
    lag = answers[0].lag
    assert isinstance(lag, dict)
    assert (lag["A"], lag["B"] * 3, lag["D"], lag["C"] == lag["C"]) == (2**64 + 1, 1, -(2**63), False)


def test_the_stack_is_read() -> None:
    host = Path(notes.__file__).with_name("host.py")
    text = (
        f'Timeout (0:00:01)!\nThread 0x1 (most recent call first):\n  File "/x/other.py", line 3 in wait\n\n'
        f'Thread 0x2 (most recent call first):\n  File "{host}", line 4 in inner\n  File "/x/own.py", line 5 in turn\n'
        f'  File "{host}", line 6 in main\n'
    )
    assert notes.line(text) == "(own.py, line 5, in turn)"
    assert notes.line(text.replace("host.py", "past.py")) == ""
    assert notes.line("") == ""


# Errors

RAISES = "raise KeyError('lost')"
ADAPTER = """
    import json, sys, traceback
    from schedulers.linear_scan import LinearScan

    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            break
        told = {"protocol": 1, "implementation": {"name": "sample"}}
        if message["cmd"] == "run":
            scheduler, answers = LinearScan(), []
            try:
                for event in message["events"]:
                    answer = {}
                    if event["event"] == "arrive":
                        try:
                            scheduler.arrive(event["user"], event["request"], float(event["cost"]))
                        except Exception as refusal:
                            answer["refused"] = refusal.code
                    if event["event"] == "dispatch":
                        if len(scheduler.owners) >= 3:
                            raise KeyError("lost")
                        answer["dispatched"] = scheduler.dispatch()
                    if event["event"] == "complete":
                        scheduler.complete(event["request"], "completed")
                    answers.append(answer)
                told = {"seq": message["seq"], "answers": answers}
            except Exception:
                told = {"seq": message["seq"], "errored": traceback.format_exc()}
        print(json.dumps(told), flush=True)
"""
KINDS = ["python", "adapter"]


@pytest.fixture
def raising(written: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Subject]:
    """The same scheduler, which raises at a dispatch, of both kinds."""
    tests = str(Path(__file__).parents[1])

    def make(kind: str) -> Subject:
        if kind == "python":
            return HostedSubject(written(RAISES))
        monkeypatch.setenv("PYTHONPATH", tests)
        (tmp_path / "adapter.py").write_text(textwrap.dedent(ADAPTER))
        return ProcessSubject([sys.executable, str(tmp_path / "adapter.py")])

    return make


def judged(subject: Subject, *ids: str, budget: int = 0) -> Report:
    cases = [case for case in bundled().cases if case.id in ids]
    with subject as started:
        return validate(started, cases, budget=budget, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_found_where_it_is(raising: Callable[[str], Subject], kind: str) -> None:
    with raising(kind) as subject:
        run = played(subject, "sample", RUN)
    assert isinstance(run, Played)
    assert run.wrong is not None
    assert (run.wrong.at, run.wrong.legal, run.wrong.claims) == (4, ("B1",), ("ORDER-WORK",))
    assert run.wrong.sentence.endswith("'lost'") or "raised KeyError: 'lost' (sample.py, line 8" in run.wrong.sentence
    assert len(run.answers) == 4
    assert "KeyError" in run.error


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_a_failure_and_is_made_short(raising: Callable[[str], Subject], kind: str) -> None:
    report = judged(raising(kind), "article-no-banking", "not-last-id-first")
    assert [result.status for result in report.results] == ["failed", "passed", "failed"]
    assert report.shortest is not None
    assert (report.shortest.id, len(report.shortest.prefix)) == ("shortened", 4)
    assert "needed of article-no-banking" in report.shortest.case.comment
    assert report.diagnosis.mutants == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_random_history_that_ends_in_an_error_is_made_short(raising: Callable[[str], Subject], kind: str) -> None:
    report = judged(raising(kind), "not-last-id-first", budget=60)
    assert report.shortest is not None
    assert (report.shortest.id, len(report.shortest.prefix)) == ("random", 4)
    assert "KeyError" in report.shortest.error


def test_what_was_wrong_before_the_error_counts(written: Callable[..., str]) -> None:
    text = SCHEDULER.replace("LinearScan):", "LinearScan):\n        def complete(self, request, outcome): pass")
    name = written(RAISES, text.replace("return super", "return None if self.meters.get('B') == 0 else super"))
    with HostedSubject(name) as subject:
        run = played(subject, "sample", shorthand.read("+B 1; D; +B 1×2; D"))
    assert isinstance(run, Played)
    assert run.wrong is not None
    assert (run.wrong.at, run.error) == (1, "")
    assert "nothing was sent while B1 of B" in run.wrong.sentence


def test_an_error_in_the_smoke_test_is_no_verdict(written: Callable[..., str]) -> None:
    name = written(RAISES, SCHEDULER.replace(">= 3", ">= 1"))
    with pytest.raises(NoVerdict, match=r"case smoke, event 2: `dispatch` raised KeyError: 'lost'"):
        judged(HostedSubject(name), "article-table")


# The command


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("while True: pass", "case article-table, event 19: no answer within 0.5 s"),
        ("os._exit(0)", "case article-table, event 19: the scheduler's process has ended without an answer"),
    ],
)
def test_the_command_survives(
    command: Callable[..., Told], written: Callable[[str], str], fault: str, told: str
) -> None:
    options = ["--patience", "0.5", "--budget", "0", "--only", "article-table", "--json"]
    said = command("validate", "--python", written(fault), *options)
    assert said.status == 2
    assert json.loads(said.out)["verdict"] == "no-verdict"
    assert told in said.err


def test_the_command_tells_an_error(command: Callable[..., Told], written: Callable[[str], str]) -> None:
    said = command("validate", "--python", written(RAISES), "--budget", "0", "--only", "article-no-banking")
    assert said.status == 1
    assert "  case      shortened: What is needed of article-no-banking to fail." in said.out
    assert "`dispatch` raised KeyError: 'lost' (sample.py, line 8, in dispatch)" in said.out
    assert "  legal     " in said.out
