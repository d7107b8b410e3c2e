"""WEIGHT-STRIDE as it runs: the same dispatches at equal costs, and the shortest runs in which they differ."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from sfq_proofs.searches.mistakes import allocated, sent
from sfq_spec.related.stride import Joins
from sfq_spec.trace import Arrive, Dispatch, Event, SetWeight


def crowd(seed: int, joins: Joins = "at the global pass") -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
    """Users of any weights join a level competition with requests of one cost, and all wait to the end."""
    rng = random.Random(seed)
    users = "ABCD"[: rng.randint(2, 4)]
    weights = [SetWeight(user, rng.randint(1, 5)) for user in users]
    arrivals = [Arrive(user, f"{user}{count}", 1) for user in users for count in range(31)]
    rng.shuffle(arrivals)
    events = [*weights, *arrivals, *[Dispatch()] * 30]
    return sent(events), allocated(events, joins)


@pytest.mark.claims("WEIGHT-STRIDE")
def test_equal_costs_and_the_same_users_throughout() -> None:
    for seed in range(60):
        fair, strided = crowd(seed)
        assert fair == strided
        assert len(set(fair)) == 30


@pytest.mark.claims("WEIGHT-STRIDE")
def test_passes_that_start_one_stride_later_give_another_order() -> None:
    """As in the memorandum of 1995, where a client's first pass is its stride: the order is by finish tags."""
    assert any(fair != strided for fair, strided in (crowd(seed, "one stride later") for seed in range(20)))


def runs(length: int, kinds: str) -> Iterator[list[Event]]:
    """Every run of that many events: a request of A or B, a dispatch, a weight of 2 for A or B."""
    for letters in itertools.product(kinds, repeat=length):
        events, count = list[Event](), itertools.count(1)
        for letter in letters:
            if letter == "D":
                events.append(Dispatch())
            elif letter in "ab":
                events.append(SetWeight(letter.upper(), 2))
            else:
                events.append(Arrive(letter, f"{letter}{next(count)}", Fraction(1)))
        yield events


@pytest.mark.claims("WEIGHT-STRIDE")
def test_the_shortest_run_in_which_a_join_makes_a_difference() -> None:
    assert [
        events for length in range(5) for events in runs(length, "ABDab") if sent(events) != allocated(events)
    ] == []
    differ = [events for events in runs(5, "ABD") if sent(events) != allocated(events)]
    shown = [Arrive("A", "A1", 1), Arrive("A", "A2", 1), Dispatch(), Arrive("B", "B3", 1), Dispatch()]
    assert shown in differ
    assert (sent(shown), allocated(shown)) == (("A1", "B3"), ("A1", "A2"))
