"""One pick of LAS, of all that may wait: every table of a few programs, services and waits, in order of their sum.

What is chosen is held against the score (LAS-SELECT), whatever the order in which the queues stand. Of the sentences
that a third program makes false a least table is found, and none is smaller: LAS-LOWEST, LAS-HEAD, LAS-OTHERS, and that
a program forgotten can be missed among three (LAS-EVICT).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any
from unittest.mock import patch

from sfq_impl.policy import program_aware
from sfq_impl.policy.attained import Candidate as Scored
from sfq_impl.policy.attained import best, waited
from sfq_impl.policy.interfaces import MILLISECOND, FlowKey, FlowQueueAccessor, InferenceRequest, PriorityBandAccessor
from sfq_impl.policy.parameters import ProgramAware
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.queues import Item, PriorityBand
from sfq_proofs.finding import Finding
from sfq_spec.logic import Exact
from sfq_spec.related import attained
from sfq_spec.related.attained import Candidate, Table, Weights
from sfq_spec.related.halving import number
from sfq_spec.related.las import Las, Program, Programs
from sfq_spec.related.method import Job, Method, Situation
from sfq_spec.related.settled import Account, Accounts, Settled

Pick = Callable[[Table], str]
ONE, NEVER = Fraction(1), Fraction(0)
LAS, SETTLED = Las(half_life=NEVER), Settled(half_life=NEVER)
SERVICES, WAITS = (0, 1, 4, 8), (0, 1, 3)
"""Tokens and milliseconds; 1 of 4 is a quarter of a range, where the weights of the seed balance."""
MOST = 10
"""What the numbers of a table come to, at most, where a least one is searched for."""
SOME = 7
"""The same, where there is none."""


def tables(users: str, services: Iterable[int], waits: Iterable[int]) -> Iterator[Table]:
    """Every table of these programs."""
    each = [Candidate(Fraction(service), Fraction(wait)) for service, wait in product(services, waits)]
    for row in product(each, repeat=len(users)):
        yield dict(zip(users, row, strict=True))


def least(users: str, most: int = MOST) -> Iterator[Table]:
    """Every table in order of the sum of its numbers."""
    for total in range(most + 1):
        for numbers in _shares(total, 2 * len(users)):
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            yield {user: Candidate(Fraction(s), Fraction(w)) for user, (s, w) in zip(users, pairs, strict=True)}


def _shares(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _shares(total - first, parts - 1))


# Who is chosen.


def by(method: Method[Any]) -> Pick:
    """By the exact model of LAS, or of the settled policy."""

    def pick(table: Table) -> str:
        now = max(of.wait for of in table.values()) / 1000
        queues = {user: (Job(user, user, ONE, 0, now - of.wait / 1000),) for user, of in table.items()}
        at: Situation[Any] = Situation(queues=queues, state=_state(method, table, now), time=now, has_clock=True)
        return method.dispatch(at)[1].user

    return pick


def _state(method: Method[Any], table: Table, now: Fraction) -> Any:
    if isinstance(method, Settled):
        return Accounts({user: Account(number(of.service), now, now) for user, of in table.items()})
    return Programs({user: Program(number(of.service), now, now) for user, of in table.items() if of.service})


@dataclass
class Ticking:
    """A clock that is a millisecond later at each reading."""

    now: int
    step: int = 0
    readings: int = 0

    def __call__(self) -> int:
        """Read it."""
        self.readings += 1
        self.now += self.step
        return self.now


def policy(table: Table, kind: type[ProgramAwareFairness] = ProgramAwareFairness, step: int = 0) -> tuple[Any, ...]:
    """The policy that runs, its band, and its clock; queues stand in the order of the table."""
    clock = Ticking(max(int(of.wait) for of in table.values()) * MILLISECOND)
    fairness = kind(ProgramAware(las_half_life_seconds=0, eviction_ttl_seconds=0), clock=clock)
    band = PriorityBand(0)
    for user, of in table.items():
        fairness.meet(user, 0).service, fairness.meet(user, 0).anchor = float(of.service), 0
        band.push(Item(InferenceRequest(user, user), clock.now - int(of.wait) * MILLISECOND, FlowKey(user)))
    clock.step, clock.readings = step, 0
    return fairness, band, clock


def by_policy(table: Table) -> str:
    """By the policy that runs."""
    fairness, band, _ = policy(table)
    return str(fairness.pick(band).flow_key.id)


def plainly(pick: Pick, table: Table) -> str | None:
    """Who is chosen, where it is not the id that decides."""
    chosen = pick(table)
    turned = dict(zip(table, reversed([*table]), strict=True))
    return chosen if pick({turned[user]: of for user, of in table.items()}) == turned[chosen] else None


# What is found.


def unlike_the_score(pick: Pick, weights: Weights) -> Table | None:
    """A table in which another is chosen than the score says; None where there is none."""
    logic = Exact("ABC")
    found = (table for table in tables("ABC", SERVICES[:3], WAITS) if not _as_scored(logic, weights, table, pick))
    return next(found, None)


def _as_scored(logic: Exact, weights: Weights, table: Table, pick: Pick) -> bool:
    return attained.is_chosen(logic, weights, table, pick(table))


def by_chance(pick: Pick = by_policy) -> Table | None:
    """A table in which it matters in what order the queues stand."""
    for table in tables("ABC", SERVICES[:2], WAITS[:2]):
        if len({pick(dict(order)) for order in permutations(table.items())}) > 1:
            return table
    return None


def not_the_lowest(pick: Pick, users: str = "ABC") -> Table | None:
    """A least table in which somebody goes who has not attained least, whatever the ids."""
    for table in least(users):
        if (chosen := plainly(pick, table)) is not None and not attained.lowest_goes(table, chosen):
            return table
    return None


def by_heads(pick: Pick) -> tuple[Table, Table] | None:
    """Two least tables that differ in nothing but the heads of queues, with different choices."""
    seen: list[tuple[Table, str]] = []
    for table in least("AB"):
        chosen = pick(table)
        for other, then in seen:
            if attained.without_heads(table, other) and chosen != then:
                return other, table
        seen.append((table, chosen))
    return None


def by_a_third(pick: Pick) -> tuple[Table, str] | None:
    """A least table in which it matters to two that a third is there, who is not chosen; and that one."""
    for table in least("ABC", SOME):
        if (chosen := plainly(pick, table)) is not None:
            for third in sorted(table.keys() - {chosen}):
                fewer = {user: of for user, of in table.items() if user != third}
                if plainly(pick, fewer) not in (None, chosen):
                    return table, third
    return None


def by_forgetting(pick: Pick) -> Table | None:
    """A least table in which it matters whether A is forgotten, who has less than anybody else."""
    for table in least("ABC"):
        mine = table["A"].service
        if 0 < mine < min(table["B"].service, table["C"].service):
            gone = {**table, "A": table["A"]._replace(service=Fraction(0))}
            if None not in (kept := {plainly(pick, gone), plainly(pick, table)}) and len(kept) == 2:
                return table
    return None


def wrongly_seen(pick: Pick, weights: Weights) -> Table | None:
    """A table of two in which a program that is forgotten is seen where it should not be, or the other way round."""
    for table in tables("AB", SERVICES, WAITS):
        for users in permutations("AB"):
            one, other = (table[user] for user in users)
            services, waits = (one.service, other.service), (one.wait, other.wait)
            said = attained.seen_if_forgotten(Exact("AB"), weights, users, services, waits, NEVER)  # type: ignore[arg-type]
            gone = {**table, users[0]: one._replace(service=NEVER)}
            first = attained.goes_before(Exact("AB"), weights, users, services, waits)  # type: ignore[arg-type]
            if not said or (pick(table) == users[0]) != first or pick(gone) not in table:
                return table
    return None


# The clock.


class ReadsForEach(ProgramAwareFairness):
    """Reads the clock anew for each queue, as the original does."""

    def _candidates(self, band: PriorityBandAccessor, now: int) -> Iterator[Scored]:
        for queue in band.queues():
            now = self.clock()
            yield Scored(queue, self.service(queue.flow_key.id, now), waited(queue, now))


def read_again(kind: type[ProgramAwareFairness] = ProgramAwareFairness) -> Table | None:
    """A table at which a pick reads a clock that goes on more than once, or chooses what at no one moment is right."""
    for table in tables("AB", SERVICES[:2], WAITS[:2]):
        fairness, band, clock = policy(table, kind, step=MILLISECOND)
        chosen = fairness.pick(band).flow_key.id
        if clock.readings != 1 or chosen != by_policy(table):
            return table
    return None


@dataclass(frozen=True)
class Nameless:
    """A queue that nobody can tell by its id."""

    queue: Any

    @property
    def flow_key(self) -> FlowKey:
        """Nobody's."""
        return FlowKey("")


