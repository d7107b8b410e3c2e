"""Random histories: machine and tags keep every claim, the heap scheduler follows, and every mutant is found out."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from duel import COSTS, USERS, WEIGHTS, Duel
from sfq_impl.heap import HeapScheduler
from sfq_spec.machine import Machine, step
from sfq_spec.mutants import MUTANTS, Mutant
from sfq_spec.scheduler import MachineScheduler
from sfq_spec.tags import TagScheduler
from sfq_spec.trace import Arrive, Dispatch, SetWeight

assert settings.default is not None
MANY = settings(max_examples=settings.default.max_examples * 3)


class HeapDuel(Duel):
    factory = HeapScheduler


TestHeapScheduler = HeapDuel.TestCase
TestHeapScheduler.settings = MANY


@pytest.mark.claims("TAG-FOLD")
class TagDuel(RuleBasedStateMachine):
    """TAG-FOLD as it runs: what has a counterpart in 1996, on the machine and on the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self.tags, self.count = Machine(), TagScheduler(), 0

    @rule(user=USERS, cost=COSTS)
    def arrive(self, user: str, cost: Any) -> None:
        self.count += 1
        self.state, _ = step(self.state, Arrive(user, f"r{self.count}", cost))
        weight = self.state.competition.weight[user]
        self.tags = self.tags.arrive(user, f"r{self.count}", Fraction(cost), weight)

    @rule(user=USERS, weight=WEIGHTS)
    def weigh_who_is_idle(self, user: str, weight: Any) -> None:
        if user not in self.state.queues:
            self.state, _ = step(self.state, SetWeight(user, weight))

    @rule()
    def dispatch(self) -> None:
        self.state, answer = step(self.state, Dispatch())
        self.tags, sent = self.tags.dispatch()
        assert answer.dispatched == (sent.request if sent else None)
        assert self.state.competition.v == self.tags.v


TestTags = pytest.mark.integration(TagDuel.TestCase)
TestTags.settings = MANY


@pytest.mark.integration
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
@pytest.mark.claims(
    "R-SELECT",
    "R-FIFO",
    "R-REFUSE",
    "R-FINAL",
    "R-WEIGHT",
    "R-UPKEEP",
    "ORDER-WORK",
    "INV-MONO",
    "INV-UPPER",
    "INV-LOWER",
    "INV-SPREAD",
    "DISP-BEFORE",
    "FAIR-UPPER",
    "FAIR-LOWER",
    "FAIR-LEAD",
    "FAIR-PAIR",
    "FAIR-STARVE",
    "FAIR-PROMPT",
    "RESET-ALONE",
    "RESET-LEVEL",
    "RESET-OWN",
    "IDLE-FLOOR",
    "IDLE-PROMPT",
    "IDLE-RESIDUE",
    "WEIGHT-ALL",
    "IMPL-REFINE",
)
def test_random_histories_find_every_mutant(mutant: Mutant) -> None:
    class MutantDuel(Duel):
        factory = partial(MachineScheduler, mutant.take)

    hunt = settings(MANY, phases=[Phase.generate], print_blob=False, report_multiple_bugs=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(MutantDuel, settings=hunt)


@pytest.mark.claims("TAG-FOLD")
def test_a_tag_scheduler_with_a_mistake_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfq_spec.tags.start_tag", lambda v, previous, maximum: previous)
    hunt = settings(MANY, phases=[Phase.generate], print_blob=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(TagDuel, settings=hunt)
