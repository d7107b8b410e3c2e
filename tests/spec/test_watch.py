"""The watch against brute force: it finds a broken interval exactly where some pair of moments shows one."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from arena import Arena, check_account
from sfq_spec.machine import Machine, Taken, take
from sfq_spec.mutants import BY_NAME
from sfq_spec.trace import Arrive, Dispatch, Event
from sfq_spec.watch import Watch


def history(seed: int, length: int = 24) -> list[Event]:
    """Arrivals and dispatches of three users, drained now and then."""
    rng, events = random.Random(seed), list[Event]()
    for n in range(length):
        if rng.random() < 0.5:
            events.append(Arrive(rng.choice("ABC"), f"r{n}", Fraction(rng.choice([1, 1, 2, 5]))))
        else:
            events.append(Dispatch())
    return events


def by_the_watch(name: str, events: list[Event]) -> bool:
    """Whether the watch finds an interval claim broken."""
    mutant, state, watch = BY_NAME[name], Machine(), Watch()
    found = set()
    for event in events:
        taken = mutant.take(state, event)
        found |= set(watch.observe(state, event, taken))
        state = taken.state
    return bool(found & {"FAIR-UPPER", "FAIR-LOWER", "FAIR-LEAD"})


def by_brute_force(name: str, events: list[Event]) -> bool:
    """Whether an observer who started at some moment finds one broken."""
    arena = Arena(take=BY_NAME[name].take, watch=Quiet())
    try:
        for event in events:
            arena.observe_from_now()
            arena.play(event)
    except AssertionError:
        return True
    return False


class Quiet(Watch):
    """A watch that keeps account and says nothing."""

    def observe(self, before: Machine, event: Event, taken: Taken) -> list[str]:
        super().observe(before, event, taken)
        return []


MISTAKES = ["reset-on-return", "bank-while-idle", "leaving-forgives", "clock-at-finish", "counts-requests"]


@pytest.mark.integration
@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.claims("FAIR-UPPER", "FAIR-LOWER", "FAIR-LEAD")
def test_the_watch_agrees_with_brute_force(name: str) -> None:
    verdicts = {(by_the_watch(name, history(seed)), by_brute_force(name, history(seed))) for seed in range(40)}
    assert verdicts == {(True, True), (False, False)}


def test_neither_finds_anything_in_the_machine() -> None:
    for seed in range(40):
        arena = Arena(take=take)
        for event in history(seed):
            arena.observe_from_now()
            arena.play(event)


@pytest.mark.claims("FAIR-TIGHT")
def test_the_worst_lead_is_the_greatest_difference() -> None:
    """B has had its 5 when A joins; A gets 5 and, by the tie, 5 more: 10 ahead, two of the largest charges."""
    arena = Arena()
    for event in [*of("B", 2), Dispatch(), *of("A", 2), Dispatch(), Dispatch()]:
        arena.play(event)
    assert arena.watch.worst == 10
    assert arena.watch.greatest == 5


def of(user: str, count: int) -> list[Event]:
    """So many requests of cost 5."""
    return [Arrive(user, f"{user}{n}", Fraction(5)) for n in range(count)]


def test_an_account_that_starts_late_is_checked() -> None:
    arena = Arena()
    arena.play(Arrive("A", "A1", 3))
    arena.observe_from_now()
    (account,) = arena.accounts
    check_account(arena.state.competition, account)
    forged = type(account)(
        account.last, {"A": Fraction(9)}, account.v1, account.meter1, account.last1, account.throughout
    )
    with pytest.raises(AssertionError, match="FAIR-UPPER"):
        check_account(arena.state.competition, forged)