def first_met(candidates: Iterable[Scored], weight_service: float, weight_wait: float) -> FlowQueueAccessor | None:
    """As the original: of equal scores the first that comes by."""
    nameless: list[Any] = [Scored(Nameless(queue), *rest) for queue, *rest in candidates]  # type: ignore[arg-type]
    found: Any = best(nameless, weight_service, weight_wait)
    return None if found is None else found.queue


SEED = Weights(LAS.weight_service, LAS.weight_wait)
CLAIMS = ("LAS-SELECT", "LAS-CLOCK", "LAS-LOWEST", "LAS-HEAD", "LAS-OTHERS", "LAS-EVICT", "SETTLED-OTHERS")


def findings() -> list[Finding]:
    """Every table, and every least one."""
    return [_select(), _clock(), _lowest(), _heads(), *_others(), _evict()]


def _select() -> Finding:
    las, count = by(LAS), (len(SERVICES[:3]) * len(WAITS)) ** 3
    wrong = {
        "the wait counts a little more": unlike_the_score(las, SEED._replace(wait=SEED.wait + Fraction(1, 100))),
        "service counts a little less": unlike_the_score(las, SEED._replace(service=SEED.service - Fraction(1, 100))),
        "of equals the first that comes by": _by_chance_of_the_original(),
    }
    holds = unlike_the_score(las, SEED) is None and by_chance() is None
    says = f"{count} tables of three programs, each chosen as its score says, in whatever order the queues stand"
    return _told("tables", "LAS-SELECT", holds, says, wrong)


