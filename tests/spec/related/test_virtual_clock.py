"""VirtualClock: tags by hand, nothing banked, and no bound for whoever was served while nobody else came."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from networks import Call, order, serve
from sfq_spec.related.clock import told
from sfq_spec.related.method import Job, MethodScheduler, Situation
from sfq_spec.related.scfq import Scfq
from sfq_spec.related.virtual_clock import Clocks, VirtualClock

HALF = VirtualClock(Fraction(1, 2))
EQUAL = dict.fromkeys("ABCD", Fraction(1))


def test_tags_by_hand() -> None:
    """Each has half of the link. A sends one a second from 0 to 20, and its tags are 2, 4, ..., 42. B begins at 20:
    22, 24, ..., 40. So at 20, where A's 21st comes, all ten of B's go first, and A's last has been served at 31."""
    calls = [Call(Fraction(second), "A", Fraction(1)) for second in range(20)]
    calls += [Call(20 + Fraction(n, 64), user, Fraction(1)) for n, user in enumerate("A" + "B" * 10)]
    sent = serve(HALF, calls, EQUAL)
    assert [s.call for s in sent[-11:]] == [20, *range(21, 31)]
    calls[20:] = [Call(Fraction(20), "A", Fraction(1)), *[Call(Fraction(20), "B", Fraction(1))] * 10]
    sent = serve(HALF, calls, EQUAL)
    assert [s.call for s in sent[-11:]] == [*range(21, 31), 20]
    assert sent[-1].end == 31


def test_tags_grow_by_cost_over_the_reserved_rate() -> None:
    """A1 3, A2 6; B, of twice the weight, 4 and 5."""
    assert order(VirtualClock(), "A:3 A:3 B:8 B:2 ....", weights={"B": 2}) == "A1 B1 B2 A2"
    assert order(VirtualClock(Fraction(3)), "A:3 A:3 B:8 B:2 ....", weights={"B": 2}) == "A1 B1 B2 A2"


def test_from_idle_a_user_begins_at_the_present_time() -> None:
    """A has tags 4, 8, 12, 16 and 20. B begins at 10, with 14, 18 and 22: it has banked nothing, and owes nothing."""
    comes = "A:4@0 " * 5 + ".@0 .@4 .@8 " + "B:4@10 " * 3 + ".@12 .@16 .@20 .@24 .@28"
    assert order(VirtualClock(), comes) == "A1 A2 A3 B1 A4 B2 A5 B3"
    assert order(Banks(), comes) == "A1 A2 A3 B1 B2 B3 A4 A5"
    scheduler = MethodScheduler(VirtualClock())
    scheduler.given({"time": 5})
    scheduler.arrive("A", "A1", 3)
    scheduler.given({"time": 5})
    scheduler.dispatch()
    assert scheduler.situation.state.stamps.finish == {"A": 3}
    scheduler.given({"time": 9})
    scheduler.arrive("B", "B1", 1)
    assert scheduler.situation.state.stamps.finish == {}


@dataclass(frozen=True)
class Banks(VirtualClock):
    """Wrong: a user goes on from its last tag, however long it was away."""

    def tag(self, at: Situation[Clocks], job: Job) -> Fraction:
        begun = at.state.stamps.finish.get(job.user, Fraction(0))
        return begun + job.cost / (self.rate * at.weight(job.user))


def test_where_no_line_tells_the_time_the_link_does() -> None:
    """A has tags 2, 4, ..., 10. After three dispatches it is 3, and B has 5 and 7. At twice the rate 4 is a tie."""
    assert order(HALF, "A:1 A:1 A:1 A:1 A:1 ... B:1 B:1 ....") == "A1 A2 A3 B1 B2 A4 A5"
    assert order(VirtualClock(), "A:1 A:1 A:1 A:1 ... B:1 ..") == "A1 A2 A3 A4 B1"


@pytest.mark.parametrize("alone", [10, 100, 500])
def test_there_is_no_bound_on_leads(alone: int) -> None:
    """A uses the whole link, of which it has half, while nobody else comes, and is charged twice the time that it took.
    Then both wait, and B goes first until it has as much: half of what A had. Methods with a bound forget it."""
    comes = "A:1 " * alone + "." * alone + " A:1" * alone + " B:1" * alone + " " + "." * alone
    sent = order(HALF, comes).split()[alone:]
    assert sent[: alone // 2 + 2] == [*(f"B{n + 1}" for n in range(alone // 2)), f"A{alone + 1}", f"B{alone // 2 + 1}"]
    assert order(Scfq(), comes).split()[alone : alone + 4] == [f"A{alone + 1}", "B1", f"A{alone + 2}", "B2"]


def test_the_clock_begins_with_the_first_line_that_tells_it() -> None:
    far = 10**9
    assert order(HALF, f"A:1@{far} A:1@{far} .@{far} B:1@{far + 1} ..@{far + 1}") == "A1 B1 A2"
    assert told(MethodScheduler(HALF).situation) is None
