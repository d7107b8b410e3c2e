"""The arena of the tests: the machine, a scheduler beside it, and a watch that checks every claim after every event."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sfq_spec import properties as claim
from sfq_spec.logic import Exact
from sfq_spec.machine import ExactCompetition, Machine, Taken, take
from sfq_spec.mutants import Take
from sfq_spec.properties import Account
from sfq_spec.refusals import Refused
from sfq_spec.scheduler import Scheduler, lag, play
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event
from sfq_spec.watch import Watch


@dataclass
class Arena:
    """Plays events on both, and fails where they part or a claim is broken."""

    scheduler: Scheduler | None = None
    take: Take = take
    state: Machine = field(default_factory=Machine)
    watch: Watch = field(default_factory=Watch)
    accounts: list[Account[str, Fraction, bool]] = field(default_factory=list)
    played: list[Event] = field(default_factory=list)

    def play(self, event: Event) -> Answer:
        """One event. Raises `AssertionError` where the answers or lags differ, or a claim is broken."""
        self.played.append(event)
        before = self.state
        try:
            taken = self.take(before, event)
        except Refused as refusal:
            taken = Taken(before, Answer(refused=refusal.code))
            broken = self.watch.refused(before, before)
        else:
            broken = self.watch.observe(before, event, taken)
        assert not broken, f"{event} breaks {', '.join(broken)}"
        self.state = taken.state
        self._account(event, taken)
        if self.scheduler is not None:
            self._compare(event, taken.answer)
        return taken.answer

    def observe_from_now(self) -> None:
        """An observer starts here; from now on every interval claim is checked for its t1 as well."""
        s = self.state.competition
        last = {user: self.watch.last.get(user, Fraction(0)) for user in s.meter}
        self.accounts.append(claim.begin(self.state.logic, s, last, Fraction(0)))

    @property
    def waiting(self) -> list[str]:
        """The ids of the waiting requests."""
        return [request.request for queue in self.state.queues.values() for request in queue]

    @property
    def in_flight(self) -> list[str]:
        """The ids of the requests in flight."""
        return sorted(self.state.live.keys() - set(self.waiting))

    def _compare(self, event: Event, wanted: Answer) -> None:
        assert self.scheduler is not None
        told = play(self.scheduler, event)
        said, right = (told.dispatched, told.refused), (wanted.dispatched, wanted.refused)
        assert said == right, f"{event}: {said} where the machine gives {right}"
        ahead = {user: distance for user, distance in lag(self.scheduler).items() if distance > 0}
        right_lag = {user: distance for user, distance in self.state.lag.items() if distance > 0}
        assert ahead == right_lag, f"{event}: lags {ahead} where the machine has {right_lag}"

    def _account(self, event: Event, taken: Taken) -> None:
        if taken.request is not None and isinstance(event, Arrive | Dispatch | Cancel | Complete):
            kept = [_aged(account, event, taken) for account in self.accounts]
            self.accounts = kept
            for account in kept:
                check_account(taken.state.competition, account)


def _aged(account: Account[str, Fraction, bool], event: Event, taken: Taken) -> Account[str, Fraction, bool]:
    assert taken.request is not None
    s, user, logic = taken.state.competition, taken.request.user, taken.state.logic
    account = met(account, user)
    if isinstance(event, Dispatch):
        return claim.dispatched(logic, account, s, user, taken.request.cost / s.weight[user])
    return claim.left(logic, account, s, user)


def met(account: Account[str, Fraction, bool], user: str) -> Account[str, Fraction, bool]:
    """The account with an entry for a user who was new after t1."""
    if user in account.last:
        return account
    zero = Fraction(0)
    return Account(
        {**account.last, user: zero},
        {**account.charged, user: zero},
        account.v1,
        {**account.meter1, user: zero},
        {**account.last1, user: zero},
        {**account.throughout, user: False},
    )


def check_account(s: ExactCompetition, account: Account[str, Fraction, bool]) -> None:
    """Every interval claim for one t1. Raises `AssertionError` for the first that is broken."""
    users = list(account.last)
    logic = Exact(users)
    greatest = max((*account.last.values(), *account.last1.values()), default=Fraction(0))
    for i in users:
        assert claim.fair_upper(logic, s, account, i), f"FAIR-UPPER {i}"
        assert claim.fair_lower(logic, s, account, i), f"FAIR-LOWER {i}"
        for j in users:
            if i != j:
                assert claim.fair_lead(logic, account, i, j), f"FAIR-LEAD {i} {j}"
                assert claim.fair_pair(logic, account, i, j, greatest), f"FAIR-PAIR {i} {j}"
                assert claim.fair_starve(logic, account, i, j, Fraction(0)), f"FAIR-STARVE {i} {j}"
