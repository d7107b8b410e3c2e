"""The settled policy by hand: charged at dispatch, settled at the end, a floor on return. Nothing decays but once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from playing import Playing, Wrong, names
from programs import NEVER, service
from sfq_spec.related.halving import ZERO, Halving
from sfq_spec.related.settled import Account, Accounts, Settled


def timeless(**parameters: Any) -> Playing:
    return Playing(Settled(half_life=NEVER, **parameters))


def charged(playing: Playing, name: str) -> Fraction:
    return sum(service(playing, name).terms.values(), Fraction(0))


def test_a_request_is_charged_its_estimate_at_dispatch_and_what_was_used_at_the_end() -> None:
    playing = timeless()
    playing.arrive("Z1")
    playing.arrive("A1", "A2", "A3", cost=100)
    playing.send(4)
    assert charged(playing, "A") == 300
    playing.complete("A1", input_tokens=4, output_tokens=3)
    assert charged(playing, "A") == 210
    playing.complete("A2", input_tokens=500)
    assert charged(playing, "A") == 610
    playing.complete("A3", outcome="cancelled", input_tokens=10)
    assert charged(playing, "A") == 610, "what was given up keeps its estimate"


def test_free_rooms_are_shared() -> None:
    playing = timeless()
    playing.arrive(*names("A", 100), *names("B", 100))
    assert playing.send(64).count("A") == 32


def test_whoever_returns_begins_at_the_floor() -> None:
    playing = timeless()
    playing.arrive("B1", *names("A", 6))
    assert playing.send(6) == "A1 B1 A2 A3 A4 A5"
    playing.arrive(*names("B", 4, first=2))
    assert charged(playing, "B") == 4
    assert playing.send(2) == "B2 A6"


def test_of_equals_whoever_has_waited_longest_goes_and_then_the_least_id() -> None:
    playing = timeless()
    playing.arrive("C1", time=0)
    playing.arrive("B1", "A1", time=1)
    assert playing.send(3) == "C1 A1 B1"


def test_all_begin_anew_when_nobody_waits_and_nothing_is_in_flight() -> None:
    playing = timeless()
    playing.arrive("A1", "B1", cost=5)
    playing.send(2)
    playing.complete("A1")
    assert charged(playing, "A") == 5
    playing.complete("B1")
    assert service(playing, "A") == service(playing, "B") == ZERO
    playing.arrive("A2", "A3", cost=5)
    playing.send()
    playing.complete("A2")
    assert charged(playing, "A") == 5
    playing.cancel("A3")
    assert service(playing, "A") == ZERO, "a cancel may leave nobody as well"


def test_everything_halves_with_time() -> None:
    playing = Playing(Settled())
    playing.arrive("A1", "A2", cost=100, time=0)
    playing.send()
    playing.tell(time=60)
    assert charged(playing, "A") == 50
    playing.complete("A1", input_tokens=20)
    assert charged(playing, "A") == 20, "what is left of the estimate is taken back"


def test_a_sweep_forgets_who_has_nothing_in_flight() -> None:
    playing = timeless(ttl=Fraction(60), sweep=Fraction(10))
    playing.arrive("A1", "B1", "B2", "C1", cost=5, time=0)
    playing.send(2)
    playing.complete("A1")
    playing.arrive("D1", time=100)
    assert set(playing.state.known) == {"B", "D"}


def charges_late(settled: Settled, at: Any) -> Any:
    accounts, job = DISPATCH(settled, at)
    before = at.state.known.get(job.user, Account(ZERO, at.time, at.time))
    return replace(accounts, known={**accounts.known, job.user: before}), job


def no_floor(settled: Settled, accounts: Accounts, time: Fraction) -> Halving:
    return ZERO


DISPATCH = Settled.dispatch
WRONG = (
    Wrong(Settled, "dispatch", charges_late, (test_free_rooms_are_shared,)),
    Wrong(Settled, "floor", no_floor, (test_whoever_returns_begins_at_the_floor,)),
    Wrong(
        Settled,
        "_anew",
        lambda self, at, accounts: accounts,
        (test_all_begin_anew_when_nobody_waits_and_nothing_is_in_flight,),
    ),
)


def test_a_wrong_model_is_refuted() -> None:
    assert all(wrong.is_refuted() for wrong in WRONG)
