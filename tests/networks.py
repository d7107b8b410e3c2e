"""Runs of one method, by dispatches alone or on one link with a clock, and what they are measured by.

Independent of the audit: leads and services are added up here, from the costs that were drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from hypothesis import settings

from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Method, MethodScheduler, Situation
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, SetWeight

ZERO = Fraction(0)
SIXTHS = 6
USERS = ("A", "B", "C", "D")

Weights = Mapping[str, Fraction]


def runs(times: int = 10) -> Iterable[Random]:
    """Sources of chance, a thousand in the profile of every day; the deep profile has five times as many."""
    return (Random(seed) for seed in range(times * min(settings().max_examples, 500)))


def draw_weights(chance: Random, among: Sequence[Fraction | int] = (1, 1, 1, 2, 3, Fraction(1, 2))) -> Weights:
    """A weight for each user. Charges are then whole numbers of sixths."""
    return {user: Fraction(chance.choice(among)) for user in USERS}


def order(method: Method[Any], *steps: str, weights: Mapping[str, int] | None = None) -> str:
    """What is dispatched where steps such as `A:3` (an arrival), `A:3@2` (at a time), `-A1` and `.` are taken in order.

    A user's requests are numbered from 1. `.` is a dispatch, `.@4` one at a time, `...` three; each completes at once.
    """
    scheduler, count, sent = MethodScheduler(method), dict[str, int](), list[str]()
    for user, weight in (weights or {}).items():
        scheduler.weight(user, weight)
    for step in " ".join(steps).split():
        what, _, time = step.partition("@")
        told = Facts(time=Fraction(time) if time else None)
        if what.startswith("-"):
            scheduler.step(Cancel(what[1:]), told)
        elif what.startswith("."):
            for _ in what:
                answer = scheduler.step(Dispatch(), told)
                sent.append(str(answer.dispatched))
                scheduler.step(Complete(str(answer.dispatched)), told)
        else:
            user, _, cost = what.partition(":")
            count[user] = count.get(user, 0) + 1
            scheduler.step(Arrive(user, f"{user}{count[user]}", Fraction(cost)), told)
    return " ".join(sent)


class Moment(NamedTuple):
    """Between two events."""

    waiting: frozenset[str]
    work: Mapping[str, int]
    """The costs of what each user has sent so far."""
    charged: Mapping[str, int]
    """The same divided by its weight, in sixths."""


@dataclass(frozen=True)
class History:
    """A run by dispatches alone."""

    moments: Sequence[Moment]
    weights: Weights
    largest: Mapping[str, int]
    """The largest cost that each user has brought."""

    def charge(self, user: str) -> Fraction:
        """The largest that a request of the user may be charged."""
        return self.largest[user] / self.weights[user]

    def leads(self) -> Iterator[tuple[str, str, Fraction]]:
        """For users i and j, the most that i got beyond j, by weight, in any interval in which j waits throughout."""
        for j in USERS:
            for i in USERS:
                least: int | None = None
                most = 0
                for waiting, _, charged in self.moments:
                    lead = charged[i] - charged[j]
                    least = min(lead, lead if least is None else least) if j in waiting else None
                    most = max(most, lead - least) if least is not None else most
                if i != j:
                    yield i, j, Fraction(most, SIXTHS)

    def shortfall(self, user: str, *, at_its_own: bool = False) -> Fraction:
        """The most work that a user lacked of its share, by weight among all, in any interval it waits throughout.

        With `at_its_own`, of those that end where a request of its own has just gone.
        """
        highest: int | None = None
        most = before = 0
        for moment in self.moments:
            ahead = self.halves_ahead(user, moment)
            highest = max(ahead, ahead if highest is None else highest) if user in moment.waiting else None
            if highest is not None and (not at_its_own or moment.work[user] > before):
                most = max(most, highest - ahead)
            before = moment.work[user]
        return most / (2 * sum(self.weights.values(), ZERO))

    def furthest(self, user: str) -> Fraction:
        """The most work that a user ever had beyond its share, by weight among all, since the beginning."""
        return max(self.halves_ahead(user, moment) for moment in self.moments) / (2 * sum(self.weights.values(), ZERO))

    def halves_ahead(self, user: str, moment: Moment) -> int:
        """By how much the work of a user exceeds its share, in parts of twice the sum of weights: a whole number."""
        halves = {user: int(2 * weight) for user, weight in self.weights.items()}
        return moment.work[user] * sum(halves.values()) - halves[user] * sum(moment.work.values())


def history(method: Method[Any], chance: Random, events: int = 60, *, flood: bool = False) -> History:
    """Random arrivals, withdrawals and dispatches; with `flood` everybody has more requests than are dispatched."""
    weights, scheduler = draw_weights(chance), MethodScheduler(method)
    work, largest, waiting = dict.fromkeys(USERS, 0), dict.fromkeys(USERS, 0), list[tuple[str, str]]()
    for user, weight in weights.items():
        scheduler.step(SetWeight(user, weight))

    def arrive(user: str, number: int) -> None:
        cost = chance.choice((1, 1, 2, 3, 5, 8, 20)) * chance.choice((1, 1, 1, 7))
        scheduler.arrive(user, f"r{number}", cost)
        largest[user] = max(largest[user], cost)
        waiting.append((user, f"r{number}"))

    def moment() -> Moment:
        charged = {user: work[user] * int(SIXTHS / weight) for user, weight in weights.items()}
        return Moment(frozenset(user for user, _ in waiting), dict(work), charged)

    for number in range(events * len(USERS) if flood else 0):
        arrive(USERS[number % len(USERS)], number)
    moments = [moment()]
    for number in range(events):
        kind = "dispatch" if flood else chance.choices(("arrive", "dispatch", "cancel"), (50, 45, 5))[0]
        if kind == "arrive":
            arrive(chance.choice(USERS), number)
        elif waiting and kind == "cancel":
            gone = chance.choice(waiting)
            waiting.remove(gone)
            scheduler.cancel(gone[1])
        elif waiting:
            answer = scheduler.dispatch()
            sent = next(pair for pair in waiting if pair[1] == answer.dispatched)
            waiting.remove(sent)
            assert isinstance(answer.cost, Fraction)
            work[sent[0]] += int(answer.cost)
        moments.append(moment())
    return History(moments, weights, largest)


class Call(NamedTuple):
    """A request of a run with a clock."""

    time: Fraction
    user: str
    cost: Fraction


class Sent(NamedTuple):
    """Which of the calls was served, and from when to when."""

    call: int
    start: Fraction
    end: Fraction


def draw_calls(chance: Random, bursts: int = 6, costs: Sequence[int] = (1, 2, 3, 5, 8, 13)) -> list[Call]:
    """Bursts of requests. Each burst has a fraction of a second of its own, so that none comes where a service ends."""
    calls, second = list[Call](), 0
    for burst in range(bursts):
        second += chance.choice((0, 1, 2, 5, 30)) if burst else 0
        time = second + Fraction(burst, 64)
        calls += (Call(time, chance.choice(USERS), Fraction(chance.choice(costs))) for _ in range(chance.randint(1, 4)))
    return calls


def serve(
    method: Method[Any],
    calls: Sequence[Call],
    weights: Weights,
    rate: Fraction = Fraction(1),
    before: Callable[[Situation[Any]], object] = lambda at: None,
) -> list[Sent]:
    """The calls, in order of time, on one link of that rate, with the time told on every line.

    `before` sees the situation before each dispatch.
    """
    scheduler, sent, now, came = MethodScheduler(method), list[Sent](), ZERO, 0
    for user, weight in weights.items():
        scheduler.step(SetWeight(user, weight), Facts(time=now))
    while len(sent) < len(calls):
        if came == len(sent):
            now = max(now, calls[came].time)
        while came < len(calls) and calls[came].time <= now:
            call = calls[came]
            scheduler.step(Arrive(call.user, str(came), call.cost), Facts(time=max(call.time, ZERO)))
            came += 1
        before(scheduler.situation)
        answer = scheduler.step(Dispatch(), Facts(time=now))
        start, number = now, int(str(answer.dispatched))
        end = start + calls[number].cost / rate
        while came < len(calls) and calls[came].time < end:
            call = calls[came]
            scheduler.step(Arrive(call.user, str(came), call.cost), Facts(time=call.time))
            came += 1
        now = end
        scheduler.step(Complete(str(number)), Facts(time=now))
        sent.append(Sent(number, start, end))
    return sent


class Done(NamedTuple):
    """How much of each call a fluid server has done at a time."""

    time: Fraction
    done: Mapping[int, Fraction]


def fluid(calls: Sequence[Call], weights: Weights, rate: Fraction = Fraction(1)) -> list[Done]:
    """GPS without virtual time: from one instant to the next at which a call comes or is done, the rates are fixed."""
    left, now, steps = dict[int, Fraction](), ZERO, [Done(ZERO, {})]
    came = 0
    while came < len(calls) or left:
        heads = {calls[number].user: number for number in sorted(left, reverse=True)}
        total = sum((weights[user] for user in heads), ZERO)
        ends = [now + left[number] * total / (weights[user] * rate) for user, number in heads.items()]
        then = min(ends + [call.time for call in calls[came : came + 1]])
        for user, number in heads.items():
            left[number] -= (then - now) * rate * weights[user] / total
            if not left[number]:
                del left[number]
        now = then
        while came < len(calls) and calls[came].time == now:
            left[came] = calls[came].cost
            came += 1
        steps.append(Done(now, {number: calls[number].cost - left.get(number, ZERO) for number in range(came)}))
    return steps


def between(points: Sequence[Done], time: Fraction) -> Mapping[int, Fraction]:
    """How much was done at a time: linear from one instant to the next."""
    for before, after in pairwise(points):
        if before.time <= time <= after.time and before.time < after.time:
            part = (time - before.time) / (after.time - before.time)
            started = {number: before.done.get(number, ZERO) for number in after.done}
            return {number: done + (after.done[number] - done) * part for number, done in started.items()}
    return points[-1].done
