"""The vectors of LAS: made again byte for byte, each fault found by one; and policies judged by them, as processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from policy import wrong_accounts, wrong_choices, wrong_endings
from policy.plain import Plain
from sfq_spec.cli import app
from sfq_spec.conformance.las import case as las
from sfq_spec.conformance.las.case import LasCase, Unsure, answers, bundled, lines, make
from sfq_spec.conformance.las.catalogue import FAULTS
from sfq_spec.conformance.las.drawing import drawn_wider
from sfq_spec.conformance.las.generate import encoded
from sfq_spec.conformance.las.model import MODES, Following, Mode, model
from sfq_spec.conformance.las.script import Script
from sfq_spec.conformance.las.subject import EXAMPLE, LasHello, LasRun, LasStart
from sfq_spec.conformance.las.validate import judge
from sfq_spec.conformance.las.written import V1

CHECKOUT = Path(__file__).resolve().parents[2]
ADAPTER = [sys.executable, str(Path(__file__).with_name("adapter.py"))]
CASES = bundled().cases


def finds(case: LasCase, kind: type[Following]) -> bool:
    told = answers(model(case.mode, case.parameters, kind, collected=False), lines(case.events))
    return judge(case, told) is not None


MISTAKES = {
    name: kind
    for module in (wrong_choices, wrong_endings, wrong_accounts)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Plain) and kind.__module__ == module.__name__
}
"""Policies that somebody else might have written, with one thing wrong in each."""


def tells(case: LasCase, kind: type[Plain]) -> bool:
    """Whether a policy that knows nothing of this project does not conform by this case."""
    told = kind(case.mode, case.parameters).run(case.events)
    return told != [msgspec.to_builtins(expected) for expected in case.expect]


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


@pytest.mark.integration
@pytest.mark.parametrize("fault", FAULTS)
def test_where_a_fault_shows_at_all_a_case_that_was_written_finds_it(fault: str) -> None:
    """In each mode; and without a tie, which the original leaves to chance, unless ties are what it is about."""
    for mode in MODES:
        found = [case for case in CASES if case.mode == mode and finds(case, FAULTS[fault])]
        written = [case for case in found if "-drawn-" not in case.id]
        assert bool(written) == bool(found), mode
        assert not written or fault.startswith("TiesBy") or any("ties" not in case.requires for case in written), mode


def test_a_policy_that_was_written_from_the_pages_alone_conforms() -> None:
    assert [case.id for case in CASES if tells(case, Plain)] == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_ordinary_mistake_in_it_is_found_by_a_case_that_was_written(mistake: str) -> None:
    found = [case for case in CASES if "-drawn-" not in case.id and tells(case, MISTAKES[mistake])]
    assert found
    assert MISTAKES[mistake] in wrong_choices.TIES or any("ties" not in case.requires for case in found)


def test_the_page_says_how_many_mistakes_there_are() -> None:
    page = " ".join((CHECKOUT / "docs/program-aware.md").read_text(encoding="utf-8").split())
    assert f"beside it stand {len(MISTAKES)} ways to get it wrong" in page


@pytest.mark.integration
@pytest.mark.parametrize("program", ["plain.py", "adapter.py"])
def test_both_conform_in_a_thousand_histories(program: str) -> None:
    """In some a completion comes twice, before and after a sweep, or a service has all but vanished."""
    command = [sys.executable, str(Path(__file__).with_name(program))]
    status, output = validate("--budget", "1000", "--seed", "77", command=command)
    assert status == 0, output


@pytest.mark.parametrize("mode", MODES)
def test_histories_that_are_drawn_have_whatever_may_happen(mode: Mode) -> None:
    cases = [drawn_wider(mode, seed, "drawn") for seed in range(14)]
    assert {case.parameters.get("lasHalfLifeSeconds") for case in cases} >= {None, 0.5 if mode != V1 else 7}
    ends = [event["request"] for case in cases for event in case.events if event["event"] == "complete"]
    assert len(ends) > len(set(ends)), "one ends twice"
    events = [(event, expected) for case in cases for event, expected in zip(case.events, case.expect, strict=True)]
    assert any(event.get("outcome") == "failed" for event, _ in events)
    assert any(event["event"] == "dispatch" and expected.dispatched is None for event, expected in events)
    assert any(event.get("user") == "" for event, _ in events)
    assert any("priority" in event for event, _ in events) == (mode != V1)
    assert [case.id for case in cases if tells(case, Plain)] == []


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (Script().attain(A=1).at("301").events[:3] + Script().at("301").arrive("A1").events[1:], "a sweep was due"),
        ([{"event": "upkeep", "time": 299}], "a sweep between two multiples of 300 s"),
        (Script().arrive("A1").complete("A1", 5).events, "event 2: A1 was not sent, and cannot end"),
        (Script().attain(A=1).arrive("A0").complete("A0", 5).events, "event 5: A0 was not sent"),
        (Script().attain(A=1).cancel("A0").events, "event 4: refused with unknown-request"),
    ],
)
def test_what_is_sent_to_no_adapter(events: list[dict[str, object]], said: str) -> None:
    """A failure that is made short must not become another by an event that is missing."""
    with pytest.raises(Unsure, match=said):
        make("wrong", "", "none", events)


def test_a_pick_that_rounding_might_change_makes_no_vector() -> None:
    """A quarter of the range is a tie of 0.8 and 0.2 on different grounds."""
    case = next(case for case in CASES if case.id == "v2-third-changes-two")
    close = json.loads(json.dumps(case.events).replace('"input_tokens": 100,', '"input_tokens": 2500,'))
    with pytest.raises(Unsure, match="too close"):
        make("close", "", case.mode, close, parameters=case.parameters)


def test_services_that_floating_point_has_nothing_left_of_are_no_tie() -> None:
    """After 1,400 half-lives B has less, by less than the least number; a tie of the same services is one."""
    for mine, unsure in ((20, True), (10, False)):
        events = Script().attain(A=mine, B=10).at("700").arrive("A1", "B1").send(2).events
        with pytest.raises(Unsure, match="too close") if unsure else nullcontext():
            case = make("tiny", "", "development-2026-08", events, parameters={"lasHalfLifeSeconds": 0.5})
            assert "ties" in case.requires


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
    status, output = validate("--budget", "0", "--only", "none", "--json", command=[*ADAPTER, "unguarded"])
    report = json.loads(output)
    assert status == 1
    assert (report["policy"], report["verdict"]) == ("las", "does-not-conform")
    assert [failure["case"] for failure in report["failures"]] == ["own-completes-once", "own-second-end-is-free"]
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
    assert "skipped: needs cancel, development-2026-08, none, priorities, ties" in output


def test_an_adapter_that_leaves_ties_to_chance_still_gets_its_random_histories(tmp_path: Path) -> None:
    path = tmp_path / "any.py"
    path.write_text(
        Path(ADAPTER[1]).read_text(encoding="utf-8").replace('{"cancel": True,', '{"cancel": True, "ties": "any",'),
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
