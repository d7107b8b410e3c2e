"""The vectors of LAS that are written by hand: what a pick is made from, decay, and sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfq_spec.conformance.las.case import LasCase, make
from sfq_spec.conformance.las.model import MODES, Mode
from sfq_spec.conformance.las.script import Script

V1, V2, OURS = MODES
SHORT: Mapping[Mode, str] = {V1: "v1", V2: "v2", OURS: "own"}
"""What the ids of the cases of a mode begin with."""


def written() -> Iterator[LasCase]:
    """The cases that are written by hand."""
    for mode, short in SHORT.items():
        yield from _of_every_mode(mode, short)
    yield from _of_the_release()
    yield from _of_the_clock()
    yield _of_picks()
    yield _of_completions()


def _of_every_mode(mode: Mode, short: str) -> Iterator[LasCase]:
    """What is the same in all three; without decay, so that no digit is in doubt."""
    still: Mapping[str, float] = {"lasHalfLifeSeconds": 0, "lasDecayFactor": 1}
    if mode != V1:
        still = {"lasHalfLifeSeconds": 0}

    def case(id: str, comment: str, script: Script, *flags: str, **parameters: float) -> LasCase:
        return make(f"{short}-{id}", comment, mode, script.events, parameters={**still, **parameters}, flags=flags)

    yield case(
        "least-service-first",
        "Of two the one with less service goes, whatever the waits.",
        Script().attain(A=1000, B=10).arrive("A1").at("10").arrive("B1").send(2),
        "WeightsSwapped",
        "NoRange",
    )
    yield case(
        "wait-breaks-equal-service",
        "With equal service the longer wait decides: B has waited for 500 ms, and A for 50.",
        Script().attain(A=10, B=10).arrive("B1").at("0.45").arrive("A1").at("0.5").send(2),
    )
    yield case(
        "output-counts-twice",
        "A has 10 + 2 × 50 and B 90 + 2 × 5, which is less; counted once B would have more.",
        Script().arrive("A0", "B0").send(2).complete("A0", 10, 50).complete("B0", 90, 5).arrive("A1", "B1").send(2),
        "OutputOnce",
    )
    yield case(
        "third-changes-two",
        "A goes before B; with C in the range the difference of their services is small, and B's wait decides.",
        Script().attain(B=100, C=10_000).arrive("B1").at("1").arrive("A1", "C1").send(3),
    )
    yield case(
        "two-without-the-third",
        "The same two without C.",
        Script().attain(B=100).arrive("B1").at("1").arrive("A1").send(2),
    )
    yield case(
        "range-of-candidates",
        "A program that has attained much and does not wait is no candidate, and is not in the range.",
        Script().attain(B=100, C=10_000).arrive("B1").at("1").arrive("A1").send(2),
        "RangeOverAll",
    )
    yield case(
        "whole-milliseconds",
        "A has waited for 1.0 ms and B for 1.9 ms, which is 1 ms too: the tie goes to the least id.",
        Script().arrive("B1").at("0.0009").arrive("A1").at("0.0019").send(2),
        "WaitsUncut",
    )
    yield case(
        "wait-of-the-head",
        "The wait of A's oldest request counts, and not that of its newest.",
        Script().arrive("B1").at("0.1").arrive("A1").at("0.2").arrive("A2", "B2").at("0.3").arrive("B3").send(2),
        "WaitsOfTheLast",
    )
    yield case(
        "in-flight-is-invisible",
        "Eight free rooms, A has attained 0 and B 1: A gets all of them.",
        Script().attain(B=1).arrive(*(f"{user}{n}" for n in range(1, 10) for user in "AB")).send(8),
        "ChargesAtDispatch",
    )
    yield case(
        "newcomer-starts-at-zero",
        "A has attained 3000; a newcomer that takes 300 each time goes ten times, and is level with A then.",
        _newcomer(),
        "LiftsNewcomers",
    )
    yield case(
        "tie-to-the-least-id",
        "Nobody has attained anything, and all have waited alike.",
        Script().arrive("C1", "A1", "B1").send(3),
        "TiesByArrival",
    )
    yield case(
        "withdrawn-is-not-charged",
        "What is withdrawn while it waits is neither charged nor in flight.",
        Script().attain(B=1).arrive("A1", "A2", "B1").cancel("A1").send(2),
    )
    yield from _of_sweeps(case)


def _newcomer() -> Script:
    script = Script().attain(A=3000).arrive("A1", *(f"B{n}" for n in range(1, 12)))
    for number in range(1, 11):
        script.send().complete(f"B{number}", 300)
    return script.at("1").arrive("B12").send(2)


def _of_sweeps(case: Any) -> Iterator[LasCase]:
    def swept(at: str, *more: str) -> Script:
        script = Script().attain(A=100).at(at)
        return script.attain(B=50).arrive("B1", *more).arrive("A1").send(2)

    yield case(
        "evicted-starts-anew",
        "A completed 3900 s ago at the sweep: it is forgotten, and goes before B.",
        swept("3900"),
        "KeepsEverybody",
    )
    yield case(
        "kept-at-the-ttl",
        "A completed exactly 3600 s ago at the sweep, which is not more than the ttl: it is remembered.",
        swept("3600"),
        "EvictsAtTheTtl",
    )
    yield case(
        "kept-until-the-sweep",
        "A's time is over, and no sweep has come since.",
        swept("3899"),
    )
    yield case(
        "in-flight-is-kept",
        "A has a request in flight for hours, and is not forgotten.",
        Script().attain(A=100).arrive("A9").send().at("7200").attain(B=50).arrive("B1", "A1").send(2),
        "EvictsInFlight",
    )
    yield case(
        "waiting-does-not-protect",
        "A waits for hours behind newcomers; it is forgotten all the same, and then goes before B, which has 50.",
        _starving(),
        "WaitingProtects",
    )


def _starving() -> Script:
    script = Script().attain(A=100).at("3500").attain(B=50).arrive("A1", "B1").send().at("3900")
    return script.arrive("B2").send()


def _of_the_release() -> Iterator[LasCase]:
    half: Mapping[str, float] = {"lasDecayFactor": 0.5}
    minute: Mapping[str, float] = {"lasHalfLifeSeconds": 60}
    yield make(
        "v1-factor-for-each-pick",
        "Two picks come by A's empty queue: 100 becomes 25, less than B's 30.",
        V1,
        Script().attain(A=100).attain(C=1).attain(B=30).arrive("B1", "A1").send(2).events,
        parameters=half,
    )
    yield make(
        "v1-no-decay-in-flight",
        "A has a request in flight, so the picks that come by its empty queue take nothing: 100 is more than B's 60.",
        V1,
        _held_up().events,
        parameters=half,
        flags=("DecaysInFlight",),
    )
    yield make(
        "v1-add-forfeits-decay",
        "A minute is due when 10 is added, and is forfeited: 110, more than B's 100.",
        V1,
        Script()
        .attain(A=100)
        .arrive("A1")
        .send()
        .at("60")
        .complete("A1", 10)
        .attain(B=100)
        .arrive("B1", "A2")
        .send(2)
        .events,
        parameters=minute,
        flags=("DecaysWhenAdding",),
    )
    yield make(
        "v1-half-life-where-visited",
        "A pick comes by A's empty queue after a minute: 100 becomes 50, less than B's 60.",
        V1,
        Script().attain(A=100).at("60").attain(B=60).arrive("B1", "A1").send(2).events,
        parameters=minute,
    )


def _held_up() -> Script:
    return Script().attain(A=100).arrive("A1").send().attain(C=1).attain(B=60).arrive("B1", "A2").send(2)


def _of_the_clock() -> Iterator[LasCase]:
    for mode, short in ((V2, "v2"), (OURS, "own")):
        yield make(
            f"{short}-unvisited-decays",
            "A's queue is never come by while it waits: 1000 becomes 0.98 in ten half-lives, less than B's 10.",
            mode,
            _busy().events,
            flags=("DecaysOnlyWhereVisited", "NeverDecays"),
        )
        yield make(
            f"{short}-add-after-decay",
            "100 becomes 50 in a minute, and 60 with 10 more: less than B's 70.",
            mode,
            Script()
            .attain(A=100)
            .arrive("A1")
            .send()
            .at("60")
            .complete("A1", 10)
            .attain(B=70)
            .arrive("B1", "A2")
            .send(2)
            .events,
            flags=("AddsWithoutDecay", "DecaysOnlyWhereVisited"),
        )
        yield make(
            f"{short}-decays-in-flight",
            "A has a request in flight for two minutes: 100 becomes 25 all the same, less than B's 30.",
            mode,
            Script().attain(A=100).arrive("A1").send().at("120").attain(B=30).arrive("B1", "A2").send(2).events,
            flags=("DecaysOnlyWhereVisited",),
        )


def _busy() -> Script:
    script = Script().attain(A=1000).arrive("A1", "A2").send()
    for minute in range(1, 11):
        script.at(str(60 * minute))
    return script.attain(B=10).arrive("B1").send(2)


def _of_picks() -> LasCase:
    script = Script().attain(A=100).arrive("B1").send().at("1").complete("B1", 40).arrive("B2", "A1").send(2)
    return make(
        "own-factor-by-picks",
        "Every pick halves the service of who is idle, visited or not: A's 100 is 50 after one pick, more than B's 40.",
        OURS,
        script.events,
        parameters={"lasHalfLifeSeconds": 0, "lasDecayFactor": 0.5},
    )


def _of_completions() -> LasCase:
    script = Script().attain(A=100).complete("A0", 100).at("3900").attain(B=50).arrive("B1", "A1").send(2)
    return make(
        "own-completes-once",
        "A completion comes twice, and counts once: A has nothing in flight, and is forgotten at the sweep.",
        OURS,
        script.events,
        parameters={"lasHalfLifeSeconds": 0},
        flags=("NegativeInFlight", "KeepsEverybody"),
    )
