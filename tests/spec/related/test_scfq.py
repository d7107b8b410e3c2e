"""Self-clocked fair queueing: tags by hand, and the bound on leads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import pytest

from networks import history, order, runs
from sfq_spec.related.method import Job, MethodScheduler, Situation
from sfq_spec.related.scfq import Scfq, SelfClocked
from sfq_spec.trace import Recost


def test_tags_by_hand() -> None:
    """A1 3, A2 6, B1 2, B2 4. After B1 v is 2; C1 begins there: 7. At a tie, of A2 and B3, the lesser name is first."""
    assert order(Scfq(), "A:3 A:3 B:2 B:2 B:2 . C:5 .....") == "B1 A1 B2 A2 B3 C1"


def test_weights_divide_costs() -> None:
    """A has a third of each cost: 2, 4; B 3, 6; A, tag 5, comes before the second of B."""
    assert order(Scfq(), "A:6 A:6 B:3 B:3 A:3 .....", weights={"A": 3}) == "A1 B1 A2 A3 B2"


def test_from_idle_a_user_begins_at_the_tag_in_service_and_owes_nothing() -> None:
    """A's 9 was sent at v = 9, so A begins there like B: tags 11 and 12 (SFQ, for one, has A begin at 9 and B at 0)."""
    assert order(Scfq(), "A:9 C:20 . A:2 B:3 ...") == "A1 A2 B1 C1"
    scheduler = MethodScheduler(Scfq())
    scheduler.arrive("A", "A1", 9)
    scheduler.arrive("C", "C1", 20)
    scheduler.dispatch()
    assert scheduler.situation.state == SelfClocked(Fraction(9), {"C": Fraction(0)})


def test_once_nobody_waits_all_begins_again() -> None:
    scheduler = MethodScheduler(Scfq())
    scheduler.arrive("A", "A1", 9)
    scheduler.arrive("B", "B1", 9)
    scheduler.dispatch()
    scheduler.cancel("B1")
    assert scheduler.situation.state == SelfClocked()


def test_a_lower_estimate_does_not_turn_virtual_time_back() -> None:
    scheduler = MethodScheduler(Scfq())
    for user, cost in (("A", 5), ("B", 9), ("B", 9)):
        scheduler.arrive(user, f"{user}{cost}{len(scheduler.situation.live)}", cost)
    scheduler.dispatch()
    scheduler.step(Recost("B91", Fraction(1)))
    scheduler.dispatch()
    assert scheduler.situation.state == SelfClocked(Fraction(5), {"B": Fraction(1)})


def exceeds(method: Scfq, chance: Random) -> bool:
    """Whether somebody gets further ahead of one that waits than by a largest charge of each."""
    seen = history(method, chance)
    return any(lead > seen.charge(i) + seen.charge(j) for i, j, lead in seen.leads())


@pytest.mark.integration
def test_nobody_gets_ahead_by_more_than_a_largest_charge_of_each() -> None:
    """Over any interval in which the one behind waits throughout, however often the other leaves and comes back."""
    assert sum(exceeds(Scfq(), chance) for chance in runs()) == 0


def test_the_bound_is_nearly_reached() -> None:
    """B1 has the tag 9, A1 10, A2 and B2 19. From after B1 until before B2 A has 19, B none; the bound is 10 + 10."""
    assert order(Scfq(), "A:10 A:9 A:1 B:9 B:10 B:1 .....") == "B1 A1 A2 B2 A3"


@dataclass(frozen=True)
class BeginsAtZero(Scfq):
    """Wrong: whoever joins begins at zero, whatever has been done."""

    def arrive(self, at: Situation[SelfClocked], job: Job) -> SelfClocked:
        s = super().arrive(at, job)
        return replace(s, begins={**s.begins, job.user: Fraction(0)}) if at.joins(job) else s


@dataclass(frozen=True)
class Standing(Scfq):
    """Wrong: virtual time does not move."""

    def dispatch(self, at: Situation[SelfClocked]) -> tuple[SelfClocked, Job]:
        s, job = super().dispatch(at)
        return (replace(s, v=Fraction(0)) if s.begins else s), job


def test_the_bound_does_not_hold_where_whoever_joins_begins_at_zero() -> None:
    assert any(exceeds(BeginsAtZero(), chance) for chance in runs())
    assert any(exceeds(Standing(), chance) for chance in runs())
