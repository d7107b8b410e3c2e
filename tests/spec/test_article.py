"""The article's own numbers: the table of §2.7 and the five properties of §7.5, worked out by hand from the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_spec.machine import Machine, step
from sfq_spec.scheduler import MachineScheduler, Scheduler, lag, play
from sfq_spec.trace import Arrive, Dispatch, Event

TABLE = [
    # v, selected, S_A, S_B
    (0, "A", 3, 0),
    (0, "B", 3, 1),
    (1, "B", 3, 2),
    (2, "B", 3, 3),
    (3, "A", 6, 3),
    (3, "B", 6, 4),
    (4, "B", 6, 5),
    (5, "B", 6, 6),
]

FACTORIES = pytest.mark.parametrize("factory", [MachineScheduler, HeapScheduler])
Factory = Callable[[], Scheduler]


def backlog(user: str, cost: int | Fraction, count: int) -> list[Event]:
    return [Arrive(user, f"{user}{n}", Fraction(cost)) for n in range(1, count + 1)]


def users(scheduler: Scheduler, events: Sequence[Event]) -> list[str]:
    """Whose requests were dispatched; a request's id begins with its user's."""
    answers = [play(scheduler, event) for event in events]
    return [answer.dispatched[0] for answer in answers if isinstance(answer.dispatched, str)]


@pytest.mark.claims("R-SELECT", "R-ADVANCE", "R-CHARGE", "INV-UPPER", "INV-LOWER")
def test_the_table_of_section_2_7() -> None:
    state = Machine()
    for event in (*backlog("A", 3, 9), *backlog("B", 1, 9)):
        state, _ = step(state, event)
    for v, user, S_A, S_B in TABLE:
        state, answer = step(state, Dispatch())
        s = state.competition
        assert answer.user == user
        assert [s.v, s.meter["A"], s.meter["B"]] == [v, S_A, S_B]
        assert all(s.v <= meter <= s.v + 3 for meter in s.meter.values())


def test_the_table_by_the_heap_scheduler() -> None:
    scheduler = HeapScheduler()
    users(scheduler, [*backlog("A", 3, 9), *backlog("B", 1, 9)])
    for v, user, S_A, S_B in TABLE:
        request = scheduler.dispatch()
        assert request is not None
        assert (scheduler.virtual_time, request.user) == (v, user)
        assert {name: v + ahead for name, ahead in lag(scheduler).items()} == {"A": S_A, "B": S_B}


@FACTORIES
@pytest.mark.claims("FAIR-PAIR", "E-COUNT")
def test_equal_sharing(factory: Factory) -> None:
    """§7.5(1), as repaired by E-COUNT: at most 1 from a common start, at most 2 over any interval."""
    sent = users(factory(), [*backlog("A", 5, 40), *backlog("B", 5, 40), *[Dispatch()] * 80])
    counts = [sent[:n].count("A") - sent[:n].count("B") for n in range(81)]
    assert max(map(abs, counts)) == 1
    assert max(abs(later - earlier) for at, earlier in enumerate(counts) for later in counts[at:]) <= 2


@FACTORIES
@pytest.mark.claims("E-COUNT")
def test_the_wording_of_equal_sharing_is_too_strong(factory: Factory) -> None:
    """E-COUNT: since A joined it has had two, B none, with equal costs."""
    scheduler = factory()
    users(scheduler, [*backlog("B", 5, 3), Dispatch(), *backlog("A", 5, 4)])
    assert users(scheduler, [Dispatch(), Dispatch()]) == ["A", "A"]


@FACTORIES
def test_cost_fairness(factory: Factory) -> None:
    """§7.5(2): ten times the cost, one tenth of the dispatches."""
    sent = users(factory(), [*backlog("A", 10, 40), *backlog("B", 1, 400), *[Dispatch()] * 220])
    assert (sent.count("A"), sent.count("B")) == (20, 200)


@FACTORIES
@pytest.mark.claims("IDLE-FLOOR", "IDLE-PROMPT")
def test_no_banking(factory: Factory) -> None:
    """§7.5(3): A is idle while B has 30; it returns at v = 29 beside B's 30, and from then on they alternate."""
    scheduler = factory()
    users(scheduler, [*backlog("A", 1, 1), *backlog("B", 1, 60), *[Dispatch()] * 31])
    again = [Arrive("A", f"A-again{n}", Fraction(1)) for n in range(10)]
    assert users(scheduler, [*again, *[Dispatch()] * 8]) == ["A", "A", "B", "A", "B", "A", "B", "A"]


@FACTORIES
@pytest.mark.claims("FAIR-UPPER", "FAIR-LEAD")
def test_no_reset_abuse(factory: Factory) -> None:
    """§7.5(4): A sends one request at a time and drains its queue; B has a backlog. Both are charged the same."""
    scheduler = factory()
    users(scheduler, backlog("B", 3, 100))
    sent: list[str] = []
    for n in range(50):
        play(scheduler, Arrive("A", f"A{n}", Fraction(3)))
        while (latest := users(scheduler, [Dispatch()])) != ["A"]:
            sent += latest
        sent += latest
    assert abs(sent.count("A") - sent.count("B")) <= 1


@FACTORIES
@pytest.mark.claims("RESET-LEVEL")
def test_level_start_after_global_idle(factory: Factory) -> None:
    """§7.5(5): the user of the last heavy request has no handicap in the next congestion."""
    scheduler = factory()
    assert users(scheduler, [*backlog("B", 1, 1), *backlog("A", 100, 1), *[Dispatch()] * 2]) == ["A", "B"]
    again = [Arrive(user, f"{user}-again{n}", Fraction(1)) for n in range(3) for user in "BA"]
    assert users(scheduler, [*again, *[Dispatch()] * 6]) == ["A", "B"] * 3
