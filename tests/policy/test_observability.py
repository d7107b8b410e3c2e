"""The figures: names, types and labels of the original, gone with their program, and read by Prometheus' own tool."""

from __future__ import annotations

import re
from typing import Any

import pytest

from prometheus import promtool
from sfq_impl.policy.observability import OTHER, Observability
from sfq_impl.policy.settled import SettledFairness
from sfq_proofs.related.las_play import Clock, Play, program_aware

PREFIX = "llm_d_epp_program_aware"
WAIT, SERVICE = f"{PREFIX}_avg_wait_time_milliseconds", f"{PREFIX}_attained_service_tokens"
JAIN = f"{PREFIX}_jains_fairness_index"
ODD = 'a "b"\\c\nd é'
COMPLAINTS = {
    *(f"{name} metric names should not contain abbreviated units" for name in (JAIN, WAIT, SERVICE)),
    f'{WAIT} use base unit "seconds" instead of "milliseconds"',
}
"""What promtool's linter says of the names, which are the original's: it takes the `d` of llm-d for days."""


def page(play: Play) -> str:
    return Observability(play.fairness).page().decode()


def values(play: Play, name: str) -> dict[str, float]:
    return {
        label: float(value) for label, value in re.findall(rf'^{name}\{{program_id="(.*)"\}} (.*)$', page(play), re.M)
    }


def served(**parameters: Any) -> Play:
    """A waits for 20 ms and takes 100 tokens; B waits for 60 ms and takes 7."""
    play = program_aware(**parameters)
    play.arrive("A1", "B1")
    play.clock.at(0.02)
    assert play.send() == "A1"
    play.clock.at(0.06)
    play.send()
    play.complete("A1", tokens=(100, 0))
    play.complete("B1", tokens=(1, 3))
    return play


def test_names_types_and_values() -> None:
    play = served()
    assert re.findall(r"^# TYPE (.*)$", page(play), re.M) == [f"{JAIN} gauge", f"{WAIT} gauge", f"{SERVICE} gauge"]
    assert re.findall(rf"^{JAIN} (.*)$", page(play), re.M) == ["0.8"]
    assert values(play, WAIT) == {"A": 20, "B": 60}
    assert values(play, SERVICE) == {"A": 100, "B": 7}
    assert all("[ALPHA] " in line for line in page(play).splitlines() if line.startswith("# HELP"))


def test_the_series_of_a_program_go_with_it() -> None:
    play = served(evictionTtlSeconds=10, evictionSweepSeconds=5)
    play.clock.at(9)
    play.attain(B=1)
    play.clock.at(15)
    assert set(values(play, WAIT)) == set(values(play, SERVICE)) == {"B"}
    play.clock.at(60)
    assert values(play, WAIT) == values(play, SERVICE) == {}


def test_an_abandoned_request_pins_series_in_a_compatible_mode_and_in_no_other() -> None:
    for mode, pinned in (("release-0.10", {"C"}), ("none", set())):
        play = program_aware(compatibility=mode, evictionTtlSeconds=10, evictionSweepSeconds=5)
        play.arrive("C1")
        play.send()
        play.complete("C1", tokens=None, outcome="cancelled")
        play.clock.at(100_000)
        assert set(values(play, WAIT)) == pinned


def test_attained_service_is_what_counts_now_and_in_a_compatible_mode_what_it_was() -> None:
    for mode, expected in (("none", 50), ("development-2026-08", 100), ("release-0.10", 100)):
        play = program_aware(compatibility=mode)
        play.attain(A=100)
        play.clock.at(60)
        assert values(play, SERVICE) == {"A": expected}


def test_series_are_bounded_where_that_is_asked_for() -> None:
    play = program_aware(metricsPrograms=2, evictionTtlSeconds=10, evictionSweepSeconds=5)
    shown = Observability(play.fairness)

    def services() -> dict[str, float]:
        return dict(list(shown.families())[2].values)

    play.attain(A=1, B=2, C=3, D=4)
    assert services() == {"A": 1, "B": 2, OTHER: 7}
    assert values(play, WAIT) == {"A": 0, "B": 0, OTHER: 0}
    play.clock.at(9)
    play.attain(B=5, C=5, D=5)
    play.clock.at(15)
    assert set(services()) == {"B", "C", OTHER}, "A's place is free, and somebody else's now"


def test_the_wait_of_the_others_is_the_average_of_all_their_waits() -> None:
    play = program_aware(metricsPrograms=1)
    play.attain(A=1)
    play.arrive("B1", "B2", "C1")
    play.clock.at(0.01)
    play.send()
    play.clock.at(0.03)
    play.send()
    play.clock.at(0.08)
    play.send()
    assert values(play, WAIT) == {"A": 0, OTHER: 40}


def test_a_thousand_ids_make_as_many_series_or_as_few_as_are_allowed() -> None:
    for most, series in ((0, 1000), (10, 11)):
        play = program_aware(metricsPrograms=most)
        for number in range(1000):
            play.attain(**{f"{'x' * (number % 7)}y{number}z": 1})
        assert len(values(play, SERVICE)) == series


def test_the_settled_policy_shows_the_same() -> None:
    clock = Clock()
    play = Play(SettledFairness(clock=clock), clock)
    play.arrive("A1", "B1", cost=7)
    play.send(2)
    play.complete("A1", tokens=(10, 0))
    assert values(play, SERVICE) == {"A": 10}
    assert values(play, WAIT) == {"A": 0, "B": 0}


def judged(text: str) -> tuple[int, set[str]]:
    ran = promtool("check", "metrics", given=text)
    return ran.returncode, set((ran.stdout + ran.stderr).strip().splitlines())


def test_promtool_reads_the_page() -> None:
    """All that its linter has against it are names of the original; a page that it cannot read ends otherwise."""
    play = served()
    play.waiting.clear()
    play.fairness.programs[ODD] = play.fairness.programs["A"]
    assert judged(page(play)) == (3, COMPLAINTS)
    assert judged(page(play).replace(f"{JAIN} 0", f"{JAIN} x"))[0] == 1


def test_without_the_tool_the_test_is_skipped_and_where_it_is_required_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SFQ_PROMTOOL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs promtool"):
        promtool("--version")
    monkeypatch.setenv("SFQ_PROMTOOL", "required")
    with pytest.raises(pytest.fail.Exception, match="needs promtool"):
        promtool("--version")


def test_the_package_reads_the_page_and_collects_the_same() -> None:
    pytest.importorskip("prometheus_client", reason="needs prometheus-client")
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.parser import text_string_to_metric_families

    from sfq_impl.policy.prometheus import PolicyCollector

    play = served()
    play.fairness.programs[ODD] = play.fairness.programs["A"]
    registry = CollectorRegistry()
    registry.register(PolicyCollector(play.fairness))

    def read(text: str) -> set[Any]:
        families = text_string_to_metric_families(text)
        return {
            (family.type, each.name, *each.labels.values(), each.value)
            for family in families
            for each in family.samples
        }

    assert read(page(play)) == read(generate_latest(registry).decode())
    assert ("gauge", WAIT, ODD, 20) in read(page(play))
