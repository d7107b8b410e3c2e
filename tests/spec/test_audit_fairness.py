"""The worst lead is that of all pairs and intervals, by brute force; the certificate is never below it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from audit_logs import Choose, Observer, anyone, entries, events, fairness, last_user, log, oldest, record
from sfq_spec.conformance.audit import worst_lead
from sfq_spec.conformance.audit.fairness import Fairness
from sfq_spec.conformance.audit.packed import Lanes
from sfq_spec.conformance.audit.records import Record, Unreadable
from sfq_spec.conformance.audit.timeline import MOST_SPANS, Timeline
from sfq_spec.conformance.audit.worst_lead import Interval, WorstLead
from sfq_spec.machine import take
from sfq_spec.mutants import MUTANTS

ZERO = Fraction(0)


def by_brute_force(seen: Observer) -> tuple[Fraction, Fraction]:
    """The greatest lead, and the greatest excess of one over FAIR-LEAD, at least 0 each."""
    found = [(lead, lead - seen.bound(i, j, t1, t2)) for i, j, t1, t2, lead in seen.intervals()]
    return max((lead for lead, _ in found), default=ZERO), max((*(beyond for _, beyond in found), ZERO))


def check(records: list[Record]) -> Fairness:
    """The audit of a log is what brute force says; its intervals are there and show what they say."""
    seen = Observer.of(records)
    audit, bound = fairness(records, beyond=True)
    assert audit.beyond is not None
    lead, excess = by_brute_force(seen)
    assert Fraction(audit.worst.greatest, audit.unit) == max(lead, ZERO)
    assert Fraction(audit.beyond.greatest, audit.unit) == excess
    assert bound >= lead
    for interval in (audit.worst.worst, audit.beyond.worst):
        if interval:
            check_interval(seen, interval, audit.unit)
    if audit.certificate.is_level:
        assert excess == 0
        assert bound <= 2 * Fraction(audit.greatest, audit.unit)
    return audit


def check_interval(seen: Observer, interval: Interval, unit: int) -> None:
    begin, end = interval.begin.event, interval.end.event
    assert seen.lead(interval.ahead, interval.behind, begin, end) == Fraction(interval.lead, unit)
    assert seen.bound(interval.ahead, interval.behind, begin, end) == Fraction(interval.bound, unit)
    throughout = [seen.waiting[event] for event in range(begin, end + 1)]
    assert all(interval.behind in waiting for waiting in throughout)
    assert not any(interval.behind in seen.joined[event] for event in range(begin + 1, end + 1))


@pytest.mark.parametrize("choose", [anyone, oldest, last_user])
@pytest.mark.claims("FAIR-LEAD")
def test_any_scheduler(choose: Choose) -> None:
    audits = [check(log(seed, choose, users="ABCD")) for seed in range(25)]
    assert any(audit.beyond and audit.beyond.greatest for audit in audits)
    assert any(not audit.certificate.is_level for audit in audits)


@pytest.mark.deep
@pytest.mark.parametrize("choose", [anyone, oldest, last_user])
def test_any_scheduler_at_length(choose: Choose) -> None:
    for seed in range(1_000, 2_000):
        check(log(seed, choose, 20 + seed % 50, "ABCDEFGHI"[: 2 + seed % 8]))


@pytest.mark.claims("FAIR-LEAD", "FAIR-PAIR")
def test_the_machine_passes_by_the_certificate() -> None:
    for seed in range(15):
        audit = check([record(entry) for entry in entries(events(seed, 60), take)])
        assert audit.certificate.is_level


def test_a_tie_may_go_either_way() -> None:
    """Who is chosen among equal meters does not matter to the certificate."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "last-id-first")
    for seed in range(8):
        assert check([record(entry) for entry in entries(events(seed), mutant.take)]).certificate.is_level


@pytest.mark.parametrize("name", ["reset-on-return", "rejoin-at-zero", "greatest-first", "charges-on-completion"])
def test_a_mutant_is_not_level(name: str) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    audits = [check([record(entry) for entry in entries(events(seed), mutant.take)]) for seed in range(8)]
    assert any(not audit.certificate.is_level for audit in audits)
    assert any(audit.beyond and audit.beyond.greatest for audit in audits)


