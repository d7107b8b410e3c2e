"""The program-aware policy beside the exact model of LAS: thousands of histories with a clock, dispatch by dispatch.

Decisions are the same, but where the exact scores are closer than rounding can tell; how many those are is counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from policy.play import Beside
from sfq_impl.policy import attained
from sfq_impl.policy.program_aware import ProgramAwareFairness

SHORT = {"evictionTtlSeconds": 90, "evictionSweepSeconds": 10}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "short memory": SHORT,
    "no decay": {"lasHalfLifeSeconds": 0, **SHORT},
    "by picks": {"lasDecayFactor": 0.5, **SHORT},
    "other weights": {"lasWeightService": 0.55, "lasWeightHeadWait": 0.45, **SHORT},
    "release": {"compatibility": "release-0.10"},
    "release, quick factor": {"compatibility": "release-0.10", "lasDecayFactor": 0.5, **SHORT},
    "release, half-life": {"compatibility": "release-0.10", "lasHalfLifeSeconds": 60, **SHORT},
    "development": {"compatibility": "development-2026-08", **SHORT},
}
USERS = "ABCD"
PAUSES = ("0", "0.0005", "0.001", "0.25", "1", "7", "30", "60", "61", "300", "301", "4000")
TOKENS = (0, 1, 3, 10, 100, 10_000)
HISTORIES = 60 if os.environ.get("SFQ_PROFILE") != "deep" else 2_000
LENGTH = 80


def history(beside: Beside, seed: int) -> None:
    """Random events; at last all that waits is sent."""
    rng = Random(seed)
    users = USERS[: rng.randint(2, 4)]
    waiting = rng.choice([1, 3, 20])
    for number in range(LENGTH):
        beside.clock.after(Fraction(rng.choice(PAUSES) if rng.random() < 0.4 else "0"))
        match rng.randrange(8):
            case 0 | 1 | 2 if len(beside.waiting) < waiting:
                beside.arrive(f"{rng.choice(users)}{number}")
            case 3 if beside.waiting and rng.random() < 0.3:
                beside.cancel(rng.choice(list(beside.waiting)))
            case 4 | 5:
                beside.send()
            case _ if beside.in_flight:
                ended = rng.choice(list(beside.in_flight))
                outcome = rng.choice(["completed", "completed", "failed"])
                beside.complete(ended, tokens=(rng.choice(TOKENS), rng.choice(TOKENS)), outcome=outcome)  # type: ignore[arg-type]
        agree(beside)
    beside.send(len(beside.waiting) + 1)


def agree(beside: Beside) -> None:
    """Services and requests in flight are those of the model."""
    now = beside.clock.now
    beside.fairness.advance(now)
    flying = Counter(id.rstrip("0123456789") for id in beside.in_flight)
    for user in USERS:
        program = beside.fairness.programs.get(user)
        assert (program.in_flight if program else 0) == flying[user]
        mine, exact = beside.service(user), beside.exact_service(user)
        assert mine >= 0
        assert mine == pytest.approx(exact, rel=1e-9, abs=1e-300)


@pytest.mark.integration
@pytest.mark.parametrize("variant", VARIANTS)
def test_random_histories(variant: str) -> None:
    picks = close = unsure = 0
    for seed in range(HISTORIES):
        beside = Beside(VARIANTS[variant])
        history(beside, seed)
        picks, close, unsure = picks + beside.picks, close + beside.close, unsure + beside.open
    assert picks > 10 * HISTORIES
    assert close < 0.005 * picks, f"{close} of {picks} picks were not the model's, and within rounding of it"
    assert unsure < 0.05 * picks, f"{unsure} of {picks} picks were too close to tell"


class Machine(RuleBasedStateMachine):
    """The same as a search: Hypothesis chooses what happens, and makes what fails short."""

    @initialize(variant=st.sampled_from(sorted(VARIANTS)))
    def begin(self, variant: str) -> None:
        self.beside = Beside(VARIANTS[variant])
        self.count = 0

    @rule(user=st.sampled_from(USERS))
    def arrive(self, user: str) -> None:
        self.count += 1
        self.beside.arrive(f"{user}{self.count}")

    @rule(pause=st.sampled_from(PAUSES))
    def wait(self, pause: str) -> None:
        self.beside.clock.after(Fraction(pause))

    @rule()
    def dispatch(self) -> None:
        self.beside.send()

    @precondition(lambda self: self.beside.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.beside.cancel(data.draw(st.sampled_from(sorted(self.beside.waiting))))

    @precondition(lambda self: self.beside.in_flight)
    @rule(data=st.data(), read=st.sampled_from(TOKENS), made=st.sampled_from(TOKENS))
    def complete(self, data: st.DataObject, read: int, made: int) -> None:
        self.beside.complete(data.draw(st.sampled_from(sorted(self.beside.in_flight))), tokens=(read, made))

    @invariant()
    def is_like_the_model(self) -> None:
        if hasattr(self, "beside"):
            agree(self.beside)


def test_a_search() -> None:
    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=40))


def every_variant() -> None:
    for variant in VARIANTS:
        test_random_histories(variant)


FAULTS = {
    "output counts once": (attained, "OUTPUT_WEIGHT", 1),
    "decay from the wrong side": (attained, "halved", lambda service, elapsed, half_life: service),
    "no truncation": (attained, "MILLISECOND", 1),
    "sweeps what is in flight": (
        ProgramAwareFairness,
        "sweep",
        lambda self, at: [self.programs.pop(id) for id, p in list(self.programs.items()) if at > p.last_completion],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, instead = FAULTS[fault]
    monkeypatch.setattr(owner, name, instead)
    if name == "halved":
        monkeypatch.setattr("sfq_impl.policy.program_aware.halved", instead)
    with pytest.raises((AssertionError, KeyError)):
        every_variant()
