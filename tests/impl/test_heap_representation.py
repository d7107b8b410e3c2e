"""The representation invariant notices whatever is put out of order."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws, representation_holds
from sfq_impl.state import Request, User


def scheduler() -> HeapScheduler:
    """Five users wait, A is in debt, G is gone, one request of B is withdrawn, A2 is in flight."""
    made = HeapScheduler()
    made.set_weight("B", 2)
    for user in "ABCDEFG":
        for number in range(1, 4):
            made.arrive(user, f"{user}{number}", 4)
    for _ in range(3):
        made.dispatch()
    made.cancel("A2")
    made.cancel("A3")
    made.cancel("B3")
    for number in range(1, 4):
        made.cancel(f"G{number}")
    return made


def test_the_invariant_holds_at_first_and_later() -> None:
    assert representation_holds(HeapScheduler())
    assert representation_holds(scheduler())


def swap(scheduler: HeapScheduler) -> None:
    heap = scheduler._heap
    heap[0], heap[-1] = heap[-1], heap[0]


def withdraw_behind_the_first(scheduler: HeapScheduler) -> None:
    user = scheduler._users["D"]
    for request in list(user.queue)[1:]:
        request.waits = False
        user.withdrawn += 1


def stranger(scheduler: HeapScheduler) -> None:
    scheduler._users["X"] = User("Y", 0, 2, scheduler._users["C"].queue)


OUT_OF_ORDER: list[tuple[str, Callable[[HeapScheduler], object], str]] = [
    ("busy", lambda s: setattr(s, "_busy", True), "under way"),
    ("heap order", swap, "stands under"),
    ("an entry is missing", lambda s: s._heap.pop(), "not those who wait"),
    ("an entry is there twice", lambda s: s._heap.append(s._heap[-1]), "twice"),
    ("an entry of old", lambda s: s._heap.__setitem__(0, (-1, *s._heap[0][1:])), "has the meter"),
    ("another record", lambda s: s._users.update(C=User("C", 0, 2, s._users["C"].queue)), "another record"),
    ("gone and waiting", lambda s: s._gone.add("F"), "gone and waits"),
    ("the first is gone", lambda s: s._gone.add(s._heap[0][1]), "first user is gone"),
    ("all are gone", lambda s: s._gone.update("BCDEF"), "more than half of the users"),
    ("too few are gone", lambda s: s._gone.clear(), "or neither"),
    ("a withdrawn request is first", lambda s: setattr(s._users["D"].queue[0], "waits", False), "first request"),
    ("a count of the withdrawn", lambda s: setattr(s._users["D"], "withdrawn", 1), "how many are withdrawn"),
    ("most are withdrawn", withdraw_behind_the_first, "more than half is"),
    ("not alive", lambda s: s._live.pop("D2"), "not live"),
    ("a free request", lambda s: setattr(s._live["D2"], "cost", 0), "free"),
    ("of another user", lambda s: setattr(s._live["D2"], "user", "C"), "not theirs"),
    ("alive and in no queue", lambda s: s._live.update(D9=Request("D9", "D", 1)), "live and wait"),
    ("alive under another id", lambda s: s._live.update(D9=s._live["A1"]), "stands under 'D9'"),
    ("behind v", lambda s: setattr(s, "_virtual", 10**6), "below v"),
    ("a record of somebody else", stranger, "the record is of"),
    ("a rate", lambda s: setattr(s._users["B"], "rate", 3), "scale / weight"),
    ("a weight of 1", lambda s: s._weights.update(Z=Fraction(1)), "weight of 1"),
    ("a number", lambda s: setattr(s._users["A"], "meter", 8.0), "all costs are integers"),
    ("the level of a reset, too low", lambda s: setattr(s, "_greatest", 0), "left with a meter above"),
    ("the level of a reset, too high", lambda s: setattr(s, "_greatest", 10**6), "nobody's"),
    ("too many records", lambda s: setattr(s, "_limit", 3), "records"),
]


@pytest.mark.parametrize(
    ("disturb", "told"), [case[1:] for case in OUT_OF_ORDER], ids=[case[0] for case in OUT_OF_ORDER]
)
def test_what_is_out_of_order_is_told(disturb: Callable[[HeapScheduler], object], told: str) -> None:
    disturbed = scheduler()
    disturb(disturbed)
    assert any(told in flaw for flaw in flaws(disturbed)), list(flaws(disturbed))
    assert not representation_holds(disturbed)


def test_v_is_at_the_level_when_nobody_waits() -> None:
    idle = HeapScheduler()
    idle.arrive("A", "A1", 4)
    idle.dispatch()
    idle._virtual = 3
    assert any("nobody waits" in flaw for flaw in flaws(idle))
