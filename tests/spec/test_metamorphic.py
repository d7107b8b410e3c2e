"""One history, changed in a way that must not matter (or must): the dispatches stay the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_impl.heap import HeapScheduler
from sfq_spec.scheduler import MachineScheduler, Scheduler, play
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

FACTORIES = pytest.mark.parametrize("factory", [MachineScheduler, HeapScheduler])
Factory = Callable[[], Scheduler]

COSTS = st.integers(1, 6)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.sampled_from("ABCD"), COSTS),
        st.tuples(st.just("dispatch"), st.just(""), COSTS),
        st.tuples(st.sampled_from(["cancel", "complete", "recost"]), st.just(""), st.integers(1, 50)),
        st.tuples(st.just("weight"), st.sampled_from("ABCD"), st.integers(1, 5)),
    ),
    max_size=60,
)
History = list[tuple[str, str, int]]


@dataclass(frozen=True)
class Changed:
    """What is changed of a history, event by event."""

    name: Callable[[str], str] = lambda user: user
    cost: Callable[[int], Fraction] = Fraction
    weight: Callable[[int], Fraction] = Fraction
    beside: Callable[[int], list[Event]] = lambda at: []
    """Events that are put in before each."""


def dispatched(factory: Factory, history: History, changed: Changed) -> list[str | None]:
    """The dispatches, under the ids of the original history."""
    scheduler, sent, count = factory(), list[str | None](), 0
    for at, (kind, user, number) in enumerate(history):
        for event in changed.beside(at):
            play(scheduler, event)
        which = f"r{number % max(1, count)}"
        match kind:
            case "arrive":
                play(scheduler, Arrive(changed.name(user), f"r{count}", changed.cost(number)))
                count += 1
            case "dispatch":
                answer = play(scheduler, Dispatch()).dispatched
                assert answer is None or isinstance(answer, str)
                sent.append(answer)
            case "cancel":
                play(scheduler, Cancel(which))
            case "complete":
                play(scheduler, Complete(which))
            case "recost":
                play(scheduler, Recost(which, changed.cost(number)))
            case "weight":
                play(scheduler, SetWeight(changed.name(user), changed.weight(number)))
    return sent


def assert_the_same(factory: Factory, history: History, changed: Changed) -> None:
    assert dispatched(factory, history, changed) == dispatched(factory, history, Changed())


@FACTORIES
@given(ACTIONS, st.fractions(Fraction(1, 7), 9, max_denominator=7))
@pytest.mark.claims("ORDER-SCALE")
def test_all_costs_times_a_factor(factory: Factory, history: History, factor: Fraction) -> None:
    assert_the_same(factory, history, Changed(cost=lambda cost: cost * factor))


@FACTORIES
@given(ACTIONS, st.fractions(Fraction(1, 7), 9, max_denominator=7))
@pytest.mark.claims("ORDER-SCALE")
def test_all_weights_times_a_factor(factory: Factory, history: History, factor: Fraction) -> None:
    everyone: list[Event] = [SetWeight(user, factor) for user in "ABCD"]
    changed = Changed(weight=lambda weight: weight * factor, beside=lambda at: everyone if at == 0 else [])
    assert_the_same(factory, history, changed)


@FACTORIES
@given(ACTIONS)
def test_other_names_in_the_same_order(factory: Factory, history: History) -> None:
    names = dict(zip("ABCD", ["", "a", "\uffff", "\U00010000"], strict=True))
    assert_the_same(factory, history, Changed(name=names.__getitem__))


@FACTORIES
@given(ACTIONS, st.integers(1, 10**20))
@pytest.mark.claims("KEEP-SHIFT")
def test_meters_that_start_high(factory: Factory, history: History, height: int) -> None:
    """A reset at a great height shifts v and all meters by one constant."""
    before: list[Event] = [Arrive("Z", "shift", Fraction(height)), Dispatch(), Complete("shift")]
    assert_the_same(factory, history, Changed(beside=lambda at: before if at == 0 else []))


@FACTORIES
@given(ACTIONS, st.lists(st.integers(0, 60), max_size=9))
@pytest.mark.claims("R-UPKEEP", "KEEP-FORGET")
def test_upkeep_at_any_moment(factory: Factory, history: History, moments: list[int]) -> None:
    assert_the_same(factory, history, Changed(beside=lambda at: [Upkeep()] if at in moments else []))


@FACTORIES
@given(ACTIONS, st.lists(COSTS, min_size=9, max_size=9))
@pytest.mark.claims("ORDER-BLIND")
def test_the_choice_is_blind_to_the_costs_that_wait(factory: Factory, history: History, costs: list[int]) -> None:
    """Change every estimate that waits: the very next choice stays."""
    plain, changed = factory(), factory()
    waiting: dict[str, int] = {}
    for count, (kind, user, number) in enumerate(history):
        if kind == "arrive":
            waiting[f"r{count}"] = number
            for scheduler in (plain, changed):
                play(scheduler, Arrive(user, f"r{count}", Fraction(number)))
        elif kind == "dispatch":
            for place, request in enumerate(waiting):
                play(changed, Recost(request, Fraction(costs[place % len(costs)])))
            sent, again = play(plain, Dispatch()), play(changed, Dispatch())
            assert sent.dispatched == again.dispatched
            return


@FACTORIES
@given(ACTIONS, st.lists(st.sampled_from(["completed", "failed", "cancelled"]), min_size=60, max_size=60))
@pytest.mark.claims("ORDER-SPEED", "R-FINAL")
def test_blind_to_when_and_how_work_ends(factory: Factory, history: History, outcomes: list[str]) -> None:
    """ORDER-SPEED: with completions at other moments, or none, the order is the same."""
    without = [action for action in history if action[0] not in ("complete", "cancel", "recost")]
    ends = Changed(beside=lambda at: [Complete(f"r{at // 2}", outcomes[at])])  # type: ignore[arg-type]
    assert_the_same(factory, without, ends)


@FACTORIES
def test_names_in_another_order_matter(factory: Factory) -> None:
    """The check of names can fail: ties follow the ids."""
    history: History = [("arrive", "A", 1), ("arrive", "B", 1), ("dispatch", "", 1)]
    backwards = Changed(name={"A": "B", "B": "A"}.__getitem__)
    assert dispatched(factory, history, backwards) != dispatched(factory, history, Changed())
