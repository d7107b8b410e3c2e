"""What the kit finds in schedulers of others is what docs/third-parties.md tells, and for the reason that it tells."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

import pytest

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.case import Case
from sfq_spec.conformance.diagnose import Behaviour
from sfq_spec.conformance.subjects import ProcessSubject, Skipped
from sfq_spec.conformance.validate import bundled, validate
from sfq_spec.trace import Answer, Arrive, Complete, Dispatch, Event, Upkeep
from third_party import environment
from third_party.findings import (
    CHECKOUT,
    LIBRARIES,
    LONGEST,
    PAGE,
    Library,
    block,
    find,
    judged,
    played,
    sent,
    small_runs,
    told,
)

BY_NAME = {library.name: library for library in LIBRARIES}
SMALL = [events for length in range(2, LONGEST + 1) for events in small_runs(length)]
Model = Callable[[list[Event]], tuple[str, ...]]

VERDICTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "wicket": ("+A 1; D; +B 1×2; +A 1; D×2", "A1 B1 B2", ("no-idle-reset", "charges-on-completion")),
    "vtrr-queue": ("+A 1×2; D; +B 1; D", "A1 A2", ()),
    "ns.py WFQ": ("+A 1×2; +B 1; D×2", "A1 A2", ()),
    "ns.py Virtual Clock": ("+A 1×3; D×2; +B 1; D", "A1 A2 A3", ()),
}
"""The shortest small run that goes wrong, what is sent in it, and the mutants that the library behaves as."""


def needed(name: str) -> Library:
    """The library, where its environment is there: `make third-party` makes it, and then nothing is skipped."""
    library = BY_NAME[name]
    if not library.python.exists():
        missing = f"{name} is not installed: make third-party"
        assert os.environ.get("SFQ_THIRD_PARTY") != "required", missing
        pytest.skip(missing)
    return library


@pytest.fixture(params=BY_NAME)
def name(request: pytest.FixtureRequest) -> str:
    return needed(str(request.param)).name


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Iterator[ProcessSubject]:
    with ProcessSubject(needed(request.param).command) as started:
        yield started


def on(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("subject", [name], indirect=True)


def order(subject: ProcessSubject, run: str) -> str:
    return " ".join(sent(played(subject, shorthand.read(run))))


def test_the_verdict_is_this_one_and_the_page_tells_it(name: str) -> None:
    finding, page = find(BY_NAME[name]), PAGE.read_text(encoding="utf-8")
    run, sent, like = VERDICTS[name]
    small = finding.small
    assert small is not None
    assert (small.run, " ".join(small.sent), small.wrong.claims) == (run, sent, ("R-SELECT",))
    assert tuple(mutant.name for mutant in finding.diagnosis.mutants) == like
    found = block(BY_NAME[name]).search(page)
    assert found is not None
    again = "tests/third_party/findings.py --write, run by .venv/bin/python, writes it anew"
    assert found[2] == told(finding), again
    assert f"| [{name}](#{anchor(name)}) | {finding.report.hello.implementation.version} |" in page


def anchor(name: str) -> str:
    return name.lower().replace(".", "").replace(" ", "-")


def test_the_page_has_every_library_once_and_the_commands_are_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(.*?)\]", page, re.MULTILINE) == list(BY_NAME)
    commands = re.findall(r"`\.venv/bin/sfq-spec validate -- (\S+) (\S+)( [\w-]+)?`", page)
    own = {True: "build/third-party/bin/python", False: ".venv/bin/python"}
    assert commands == [
        (own[library.newer], f"tests/third_party/{library.adapter}", "".join(f" {word}" for word in library.arguments))
        for library in LIBRARIES
    ]


# Why: the rule that each library follows, in a few lines. It sends the same in every small run.


def wicket_rule(events: list[Event]) -> tuple[str, ...]:
    """Start tags by max(v, own finish tag); the earliest of the due goes. When nobody waits, nothing happens."""
    v, finish, waiting, out = 0, {}, [], []  # type: ignore[var-annotated]
    for event in events:
        if isinstance(event, Arrive):
            waiting.append(event)
        elif waiting:
            start = {arrival.user: max(v, finish.get(arrival.user, 0)) for arrival in waiting}
            first = min(waiting, key=lambda arrival: start[arrival.user])
            waiting.remove(first)
            v = start[first.user]
            finish[first.user] = v + 1
            out.append(first.request)
    return tuple(out)


def vtrr_rule(events: list[Event]) -> tuple[str, ...]:
    """A task is stamped on arrival with max(v + 1, own next); when the queue drains, all begin anew."""
    v, following, waiting, out = 0, {}, [], []  # type: ignore[var-annotated]
    for event in events:
        if isinstance(event, Arrive):
            stamp = max(v + 1, following.get(event.user, 0))
            following[event.user] = stamp + int(event.cost)
            waiting.append((stamp, event.request))
        elif waiting:
            v, request = min(waiting)
            waiting.remove((v, request))
            out.append(request)
            if not waiting:
                v, following = 0, {}
    return tuple(out)


@pytest.mark.parametrize(
    ("subject", "rule"), [("wicket", wicket_rule), ("vtrr-queue", vtrr_rule)], indirect=["subject"]
)
def test_it_follows_the_rule_that_the_page_tells(subject: ProcessSubject, rule: Model) -> None:
    assert len(SMALL) > 250
    for events in SMALL:
        assert sent(played(subject, events)) == rule(events), shorthand.write(events)
    same = [case.id for case in bundled().cases if plain(case) and follows(subject, case, rule)]
    assert len(same) > 10


def plain(case: Case) -> bool:
    """Whether there is nothing in it but arrivals and dispatches, and what changes no order; and it is not long."""
    refused = any(isinstance(answer.refused, str) for answer in case.expect)
    kinds = (Arrive, Dispatch, Complete, Upkeep)
    return not refused and len(case.events) < 300 and all(isinstance(event, kinds) for event in case.played())


def follows(subject: ProcessSubject, case: Case, rule: Model) -> bool:
    """Whether the library takes part in a case; then it sends what the rule sends."""
    events = case.played()
    answers = subject.run(case.id, events)
    if isinstance(answers, Skipped):
        return False
    in_order: list[Event] = [event for event in events if isinstance(event, Arrive | Dispatch)]
    assert sent(Behaviour(tuple(events), tuple(answers))) == rule(in_order), case.id
    return True


@on("wicket")
def test_wicket_conforms_until_nobody_waits(subject: ProcessSubject) -> None:
    paused = {judged(played(subject, events)) is None for events in SMALL if pauses(events)}
    assert {judged(played(subject, events)) is None for events in SMALL if not pauses(events)} == {True}
    assert paused == {True, False}


@on("wicket")
def test_wicket_passes_all_but_one_that_it_can_take(subject: ProcessSubject) -> None:
    report = validate(subject, bundled().cases, budget=200, seed=1)
    assert [result.id for result in report.failed] == ["idle-again-level-with-equal-costs", "random"]
    assert all(pauses(list(result.prefix)) for result in report.failed)
    assert [mutant.name for mutant in report.diagnosis.mutants] == ["no-idle-reset"]
    assert report.count("passed") > 30


@on("vtrr-queue")
def test_vtrr_queue_takes_what_it_is_given(subject: ProcessSubject) -> None:
    assert order(subject, "+A 0×3; +B 1; D×4") == "A1 A2 A3 B1"  # a weight of 0 is free
    assert order(subject, "+A -5; +A 3; +B 1; D×3") == "A1 A2 B1"  # and so is a negative one
    assert order(subject, "+A 1; +B 1; +A:A1 1; D×3") == "B1 A1"  # the later of two tasks of one id replaces the other
    assert order(subject, "+A 1×4; D; +B 1; D×4") == "A1 A2 B1 A3 A4"  # one turn late
    assert order(subject, "+A 100×4; D; +B 100; D×4") == "A1 B1 A2 A3 A4"  # by a unit, whatever a task costs


@on("ns.py WFQ")
def test_the_first_packet_of_a_busy_period_is_free(subject: ProcessSubject) -> None:
    assert order(subject, "+A 100; +A 1; +B 2; D×3") == "A1 A2 B1"
    assert order(subject, "+B 1; +A 100; +A 1; +B 2; D×4") == "B1 B2 A1 A2"  # any other packet is paid for


@on("ns.py Virtual Clock")
def test_sizes_are_not_in_the_clocks(subject: ProcessSubject) -> None:
    assert order(subject, "+A 100×3; +B 1×3; D×6") == order(subject, "+A 1×3; +B 1×3; D×6") == "A1 B1 A2 B2 A3 B3"


def pauses(events: list[Event]) -> bool:
    """Whether there is a moment, before the last event, at which nobody waits any more."""
    waiting = 0
    for event in events[:-1]:
        waiting += -1 if isinstance(event, Dispatch) else 1
        if not waiting:
            return True
    return False


# The checks can fail, and the environment is what is written down.


def test_the_right_scheduler_is_told_apart() -> None:
    with ProcessSubject(Library("the machine", "right_adapter.py").command) as right:
        assert {judged(played(right, events)) for events in SMALL} == {None}


def test_small_runs_are_all_there_once() -> None:
    shortest = [shorthand.write(events) for length in (2, 3) for events in small_runs(length)]
    assert shortest == ["+A 1; D", "+A 1×2; D", "+A 1; +B 1; D"]
    assert len({shorthand.write(events) for events in SMALL}) == len(SMALL)
    assert all(arrival.cost == Fraction(1) for events in SMALL for arrival in events if isinstance(arrival, Arrive))


def test_a_missing_library_is_skipped_and_where_it_is_required_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("third_party.findings.OWN", CHECKOUT / "nowhere")
    monkeypatch.delenv("SFQ_THIRD_PARTY", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make third-party"):
        needed("wicket")
    monkeypatch.setenv("SFQ_THIRD_PARTY", "required")
    with pytest.raises(AssertionError, match="not installed"):
        needed("wicket")


def test_the_environment_is_pinned_with_hashes() -> None:
    wanted = environment.REQUIREMENTS.with_suffix(".in").read_text().split()
    lines = environment.REQUIREMENTS.read_text().splitlines()
    pins = {line.split()[0]: following for line, following in pairwise(lines) if "==" in line}
    assert len(wanted) == 2
    assert set(wanted) <= set(pins)
    assert all(following.strip().startswith("--hash=sha256:") for following in pins.values())


def test_a_python_that_is_not_there_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not environment.is_enough("no-such-python")
    monkeypatch.setenv("SFQ_THIRD_PARTY_PYTHON", "no-such-python")
    assert list(environment.candidates()) == ["no-such-python"]


def test_behaviours_are_compared_in_full() -> None:
    events = tuple(shorthand.read("+A 1×2; +B 1; D×2"))
    assert judged(Behaviour(events, played_by(vtrr_rule, events))) is None
    assert judged(Behaviour(events, played_by(lambda _: ("A1", "A2"), events))) is not None


def played_by(rule: Model, events: tuple[Event, ...]) -> tuple[Answer, ...]:
    out = iter(rule(list(events)))
    return tuple(Answer(dispatched=next(out)) if isinstance(event, Dispatch) else Answer() for event in events)
