"""What integers, fractions and floats do to the meters, and what rebasing does not."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from sfq_impl.heap import ChargeOverflows, ChargeVanishes, HeapScheduler
from sfq_impl.quantities import Number
from sfq_impl.representation import flaws


def scheduler_with(*requests: tuple[str, str, Number]) -> HeapScheduler:
    scheduler = HeapScheduler()
    for user, request, cost in requests:
        scheduler.arrive(user, request, cost)
    return scheduler


def dispatch(scheduler: HeapScheduler, times: int = 1) -> str:
    """The ids of the next requests."""
    return " ".join(request.request for _ in range(times) if (request := scheduler.dispatch()))


def appearance(scheduler: HeapScheduler) -> object:
    return scheduler.virtual_time, scheduler.lag, scheduler.waiting_users, scheduler.requests_in_flight


def test_a_charge_that_would_vanish_is_an_error_and_upkeep_helps() -> None:
    scheduler = scheduler_with(("A", "a1", 2.0**53), ("A", "a2", 1.0), ("B", "b1", 2.0**53), ("B", "b2", 1))
    assert dispatch(scheduler, 2) == "a1 b1"
    before = appearance(scheduler)
    for _ in range(2):
        with pytest.raises(ChargeVanishes, match="upkeep"):
            scheduler.dispatch()
        assert appearance(scheduler) == before
        assert list(flaws(scheduler)) == []
    scheduler.upkeep()
    assert appearance(scheduler) == before
    assert dispatch(scheduler, 2) == "a2 b2"
    assert scheduler.lag == {} or set(scheduler.lag.values()) == {0}


def test_without_upkeep_integers_help_as_well() -> None:
    scheduler = scheduler_with(
        ("A", "a1", 2**53), ("A", "a2", 1), ("A", "a3", 1), ("B", "b1", 2**53 + 1), ("B", "b2", 1)
    )
    assert dispatch(scheduler, 5) == "a1 b1 a2 a3 b2"


@pytest.mark.parametrize(
    ("first", "second", "smaller"),
    [(1e308, 1.5e308, 1e300), (0.5, 10**400, 10**300), (10**5_000, 0.5, 7)],
    ids=["the sum", "the cost", "the meter"],
)
def test_a_charge_that_overflows_is_an_error(first: Number, second: Number, smaller: Number) -> None:
    scheduler = scheduler_with(("A", "a1", first), ("A", "a2", second), ("B", "b1", first), ("B", "b2", 1))
    assert dispatch(scheduler, 2) == "a1 b1"
    before = appearance(scheduler)
    with pytest.raises(ChargeOverflows, match="recost"):
        scheduler.dispatch()
    assert appearance(scheduler) == before
    assert list(flaws(scheduler)) == []
    scheduler.recost("a2", smaller)
    assert dispatch(scheduler) == "a2"


def test_rebasing_keeps_the_order_where_floats_would_not() -> None:
    """Erratum E-REBASE: v = 1, and 2⁵³ + 6 and 2⁵³ + 4 are no different once 1 has been subtracted in binary64."""
    a, b = 2.0**53 + 6, 2.0**53 + 4
    assert (a - 1.0) == (b - 1.0)
    scheduler = scheduler_with(("A", "a1", a), ("B", "b1", b), ("C", "c1", 1.0), ("C", "c2", 2.0**54), ("C", "c3", 1.0))
    for user in "AB":
        scheduler.arrive(user, f"{user.lower()}2", 2.0**54)
    assert dispatch(scheduler, 3) == "a1 b1 c1"
    before = appearance(scheduler)
    scheduler.upkeep()
    assert appearance(scheduler) == before
    assert dispatch(scheduler, 3) == "c2 b2 a2"


def test_virtual_time_goes_on_from_where_it_was() -> None:
    """It never decreases, however often the meters are moved, and in floats as in exact numbers."""
    rng = random.Random(7)
    kinds: list[list[Number]] = [[1, 3, 10], [Fraction(1, 3), 2], [0.1, 0.7, 1e6], [1, 0.25, Fraction(1, 3)]]
    for costs in kinds:
        scheduler, last = HeapScheduler(), Fraction(0)
        for number in range(600):
            scheduler.arrive(f"u{rng.randrange(4)}", str(number), rng.choice(costs))
            if rng.random() < 0.9:
                scheduler.dispatch()
            if rng.random() < 0.2:
                scheduler.upkeep()
            assert list(flaws(scheduler)) == []
            now = Fraction(scheduler.virtual_time)
            assert now >= last
            last = now
        assert last > 10


def test_rebasing_changes_no_choice_of_floats_that_are_exact() -> None:
    """Costs k/8 have no rounding: rebased after every event or never, the order is the same, and that of integers."""

    def order(unit: Fraction, tidy: bool) -> list[str]:
        rng, scheduler, sent = random.Random(11), HeapScheduler(), []
        for number in range(2_000):
            cost = rng.randint(1, 80) * unit
            scheduler.arrive(f"u{rng.randrange(5)}", str(number), float(cost) if unit < 1 else int(cost))
            for _ in range(rng.randrange(3)):
                if request := scheduler.dispatch():
                    sent.append(request.request)
            if tidy:
                scheduler.upkeep()
        return sent

    assert order(Fraction(1, 8), tidy=True) == order(Fraction(1, 8), tidy=False) == order(Fraction(1), tidy=True)


def test_meters_stay_small_integers_under_upkeep() -> None:
    """Whatever weights there have been, the unit is the largest that fits those that there are."""
    scheduler = HeapScheduler()
    for weight in range(2, 200):
        scheduler.set_weight("A", weight)
        scheduler.set_weight("B", Fraction(weight, 7))
        scheduler.arrive("A", f"a{weight}", 5)
        scheduler.arrive("B", f"b{weight}", 3)
        scheduler.dispatch()
    assert scheduler._scale > 10**20
    while scheduler.dispatch():
        pass
    scheduler.set_weight("A", 6)
    scheduler.set_weight("B", Fraction(3, 2))
    scheduler.upkeep()
    assert scheduler._scale == 6
    assert list(flaws(scheduler)) == []


def test_a_weight_in_floating_point_is_exact_too() -> None:
    """Meters that are floats do not change their unit; the charge is then a float divided by the weight."""
    scheduler = scheduler_with(("A", "a1", 0.5), ("A", "a2", 3.0), ("A", "a3", 3.0), ("B", "b1", 1.0), ("B", "b2", 1.0))
    assert dispatch(scheduler, 2) == "a1 b1"
    scheduler.set_weight("A", 6)
    scheduler.set_weight("B", 3)
    assert dispatch(scheduler, 2) == "a2 a3"
    assert scheduler.lag == {"A": 0.5, "B": 0.0}
    assert list(flaws(scheduler)) == []


def test_a_cost_of_whole_units_leaves_no_fraction_behind() -> None:
    """After one cost that is a fraction, `upkeep` makes integers of the meters again, in a finer unit."""
    scheduler = scheduler_with(("A", "a1", Fraction(1, 3)), ("A", "a2", 2), ("B", "b1", 1), ("B", "b2", 1))
    dispatch(scheduler, 2)
    assert any(isinstance(user.meter, Fraction) for user in scheduler._users.values())
    scheduler.upkeep()
    assert all(isinstance(user.meter, int) for user in scheduler._users.values())
    assert scheduler.lag == {"A": Fraction(1, 3), "B": 1}


FAULTS = [
    ("what vanishes is charged", "finish if start < finish < INFINITE else None", "finish"),
    (
        "an overflow is passed on",
        "except OverflowError:\n        return None",
        "except ZeroDivisionError:\n        return None",
    ),
    ("differences are rounded", "simplest(Fraction(minuend) - Fraction(subtrahend))", "minuend - subtrahend"),
    ("moved meters are rounded", "if (near := float(number)) == number:", "if near := float(number):"),
]


@pytest.mark.parametrize("fault", [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_seen(
    planted: Callable[[str, str, str], Callable[[], HeapScheduler]],
    fault: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(globals(), "HeapScheduler", planted("quantities", *fault))
    found = 0
    for test in (
        test_a_charge_that_would_vanish_is_an_error_and_upkeep_helps,
        test_rebasing_keeps_the_order_where_floats_would_not,
        lambda: test_a_charge_that_overflows_is_an_error(0.5, 10**400, 1),
        test_virtual_time_goes_on_from_where_it_was,
    ):
        try:
            test()
        except (Exception, pytest.fail.Exception):
            found += 1
    assert found
