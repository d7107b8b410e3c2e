"""The fluid: by hand, against one that is computed without virtual time, and what it conserves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

import pytest

from networks import draw_calls, draw_weights, fluid, runs
from sfq_spec.related import gps
from sfq_spec.related.gps import Arrival, finishing_times, work_done


def arrivals(*told: tuple[int, str, int] | tuple[int, str, int, int]) -> list[Arrival]:
    return [Arrival(Fraction(time), user, *map(Fraction, rest)) for time, user, *rest in told]


def done(told: Sequence[Arrival], rate: int = 1) -> list[Fraction]:
    return list(finishing_times(told, Fraction(rate)))


def test_two_users_share_by_weight_from_each_instant_on() -> None:
    """A alone until 3 has done 3 of 6; then B has three quarters of the rate, and its 3 are done at 7; A ends at 9."""
    told = arrivals((0, "A", 6), (3, "B", 3, 3))
    assert done(told) == [9, 7]
    assert done(told, 3) == [2, 4]
    assert work_done(told, Fraction(5)) == {"A": Fraction(7, 2), "B": Fraction(3, 2)}
    assert work_done(told, Fraction(8)) == {"A": 5, "B": 3}
    assert work_done(told, Fraction(-1)) == {}


def test_a_burst_against_ten_at_a_twentieth_each() -> None:
    """A, at one half, has a request done every 2 seconds until 20, when the ten others are done; its eleventh at 21."""
    others = "BCDEFGHIJK"
    told = arrivals(*[(0, "A", 1, 10)] * 11, *((0, user, 1) for user in others))
    assert done(told) == [*range(2, 22, 2), 21, *[20] * 10]


def test_from_idle_a_user_has_its_share_at_once_and_nothing_for_the_time_it_was_away() -> None:
    told = arrivals((0, "A", 100), (0, "B", 1), (50, "B", 5))
    assert done(told) == [106, 2, 60]
    assert work_done(told, Fraction(60))["B"] - work_done(told, Fraction(50))["B"] == 5


def test_a_weight_counts_from_the_instant_at_which_it_is_told() -> None:
    """At 2 each has 3 of 4 left. From then on A has three quarters: its 3 are done at 6, when B has 2 left, and a new
    request of A has three quarters again."""
    assert done(arrivals((0, "A", 4), (0, "B", 4), (2, "A", 3, 3))) == [6, 11, 10]


@pytest.mark.parametrize(
    ("told", "rate", "reason"),
    [
        ([(0, "A", 0)], 1, "arrival 0: work 0 and weight 1 must be above zero"),
        ([(0, "A", 1), (0, "A", 1, -1)], 1, "arrival 1: work 1 and weight -1 must be above zero"),
        ([(1, "A", 1), (0, "A", 1)], 1, "arrival 1: time 0 comes before 1: sort the arrivals by time"),
        ([], 0, "rate is 0: it must be above zero"),
    ],
)
def test_what_cannot_be_is_refused(told: list[tuple[int, str, int]], rate: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        finishing_times(arrivals(*told), Fraction(rate))


Times = Callable[[Sequence[Arrival], Fraction], tuple[Fraction, ...]]


def differs(times: Times, chance: Random) -> bool:
    """From a fluid that goes from one instant to the next by rates; a request is done when nothing of it is left."""
    calls, weights, rate = draw_calls(chance), draw_weights(chance), Fraction(chance.choice((1, 2, 3)))
    steps = fluid(calls, weights, rate)
    ends = [next(s.time for s in steps if s.done.get(n) == call.cost) for n, call in enumerate(calls)]
    told = [Arrival(call.time, call.user, call.cost, weights[call.user]) for call in calls]
    return times(told, rate) != tuple(ends)


@pytest.mark.integration
def test_virtual_time_gives_the_same_as_rates_do() -> None:
    assert sum(differs(finishing_times, chance) for chance in runs()) == 0


def test_the_comparison_finds_a_fluid_without_weights() -> None:
    def unweighted(told: Sequence[Arrival], rate: Fraction) -> tuple[Fraction, ...]:
        return finishing_times([arrival._replace(weight=Fraction(1)) for arrival in told], rate)

    assert any(differs(unweighted, chance) for chance in runs())


def test_no_work_is_lost_or_made() -> None:
    for chance in runs(2):
        weights = draw_weights(chance)
        told = [Arrival(call.time, call.user, call.cost, weights[call.user]) for call in draw_calls(chance)]
        until, last = Fraction(chance.randint(0, 60), 7), max(finishing_times(told))
        given, came = work_done(told, until), sum(arrival.work for arrival in told if arrival.time <= until)
        assert sum(given.values()) <= min(came, until)
        assert sum(work_done(told, last).values()) == sum(arrival.work for arrival in told)


def test_what_is_left_can_be_read_and_changed() -> None:
    one, two = Fraction(1), Fraction(2)
    fluid = gps.add(gps.add(gps.add(gps.Fluid(), "A", 1, Fraction(4), one), "A", 2, one, one), "B", 3, Fraction(6), one)
    fluid, ended = gps.flow(fluid, Fraction(6), lambda user: one)
    assert ended == ()
    assert gps.left(fluid, "A", one) == {1: 1, 2: 1}
    fluid = gps.refill(fluid, "A", gps.left(fluid, "A", one), two)
    assert gps.left(fluid, "A", two) == {1: 1, 2: 1}
    fluid, ended = gps.flow(fluid, Fraction(3), lambda user: two if user == "A" else one)
    assert [(part.key, part.work) for part in ended] == [(1, Fraction(3, 2)), (2, 3)]
    assert gps.backlog(fluid, lambda user: one) == {"B": 2}