class ForgetsNothing(WorstLead):
    """Wrong: an interval goes on over the moments at which a user does not wait."""

    def join(self, name: str, last: int, now: int, time: object) -> None:
        if name not in self._players or self._players[name].lane not in self._level:
            super().join(name, last, now, time)

    def _forget(self, player: worst_lead.Player) -> None:
        pass


class NeverClips(WorstLead):
    """Wrong: a user that is far behind has a negative lead to make up for."""

    def charge(self, name: str, charge: int, now: int, time: object, *, stays: bool) -> None:
        super().charge(name, charge, now, time, stays=stays)
        if stays:
            self._level[self._players[name].lane] += charge * self._lanes.ones


class LooksLate(WorstLead):
    """Wrong: a lead over a user that stops waiting is not looked at."""

    def _forget(self, player: worst_lead.Player) -> None:
        self._bar = self._lanes.guards
        super()._forget(player)

    def charge(self, name: str, charge: int, now: int, time: object, *, stays: bool) -> None:
        if not stays:
            self._bar = self._lanes.guards - self._lanes.ones
        super().charge(name, charge, now, time, stays=stays)
        self._set_bar()


@pytest.mark.parametrize("wrong", [ForgetsNothing, NeverClips, LooksLate])
def test_brute_force_tells_a_wrong_account(wrong: type[WorstLead], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfq_spec.conformance.audit.fairness.WorstLead", wrong)
    assert any(not is_right(log(seed, anyone)) for seed in range(20))


def is_right(records: list[Record]) -> bool:
    """Whether the audit of a log passes the check."""
    try:
        check(records)
    except (AssertionError, KeyError, OverflowError):
        return False
    return True


def crowd(users: int, rounds: int, choose: Callable[[random.Random, list[str]], str]) -> Iterator[Record]:
    """Many users that all wait, each with two requests; whoever is served sends another one."""
    rng, count, waiting = random.Random(users), 0, dict[str, list[str]]()
    for user in (f"user-{number}" for number in range(users)):
        for _ in range(2):
            count += 1
            waiting.setdefault(user, []).append(f"r{count}")
            yield Record("arrive", user, f"r{count}", rng.randrange(1, 1000))
    for _ in range(rounds):
        user = choose(rng, list(waiting))
        yield Record("dispatch", dispatched=waiting[user].pop(0))
        count += 1
        waiting[user].append(f"r{count}")
        yield Record("arrive", user, f"r{count}", rng.randrange(1, 1000))


def test_lanes_are_added_and_widened_on_the_way() -> None:
    """More users than there are lanes at first, charges that need wide ones, and units that become smaller."""
    records = list(crowd(12, 20, lambda rng, users: rng.choice(users[:4])))
    for at, weight in ((10, 7), (28, "1/70000000000"), (36, 3), (50, 7)):
        records.insert(at, Record("weight", "user-1", weight=weight))
    audit = check(records)
    assert audit.unit == 21
    assert audit.worst.greatest > 1 << 32


def test_what_is_kept_does_not_grow_with_the_log() -> None:
    """Ten users that never stop waiting: the moments that may begin an interval are forgotten in time."""
    audit = Fairness(beyond=True)
    audit.take(crowd(10, 3_000, lambda rng, users: rng.choice(users)))
    assert audit.beyond is not None
    for worst in (audit.worst, audit.beyond):
        assert max(len(player.begun) for player in worst._by_lane) < 60
    assert len(audit.live) == 20


def test_periods_of_congestion_are_forgotten() -> None:
    """A thousand users, one after another: there is never more than one to be kept."""
    audit = Fairness(most_users=2)
    for number in range(1_000):
        audit.take([Record("arrive", f"u{number}", "r", 1), Record("dispatch", dispatched="r")])
    assert not audit.worst.given_up
    assert len(audit.worst._by_lane) == 0


def test_too_many_users_leave_the_certificate() -> None:
    records = log(3, oldest, 60, "ABCDE")
    exact, bound = fairness(records)
    audit, same_bound = fairness(records, most_users=2)
    assert audit.worst.given_up
    assert bound == same_bound >= Fraction(exact.worst.greatest, exact.unit)
    assert audit.worst.greatest <= exact.worst.greatest


def test_lanes_hold_numbers_side_by_side() -> None:
    for width in (32, 64, 128):
        lanes = Lanes(3, width)
        numbers = [0, 5, lanes.limit - 1]
        row = lanes.pack(numbers)
        assert lanes.unpack(row) == numbers
        assert lanes.unpack(row + lanes.ones) == [1, 6, lanes.limit]
        less = (row | lanes.guards) - 5 * lanes.ones
        assert lanes.unpack(less & lanes.kept(less)) == [0, 0, lanes.limit - 6]


def test_the_longest_wait() -> None:
    audit, _ = fairness(
        [
            Record("arrive", "A", "a", 1, time=1),
            Record("arrive", "B", "b", 1, time=2),
            Record("dispatch", dispatched="b", time=4),
            Record("arrive", "C", "c", 1, time=5),
            Record("upkeep", time=11),
        ]
    )
    waits = [
        (wait.request, wait.seconds, wait.events, wait.is_over) for user in "ABC" if (wait := audit.users[user].longest)
    ]
    assert waits == [("a", 10, 4, False), ("b", 2, 1, True), ("c", 6, 1, False)]
    assert audit.longest_wait == audit.users["A"].longest


def test_what_was_refused_or_withdrawn_is_not_charged() -> None:
    audit, _ = fairness(
        [
            Record("arrive", "A", "a", 5),
            Record("arrive", "A", "a", 0, refused="invalid-cost"),
            Record("arrive", "B", "b", 7),
            Record("cancel", request="a"),
            Record("cancel", request="zzz", refused="unknown-request"),
            Record("cost", request="b", cost="2.5"),
            Record("dispatch", dispatched="b", cost="2.5", user="B"),
            Record("complete", request="b"),
            Record("dispatch", dispatched=None),
        ]
    )
    totals = {name: Fraction(user.total, audit.unit) for name, user in audit.users.items()}
    assert totals == {"A": 0, "B": Fraction(5, 2)}
    assert (audit.refused, audit.withdrawn, audit.live) == (2, 1, {})


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([Record("dispatch", dispatched="a")], "'a' is dispatched and does not wait"),
        ([Record("dispatch")], "field `dispatched`: is missing"),
        ([Record("arrive", "A", "a")], "field `cost`: is missing"),
        ([Record("arrive", "A", "a", 0)], "field `cost`: 0 is not above zero"),
        ([Record("arrive", "A", "a", "many")], "field `cost`: 'many' is not a number"),
        ([Record("arrive", "A", "a", "inf")], "field `cost`: inf is not above zero"),
        ([Record("weight", "A", weight=-1)], "field `weight`: -1 is not above zero"),
        ([Record("arrive", "A", "a", 1), Record("arrive", "B", "a", 1)], "ids must differ"),
        ([Record("arrive", "A", "a", 1), Record("dispatch", "B", dispatched="a")], "is dispatched for 'B'"),
    ],
)
def test_a_log_that_contradicts_itself(records: list[Record], told: str) -> None:
    with pytest.raises(Unreadable, match="(?s)" + told.replace("(", r"\(")):
        fairness(records)


def test_a_timeline_keeps_sums_whatever_the_length() -> None:
    timeline = Timeline()
    audit = Fairness(timeline=timeline)
    audit.take(crowd(5, 5_000, lambda rng, users: rng.choice(users)))
    assert len(timeline.ends) <= MOST_SPANS
    assert timeline.size > 1
    sums = {name: sum(spans.values()) for name, spans in timeline.charges.items()}
    assert sums == {name: user.total for name, user in audit.users.items()}
    assert max(lead for lead, _, _ in timeline.leads.values()) <= audit.worst.greatest
    assert max(max(waits.values()) for waits in timeline.waits.values()) == max(
        user.longest_events for user in audit.users.values()
    )
