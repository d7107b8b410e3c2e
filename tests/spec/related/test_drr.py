"""Deficit round robin: visits by hand, rounds that are skipped, and the bound on leads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import pytest

from networks import USERS, history, order, runs
from sfq_spec.related.drr import Drr, Visits, visits
from sfq_spec.related.method import Job, MethodScheduler, Situation
from sfq_spec.trace import Arrive, Recost, SetWeight


def drr(quantum: int | Fraction) -> Drr:
    return Drr(Fraction(quantum))


def test_two_rounds_by_hand() -> None:
    """Credit of 500 a visit. First 200 of 500, 500 of 500, 200 of 500, 50 of 500; then the rest, two to a visit."""
    queues = "A:200 A:750 A:20 B:500 B:500 C:200 C:600 C:100 D:50 D:700 D:180"
    assert order(drr(500), queues, "." * 11) == "A1 B1 C1 D1 A2 A3 B2 C2 C3 D2 D3"


def test_a_heavy_head_waits_for_as_many_visits_as_its_cost_has_quanta() -> None:
    assert order(drr(3), "H:10 L:3 L:3 L:3 L:3 L:3", "......") == "L1 L2 L3 H1 L4 L5"
    assert order(drr(3), "H:9 L:3 L:3 L:3 L:3 L:3", "......") == "L1 L2 H1 L3 L4 L5"
    assert order(drr(3), "H:10 L:3 L:3 L:3", "....", weights={"H": 2}) == "L1 H1 L2 L3"
    for cost in range(1, 40):
        light = " L:3" * 20
        before = order(drr(3), f"H:{cost}", light, "." * 21).split().index("H1")
        assert before == -(-cost // 3) - 1
        assert visits(Fraction(cost), Fraction(0), Fraction(3)) == before + 1


def test_a_visit_goes_on_over_several_dispatches_and_credit_stays_for_the_next() -> None:
    assert order(drr(5), "A:2 A:2 A:2 B:4 B:4", ".....") == "A1 A2 B1 A3 B2"
    assert order(drr(5), "A:2 A:4 A:4 B:5 B:5", ".....") == "A1 B1 A2 A3 B2"
    scheduler = MethodScheduler(drr(5))
    for user, request, cost in (("A", "A1", 2), ("A", "A2", 4), ("B", "B1", 5)):
        scheduler.arrive(user, request, cost)
    scheduler.dispatch()
    assert scheduler.situation.state == Visits(("A", "B"), True, {"A": Fraction(3)})


def test_from_idle_a_user_comes_last_and_without_credit() -> None:
    """A leaves with 4 of 5 unspent. Back behind B and C, it has 5 for its request of 6, and not 9: one round more."""
    assert order(drr(5), "A:1 B:5 B:5 B:5 C:5 C:5 C:5", ". A:6", "......") == "A1 B1 C1 B2 C2 A2 B3"
    assert order(KeepsCredit(Fraction(5)), "A:1 B:5 B:5 B:5 C:5 C:5 C:5", ". A:6", "......") == "A1 B1 C1 A2 B2 C2 B3"


def test_whoever_withdraws_its_last_request_forfeits_its_credit() -> None:
    scheduler = MethodScheduler(drr(5))
    for user, request, cost in (("A", "A1", 1), ("A", "A2", 9), ("B", "B1", 5)):
        scheduler.arrive(user, request, cost)
    scheduler.dispatch()
    scheduler.cancel("A2")
    assert scheduler.situation.state == Visits(("B",), False, {})


def test_a_request_that_has_become_cheap_waits_for_its_turn_nevertheless() -> None:
    """A has 2 left of its visit when its 9 becomes 1; C, and then A, are next in the list."""
    scheduler = MethodScheduler(drr(2))
    for user, request, cost in (("A", "A1", 9), ("B", "B1", 2), ("B", "B2", 2), ("C", "C1", 2)):
        scheduler.arrive(user, request, cost)
    assert scheduler.dispatch().dispatched == "B1"
    scheduler.step(Recost("A1", Fraction(1)))
    assert [scheduler.dispatch().dispatched for _ in range(3)] == ["C1", "A1", "B2"]


@dataclass(frozen=True)
class OneByOne(Drr):
    """Makes every visit."""

    def turn(self, at: Situation[Visits], s: Visits) -> Visits:
        while True:
            user = s.ring[0]
            credit = s.deficit.get(user, Fraction(0)) + self.quantum * at.weight(user)
            s = replace(s, visited=True, deficit={**s.deficit, user: credit})
            if credit >= at.head(user).cost:
                return s
            s = replace(s, ring=(*s.ring[1:], user))


def test_skipping_rounds_is_the_same_as_making_them() -> None:
    skipped = 0
    for chance in runs(2):
        quantum = Fraction(chance.choice((1, 2, 3, 10)), chance.choice((1, 4, 30)))
        one, other = MethodScheduler(drr(quantum)), MethodScheduler(OneByOne(quantum))
        for user in USERS:
            weight = SetWeight(user, Fraction(chance.choice((1, 1, 2, 3)), chance.choice((1, 2))))
            one.step(weight), other.step(weight)
        for number in range(50):
            if chance.random() < 0.5:
                arrival = Arrive(chance.choice(USERS), str(number), Fraction(chance.randint(1, 30), 3))
                one.step(arrival), other.step(arrival)
            else:
                answer = one.dispatch()
                assert answer == other.dispatch()
                skipped += answer.dispatched is not None and answer.cost > 3 * quantum  # type: ignore[operator]
            assert one.situation.state == other.situation.state
    assert skipped > 500


def test_a_trillion_rounds_take_no_time() -> None:
    tiny = Fraction(1, 10**9)
    assert order(Drr(tiny), "A:1000001 A:7 B:1000000 B:8", "....") == "B1 A1 A2 B2"


def exceeds(method: Drr, chance: Random) -> bool:
    """Whether somebody gets further ahead of one that waits than by a quantum and a largest cost of each, by weight."""
    seen = history(method, chance)
    return any(lead > method.quantum + seen.charge(i) + seen.charge(j) for i, j, lead in seen.leads())


@pytest.mark.integration
def test_nobody_gets_ahead_by_more_than_a_quantum_and_a_largest_cost_of_each() -> None:
    """Over any interval in which the one behind waits throughout, however often the other leaves and comes back."""
    quanta = (Fraction(1, 2), Fraction(3), Fraction(40))
    assert sum(exceeds(drr(chance.choice(quanta)), chance) for chance in runs()) == 0


def test_the_bound_is_nearly_reached() -> None:
    """A has kept 99 of its visit before; B keeps 99 of the one between. From after B1 on A has 299, B 1, both wait."""
    costs = {"A": "1 100 99 100 1", "B": "100 1 100"}
    arrivals = " ".join(f"{user}:{cost}" for user, all in costs.items() for cost in all.split())
    assert order(drr(100), arrivals, ".......") == "A1 B1 A2 A3 B2 A4 B3"


@dataclass(frozen=True)
class KeepsCredit(Drr):
    """Wrong: credit stays when the queue empties."""

    def dispatch(self, at: Situation[Visits]) -> tuple[Visits, Job]:
        s, job = super().dispatch(at)
        kept = {user: credit for user, credit in at.state.deficit.items() if user not in at.queues}
        if at.is_last(job):
            kept[job.user] = self.quantum * at.weight(job.user) - job.cost + at.state.deficit.get(job.user, Fraction(0))
        return replace(s, deficit={**kept, **s.deficit}), job


@dataclass(frozen=True)
class JoinsFirst(Drr):
    """Wrong: whoever joins is visited next."""

    def arrive(self, at: Situation[Visits], job: Job) -> Visits:
        s = at.state
        return Visits((job.user, *s.ring), False, s.deficit) if at.joins(job) else s


@dataclass(frozen=True)
class CreditEachTime(Drr):
    """Wrong: a visit gives credit for each request that it sends."""

    def dispatch(self, at: Situation[Visits]) -> tuple[Visits, Job]:
        return super().dispatch(replace(at, state=replace(at.state, visited=False)))


def test_the_bound_does_not_hold_where_each_request_gets_credit() -> None:
    assert any(exceeds(CreditEachTime(Fraction(3)), chance) for chance in runs())


def test_a_user_that_comes_back_again_and_again_gets_ahead_where_whoever_joins_is_first() -> None:
    """A sends one at a time: the others wait for it once, or for ever (article §2.4)."""
    assert order(drr(3), "B:3 C:3 C:3", "A:3 . " * 4) == "B1 C1 A1 C2"
    assert order(JoinsFirst(Fraction(3)), "B:3 C:3 C:3", "A:3 . " * 4) == "A1 A2 A3 A4"


def test_a_user_that_comes_back_again_and_again_banks_where_credit_is_kept() -> None:
    """A sends 1 of 5 in each of four visits, then brings four of 5; B always has a request of 5."""
    comes = "A:1 B:5 . . " * 4 + "A:5 " * 4 + "B:5 B:5 B:5 ......"
    assert order(drr(5), comes).split()[-6:] == ["A5", "B5", "A6", "B6", "A7", "B7"]
    assert order(KeepsCredit(Fraction(5)), comes).split()[-6:] == ["A5", "A6", "A7", "A8", "B5", "B6"]
