"""What is measured of a run, against figures known by hand, a second count, and schedulers that are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby, pairwise

import pytest

from sfq_spec import mutants
from sfq_spec.comparison import simulate as simulation
from sfq_spec.comparison.compare import compare, scenario
from sfq_spec.comparison.measures import Lead, Measures, lead, measure, waits
from sfq_spec.comparison.scenarios import SCENARIOS
from sfq_spec.comparison.simulate import Sent, simulate
from sfq_spec.comparison.workload import Workload
from sfq_spec.importers.pool import Pool, Prices
from sfq_spec.importers.rows import SECOND, Arrival
from sfq_spec.related import policies
from sfq_spec.scheduler import MachineScheduler, Scheduler
from sfq_spec.trace import Arrive, Dispatch, Entry, SetWeight

ONE_BY_ONE = Pool(1, Fraction(0), Fraction(1))
"""One server, a second a token."""


def by_hand(*sent: tuple[int, str, int], **more: object) -> Workload:
    """Requests that cost their tokens, from a second, a user and a number of tokens."""
    requests = [Arrival(second * SECOND, user, 0, tokens) for second, user, tokens in sent]
    return Workload("by-hand", "by hand", "", requests, pool=ONE_BY_ONE, prices=Prices(0, 1), **more)  # type: ignore[arg-type]


def measured(workload: Workload, *names: str) -> dict[str, Measures]:
    return {result.policy: result for result in compare(workload, names).measures}


def greatest_lead(entries: Sequence[Entry]) -> Fraction:
    """The worst lead over all pairs and intervals, counted pair by pair; nothing of the audit is used."""
    cost: dict[str, tuple[str, Fraction]] = {}
    weight: dict[str, Fraction] = {}
    waiting: dict[str, int] = {}
    steps: list[tuple[str, Fraction, frozenset[str], bool]] = []
    for entry in entries:
        match entry.event:
            case SetWeight(user=user, weight=number):
                weight[user] = Fraction(number)
            case Arrive(user=user, request=request, cost=number):
                cost[request] = user, Fraction(number)
                waiting[user] = waiting.get(user, 0) + 1
            case Dispatch():
                user, number = cost[str(entry.answer.dispatched)]
                before = frozenset(name for name, count in waiting.items() if count)
                waiting[user] -= 1
                steps.append((user, number / weight.get(user, 1), before, not waiting[user]))
    return max(
        (_pair(steps, ahead, behind) for ahead in waiting for behind in waiting if ahead != behind), default=Fraction(0)
    )


def _pair(steps: Sequence[tuple[str, Fraction, frozenset[str], bool]], ahead: str, behind: str) -> Fraction:
    best = now = Fraction(0)
    for user, charge, waiting, leaves in steps:
        if behind not in waiting:
            now = Fraction(0)
        elif user == ahead:
            now += charge
            best = max(best, now)
        elif user == behind:
            now = Fraction(0) if leaves else max(Fraction(0), now - charge)
    return best


def trace(workload: Workload, scheduler: Scheduler) -> list[Entry]:
    return list(workload.service(scheduler).trace())


class TestByHand:
    def test_the_articles_example(self) -> None:
        result = measured(scenario("article"), "sfq", "round-robin")
        assert "".join(result["sfq"].order[:8]) == "ABBBABBB"
        assert "".join(result["round-robin"].order[:8]) == "ABABABAB"
        assert [(user.name, user.dispatched, user.charged, user.share) for user in result["sfq"].users] == [
            ("A", 4, Fraction(12), Fraction(1, 2)),
            ("B", 12, Fraction(12), Fraction(1, 2)),
        ]
        assert result["sfq"].lead == Lead(Fraction(3), Fraction(3), "A", "B", Fraction(1), holds=True)
        assert (result["sfq"].makespan, result["sfq"].busy, result["sfq"].withheld) == (24 * SECOND, Fraction(1), 0)

    def test_a_flood_before_one_request(self) -> None:
        result = measured(by_hand(*[(0, "A", 1)] * 5, (0, "B", 1)), "sfq", "fifo")
        fifo, sfq = result["fifo"], result["sfq"]
        five, one = Fraction(5), Fraction(1)
        assert fifo.lead == Lead(five, one, "A", "B", five, holds=False)
        assert sfq.lead == Lead(one, one, "A", "B", one, holds=True)
        assert fifo.light
        assert sfq.light
        assert fifo.heavy
        assert (fifo.light.longest, sfq.light.longest) == (5 * SECOND, SECOND)
        assert (fifo.heavy.median, fifo.heavy.most, fifo.heavy.longest) == (2 * SECOND, 4 * SECOND, 4 * SECOND)

    def test_a_broken_bound_that_is_not_the_worst_lead(self) -> None:
        """A's lead of 10 over B is one request; B's lead of 5 over C is five."""
        found = measured(by_hand((0, "A", 10), *[(0, "B", 1)] * 5, (0, "C", 1)), "fifo")["fifo"].lead
        assert found == Lead(Fraction(10), Fraction(10), "A", "B", Fraction(5), holds=False)

    def test_a_return(self) -> None:
        sent = [(0, "B", 1), *[(0, "A", 1)] * 8, (5, "B", 1)]
        result = measured(by_hand(*sent), "fifo", "sfq")
        back = result["fifo"].back
        assert back
        assert (back.user, back.request, back.idle, back.sent_before) == ("B", "B-2", 5 * SECOND, 4)
        assert back.order == ("A", "A", "A", "A", "B")
        assert back.wait == 4 * SECOND
        assert (back := result["sfq"].back)
        assert (back.sent_before, back.wait, back.order[:2]) == (0, 0, ("B", "A"))

    def test_weights_count_in_charges_and_not_in_shares(self) -> None:
        sent = [(0, user, 4) for _ in range(6) for user in "AB"]
        result = measured(by_hand(*sent, weights={"B": Fraction(3)}, until=16 * SECOND), "sfq")["sfq"]
        assert [(user.name, user.dispatched, user.charged, user.share) for user in result.users] == [
            ("A", 1, Fraction(4), Fraction(1, 4)),
            ("B", 3, Fraction(4), Fraction(3, 4)),
        ]

    def test_waits_that_last_on(self) -> None:
        over = [Sent("A", f"A-{n}", 0, n) for n in range(1, 4)]
        found = waits([*over, Sent("A", "A-9", 4)], 10)
        assert found
        assert (found.requests, found.still_waiting) == (4, 1)
        assert (found.shortest, found.quarter, found.median, found.three_quarters) == (1, 1, 2, 3)
        assert (found.most, found.longest, found.at_least) == (6, 6, ("most", "longest"))
        early = waits([*over, Sent("A", "A-9", 10)], 10)
        assert early
        assert (early.quarter, early.longest, early.at_least[0]) == (0, 3, "shortest")
        assert waits([], 10) is None

    def test_light_is_less_than_an_equal_share_in_relation_to_the_weight(self) -> None:
        assert by_hand((0, "A", 5), (0, "B", 1)).groups == {"A": "heavy", "B": "light"}
        weighted = by_hand((0, "A", 5), (0, "B", 2), weights={"A": Fraction(5)})
        assert weighted.groups == {"A": "light", "B": "heavy"}
        assert set(by_hand((0, "A", 2), (0, "B", 2)).groups.values()) == {"heavy"}


class TestScenarios:
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_sfq_keeps_fair_lead(self, name: str) -> None:
        found = measured(scenario(name), "sfq", "fifo")
        sfq, fifo = found["sfq"].lead, found["fifo"].lead
        assert sfq.holds is True
        assert sfq.worst is not None
        assert fifo.worst is not None
        assert sfq.worst <= 2 * sfq.largest_charge
        assert sfq.of_bound is not None
        assert sfq.of_bound <= 1
        assert fifo.holds is False
        assert fifo.worst > sfq.worst, "each scenario tells the two apart"

    @pytest.mark.integration
    @pytest.mark.parametrize("name", ["article", "flood", "returns", "drain", "on-off", "weights", "heavy-tail"])
    @pytest.mark.parametrize("policy", ["sfq", "fifo", "round-robin", "vtc"])
    def test_the_worst_lead_is_what_a_second_count_finds(self, name: str, policy: str) -> None:
        workload = scenario(name)
        found = simulate(workload, policies.policy(policy)()).found
        assert lead(found).worst == greatest_lead(trace(workload, policies.policy(policy)()))

    def test_every_method_serves_every_request_once(self) -> None:
        workload = scenario("returns")
        for result in compare(workload).results:
            assert len(result.played.order) == len(set(result.played.order)) == len(workload.requests)
            assert result.measures.withheld == 0
            for user in result.measures.users:
                assert user.waiting == 0
                assert user.charged == workload.asked[user.name]

    def test_who_returns_waits_behind_everybody_under_fifo(self) -> None:
        workload = scenario("returns")
        [fifo] = compare(workload, ["fifo"]).results
        returned = next(sent for sent in fifo.played.requests if sent.request == workload.returning)
        assert fifo.measures.back
        assert fifo.measures.back.sent_before == returned.others > 20
        assert (back := measured(workload, "sfq")["sfq"].back)
        assert back.sent_before == 0

    def test_heavy_requests_get_more_where_requests_are_counted(self) -> None:
        found = measured(scenario("heavy"), "sfq", "round-robin", "stride")
        share = {policy: result.users[0].share for policy, result in found.items()}
        assert found["sfq"].users[0].name == "heavy"
        assert abs(share["sfq"] - Fraction(1, 5)) < Fraction(1, 50)
        assert share["round-robin"] > Fraction(2, 3)
        assert share["stride"] > Fraction(2, 3)

    def test_shares_go_by_weight(self) -> None:
        users = {user.name: user.share for user in measured(scenario("weights"), "sfq")["sfq"].users}
        for user, weight in (("one", 1), ("two", 2), ("four", 4)):
            assert abs(users[user] - Fraction(weight, 7)) < Fraction(1, 50)

    def test_who_drains_its_queue_gets_no_more_than_who_waits(self) -> None:
        users = {user.name: user for user in measured(scenario("drain"), "sfq")["sfq"].users}
        for user in ("drains", "waits-1", "chats"):
            assert abs(users[user].share - Fraction(1, 5)) < Fraction(1, 50)
        assert users["drains"].waiting <= 1, "one at a time"

    def test_they_are_the_same_each_time(self) -> None:
        for make in SCENARIOS.values():
            assert make() == make()


class TestWrongSchedulers:
    """Each mistake shows in the figures."""

    def wrong(self, mutant: str, workload: Workload) -> Measures:
        [found] = [found for found in mutants.MUTANTS if found.name == mutant]
        return measure(workload, mutant, mutant, simulate(workload, MachineScheduler(found.take)), None)

    def test_a_meter_reset_on_return_pays_for_draining(self) -> None:
        found = self.wrong("reset-on-return", scenario("drain"))
        drains = next(user for user in found.users if user.name == "drains")
        assert drains.share > Fraction(1, 2)
        assert found.lead.holds is False
        assert found.lead.of_largest
        assert found.lead.of_largest > 20

    def test_credit_that_is_banked_shows_at_the_return(self) -> None:
        right = measured(scenario("returns"), "sfq")["sfq"]
        found = self.wrong("rejoin-at-zero", scenario("returns"))
        assert found.lead.holds is False
        assert found.lead.worst
        assert right.lead.worst
        assert found.lead.worst > 3 * right.lead.worst
        assert found.light
        assert right.light
        assert found.light.longest < right.light.longest / 2

    def test_weights_that_are_ignored_show_in_shares(self) -> None:
        found = self.wrong("ignores-weight", scenario("weights"))
        assert all(abs(user.share - Fraction(1, 3)) < Fraction(1, 50) for user in found.users)

    def test_requests_that_are_counted_instead_of_costs(self) -> None:
        found = self.wrong("counts-requests", scenario("heavy"))
        assert found.users[0].share > Fraction(2, 3)
        assert found.lead.holds is False

    def test_a_scheduler_that_holds_back_leaves_servers_free(self) -> None:
        class Sleeps(MachineScheduler):
            """It sends nothing when it is asked first."""

            awake = False

            def dispatch(self) -> object:  # type: ignore[override]
                was_awake, self.awake = self.awake, True
                return super().dispatch() if was_awake else None

        workload = by_hand((0, "A", 4), (3, "B", 1))
        found = measure(workload, "", "", simulate(workload, Sleeps()), None)
        right = measured(workload, "sfq")["sfq"]
        assert (found.withheld, found.busy, found.makespan) == (3 * SECOND, Fraction(5, 8), 8 * SECOND)
        assert (right.withheld, right.busy, right.makespan) == (0, Fraction(1), 5 * SECOND)


class TestWrongMeasures:
    """The second count finds a measure that is wrong."""

    def test_charges_that_are_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = simulation.record

        def halved(entry: Entry, now: int) -> object:
            told = right(entry, now)
            if told.event == "arrive":
                told.cost = told.cost / 2
            return told

        monkeypatch.setattr(simulation, "record", halved)
        workload = scenario("flood")
        found = lead(simulate(workload, MachineScheduler()).found)
        assert found.worst != greatest_lead(trace(workload, MachineScheduler()))


def test_the_lead_over_time_reaches_the_worst_lead() -> None:
    [result] = compare(scenario("flood"), ["fifo"], over_time=True).results
    timeline = result.played.found.audit.timeline
    assert timeline
    assert max(lead for lead, _, _ in timeline.leads.values()) == result.measures.lead.worst
    total = sum(sum(parts.values()) for parts in timeline.charges.values())
    assert total == sum(user.charged for user in result.measures.users)


def test_at_one_instant_a_loop_is_served_between_dispatches() -> None:
    """The next request of a client that drains its queue is there before the next dispatch of the same instant."""
    entries = trace(scenario("drain"), MachineScheduler())
    for _, together in groupby(entries[:60], key=lambda entry: bytes(entry.extra["time"])):
        events = list(together)
        for entry, later in pairwise(events):
            if str(entry.answer.dispatched).startswith("drains"):
                assert isinstance(later.event, Arrive)
                assert later.event.user == "drains"
