"""More vectors of LAS that are written by hand: weights and ranges to the digit, how requests end, ids, priorities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Protocol

from sfq_spec.conformance.las.case import LasCase, make
from sfq_spec.conformance.las.model import MODES, Mode
from sfq_spec.conformance.las.script import Script
from sfq_spec.conformance.las.written import OURS, SHORT, V1, V2


class Maker(Protocol):
    """Makes a case of one mode."""

    def __call__(self, id: str, comment: str, script: Script, *flags: str, **parameters: float) -> LasCase:
        """The id goes without the mode, and the parameters are those that differ from the mode's own."""


def further() -> Iterator[LasCase]:
    """The cases, mode by mode."""
    for mode in MODES:
        still = _maker(mode, {"lasHalfLifeSeconds": 0} | ({"lasDecayFactor": 1} if mode == V1 else {}))
        yield from _of_scores(still)
        yield from _of_ends(still)
        yield from _of_names(still)
        yield from _of_half_lives(_maker(mode, {}), visited=mode == V1)
        if mode != OURS:
            yield from _of_second_ends(still)
    yield from _of_the_release(_maker(V1, {"lasDecayFactor": 0.5}))
    for mode in (V2, OURS):
        yield from _of_the_clock(_maker(mode, {}))
    yield from _of_our_own(_maker(OURS, {"lasHalfLifeSeconds": 0, "lasDecayFactor": 0.5}))


def _maker(mode: Mode, usual: Mapping[str, float]) -> Maker:
    def case(id: str, comment: str, script: Script, *flags: str, **parameters: float) -> LasCase:
        given = {**usual, **parameters}
        return make(f"{SHORT[mode]}-{id}", comment, mode, script.events, parameters=given, flags=flags)

    return case


def _of_scores(case: Maker) -> Iterator[LasCase]:
    yield case(
        "what-tokens-count",
        "1000 + 2 × 0 for A, 500 + 2 × 245 for B, 0 + 2 × 505 for C, and 10 + 2 × 496 for D: B, A, D, C.",
        _served(A=(1000, 0), B=(500, 245), C=(0, 505), D=(10, 496)).arrive("A1", "B1", "C1", "D1").send(4),
        "OutputOnce",
    )
    yield case(
        "default-weights",
        "A wait that is longer by all there is makes up for less than a quarter of the range: B has 24 %, and D 26 %.",
        _by_range(B=240, D=260),
    )
    yield case(
        "other-weights",
        "With 0.6 and 0.3 the same wait makes up for less than a half: B has 45 %, and D 55 %.",
        _by_range(B=450, D=550),
        "WeightsIgnored",
        lasWeightService=0.6,
        lasWeightHeadWait=0.3,
    )
    yield case(
        "waits-are-cut",
        "A has waited for 1.6 ms and B for 1.0 ms, across one millisecond of the clock and the next: alike.",
        Script().attain(A=1).at("0.0004").arrive("A1").at("0.001").arrive("B1").at("0.002").send(2),
        "WaitsUncut",
        "WaitsCutBefore",
        lasWeightService=0.3,
        lasWeightHeadWait=0.7,
    )
    yield case(
        "range-begins-at-the-least",
        "B stands at two fifths from A to C, however much A has: too far for its wait. From zero it would not be.",
        Script().attain(A=1000, B=1400, C=2000).arrive("B1").at("1").arrive("A1", "C1").send(3),
        "RangeFromZero",
    )
    yield case(
        "range-of-waits-begins-at-the-least",
        "A has waited for 1000 ms, the least of all, and B for 1200: B goes first. From zero they would be alike.",
        Script().attain(B=200, C=1000).arrive("B1").at("0.2").arrive("A1", "C1").at("1.2").send(3),
    )
    yield case(
        "nobody-waits",
        "Nobody waits, before and after; a request takes the id of one that has ended, and is charged as well.",
        Script().send().attain(B=100).serve("A1", 60).send().serve("A1", 60).arrive("A2", "B1").send(3),
    )


