"""WF2Q+: eligibility by hand, nobody far ahead or behind its share, and the burst that WFQ lets through."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from networks import USERS, History, history, order, runs
from sfq_spec.related.method import Job, Method, MethodScheduler, Situation
from sfq_spec.related.tagged import least
from sfq_spec.related.wf2q_plus import Starts, Wf2qPlus
from sfq_spec.related.wfq import Wfq


def test_a_burst_alternates_with_ten_others_at_a_twentieth_each() -> None:
    """A, at one half, has tags from 0 to 1/10, from 1/10 to 2/10, ...; V, with 20 in all, is at 1/20 after one request:
    the second of A may not start yet, so another goes, and so on. WFQ sends all of A's that it can at first."""
    others = "BCDEFGHIJK"
    arrivals = "A:1 " * 11 + " ".join(f"{user}:1" for user in others)
    sent = order(Wf2qPlus(), arrivals, "." * 21, weights={"A": 10}).split()
    assert sent[::2] == [f"A{n}" for n in range(1, 12)]
    assert sent[1::2] == [f"{user}1" for user in others]
    assert order(Wfq(), arrivals, "." * 21, weights={"A": 10}).split()[:10] == [f"A{n}" for n in range(1, 11)]


def test_tags_by_hand() -> None:
    """B1 ends at 1, A1 at 10. After B1 V is 1/2, and B2 starts at 1: only A1 may go. V is 5 1/2: B2, B3, then A2."""
    assert order(Wf2qPlus(), "A:10 A:10 B:1 B:1 B:1 .....") == "B1 A1 B2 B3 A2"


def test_where_nobody_may_start_virtual_time_moves_on() -> None:
    """After A1 V is 2 and A is at 4, ahead; B, which has 1, leaves at V = 5/2 and 1. Then A alone waits: V is 4."""
    scheduler = MethodScheduler(Wf2qPlus())
    for request, cost in (("A1", 4), ("A2", 4), ("B1", 1)):
        scheduler.arrive(request[0], request, cost)
    assert [scheduler.dispatch().dispatched, scheduler.dispatch().dispatched] == ["B1", "A1"]
    assert scheduler.situation.state == Starts(Fraction(4), {"A": Fraction(4)})


def test_from_idle_a_user_begins_where_it_had_got_to_or_at_virtual_time() -> None:
    """A sent 8 and is at 8 when V is 4; back at once, it starts at 8, and B's two of 3 go first. C starts at V."""
    scheduler = MethodScheduler(Wf2qPlus())
    for request, cost in (("A1", 8), ("B1", 9), ("B2", 3)):
        scheduler.arrive(request[0], request, cost)
    assert scheduler.dispatch().dispatched == "A1"
    scheduler.arrive("A", "A2", 1)
    scheduler.arrive("C", "C1", 6)
    assert scheduler.situation.state == Starts(Fraction(4), {"A": Fraction(8), "B": Fraction(0), "C": Fraction(4)})
    assert [scheduler.dispatch().dispatched for _ in range(4)] == ["B1", "C1", "A2", "B2"]


def test_whoever_neither_waits_nor_is_ahead_is_forgotten() -> None:
    """B is ahead after its 5, by 5/2; when A has sent 9 more V is beyond, and when nobody waits all begins again."""
    scheduler = MethodScheduler(Wf2qPlus())
    for request, cost in (("B1", 5), ("A1", 9), ("A2", 9)):
        scheduler.arrive(request[0], request, cost)
    scheduler.dispatch()
    assert scheduler.situation.state == Starts(Fraction(5, 2), {"A": Fraction(0), "B": Fraction(5)})
    scheduler.dispatch()
    assert scheduler.situation.state == Starts(Fraction(9), {"A": Fraction(9)})
    scheduler.cancel("A2")
    assert scheduler.situation.state == Starts()


def lacks(seen: History) -> bool:
    """Whether a user that waits lacks more of its share than its worst-case fair index, for some interval.

    The index is its largest request, and its share of what the largest of all is beyond that, for intervals that end
    where a request of its own has just gone; for others, also what the others have of its largest request.
    """
    largest, all = max(seen.largest.values()), sum(seen.weights.values())
    for user in USERS:
        own, share = seen.largest[user], seen.weights[user] / all
        index = own + (largest - own) * share
        if seen.shortfall(user, at_its_own=True) > index or seen.shortfall(user) > index + own * (1 - share):
            return True
    return False


def test_between_its_requests_a_user_may_lack_more_than_the_index() -> None:
    """B's share is a quarter. From after B1, when it has 2 of 2, to the end, when it has 2 of 13, it lacks 11/4 of it;
    its largest request is 2, and its share of what the largest of all is beyond that 1/2."""
    arrivals = "A:4 A:1 B:2 B:2 C:4 C:1 C:1 C:1"
    assert order(Wf2qPlus(), arrivals, "......", weights={"C": 2}) == "B1 C1 A1 C2 C3 C4"
    assert Fraction(11, 4) == (2 - Fraction(2, 4)) - (2 - Fraction(13, 4)) > 2 + (4 - 2) * Fraction(1, 4)


def is_ahead(seen: History) -> bool:
    """Whether a user is ever ahead of its share by more than what the others have of its largest request."""
    all = sum(seen.weights.values())
    return any(seen.furthest(user) > seen.largest[user] * (1 - seen.weights[user] / all) for user in USERS)


@pytest.mark.integration
def test_nobody_that_waits_lacks_more_than_its_worst_case_fair_index() -> None:
    assert sum(lacks(history(Wf2qPlus(), chance)) for chance in runs()) == 0


def test_where_all_wait_nobody_is_more_than_a_request_ahead_or_behind() -> None:
    for chance in runs(3):
        seen = history(Wf2qPlus(), chance, 25, flood=True)
        assert not is_ahead(seen)
        assert not lacks(seen)


@dataclass(frozen=True)
class AllMayStart(Wf2qPlus):
    """Wrong: start tags are not looked at."""

    def dispatch(self, at: Situation[Starts]) -> tuple[Starts, Job]:
        job = least(at, lambda job: self.tag(at, job))
        s = at.state
        v = s.v + job.cost / sum(map(at.weight, s.start))
        start = {**s.start, job.user: self.tag(at, job)}
        left = [user for user in at.queues if user != job.user or not at.is_last(job)]
        return (Starts(max(v, min(start[user] for user in left)), start) if left else Starts()), job


@dataclass(frozen=True)
class Greatest(Wf2qPlus):
    """Wrong: of those that may start, the greatest finish tag."""

    def dispatch(self, at: Situation[Starts]) -> tuple[Starts, Job]:
        may = [user for user in at.queues if at.state.start[user] <= at.state.v]
        job = max((at.head(user) for user in may), key=lambda job: self.tag(at, job))
        s = at.state
        v = s.v + job.cost / sum(map(at.weight, s.start))
        start = {**s.start, job.user: self.tag(at, job)}
        left = [user for user in at.queues if user != job.user or not at.is_last(job)]
        return (Starts(max(v, min(start[user] for user in left)), start) if left else Starts()), job


def found(method: Method[Any]) -> tuple[int, int]:
    """In how many runs where all wait somebody is too far ahead, and too far behind."""
    seen = [history(method, chance, 25, flood=True) for chance in runs(1)]
    return sum(map(is_ahead, seen)), sum(map(lacks, seen))


@pytest.mark.integration
def test_both_checks_find_what_is_wrong() -> None:
    assert found(AllMayStart())[0] > 0
    assert found(Greatest())[1] > 0
    assert found(Wfq())[0] > 0
