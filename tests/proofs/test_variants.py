"""Rules written differently send the same, request for request; nearly the same rules do not."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sfq_proofs.searches.mistakes import forget_who_is_idle, rebase_who_waits, reset_after_joining
from sfq_proofs.solver.reading import KINDS, by_the_solver, exactly
from sfq_spec import sameness
from sfq_spec.competition import SFQ, Competition, Rules
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep
from sfq_spec.variants import forgetting, lazily, rebasing

Related = Callable[..., Any]

VARIANTS: dict[str, tuple[Rules, Related | None]] = {
    "lazily": (lazily(), sameness.late),
    "rebasing": (rebasing(), sameness.shifted),
    "forgetting": (forgetting(), sameness.forgotten),
    "lazily, rebasing": (rebasing(lazily()), None),
    "lazily, forgetting": (forgetting(lazily()), None),
}
WRONG: dict[str, Rules] = {
    "resets after joining": reset_after_joining(SFQ),
    "rebases who waits": replace(SFQ, upkeep=rebase_who_waits),
    "forgets who is idle": replace(SFQ, upkeep=forget_who_is_idle),
}


def history(seed: int, length: int = 60) -> list[Event]:
    """Events of four users, with cancels, weights, new costs and upkeep among them."""
    rng, made, count = random.Random(seed), list[Event](), 0
    for _ in range(length):
        which = f"r{rng.randint(0, max(0, count - 1))}"
        match rng.choice(["arrive"] * 4 + ["dispatch"] * 4 + ["cancel", "complete", "weight", "cost", "upkeep"]):
            case "arrive":
                made.append(Arrive(rng.choice("ABCD"), f"r{count}", rng.choice([1, 1, 2, 3, 7])))
                count += 1
            case "dispatch":
                made.append(Dispatch())
            case "cancel":
                made.append(Cancel(which))
            case "complete":
                made.append(Complete(which))
            case "weight":
                made.append(SetWeight(rng.choice("ABCD"), rng.choice([1, 2, 3])))
            case "cost":
                made.append(Recost(which, rng.choice([1, 2, 5])))
            case _:
                made.append(Upkeep())
    return made


def parts(events: list[Event], rules: Rules, related: Related | None = None) -> str:
    """Where the rules and those of the article part, or cease to be related; empty where they never do."""
    plain, varied, joined = Machine(), Machine(), set[str]()
    for at, event in enumerate(events):
        plain, said = answer(plain, event)
        varied, again = answer(varied, event, rules)
        if (said.dispatched, said.refused) != (again.dispatched, again.refused):
            return f"event {at}: {said} and {again}"
        if isinstance(event, Arrive) and not isinstance(said.refused, str):
            joined.add(event.user)  # before it joins, a new user's meter of 0 stands for nothing
        s, t = plain.competition, varied.competition
        if related and not all(related(plain.logic, s, t, user) for user in joined):
            return f"event {at}: {s} and {t}"
    return ""


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.claims("RESET-EAGER", "KEEP-SHIFT", "KEEP-FORGET")
def test_a_variant_sends_the_same(name: str) -> None:
    rules, related = VARIANTS[name]
    assert [found for seed in range(150) if (found := parts(history(seed), rules, related))] == []


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.claims("RESET-EAGER", "KEEP-SHIFT", "KEEP-FORGET")
def test_a_variant_that_is_wrong_is_found_out(name: str) -> None:
    assert any(parts(history(seed), WRONG[name]) for seed in range(150))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_relation_that_is_too_strong_is_found_out(name: str) -> None:
    rules, _ = VARIANTS[name]
    assert any(parts(history(seed), rules, sameness.identical) for seed in range(150))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_readings_of_a_variant_agree(name: str) -> None:
    rules, _ = VARIANTS[name]
    for seed in range(3):
        rng = random.Random(seed)
        users = "ABC"[: rng.randint(1, 3)]
        s = Competition(
            number(rng),
            {user: number(rng) for user in users},
            {user: rng.random() < 0.5 for user in users},
            {user: number(rng) + 1 for user in users},
        )
        head = {user: number(rng) + 1 for user in users}
        for kind in KINDS:
            case = (s, kind, rng.choice(users), head, rng.random() < 0.5, rules)
            assert by_the_solver(*case) == exactly(*case), (seed, kind)


def number(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(0, 5), rng.choice([1, 2]))
