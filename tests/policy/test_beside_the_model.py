"""The program-aware policy beside the exact model of LAS: thousands of histories with a clock, dispatch by dispatch.

Decisions are the same, but where the exact scores are closer than rounding can tell; how many those are is counted.
"""

from __future__ import annotations

import os
from fractions import Fraction

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

from sfq_proofs.related import las_beside
from sfq_proofs.related.las_beside import FAULTS, PAUSES, TOKENS, USERS, VARIANTS, agree, histories
from sfq_proofs.related.las_play import Beside

DEEP = os.environ.get("SFQ_PROFILE") == "deep"
HISTORIES = range(2_000 if DEEP else 60)


@pytest.mark.integration
@pytest.mark.parametrize("variant", VARIANTS)
def test_random_histories(variant: str) -> None:
    picks = histories(variant, HISTORIES)
    assert picks.all > 10 * len(HISTORIES)
    assert picks.are_few, f"{picks}: rounding has mattered too often"


@pytest.mark.integration
def test_random_histories_of_the_settled_policy() -> None:
    assert las_beside.settled_differs(HISTORIES) == ""


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


@pytest.mark.claims("LAS-PLUGIN", "LAS-POSITIVE")
def test_a_search() -> None:
    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=40))


@pytest.mark.claims("LAS-PLUGIN")
def test_the_histories_that_are_played_every_time() -> None:
    for found in las_beside.findings():
        assert found.holds, found.says


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    assert las_beside.is_found(fault, range(20))


def test_without_a_fault_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(las_beside.FAULTS, "none", ())
    assert not las_beside.is_found("none", range(1))


def test_histories_of_the_settled_policy_do_send_something() -> None:
    """Rounding ends few of them early where services decay, and none where they do not."""
    for parameters in las_beside.SETTLED_VARIANTS:
        lengths = [las_beside.settled(seed, parameters) for seed in range(8)]
        assert sum(lengths) > 0.8 * 8 * las_beside.LENGTH
