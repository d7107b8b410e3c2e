"""Weighted fair queueing: by hand, its distances from the fluid, and the packet-active variant that is not it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from networks import ZERO, Call, Weights, between, draw_calls, draw_weights, fluid, order, runs, serve
from sfq_spec.related.clock import told
from sfq_spec.related.facts import Facts
from sfq_spec.related.gps import Arrival, finishing_times
from sfq_spec.related.method import Method, MethodScheduler, Situation
from sfq_spec.related.wfq import Followed, Wfq
from sfq_spec.related.wfq_packet_active import Active, WfqPacketActive
from sfq_spec.trace import Recost, SetWeight

BOTH = pytest.mark.parametrize("method", [Wfq(), WfqPacketActive()], ids=["wfq", "packet-active"])


@BOTH
def test_the_least_finish_tag_goes_first(method: Method[Any]) -> None:
    """Tags of A: 5 and 13, of B: 10. With twice the weight B has 5, which is a tie, and A has the lesser name."""
    assert order(method, "A:5 A:8 B:10 ...") == "A1 B1 A2"
    assert order(method, "A:5 A:8 B:10 ...", weights={"B": 2}) == "A1 B1 A2"
    assert order(method, "A:5 A:8 B:10 ...", weights={"B": 3}) == "B1 A1 A2"


@BOTH
def test_a_burst_goes_before_ten_others_at_a_twentieth_each(method: Method[Any]) -> None:
    """Tags of A, which has half the weight: 2, 4, ..., 22; of each other: 20. A is up to ten requests ahead of GPS."""
    others = " ".join(f"{user}:1" for user in "BCDEFGHIJK")
    sent = order(method, "A:1 " * 11 + others, "." * 21, weights={"A": 10}).split()
    assert sent[:10] == [f"A{n}" for n in range(1, 11)]
    assert sent[20] == "A11"


@BOTH
def test_from_idle_a_user_begins_at_virtual_time(method: Method[Any]) -> None:
    """A has the tags 2, 4, ..., 10. After A1 and B1 V is 2; then A alone has work, and V is 4 after A2. B comes back
    there, with 5 or 14: before the 6 of A, or after all that A has. What it did not use is lost."""
    assert order(method, "A:2 A:2 A:2 A:2 A:2 B:2 ... B:1 ....") == "A1 B1 A2 B2 A3 A4 A5"
    assert order(method, "A:2 A:2 A:2 A:2 A:2 B:2 ... B:10 ....") == "A1 B1 A2 A3 A4 A5 B2"


@BOTH
def test_who_is_next_depends_on_the_cost_of_what_waits(method: Method[Any]) -> None:
    assert order(method, "A:3 B:2 ..") == "B1 A1"
    assert order(method, "A:1 B:2 ..") == "A1 B1"


@BOTH
def test_once_nothing_is_left_all_begins_again(method: Method[Any]) -> None:
    assert order(method, "A:9 . A:2 B:3 ..") == "A1 A2 B1"
    assert order(method, "A:9@0 .@0 A:2@9 B:3@9 .@9 .@11") == "A1 A2 B1"
    scheduler = MethodScheduler(method)
    scheduler.arrive("A", "A1", 9)
    scheduler.arrive("A", "A2", 9)
    scheduler.dispatch()
    scheduler.cancel("A2")
    assert scheduler.situation.state == method.first()


def test_packet_active_is_not_wfq() -> None:
    """B has twice the weight; B1 has the tag 1, A1 2. In GPS B1 is done at 3, at V = 1, and A then has all of it: A2,
    from 3 on behind A1, has the tag 3, and B2, from 4 on at V = 2, 5/2. On the link B1 is done at 2, when B counts no
    more: V is 2/3 then and 8/3 at 4, so that B2 has 19/6, after A2."""
    calls = [Call(Fraction(t), u, Fraction(c)) for t, u, c in ((0, "B", 2), (0, "A", 2), (3, "A", 1), (4, "B", 1))]
    weights = {"A": Fraction(1), "B": Fraction(2), "C": Fraction(1), "D": Fraction(1)}
    assert [calls[sent.call].user for sent in serve(Wfq(), calls, weights)] == ["B", "A", "B", "A"]
    assert [calls[sent.call].user for sent in serve(WfqPacketActive(), calls, weights)] == ["B", "A", "A", "B"]


Link = tuple[Sequence[Call], Weights, Fraction]
"""What comes, the weights, and the rate."""


def draw(chance: Random) -> Link:
    return draw_calls(chance), draw_weights(chance), Fraction(chance.choice((1, 2, 3)))


def too_late(
    method: Callable[[Fraction], Method[Any]], calls: Sequence[Call], weights: Weights, rate: Fraction
) -> bool:
    """Whether a request leaves the link later than GPS by more than the largest takes (Parekh and Gallager)."""
    ideal = finishing_times([Arrival(call.time, call.user, call.cost, weights[call.user]) for call in calls], rate)
    largest = max(call.cost for call in calls)
    return any(sent.end > ideal[sent.call] + largest / rate for sent in serve(method(rate), calls, weights, rate))


def behind(method: Callable[[Fraction], Method[Any]], calls: Sequence[Call], weights: Weights, rate: Fraction) -> bool:
    """Whether a user has been given less than by GPS by more than the largest request. It is worst where one begins."""
    steps, largest = fluid(calls, weights, rate), max(call.cost for call in calls)
    done: dict[str, Fraction] = {}
    for sent in serve(method(rate), calls, weights, rate):
        user = calls[sent.call].user
        ideal = sum((w for n, w in between(steps, sent.start).items() if calls[n].user == user), ZERO)
        if ideal - done.get(user, ZERO) > largest:
            return True
        done[user] = done.get(user, ZERO) + calls[sent.call].cost
    return False


@dataclass(frozen=True)
class Standing(WfqPacketActive):
    """Wrong: virtual time does not move, so whoever comes late comes before all that have been served."""

    def _now(self, at: Situation[Active]) -> Active:
        return Active(at.state.stamps, at.state.weights, told(at))


@pytest.mark.integration
def test_nothing_leaves_later_than_gps_by_more_than_a_largest_request() -> None:
    assert sum(too_late(Wfq, *draw(chance)) for chance in runs(5)) == 0


@pytest.mark.integration
def test_nobody_is_behind_gps_by_more_than_a_largest_request() -> None:
    assert sum(behind(Wfq, *draw(chance)) for chance in runs(5)) == 0


def test_both_distances_are_exceeded_where_virtual_time_stands() -> None:
    """A has tags of 5, 10, ..., 100. At 50 B comes with 1, 2, ..., 50, and A, which has sent 10, waits for most."""
    calls = [*[Call(ZERO, "A", Fraction(5))] * 20, *[Call(Fraction(50), "B", Fraction(1))] * 50]
    weights = {"A": Fraction(1), "B": Fraction(1)}
    for too_far in (too_late, behind):
        assert too_far(Standing, calls, weights, Fraction(1))
        assert not too_far(Wfq, calls, weights, Fraction(1))
    assert any(too_late(Standing, *draw(chance)) for chance in runs())


def test_the_packet_active_variant_may_be_later() -> None:
    """C has ten times the weight. While A is on the link from 0 to 4, GPS has C1 done at 11/5, and D1 at 4. But C
    counts until it is served: V is only 5/4 at 4, so that C2, with 31/20, goes before D1, which is done at 9."""
    calls = [Call(Fraction(t), u, Fraction(c)) for t, u, c in ((0, "A", 4), (1, "C", 1), (1, "D", 1), (4, "C", 3))]
    weights = {"A": Fraction(1), "C": Fraction(10), "D": Fraction(1)}
    assert [calls[sent.call].user for sent in serve(WfqPacketActive(), calls, weights)] == ["A", "C", "C", "D"]
    assert [calls[sent.call].user for sent in serve(Wfq(), calls, weights)] == ["A", "C", "D", "C"]
    assert too_late(WfqPacketActive, calls, weights, Fraction(1))


def at_half(*events: SetWeight | Recost) -> MethodScheduler[Followed]:
    """A and B, each with a request of 4 and one of 2; after A1 is sent the fluid has done 2 of each first one."""
    scheduler = MethodScheduler(Wfq())
    for user, request, cost in (("A", "A1", 4), ("A", "A2", 2), ("B", "B1", 4), ("B", "B2", 2)):
        scheduler.arrive(user, request, cost)
    assert scheduler.dispatch().dispatched == "A1"
    for event in events:
        scheduler.step(event)
    return scheduler


def tag(scheduler: MethodScheduler[Followed], request: str) -> Fraction:
    return Wfq().tag(scheduler.situation, scheduler.situation.live[request])


def test_a_new_weight_changes_the_share_from_then_on() -> None:
    """B1 has 2 left: at twice the weight virtual time 2 + 1."""
    scheduler = at_half(SetWeight("B", Fraction(2)))
    assert [tag(scheduler, request) for request in ("A2", "B1", "B2")] == [6, 3, 4]


def test_until_a_new_weight_is_told_the_old_one_counts() -> None:
    """At 4 each has 2 left, at virtual time 2; three times the weight does the rest of B's in a third."""
    scheduler = MethodScheduler(Wfq())
    scheduler.arrive("A", "A1", 4)
    scheduler.arrive("B", "B1", 4)
    scheduler.step(SetWeight("A", Fraction(1)), Facts(time=ZERO))
    scheduler.step(SetWeight("B", Fraction(3)), Facts(time=Fraction(4)))
    assert [tag(scheduler, request) for request in ("A1", "B1")] == [4, Fraction(8, 3)]


