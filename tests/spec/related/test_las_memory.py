"""LAS by hand: what it remembers of a program, for how long, and when forgetting can be seen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from playing import Playing, Wrong
from programs import NEVER, attain, service, timeless
from sfq_spec.related.halving import ZERO, Halving, number
from sfq_spec.related.las import Las, LasV1, Program, Programs
from sfq_spec.related.method import Method

# Decay.


def test_decay_by_hand() -> None:
    playing = Playing("las")
    attain(playing, {"A": 100})
    assert service(playing, "A", 60).terms == {0: 50}
    playing.arrive("A1")
    playing.send()
    playing.complete("A1", time=60, input_tokens=10)
    assert service(playing, "A").terms == {0: 60}
    assert service(playing, "A", 120).terms == {0: 30}
    idle = timeless()
    attain(idle, {"A": 100})
    assert service(idle, "A", 3600).terms == {0: 100}


@pytest.mark.claims("LAS-HALVES", "LAS-KEPT")
def test_decay_composes_and_is_not_lost_by_reading_or_adding() -> None:
    """Served at random moments, the service is the sum of what was added, each halved for its own time."""
    rng, playing, added = Random(4), Playing(Las(ttl=NEVER)), list[tuple[Fraction, int]]()
    for count in range(40):
        now = playing.scheduler.situation.time + Fraction(rng.randint(0, 90_000), 1000)
        playing.arrive(f"A{count}", f"B{count}", time=now)
        playing.send(2)
        tokens = rng.randint(0, 50)
        playing.complete(f"A{count}", input_tokens=tokens)
        added.append((now, tokens))
        expected = ZERO
        for then, tokens in added:
            expected = expected.plus(number(Fraction(tokens)).halved((now + 7 - then) / 60))
        assert service(playing, "A", now + 7) == expected
    for a, b in ((Fraction(1, 3), Fraction(5)), (Fraction(60), Fraction(17, 7))):
        now = playing.scheduler.situation.time
        at_once = service(playing, "A", now + a + b)
        assert at_once == service(playing, "A", now + a).halved(b / 60)


def test_a_service_of_long_ago_is_kept_exactly() -> None:
    """500 half-lives and more between two requests, where the sum is moved to another moment."""
    playing = Playing(Las(ttl=NEVER))
    for time in (0, 1, 30_001, 60_002):
        playing.arrive(f"A{time}", time=time)
        playing.send()
        playing.complete(f"A{time}", input_tokens=3)
    expected = ZERO
    for ago in (60_002, 60_001, 30_001, 0):
        expected = expected.plus(number(Fraction(3)).halved(Fraction(ago, 60)))
    assert service(playing, "A") == expected


def never_reordered(las: Method[Any]) -> bool:
    """Whether of two idle programs the one that is first stays first, however long both are idle."""
    for late in range(0, 200, 7):
        order = set()
        for idle in (0, 1, 30, 61, 1000):
            playing = Playing(las)
            playing.arrive("A1", "B1", "B2")
            playing.send(3)
            playing.complete("A1", input_tokens=100)
            playing.complete("B1", time=late, input_tokens=50)
            playing.complete("B2", input_tokens=7)
            playing.arrive("A2", "B3", time=late + idle)
            order.add(playing.send())
        if len(order) > 1:
            return False
    return True


@pytest.mark.claims("LAS-IDLE")
def test_decay_never_reorders_two_idle_programs() -> None:
    assert never_reordered(Las())
    assert never_reordered(Las(half_life=Fraction(1, 3)))


def test_the_first_version_forfeits_what_is_due_and_decays_only_idle_queues_that_are_visited() -> None:
    """By the clock: served again, 100 stays 100; idle and visited, it is 50 after a half-life."""
    v1 = Las(version="v1", half_life=Fraction(60))
    playing = Playing(v1)
    attain(playing, {"A": 100})
    playing.arrive("A1", time=60)
    playing.send()
    playing.complete("A1", input_tokens=10)
    assert service(playing, "A").terms == {0: 110}
    playing.tell(time=120)
    assert service(playing, "A").terms == {0: 110}, "nobody has visited it"
    playing.arrive("B1")
    playing.send()
    assert service(playing, "A").terms == {0: 55}
    playing.arrive("A2", "B2", time=180)
    playing.complete("B1", input_tokens=54)
    assert playing.send() == "B2", "A has not been visited since it waits: 54 to 55"


def test_the_first_version_has_a_factor_for_each_visit() -> None:
    playing = Playing(LasV1(factor=Fraction(1, 2)))
    attain(playing, {"A": 100})
    visited = []
    for _ in range(2):
        playing.arrive("B1")
        playing.serve(1)
        visited.append(service(playing, "A").terms[NEVER])
    assert visited == [50, 25]
    playing.arrive("A1", "A2")
    assert playing.send() == "A1"
    playing.arrive("C1", "C2", "C3")
    assert playing.send(2) == "C1 C2"
    assert service(playing, "A").terms == {0: 25}, "it waits, and has a request in flight"
    playing.cancel("A2")
    assert playing.send() == "C3"
    assert service(playing, "A").terms == {0: 25}, "it has a request in flight"
    playing.complete("A1", input_tokens=10)
    assert service(playing, "A").terms == {0: 35}


def test_23105_visits_are_a_half_life_of_the_default_factor() -> None:
    factor = LasV1().factor
    assert factor**23104 > Fraction(1, 2) > factor**23105


def test_the_first_version_does_not_visit_a_queue_that_has_been_collected() -> None:
    """Empty for more than five minutes, its service stays as it was until the program is forgotten."""
    left = []
    for time in (300, 301):
        playing = Playing(LasV1(factor=Fraction(1, 2)))
        attain(playing, {"A": 100})
        playing.arrive("B1", time=time)
        playing.serve(1)
        left.append(service(playing, "A").terms[NEVER])
    assert left == [50, 100]


# Eviction.


def evicted(las: Las, time: int, *, in_flight: bool = False) -> bool:
    playing = Playing(las)
    playing.arrive("A1", "A2", "A3")
    playing.send(1 + in_flight)
    playing.complete("A1", input_tokens=100)
    playing.cancel(*["A2", "A3"][in_flight:])
    playing.arrive("B1", time=time)
    playing.send()
    return "A" not in playing.state.known


def test_a_sweep_forgets_who_completed_longer_ago_than_the_ttl_and_has_nothing_in_flight() -> None:
    """Completed at 0 with a ttl of an hour: not at the sweep of 3600, which is not more, but at that of 3900."""
    assert [time for time in (3600, 3601, 3899, 3900, 5000) if evicted(Las(), time)] == [3900, 5000]
    assert [time for time in (1, 60, 61, 70) if evicted(Las(ttl=Fraction(60), sweep=Fraction(10)), time)] == [70]
    assert not evicted(Las(), 1_000_000, in_flight=True), "an abandoned request keeps its program"
    assert not evicted(Las(ttl=NEVER), 1_000_000)


def test_a_program_that_was_in_flight_at_the_sweep_waits_for_the_next_after_its_own_time() -> None:
    playing = timeless(ttl=Fraction(60), sweep=Fraction(10))
    playing.arrive("A1", "A2")
    playing.send(2)
    playing.complete("A1", input_tokens=100)
    playing.complete("A2", time=100, input_tokens=1)
    assert service(playing, "A").terms == {0: 101}
    for time, known in ((160, True), (169, True), (170, False)):
        playing.arrive("B1", time=time)
        playing.serve(1)
        assert ("A" in playing.state.known) == known


def after_an_eviction(mine: int, others: int, ttl: int) -> str:
    """Who goes of A, which attained `mine` and was evicted or not, and B, which attained `others` just now."""
    playing = timeless(ttl=Fraction(ttl))
    attain(playing, {"A": mine})
    playing.tell(time=10_000)
    attain(playing, {"B": others})
    playing.arrive("B1", "A1")
    return playing.send()[0]


@pytest.mark.claims("LAS-EVICT")
def test_when_an_eviction_can_be_seen() -> None:
    """Of two it is seen exactly where the other has attained less than A had, or as much and has the greater wait."""
    for mine in range(1, 6):
        for others in range(8):
            kept, gone = after_an_eviction(mine, others, 0), after_an_eviction(mine, others, 3600)
            assert kept == ("A" if mine <= others else "B")
            assert gone == "A"
            assert (kept != gone) == (others < mine)


def test_no_service_is_too_small_for_an_eviction_to_be_seen() -> None:
    """A thousand half-lives leave 100 · 2^−1000. That is more than the nothing of B, until A is forgotten."""
    for ttl, chosen in ((0, "B"), (3600, "A")):
        playing = Playing(Las(ttl=Fraction(ttl)))
        attain(playing, {"A": 100})
        playing.arrive("B1", "A1", time=60_000)
        assert playing.send()[0] == chosen


@pytest.mark.claims("LAS-EVICT")
def test_once_decayed_below_a_whole_token_it_is_not_seen_beside_programs_that_have_attained_one() -> None:
    """All others have attained a token or more since, and of two A is first with less than one, forgotten or not."""
    for ttl in (0, 3600):
        for others in range(1, 4):
            playing = Playing(Las(ttl=Fraction(ttl)))
            attain(playing, {"A": 100})
            playing.tell(time=3900)
            attain(playing, {"B": others})
            playing.arrive("B1", "A1")
            assert playing.send()[0] == "A"


def test_what_is_relevant_is_all_that_is_remembered() -> None:
    playing = Playing(LasV1())
    playing.arrive("A1")
    playing.send()
    playing.complete("A1", outcome="failed")
    assert playing.state == Programs()


# Wrong models.


def loses_decay(las: Las, at: Any, user: str, used: Halving) -> Program:
    program = at.state.known.get(user, Program(ZERO, at.time, at.time))
    return Program(program.service.plus(used), at.time, at.time)


def halves_twice_who_has_completed_late(las: Las, program: Program, time: Fraction) -> Fraction:
    return LIVES(las, program, time) * (1 + (program.completed > 0))


def sweeps_who_is_in_flight(las: Las, programs: Programs, time: Fraction) -> Programs:
    return replace(SWEPT(las, replace(programs, in_flight={}), time), in_flight=programs.in_flight)


def sweeps_at_once(las: Las, programs: Programs, time: Fraction) -> Programs:
    known = {name: of for name, of in programs.known.items() if time - of.completed <= las.ttl or not las.ttl}
    return replace(programs, known=known)


def visits_everybody(las: Las, at: Any, programs: Programs) -> Programs:
    return VISITED(las, at, replace(programs, in_flight={}, emptied=dict.fromkeys(programs.known, at.time)))


LIVES, SWEPT, VISITED = Las._lives, Las._swept, Las._visited
WRONG = {
    "decay that is due is lost": Wrong(
        Las,
        "_added",
        loses_decay,
        (test_decay_by_hand, test_decay_composes_and_is_not_lost_by_reading_or_adding),
    ),
    "another half-life for some": Wrong(
        Las,
        "_lives",
        halves_twice_who_has_completed_late,
        (test_decay_never_reorders_two_idle_programs,),
    ),
    "in flight is no protection": Wrong(
        Las,
        "_swept",
        sweeps_who_is_in_flight,
        (test_a_sweep_forgets_who_completed_longer_ago_than_the_ttl_and_has_nothing_in_flight,),
    ),
    "no need of a sweep": Wrong(
        Las,
        "_swept",
        sweeps_at_once,
        (test_a_sweep_forgets_who_completed_longer_ago_than_the_ttl_and_has_nothing_in_flight,),
    ),
    "everybody is visited": Wrong(
        Las, "_visited", visits_everybody, (test_the_first_version_has_a_factor_for_each_visit,)
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