def _served(**tokens: tuple[int, int]) -> Script:
    script = Script()
    for name, (read, made) in tokens.items():
        script.serve(f"{name}0", read, made)
    return script


def _by_range(**services: int) -> Script:
    """B and D have waited for a second, A with nothing and C with 1000 have not."""
    return Script().attain(C=1000, **services).arrive("B1", "D1").at("1").arrive("A1", "C1").send(4)


def _of_ends(case: Maker) -> Iterator[LasCase]:
    yield case(
        "failed-is-charged",
        "Requests of A and C fail, and have ended: A's at 3000 s, charged, so that A has 200, and is remembered at "
        "3900 s, and C's at 0 s, so that C is forgotten.",
        _failing().at("3900").attain(B=150).arrive("A2", "B1", "C1").send(3),
        "FailedIsFree",
        "FirstCompletionCounts",
    )
    yield case(
        "ttl-of-zero",
        "A time to live of 0 is for ever: A is remembered after two hours.",
        Script().attain(A=100).at("7200").attain(B=50).arrive("B1", "A1").send(2),
        "TtlOfZeroForgets",
        evictionTtlSeconds=0,
    )
    half = Script(Fraction("0.25")).attain(A=100).at("0.25").attain(D=100).at("0.75").attain(B=50)
    yield case(
        "ttl-of-half-a-second",
        "Of a ttl of half a second 0.75 s are over for A, and not more than 0.5 s for D.",
        half.arrive("A1", "B1", "D1").send(3),
        "EvictsAtTheTtl",
        evictionTtlSeconds=0.5,
        evictionSweepSeconds=0.25,
    )
    yield case(
        "one-of-two-has-ended",
        "Of two requests in flight one has ended: the other one keeps A.",
        Script().arrive("A1", "A2").send(2).complete("A1", 100).at("3900").attain(B=50).arrive("B1", "A3").send(2),
        "InFlightOrNot",
        "EvictsInFlight",
    )
    yield case(
        "withdrawn-is-free",
        "B2 is withdrawn from the middle of its queue. A has attained 1, and all requests of B that are left go first.",
        Script().attain(A=1).arrive("B1", "B2", "B3", "A1").cancel("B2").send(3),
        "WithdrawnIsCharged",
    )
    yield case(
        "withdrawn-was-not-in-flight",
        "A request of A is withdrawn while it waits; A has nothing in flight, and is forgotten at the sweep.",
        Script().attain(A=100).arrive("A1").cancel("A1").at("3900").attain(B=50).arrive("B1", "A2").send(2),
        "WithdrawnEnds",
        "KeepsEverybody",
    )


def _failing() -> Script:
    return Script().attain(A=100).serve("C0", 170, 0, "failed").at("3000").serve("A1", 100, 0, "failed")


def _of_names(case: Maker) -> Iterator[LasCase]:
    yield case(
        "nobody-is-the-default",
        "A request that names no program is one of default-flow, and counts there: 100, more than B's 50.",
        Script().serve("1", 100).attain(B=50).arrive("default-flow2", "B1").send(2),
        "NoDefaultProgram",
    )
    yield case(
        "ties-by-code-point",
        "All are alike: capitals before small letters, and the last id before the one that begins with a surrogate.",
        Script().arrive("😀1", "～1", "b1", "B1").send(4),
        "TiesByUtf16",
        "TiesByArrival",
    )
    high = Script().arrive("A0", priority=5).send().complete("A0", 100).attain(B=50, D=1)
    yield case(
        "priorities",
        "What waits at 5 goes before all at 0, and that before all at −1; what A attained at 5 counts at 0 too.",
        high.arrive("C1", priority=-1).arrive("A1", "B1").arrive("D1", priority=5).send(4),
        "IgnoresPriority",
        "LowestPriorityFirst",
    )
    yield case(
        "range-of-a-priority",
        "C, at a lower priority, is no candidate and not in the range: the wait does not make up for what B has.",
        Script().attain(B=100, C=10_000).arrive("C1", priority=-1).arrive("B1").at("1").arrive("A1").send(3),
        "IgnoresPriority",
    )