def test_a_new_estimate_changes_what_is_left() -> None:
    scheduler = at_half(Recost("B1", Fraction(9)))
    assert [tag(scheduler, request) for request in ("A2", "B1", "B2")] == [6, 9, 11]
    scheduler = at_half(Recost("A2", Fraction(5)))
    assert [tag(scheduler, request) for request in ("A2", "B1", "B2")] == [9, 4, 6]
    scheduler = at_half(Recost("B1", Fraction(1)))
    assert [tag(scheduler, request) for request in ("A2", "B1", "B2")] == [6, 2, 4]
    scheduler.step(Recost("B1", Fraction(4)))
    assert [tag(scheduler, request) for request in ("A2", "B1", "B2")] == [6, 5, 7]


def test_a_withdrawn_request_leaves_the_fluid() -> None:
    scheduler = at_half()
    scheduler.cancel("B1")
    assert tag(scheduler, "B2") == 4
    assert scheduler.dispatch().dispatched == "B2"


def test_time_that_passes_without_a_dispatch_counts() -> None:
    """Nobody dispatches for an hour: the fluid has done all, in the order A1 (2), B1 (3), A2 (4), which stays."""
    assert order(Wfq(), "A:2@0 A:2@0 B:3@0 C:1@3600 ....@3600") == "A1 B1 A2 C1"


def test_one_that_is_not_a_link_is_told_the_rate() -> None:
    """At rate 2 the fluid is empty at 2, so that B begins where A's second ended."""
    assert order(Wfq(Fraction(2)), "A:2@0 A:2@0 B:1@2 ...@2") == "A1 A2 B1"
    assert order(Wfq(Fraction(1)), "A:2@0 A:2@0 B:1@2 ...@2") == "A1 B1 A2"
