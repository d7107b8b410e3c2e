"""Logs for the tests of the audit: random ones of any scheduler, and their worst leads by brute force."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

from msgspec import UNSET, UnsetType

from sfq_spec.conformance.audit.fairness import Fairness
from sfq_spec.conformance.audit.records import Record
from sfq_spec.machine import Machine
from sfq_spec.mutants import Take
from sfq_spec.refusals import Refused
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Entry, Event, Recost, SetWeight, Upkeep

Choose = Callable[[random.Random, list[tuple[str, str]]], int]
"""Of the waiting (user, request) in order of arrival: which one goes."""


def anyone(rng: random.Random, waiting: list[tuple[str, str]]) -> int:
    return rng.randrange(len(waiting))


def oldest(rng: random.Random, waiting: list[tuple[str, str]]) -> int:
    return 0


def last_user(rng: random.Random, waiting: list[tuple[str, str]]) -> int:
    return max(range(len(waiting)), key=lambda at: (waiting[at][0], -at))


def log(seed: int, choose: Choose, length: int = 40, users: str = "ABC") -> list[Record]:
    """Arrivals, dispatches, cancels, weights and new estimates; the scheduler is `choose`."""
    rng, records, waiting, numbers = random.Random(seed), list[Record](), list[tuple[str, str]](), count(1)
    for event in range(length):
        kind = rng.choices(["arrive", "dispatch", "cancel", "weight", "cost"], [10, 10, 1, 1, 1])[0]
        if kind == "arrive":
            user, request = rng.choice(users), f"r{next(numbers)}"
            waiting.append((user, request))
            cost = rng.choice([1, 2, 3, 7, "1/3", "2.5"])
            records.append(Record("arrive", user, request, cost, time=event))
        elif kind == "weight":
            records.append(Record("weight", rng.choice(users), weight=rng.choice([1, 2, "1/2", 3]), time=event))
        elif kind == "dispatch":
            sent = waiting.pop(choose(rng, waiting))[1] if waiting else None
            records.append(Record("dispatch", dispatched=sent, time=event))
        elif waiting and kind == "cancel":
            _, request = waiting.pop(rng.randrange(len(waiting)))
            records.append(Record("cancel", request=request, time=event))
        elif waiting:
            records.append(Record("cost", request=rng.choice(waiting)[1], cost=rng.randint(1, 9), time=event))
    return records


def events(seed: int, length: int = 40, users: str = "ABC") -> list[Event]:
    """A script of every kind of event, some of them invalid."""
    rng, script, made = random.Random(seed), list[Event](), 1
    for _ in range(length):
        some = f"r{rng.randint(max(0, made - 6), made)}"
        match rng.choices(range(8), [10, 10, 1, 2, 1, 1, 1, 1])[0]:
            case 0:
                script.append(Arrive(rng.choice(users), f"r{made}", Fraction(rng.choice([1, 2, 3, 7]))))
                made += 1
            case 1:
                script.append(Dispatch())
            case 2:
                script.append(Cancel(some))
            case 3:
                script.append(Complete(some))
            case 4:
                script.append(SetWeight(rng.choice(users), Fraction(rng.choice([1, 2, 3]), rng.choice([1, 2]))))
            case 5:
                script.append(Recost(some, Fraction(rng.randint(1, 9))))
            case 6:
                script.append(Arrive(rng.choice(users), some, Fraction(rng.randint(0, 1))))
            case _:
                script.append(Upkeep())
    return script


def entries(script: Iterable[Event], take: Take, *, lag: bool = False) -> list[Entry]:
    """The trace of the machine, or of a mutant, over a script."""
    state, made = Machine(), []
    for event in script:
        try:
            taken = take(state, event)
        except Refused as refusal:
            answer = Answer(refused=refusal.code)
        else:
            state, answer = taken.state, taken.answer
        lags: dict[str, Fraction | float] | UnsetType = {**state.lag} if lag else UNSET
        made.append(Entry(event, Answer(answer.dispatched, answer.refused, lag=lags)))
    return made


def record(entry: Entry) -> Record:
    """An entry as the audit reads it."""
    event, told = entry.event, entry.answer
    return Record(
        event.__struct_config__.tag,  # type: ignore[arg-type]
        **{name: getattr(event, name) for name in event.__struct_fields__ if name != "outcome"},
        dispatched=told.dispatched,
        refused=told.refused,
        lag=told.lag,
    )


@dataclass
class Observer:
    """What all observers together saw: after every event the charges so far, who waits, and the latest charges."""

    charged: list[dict[str, Fraction]] = field(default_factory=lambda: [{}])
    waiting: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])
    last: list[dict[str, Fraction]] = field(default_factory=lambda: [{}])
    joined: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])

    @classmethod
    def of(cls, records: Iterable[Record]) -> Observer:
        """Read a log, plainly."""
        seen, live, weight = cls(), dict[str, tuple[str, Fraction]](), dict[str, Fraction]()
        for told in records:
            charged, last, before = dict(seen.charged[-1]), dict(seen.last[-1]), seen.waiting[-1]
            if told.refused is UNSET:
                match told.event:
                    case "arrive":
                        live[told.request or ""] = (told.user or "", Fraction(told.cost))
                    case "cost" if told.request in live:
                        live[told.request] = (live[told.request][0], Fraction(told.cost))
                    case "cancel":
                        live.pop(told.request or "", None)
                    case "weight":
                        weight[told.user or ""] = Fraction(told.weight)
                    case "dispatch" if isinstance(told.dispatched, str):
                        user, cost = live.pop(told.dispatched)
                        last[user] = cost / weight.get(user, Fraction(1))
                        charged[user] = charged.get(user, Fraction(0)) + last[user]
            now = frozenset(user for user, _ in live.values())
            seen.charged.append(charged)
            seen.last.append(last)
            seen.waiting.append(now)
            seen.joined.append(now - before)
        return seen

    def intervals(self) -> Iterable[tuple[str, str, int, int, Fraction]]:
        """Every i, j, t1, t2 with j waiting throughout, and the lead of i over j."""
        users = sorted(self.charged[-1])
        for begin in range(len(self.charged)):
            throughout = self.waiting[begin]
            for end in range(begin + 1, len(self.charged)):
                throughout &= self.waiting[end] - self.joined[end]
                for behind in throughout:
                    for ahead in users:
                        if ahead != behind:
                            yield ahead, behind, begin, end, self.lead(ahead, behind, begin, end)

    def lead(self, ahead: str, behind: str, begin: int, end: int) -> Fraction:
        """W_i − W_j in one interval."""

        def growth(user: str) -> Fraction:
            return self.charged[end].get(user, Fraction(0)) - self.charged[begin].get(user, Fraction(0))

        return growth(ahead) - growth(behind)

    def bound(self, ahead: str, behind: str, begin: int, end: int) -> Fraction:
        """What FAIR-LEAD allows."""
        return self.last[end].get(ahead, Fraction(0)) + self.last[begin].get(behind, Fraction(0))


def fairness(records: Iterable[Record], **options: int) -> tuple[Fairness, Fraction]:
    """The audit of a log, finished, and the certificate's bound."""
    audit = Fairness(**options)  # type: ignore[arg-type]
    audit.take(records)
    return audit, Fraction(audit.finish(), audit.unit)
