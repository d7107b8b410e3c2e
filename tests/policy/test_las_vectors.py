"""The vectors of LAS: made again byte for byte, each fault found by one; and policies judged by them, as processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from sfq_spec.cli import app
from sfq_spec.conformance.las import case as las
from sfq_spec.conformance.las.case import LasCase, Unsure, answers, bundled, lines, make
from sfq_spec.conformance.las.faults import FAULTS
from sfq_spec.conformance.las.generate import encoded
from sfq_spec.conformance.las.model import MODES, Following, model
from sfq_spec.conformance.las.subject import EXAMPLE, LasHello, LasRun, LasStart
from sfq_spec.conformance.las.validate import judge

CHECKOUT = Path(__file__).resolve().parents[2]
ADAPTER = [sys.executable, str(Path(__file__).with_name("adapter.py"))]
CASES = bundled().cases


def finds(case: LasCase, kind: type[Following]) -> bool:
    told = answers(model(case.mode, case.parameters, kind, collected=False), lines(case.events))
    return judge(case, told) is not None


def validate(*options: str, command: Sequence[str] = ADAPTER) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["validate", "--policy", "las", *options, "--", *command])
    return result.exit_code, result.output


def test_the_file_is_made_again_byte_for_byte() -> None:
    assert encoded() == (CHECKOUT / "spec/sfq_spec/data/las_vectors.json").read_bytes()


def test_there_are_cases_for_each_mode_and_no_two_have_the_same_id() -> None:
    assert {case.mode for case in CASES} == set(MODES)
    assert len({case.id for case in CASES}) == len(CASES)
    assert {flag for case in CASES for flag in case.flags} == set(bundled().flags) == set(FAULTS)


def test_the_model_passes() -> None:
    assert [case.id for case in CASES if finds(case, Following)] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found_by_each_case_that_says_so(fault: str) -> None:
    said = [case for case in CASES if fault in case.flags]
    assert said
    assert [case.id for case in said if not finds(case, FAULTS[fault])] == []


def test_a_pick_that_rounding_might_change_makes_no_vector() -> None:
    """A quarter of the range is a tie of 0.8 and 0.2 on different grounds."""
    case = next(case for case in CASES if case.id == "v2-third-changes-two")
    close = json.loads(json.dumps(case.events).replace('"input_tokens": 100,', '"input_tokens": 2500,'))
    with pytest.raises(Unsure, match="too close"):
        make("close", "", case.mode, close, parameters=case.parameters)


def test_our_own_policy_conforms() -> None:
    status, output = validate("--budget", "12", "--seed", "3")
    assert status == 0, output
    assert f"conforms: {len(CASES)} cases passed, 0 failed, 0 skipped, 12 random histories" in output


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fault", "diagnosed"),
    [("uncut", "WaitsUncut"), ("once", "OutputOnce"), ("frozen", "NeverDecays"), ("unguarded", "NegativeInFlight")],
)
def test_our_own_policy_with_a_fault_does_not(fault: str, diagnosed: str) -> None:
    status, output = validate("--budget", "0", command=[*ADAPTER, fault])
    assert status == 1
    assert f"it behaves as {diagnosed}" in output
    assert "The shortest run that fails, with its clock:" in output


def test_a_random_history_finds_a_fault_and_is_made_short() -> None:
    status, output = validate("--only", "v2-wait-breaks-equal-service", "--seed", "3", command=[*ADAPTER, "once"])
    assert status == 1
    run = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert "random-" in output
    assert 4 < len(run) < 16


def test_the_report_for_machines() -> None:
    status, output = validate("--budget", "0", "--json", command=[*ADAPTER, "unguarded"])
    report = json.loads(output)
    assert status == 1
    assert (report["policy"], report["verdict"]) == ("las", "does-not-conform")
    assert [failure["case"] for failure in report["failures"]] == ["own-completes-once"]
    assert [event["event"] for event in report["run"]].count("complete") == 3


def speaking(tmp_path: Path, hello: str, answer: str = "{}") -> list[str]:
    """An adapter that says one thing, and then picks whoever came first."""
    path = tmp_path / "adapter.py"
    path.write_text(
        f"""
import json, sys
print({hello!r}, flush=True)
next(sys.stdin)
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "stop":
        break
    waiting, told = [], []
    for event in message["events"]:
        if event["event"] == "arrive":
            waiting.append(event["request"])
        if event["event"] == "cancel":
            waiting.remove(event["request"])
        told.append(dict(dispatched=waiting.pop(0) if waiting else None) if event["event"] == "dispatch" else {{}})
    print(json.dumps(dict(seq=message["seq"], answers=told)), flush=True)
""",
        encoding="utf-8",
    )
    return [sys.executable, str(path)]


def hello(**fields: object) -> str:
    return json.dumps({"protocol": 1, "policy": "las", "implementation": {"name": "x"}, **fields})


def test_an_adapter_that_does_not_say_that_it_is_las_is_not_judged(tmp_path: Path) -> None:
    told = json.dumps({"protocol": 1, "implementation": {"name": "x"}})
    status, output = validate(command=speaking(tmp_path, told))
    assert status == 2
    assert f"field `policy` is missing: write {EXAMPLE}" in output


def test_what_an_adapter_cannot_do_is_skipped(tmp_path: Path) -> None:
    said = hello(modes=["release-0.10"], capabilities={"ties": "any"})
    status, output = validate("--budget", "0", command=speaking(tmp_path, said))
    assert status == 1
    assert "skipped: needs cancel, development-2026-08, none, ties" in output


def test_an_adapter_that_leaves_ties_to_chance_still_gets_its_random_histories(tmp_path: Path) -> None:
    path = tmp_path / "any.py"
    path.write_text(
        Path(ADAPTER[1]).read_text(encoding="utf-8").replace('{"cancel": True}', '{"cancel": True, "ties": "any"}'),
        encoding="utf-8",
    )
    status, output = validate("--budget", "10", "--seed", "5", command=[sys.executable, str(path)])
    assert status == 0, output
    assert "skipped, 10 random histories" in output
    assert "needs ties" in output


def test_first_come_first_served_is_not_las(tmp_path: Path) -> None:
    said = hello(capabilities={"cancel": True})
    status, output = validate("--only", "WeightsSwapped", "--budget", "0", command=speaking(tmp_path, said))
    assert status == 1
    assert "A1 was sent; at 10 s the scores are: B has 0.800 (service 10, wait 0 ms), A has 0.200" in output


def test_usage() -> None:
    assert CliRunner().invoke(app, ["validate", "--policy", "las", "--python", "x:y"]).exit_code == 2
    assert "no case of las" in validate("--only", "nonsense")[1]
    assert "no verdict" in validate(command=[sys.executable, "-c", ""])[1]


def test_what_the_pages_show_is_what_is_read() -> None:
    """The messages of the section in docs/formats.md."""
    text = (CHECKOUT / "docs/formats.md").read_text(encoding="utf-8")
    section = text[text.index("## Policies of least attained service") :].partition("\n## ")[0]
    shown = [block for part in section.split("~~~json\n")[1:] for block in [part.partition("~~~")[0]]]
    start, hello_, run, vectors = shown
    assert msgspec.json.decode(start, type=LasStart) == LasStart(1)
    assert msgspec.json.decode(hello_, type=LasHello).policy == "las"
    assert msgspec.json.decode(run, type=LasRun).mode in MODES
    [case] = msgspec.json.decode(vectors, type=las.LasVectors).cases
    made = make(case.id, case.comment, case.mode, case.events, parameters=case.parameters, flags=case.flags)
    assert made == case, "the example is a vector"