def _of_half_lives(case: Maker, *, visited: bool) -> Iterator[LasCase]:
    """In the release a pick has to come by; each program that attains something makes one."""
    more = ("AnchorStays",) if visited else ()
    yield case(
        "half-in-a-half-life",
        "100 becomes 50 in a minute, more than B's 49 and less than C's 51, however many picks come in that moment.",
        Script().attain(A=100).at("60").attain(B=49, C=51).arrive("A1", "B1", "C1").send(3),
        "HalvesByE",
        *more,
        lasHalfLifeSeconds=60,
    )
    yield case(
        "parts-of-a-second",
        "100 becomes 35.4 in 0.75 s with a half-life of 0.5 s: more than C's 35, and less than B's 36.",
        Script().attain(A=100).at("0.75").attain(B=36, C=35).arrive("A1", "B1", "C1").send(3),
        "HalvesByE",
        "NeverDecays",
        lasHalfLifeSeconds=0.5,
    )


def _of_second_ends(case: Maker) -> Iterator[LasCase]:
    twice = Script().serve("A0", 60).complete("A0", 60)
    yield case(
        "completes-twice",
        "A completion comes twice and counts twice: A has 120, and one less than none in flight, so it is remembered.",
        twice.at("3900").attain(B=100).arrive("A1", "B1").send(2),
        "CompletesOnce",
    )
    again = Script().serve("A0", 60).complete("A0", 60).arrive("A1").send().at("3900")
    yield case(
        "one-less-than-none",
        "A completion has come twice; with one request in flight the count is zero, and A is forgotten.",
        again.attain(B=50).arrive("B1", "A2").send(2),
        "CompletesOnce",
    )
    kept = Script().serve("A0", 60).complete("A0", 60).at("3900").attain(B=50).at("3901").arrive("A1").send()
    yield case(
        "one-less-than-none-at-the-sweep",
        "A has one less than none in flight when the sweep comes by, and none afterwards: it is not forgotten until "
        "the next sweep, and has 120.",
        kept.arrive("B1", "A2").send(2),
        "SweepsAtPicks",
    )
    yield case(
        "second-end-of-the-forgotten",
        "A has been forgotten when a completion comes again: it has 10, and not 70, between C's 5 and B's 50.",
        Script().serve("A0", 60).at("3900").complete("A0", 10).attain(B=50, C=5).arrive("A1", "B1", "C1").send(3),
        "CompletesOnce",
    )


def _of_the_release(case: Maker) -> Iterator[LasCase]:
    yield case(
        "second-end-stops-decay",
        "A completion has come twice: with one less than none in flight A does not decay, and 100 is more than B's 60.",
        Script().serve("A0", 50).complete("A0", 50).attain(C=1, B=60).arrive("B1", "A1").send(2),
        "CompletesOnce",
        "DecaysInFlight",
    )
    yield case(
        "second-end-after-decay",
        "Two picks have left 25 of 100 when a completion comes again: A has 55, not 130, between 40 of C and 80 of B.",
        Script().attain(A=100).send(2).complete("A0", 30).attain(B=160, C=40).arrive("A1", "B1", "C1").send(3),
        "CompletesOnce",
    )
    yield case(
        "picks-without-a-choice",
        "Two picks where nobody waits take their part as well, and B's own: 100 becomes 12.5, less than B's 30.",
        Script().attain(A=100).send(2).attain(B=30).arrive("B1", "A1").send(2),
    )
    yield case(
        "no-decay-while-waiting",
        "A waits while others are picked: its 100 stays, more than B's 60.",
        _kept_waiting(),
        "DecaysWhileWaiting",
    )
    yield case(
        "no-half-life-while-waiting",
        "A waits for a minute in which others are picked: its 100 stays, more than B's 60.",
        _kept_waiting("60"),
        "DecaysWhileWaiting",
        lasHalfLifeSeconds=60,
    )
    yield case(
        "half-life-overrides-factor",
        "With a half-life the factor does not count: without a moment passed, A's 100 stays, more than B's 60.",
        Script().attain(A=100, C=1, B=60).arrive("B1", "A1").send(2),
        lasHalfLifeSeconds=60,
    )
    yield case(
        "withdrawn-is-come-by",
        "A's only request is withdrawn: its queue is empty and come by, 100 becomes 25, less than B's 30.",
        Script().attain(A=100).arrive("A1").cancel("A1").attain(C=1, B=30).arrive("B1", "A2").send(2),
    )
    yield make(
        "v1-default-factor",
        "Two picks take 0.99997 each: 100000 becomes 99994, more than B's 99990 and less than C's 99998.",
        V1,
        Script().attain(A=100_000, B=99_990, C=99_998).arrive("A1", "B1", "C1").send(3).events,
    )


