"""Ways to get the choice of LAS wrong: each is the policy of `plain.py` with one thing otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policy.plain import Event, Plain, Queue

# Ties.


class TiesByInsertion(Plain):
    """A tie goes to whoever has had a queue for longest."""

    def rank(self, user: str) -> Any:
        return [of for _, of in self.queues].index(user)


class TiesToTheGreatest(Plain):
    """A tie goes to the greatest id."""

    def rank(self, user: str) -> Any:
        return [-ord(letter) for letter in user]


class TiesWithoutCase(Plain):
    """Ids are compared without regard to capitals."""

    def rank(self, user: str) -> Any:
        return user.lower()


class TiesByUtf16(Plain):
    """Ids are compared by UTF-16 units."""

    def rank(self, user: str) -> Any:
        return user.encode("utf-16-be")


TIES = (TiesByInsertion, TiesToTheGreatest, TiesWithoutCase, TiesByUtf16)


# The score.


class OtherDefaultWeight(Plain):
    """The weight of service is 0.7 where nothing is said."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure({"lasWeightService": 0.7, **parameters})


class WeightsIgnored(Plain):
    """The weights are the defaults, whatever is said."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure({**parameters, "lasWeightService": 0.8, "lasWeightHeadWait": 0.2})


class WeightsSwapped(Plain):
    """Each weight is in the place of the other."""

    def configure(self, parameters: Mapping[str, float]) -> None:
        super().configure(parameters)
        self.weight_service, self.weight_wait = self.weight_wait, self.weight_service


class MostServiceFirst(Plain):
    """Service is not turned around."""

    def score(self, user: str, services: Mapping[str, float], waits: Mapping[str, float]) -> float:
        return super().score(user, {of: -service for of, service in services.items()}, waits)


class ShortestWaitFirst(Plain):
    """Waits are turned around."""

    def place_of_wait(self, value: float, all_of_them: Iterable[float]) -> float:
        return 1 - self.place(value, all_of_them)


class WaitsDoNotCount(Plain):
    """Only service counts."""

    def place_of_wait(self, value: float, all_of_them: Iterable[float]) -> float:
        return 0


class WaitsOnlyBreakTies(Plain):
    """Of least service, the longest wait."""

    def score(self, user: str, services: Mapping[str, float], waits: Mapping[str, float]) -> float:
        return -services[user] + waits[user] * 1e-9


class RangeFromZero(Plain):
    """The range of services begins at zero."""

    def score(self, user: str, services: Mapping[str, float], waits: Mapping[str, float]) -> float:
        return super().score(user, {**services, " ": 0.0}, waits)


class RangeOfWaitsFromZero(Plain):
    """The range of waits begins at zero."""

    def place_of_wait(self, value: float, all_of_them: Iterable[float]) -> float:
        return self.place(value, [0, *all_of_them])


class RangeOfAll(Plain):
    """The range is that of all programs, whether they wait or not."""

    def choice(self, waiting: Mapping[str, Queue], now: int) -> str:
        self.all = {user: self.service(user, now) for user in self.programs}
        return super().choice(waiting, now)

    def score(self, user: str, services: Mapping[str, float], waits: Mapping[str, float]) -> float:
        return super().score(user, {**self.all, **services}, waits)


class PlacesByRank(Plain):
    """A place in the range is how many have less, not how much."""

    def place(self, value: float, all_of_them: Iterable[float]) -> float:
        values = sorted(set(all_of_them))
        return super().place(values.index(value), range(len(values)))


class WaitsInSeconds(Plain):
    """Waits are cut to whole seconds."""

    def wait(self, queue: Queue, now: int) -> float:
        return (now - queue[0][1]) // 1_000_000_000


class WaitsUncut(Plain):
    """Waits are not cut."""

    def wait(self, queue: Queue, now: int) -> float:
        return now - queue[0][1]


class WaitsRounded(Plain):
    """Waits are rounded to the nearest millisecond."""

    def wait(self, queue: Queue, now: int) -> float:
        return round((now - queue[0][1]) / 1_000_000)


class ClockOfMilliseconds(Plain):
    """The clock tells whole milliseconds."""

    def wait(self, queue: Queue, now: int) -> float:
        return now // 1_000_000 - queue[0][1] // 1_000_000


class WaitOfTheNewest(Plain):
    """The wait is that of the request that came last."""

    def wait(self, queue: Queue, now: int) -> float:
        return super().wait(queue[-1:], now)


class LastInFirstOut(Plain):
    """Of a program the newest request goes first."""

    def arrive(self, event: Event, now: int) -> None:
        super().arrive(event, now)
        queue = self.queues[self.priority(event), self.named(event["user"])]
        queue.insert(0, queue.pop())


# Who, and in which order.


class NoDefault(Plain):
    """Who names no program is a program without a name."""

    def named(self, user: str) -> str:
        return user


class LiftsNewcomers(Plain):
    """A program that was not known begins where the least of the others stands."""

    def arrive(self, event: Event, now: int) -> None:
        others = [self.service(of, now) for (_, of), queue in self.queues.items() if queue]
        super().arrive(event, now)
        user = self.named(event["user"])
        if user not in self.programs and others:
            self.add(self.met(user, now), min(others), now)


class AnewOnReturn(Plain):
    """A program that had nothing waiting begins at zero."""

    def arrive(self, event: Event, now: int) -> None:
        user = self.named(event["user"])
        if not any(queue for (_, of), queue in self.queues.items() if of == user):
            self.met(user, now).service = 0.0
        super().arrive(event, now)


class PrioritiesIgnored(Plain):
    """All that waits is one band."""

    def priority(self, event: Event) -> int:
        return 0


class LowestPriorityFirst(Plain):
    """The lowest priority goes first."""

    def order(self, priorities: set[int]) -> list[int]:
        return sorted(priorities)
