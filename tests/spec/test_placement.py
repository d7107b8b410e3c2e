"""Placement as it runs: stalling sends the same later, overtaking keeps the bounds for who can be placed throughout."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from arena import check_account, met
from sfq_proofs.searches.mistakes import overtake_and_close, overtake_in_secret, overtake_naively
from sfq_proofs.solver import logic as term
from sfq_proofs.solver.logic import Terms
from sfq_proofs.solver.reading import by_the_solver, exactly
from sfq_spec import placement
from sfq_spec import properties as claim
from sfq_spec.competition import Competition
from sfq_spec.machine import ExactCompetition, Machine, Taken, take
from sfq_spec.placement import overtake, placing, stall
from sfq_spec.properties import Account
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event

Offer = frozenset[str]
ZERO = Fraction(0)


def history(seed: int, length: int = 50) -> list[Event | Offer]:
    """Arrivals, cancels, and dispatches at which some users can be placed."""
    rng, made, count = random.Random(seed), list[Event | Offer](), 0
    for _ in range(length):
        kind = rng.random()
        if kind < 0.45:
            made.append(Arrive(rng.choice("ABC"), f"r{count}", rng.choice([1, 1, 2, 5])))
            count += 1
        elif kind < 0.5:
            made.append(Cancel(f"r{rng.randint(0, count)}"))
        else:
            made.append(frozenset(user for user in "ABC" if rng.random() < 0.6))
    return made


def offered(state: Machine, event: Event | Offer, how: placement.Dispatch) -> Taken | None:
    """One event; None where it is refused, as a cancel of what does not wait."""
    if isinstance(event, frozenset):
        return take(state, Dispatch(), placing(how, event.__contains__))
    if isinstance(event, Cancel):
        request = state.live.get(event.request)
        if request is None or not state.is_waiting(request):
            return None
    return take(state, event)


@dataclass
class Overtaking:
    """A run, with who stands in the competition, and accounts from every moment."""

    how: placement.Dispatch = overtake
    state: Machine = field(default_factory=Machine)
    stands: dict[str, bool] = field(default_factory=dict)
    last: dict[str, Fraction] = field(default_factory=dict)
    accounts: list[Account[str, Fraction, bool]] = field(default_factory=list)
    overtakings: int = 0

    def among(self) -> ExactCompetition:
        return replace(self.state.competition, waiting=self.stands)

    def play(self, event: Event | Offer) -> None:
        taken = offered(self.state, event, self.how)
        if taken is None or taken.request is None:
            return
        before, self.state = self.state.competition, taken.state
        s, user = self.state.competition, taken.request.user
        self.last.setdefault(user, ZERO)
        if isinstance(event, Arrive):
            self.stands[user] = self.stands.get(user, False) or not before.waiting.get(user, False)
        elif isinstance(event, frozenset):
            self.overtakings += any(before.waiting[u] and u not in event for u in before.waiting)
            self.stands = {u: s.waiting[u] and u in event for u in s.meter}
            self.last[user] = taken.request.cost / before.weight[user]
        self.stands[user] = self.stands[user] and s.waiting[user]
        self.accounts = [self.aged(account, event, taken, user) for account in self.accounts]
        self.check(before)

    def aged(
        self, account: Account[str, Fraction, bool], event: Event | Offer, taken: Taken, user: str
    ) -> Account[str, Fraction, bool]:
        account, logic = met(account, user), self.state.logic
        if isinstance(event, frozenset):
            account = claim.dispatched(logic, account, self.among(), user, self.last[user])
        throughout = {u: waits and self.stands[u] for u, waits in account.throughout.items()}
        return replace(account, throughout=throughout)

    def check(self, before: ExactCompetition) -> None:
        s, logic = self.among(), self.state.logic
        assert s.v >= before.v, "INV-MONO"
        for user in s.meter:
            assert claim.inv_upper(logic, s, self.last, user), "INV-UPPER"
            assert claim.inv_lower(logic, s, user), "INV-LOWER"
            assert claim.reset_level(logic, self.state.competition, user), "RESET-LEVEL"
        for account in self.accounts:
            check_account(s, account)
        self.accounts.append(claim.begin(logic, s, dict(self.last), ZERO))


def played(how: placement.Dispatch, seeds: int) -> int:
    """How many dispatches passed somebody over. Raises `AssertionError` where a claim is broken."""
    overtakings = 0
    for seed in range(seeds):
        run = Overtaking(how)
        for event in history(seed):
            run.play(event)
        overtakings += run.overtakings
    return overtakings


@pytest.mark.claims("PLACE-OVERTAKE")
def test_overtaking_keeps_the_claims_for_who_can_be_placed() -> None:
    assert played(overtake, seeds=25) > 100


@pytest.mark.parametrize("how", [overtake_naively, overtake_in_secret], ids=["naively", "in secret"])
@pytest.mark.claims("PLACE-OVERTAKE")
def test_overtaking_that_is_wrong_is_found_out(how: placement.Dispatch) -> None:
    with pytest.raises(AssertionError, match=r"INV-|FAIR-"):
        played(how, seeds=60)


def passed_over(how: placement.Dispatch) -> tuple[Fraction, list[str]]:
    """v after B was passed over while A was sent twice, and what is sent when both can be placed again."""
    state, out = Machine(), list[str]()
    events: list[Event | Offer] = [Arrive(r[0], r, 1) for r in ("A1", "A2", "A3", "B1", "B2")]
    for event in [*events, Offer("A"), Offer("A")]:
        taken = offered(state, event, how)
        assert taken is not None
        state = taken.state
    v = state.competition.v
    assert state.competition.meter["B"] == 0
    for _ in range(2):
        taken = take(state, Dispatch(), placing(how, lambda user: True))
        assert taken.request is not None
        state = taken.state
        out.append(taken.request.request)
    return v, out


@pytest.mark.claims("PLACE-OVERTAKE")
def test_who_is_overtaken_is_below_v_until_it_can_be_placed_again() -> None:
    """INV-LOWER is about who stands in the competition: of everybody who waits it does not hold."""
    assert passed_over(overtake) == (Fraction(1), ["B1", "A3"])
    assert passed_over(overtake_naively) == (Fraction(1), ["B1", "B2"])


@pytest.mark.claims("PLACE-OVERTAKE")
def test_a_reset_needs_that_nobody_waits_at_all() -> None:
    def v(how: placement.Dispatch) -> Fraction:
        state = Machine()
        events: list[Event | Offer] = [Arrive("A", "A1", 3), Arrive("B", "B1", 1), Offer("A")]
        for event in events:
            taken = offered(state, event, how)
            assert taken is not None
            state = taken.state
        return state.competition.v

    assert v(overtake) == 0
    assert v(overtake_and_close) == 3


@pytest.mark.claims("PLACE-STALL")
def test_stalling_sends_the_same_later() -> None:
    stalls = 0
    for seed in range(60):
        state, tried = Machine(), list[Event]()
        sent: list[str | None] = []
        for event in history(seed):
            taken = offered(state, event, stall)
            if taken is None:
                continue
            stalled = isinstance(event, frozenset) and taken.request is None
            stalls += stalled and bool(state.queues)
            state = taken.state
            if not stalled:
                tried.append(Dispatch() if isinstance(event, frozenset) else event)
                sent += [taken.request.request] if isinstance(event, frozenset) and taken.request else []
        assert sent == list(plainly(tried))
    assert stalls > 50


def plainly(events: list[Event]) -> Iterator[str]:
    state = Machine()
    for event in events:
        taken = take(state, event)
        state = taken.state
        if isinstance(event, Dispatch):
            assert taken.request is not None
            yield taken.request.request


def among(offer: set[str], user: Any) -> Any:
    """The offer in the symbolic reading."""
    return Terms().either(*(user == term.user(f"user:{name}") for name in offer))


@pytest.mark.parametrize("how", [stall, overtake], ids=["stall", "overtake"])
def test_both_readings_of_placement_agree(how: placement.Dispatch) -> None:
    for seed in range(12):
        rng = random.Random(seed)
        users = "ABC"[: rng.randint(1, 3)]
        s = Competition(
            Fraction(rng.randint(0, 4)),
            {user: Fraction(rng.randint(0, 4), 2) for user in users},
            {user: rng.random() < 0.7 for user in users},
            dict.fromkeys(users, Fraction(2)),
        )
        offer = {user for user in users if rng.random() < 0.6}
        head = {user: Fraction(rng.randint(1, 4)) for user in users}
        exact = placing(how, offer.__contains__)
        symbolic = placing(how, partial(among, offer))
        case = (s, "dispatch", rng.choice(users), head, rng.random() < 0.5)
        assert by_the_solver(*case, symbolic) == exactly(*case, exact), seed