def _kept_waiting(then: str = "0") -> Script:
    script = Script().attain(C=1, D=8, A=100).arrive("A1", "C1", "D1").send().at(then).send()
    return script.arrive("B0").send().complete("B0", 60).arrive("B1").send(2)


def _of_the_clock(case: Maker) -> Iterator[LasCase]:
    yield case(
        "add-moves-the-anchor",
        "100 becomes 50 in a minute, and 60 with 10 more, which have yet to decay: more than B's 55.",
        Script().attain(A=100).at("60").serve("A1", 10).attain(B=55).arrive("A2", "B1").send(2),
    )
    yield case(
        "sending-forfeits-nothing",
        "A request of A is sent after a minute and goes on: its 100 is 50 all the same, less than B's 60.",
        Script().attain(A=100).at("60").arrive("A1").send().attain(B=60).arrive("A2", "B1").send(2),
    )
    waiting = Script().attain(A=100).arrive("A1")
    for number, second in enumerate(("20", "40", "60"), start=1):
        waiting.at(second).arrive(f"N{number}").send()
    yield case(
        "picks-take-nothing",
        "A waits while three others are picked: half-lives compose, and 100 becomes 50, between B's 49 and C's 51.",
        waiting.serve("B0", 49).serve("C0", 51).arrive("B1", "C1").send(3),
    )


def _of_our_own(case: Maker) -> Iterator[LasCase]:
    yield case(
        "factor-not-while-waiting",
        "A waits while others are picked: its 100 stays, more than B's 60.",
        _kept_waiting(),
        "DecaysWhileWaiting",
    )
    yield case(
        "factor-not-in-flight",
        "A has a request in flight while others are picked: its 100 stays, more than B's 60.",
        Script().attain(A=100).arrive("A1").send().attain(C=1, B=60).arrive("B1", "A2").send(2),
        "DecaysInFlight",
    )
    yield case(
        "picks-without-a-choice",
        "Two picks where nobody waits take their part as well, and B's own: 100 becomes 12.5, less than B's 30.",
        Script().attain(A=100).send(2).attain(B=30).arrive("B1", "A1").send(2),
    )
    yield case(
        "second-end-is-free",
        "A completion comes twice, and counts once: A has 60, less than B's 100.",
        Script().serve("A0", 60).complete("A0", 60).attain(B=100).arrive("B1", "A1").send(2),
        "NegativeInFlight",
        lasDecayFactor=1,
    )
    yield case(
        "given-up-is-charged",
        "A request whose client went away is charged what is told of it: A has 100, more than B's 50.",
        Script().serve("A0", 100, 0, "cancelled").attain(B=50).arrive("A1", "B1").send(2),
        "FailedIsFree",
        lasDecayFactor=1,
    )