def _by_chance_of_the_original() -> Table | None:
    with patch.object(program_aware, "best", first_met):
        return by_chance()


def _clock() -> Finding:
    says = "a clock that goes on at each reading is read once in each pick, and the choice is right at that moment"
    wrong = {"a reading for each queue, as in the original": read_again(ReadsForEach)}
    return _told("readings", "LAS-CLOCK", read_again() is None, says, wrong)


def _lowest() -> Finding:
    table, two = not_the_lowest(by(LAS)), not_the_lowest(by(LAS), "AB")
    holds = two is None and table is not None and not attained.lowest_goes(table, by_policy(table))
    says = f"least service does not go with {shown(table)}, and with nothing less; of two it always does"
    return _told("least tables", "LAS-LOWEST", holds, says, {LOWEST: table})


def _heads() -> Finding:
    pair = by_heads(by(LAS))
    holds = pair is not None and by_policy(pair[0]) != by_policy(pair[1])
    says = f"the heads alone tell {shown(pair[0])} from {shown(pair[1])}" if pair else "no such pair"
    return _told("least tables", "LAS-HEAD", holds, says, {HEAD: pair})


def _others() -> Iterator[Finding]:
    found, none = by_a_third(by(LAS)), by_a_third(by(SETTLED))
    holds, says = False, "no such table"
    if found is not None:
        table, third = found
        fewer = {user: of for user, of in table.items() if user != third}
        says = f"{by(LAS)(table)} goes of {shown(table)}, and without {third} it is {by(LAS)(fewer)}; no table is less"
        holds = by_policy(table) == by(LAS)(table) != by_policy(fewer)
    yield _told("least tables", "LAS-OTHERS", holds, says, {OTHERS: found})
    says = f"in no table of three programs with numbers that come to {SOME} at most does a third matter to two"
    yield _told("least tables", "SETTLED-OTHERS", none is None, says, {"by the score of LAS": found})


def _evict() -> Finding:
    las, three = by(LAS), by_forgetting(by(LAS))
    count = (len(SERVICES) * len(WAITS)) ** 2
    says = f"{count} tables of two, each seen or not as stated; among three A is missed with {shown(three)}"
    wrong = {
        "the least of three is never missed": three,
        "where the wait counts more": wrongly_seen(by(replace(LAS, weight_wait=Fraction(1))), SEED),
    }
    return _told("tables", "LAS-EVICT", wrongly_seen(las, SEED) is None, says, wrong)


LOWEST = "programs with the lowest accumulated service score highest"
HEAD = "aggregated per-program metrics rather than per-request attributes"
OTHERS = "who is chosen stays chosen when another, who is not, is taken away"


def shown(table: Table | None) -> str:
    """Tokens attained and milliseconds waited, by program."""
    return "none" if table is None else ", ".join(f"{user} {of.service}/{of.wait} ms" for user, of in table.items())


def _told(name: str, claim: str, holds: bool, says: str, wrong: Mapping[str, object]) -> Finding:
    """What was found; each wrong variant must have been found as well."""
    refuted = tuple(name for name, found in wrong.items() if found is not None)
    return Finding(name, (claim,), holds and len(refuted) == len(wrong), says, refuted)
