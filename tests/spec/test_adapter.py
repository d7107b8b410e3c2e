"""The adapters that `sfq-spec adapter new` writes: whole programs, compiled and run where their language is here."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import pytest

from sfq_spec.commands.adapting import COMMANDS, NAMES, Language, skeleton
from sfq_spec.conformance.protocol import Capabilities
from sfq_spec.conformance.subjects import Errored, ProcessSubject, Skipped
from sfq_spec.conformance.validate import bundled, smoke
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event

CHECKOUT = Path(__file__).resolve().parents[2]
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
GO = CHECKOUT / "build/go/go/bin"
"""Where `make test-integrations` puts the compiler."""
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")


class Told(Protocol):
    status: int
    out: str
    err: str


Running = Callable[..., Told]


LANGUAGES = [pytest.param(each, marks=pytest.mark.integration if each is Language.GO else ()) for each in Language]


def tool(name: str) -> str:
    """The path of a compiler or interpreter; the test is skipped where it is missing, or fails if it is required."""
    found = shutil.which(name, path=f"{GO}{os.pathsep}{os.environ['PATH']}")
    if found is not None:
        return found
    absent = f"there is no {name} on this machine"
    if os.environ.get(f"SFQ_{name.upper()}") == "required":
        pytest.fail(absent)
    pytest.skip(absent)


def ready(language: Language, folder: Path, text: str = "", *more: Path) -> list[str]:
    """The command of the adapter of a language, or of another text, compiled if need be."""
    source, program = folder / NAMES[language], folder / "adapter"
    source.write_text(text or skeleton(language), encoding="utf-8")
    match language:
        case Language.PYTHON:
            return [sys.executable, str(source)]
        case Language.JAVASCRIPT:
            return [tool("node"), str(source)]
        case Language.C:
            compiled = [tool("cc"), *STRICT, *SANITIZERS, "-g", "-o", str(program), str(source)]
        case Language.RUST:
            compiled = [tool("rustc"), "-D", "warnings", "-o", str(program), str(source)]
        case Language.GO:
            compiled = [tool("go"), "build", "-o", str(program), str(source), *map(str, more)]
    alone = os.environ | {"GOTOOLCHAIN": "local", "GO111MODULE": "off", "GOCACHE": str(CHECKOUT / "build/go/cache")}
    told = subprocess.run(compiled, capture_output=True, text=True, check=False, env=alone)
    assert told.returncode == 0, told.stderr
    return [str(program)]


def in_order(events: Sequence[Event]) -> list[str | None]:
    """What goes where requests go in the order of their arrival."""
    waiting: list[str] = []
    sent: list[str | None] = []
    for event in events:
        if isinstance(event, Arrive):
            waiting.append(event.request)
        if isinstance(event, Dispatch):
            sent.append(waiting.pop(0) if waiting else None)
    return sent


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_adapter_speaks_the_protocol_and_sends_in_order(language: Language, tmp_path: Path) -> None:
    cases = [case for case in bundled().cases if not Capabilities().lacks(case.requires)]
    odd = '"\\/\b\f\n\r\t\x01\x7f\u2028é\ufffd\U0001f600 '
    runs: list[list[Event]] = [case.played() for case in cases if len(case.events) < 900]
    runs.append([Arrive("A", odd, 1), Arrive("", "", 1), Dispatch(), Dispatch(), Dispatch()])
    runs.append([])
    with ProcessSubject(ready(language, tmp_path)) as subject:
        assert subject.hello.implementation.language == language
        smoke(subject)
        for events in runs:
            answers = subject.run("sample", events)
            assert not isinstance(answers, Skipped)
            told = [answer.dispatched for event, answer in zip(events, answers, strict=True) if event == Dispatch()]
            assert told == in_order(events)


FAILING = {
    Language.PYTHON: ("return self.waiting.popleft() if self.waiting else None", 'raise KeyError("lost")'),
    Language.JAVASCRIPT: ("return this.waiting.length > 0 ? this.waiting.shift() : null;", 'throw new Error("lost");'),
    Language.GO: ("if len(s.waiting) == 0 {\n\t\treturn nil", 'if len(s.waiting) > 0 {\n\t\tpanic("lost")'),
    Language.RUST: ("self.waiting.pop_front()", 'panic!("lost")'),
}
"""The dispatch of each skeleton whose language has errors, and one that fails."""


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each.values[0] in FAILING])
def test_the_adapter_tells_an_error_and_goes_on(language: Language, tmp_path: Path) -> None:
    right, failing = FAILING[language]
    command = ready(language, tmp_path, skeleton(language).replace(right, failing))
    with ProcessSubject(command) as subject:
        for _ in range(2):
            with pytest.raises(Errored) as raised:
                subject.run("sample", [Arrive("A", "A1", 1), Dispatch()])
            assert "lost" in raised.value.sentence
        assert len(subject.run("sample", [Arrive("A", "A1", 1)])) == 1  # type: ignore[arg-type]


def test_the_adapter_in_c_reads_whatever_it_is_given(tmp_path: Path) -> None:
    """Damaged messages, under sanitizers that end it at the first wrong access, leak or undefined step."""
    command = ready(Language.C, tmp_path)
    whole = (
        b'{"cmd":"start","protocol":1}\n'
        b'{"cmd":"run","seq":1,"id":"x","events":[{"event":"arrive","user":"\\u00e9\\ud83d\\ude00","request":"A\\"1",'
        b'"cost":"1/3"},{"event":"dispatch"},{"event":"weight","user":"A","weight":0.5},{"event":"upkeep"}]}\n'
    )
    rng = random.Random(5)
    lines = [whole, b'{"cmd":"run","events":' + b"[" * 100_000 + b"\n", b'{"cmd":"run","events":["\\u', b'{"cmd":"run"']
    for _ in range(4_000):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.randint(0, 3)] = rng.choices(b'{}[]",:\\u0d8\x00\xff\n/e', k=rng.randint(0, 3))
        lines.append(bytes(damaged[: rng.randint(1, len(damaged))]) + b"\n" if rng.random() < 0.3 else bytes(damaged))
    text = b"".join(line for line in lines if b"stop" not in line)
    told = subprocess.run(command, input=text, capture_output=True, check=False, timeout=60)
    assert told.returncode == 0, told.stderr.decode(errors="replace")
    assert told.stdout.count(b"\n") > 4_000


def test_the_adapter_in_c_tells_lags(tmp_path: Path) -> None:
    text = skeleton(Language.C).replace('\\"lag\\": false', '\\"lag\\": true')
    text = text.replace(
        "return (void)n, (void)ahead, NULL;", 'return *ahead = 0.375, n == 0 ? "A" : n == 1 ? "\\"" : NULL;'
    )
    with ProcessSubject(ready(Language.C, tmp_path, text)) as subject:
        assert subject.hello.capabilities.lag
        answers = subject.run("sample", [Arrive("A", "A1", 1), Dispatch(), Cancel("A1"), Dispatch()])
        assert not isinstance(answers, Skipped)
        assert [answer.lag for answer in answers] == [{"A": Fraction(3, 8), '"': Fraction(3, 8)}] * 4
        assert (answers[1].dispatched, answers[2].refused) == ("A1", "unknown-request")


def test_every_adapter_says_where_the_scheduler_goes_and_what_to_do() -> None:
    for language in Language:
        text = skeleton(language)
        assert text.count("YOUR SCHEDULER GOES HERE") == 1
        assert text.count("\t") == 0 or language is Language.GO
        assert max(map(len, text.splitlines())) <= 120
        assert all(f"{word}" in text for word in ("cancel", "weights", "recost", "lag", "ties", "numbers"))
        assert all(code in text for code in ("invalid-cost", "unknown-request", "not-waiting"))


def test_go_is_balanced() -> None:
    text = skeleton(Language.GO)
    assert [text.count(one) for one in "({["] == [text.count(one) for one in ")}]"]
    used = {"bufio.", "json.", "fmt.", "big.", "os.", "strings."}
    assert {name for name in used if name in text.partition(")\n")[2]} == used


FAULTS_IN_GO = {
    "no floor": ("later(s.meters[user], s.v)", "s.meters[user]"),
    "no reset": ("later(s.v, meter)", "later(s.v, s.v)\n_ = meter"),
    "ids are free at once": ("s.flying[sent.id] = true", ""),
}
"""Parts of a scheduler, and what to put in their place."""


@pytest.mark.integration
@pytest.mark.parametrize("fault", [None, *FAULTS_IN_GO])
def test_a_scheduler_in_go_is_judged(command: Running, tmp_path: Path, fault: str | None) -> None:
    """The skeleton with a scheduler in place of its own, which can do everything and counts in exact numbers."""
    before, _, rest = skeleton(Language.GO).partition("// Scheduler: YOUR SCHEDULER GOES HERE")
    text = before + rest[rest.index("type event struct") :]
    text = re.sub(r'(": +)false', r"\1true", text).replace('"integer", //', '"rational", //')
    source = (CHECKOUT / "tests/schedulers/sfq.go").read_text(encoding="utf-8")
    part, other = FAULTS_IN_GO[fault] if fault else ("", "")
    assert part in source
    (scheduler := tmp_path / "sfq.go").write_text(source.replace(part, other), encoding="utf-8")
    told = command("validate", "--", *ready(Language.GO, tmp_path, text, scheduler))
    verdict = told.out.splitlines()[-1]
    assert (told.status, verdict.split(":")[0]) == ((1, "does not conform") if fault else (0, "conforms"))
    assert ", 0 skipped, " in verdict


@pytest.mark.integration
def test_what_is_in_go_is_as_its_formatter_has_it(tmp_path: Path) -> None:
    (tmp_path / "adapter.go").write_text(skeleton(Language.GO), encoding="utf-8")
    told = subprocess.run(
        [tool("gofmt"), "-l", str(tmp_path), str(CHECKOUT / "tests")], capture_output=True, text=True, check=True
    )
    assert told.stdout == ""


def test_the_command_writes_it(command: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language in Language:
        told = command("adapter", "new", "--language", language)
        assert told.status == 0
        assert (tmp_path / NAMES[language]).read_text(encoding="utf-8") == skeleton(language)
        assert COMMANDS[language].format(NAMES[language]) in told.err
    assert command("adapter", "new", "--language", "go", "-o", "-").out == skeleton(Language.GO)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["new"], "Missing option '--language'"),
        (["new", "--language", "cobol"], "'cobol' is not one of"),
        (["old", "--language", "c"], "'old' is not"),
        (["new", "--language", "c", "-o", "missing/adapter.c"], "missing: is not a folder that exists; make it first"),
        (["new", "--language", "c", "-o", "here.c"], "here.c: is there already: name another file with -o"),
    ],
)
def test_what_it_does_not_do(
    command: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.c").write_text("mine")
    told = command("adapter", *arguments)
    assert (told.status, told.out) == (2, "")
    assert reason in told.err
    assert (tmp_path / "here.c").read_text() == "mine"
