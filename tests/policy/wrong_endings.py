"""Ways to get the ends of requests wrong: each is the policy of `plain.py` with one thing otherwise."""

from __future__ import annotations

from policy.plain import Event, Plain, Program

# What is charged, and how requests end.


class OutputOnce(Plain):
    """Output tokens count once."""

    def cost(self, event: Event) -> float:
        return float(event["input_tokens"] + event["output_tokens"])


class OutputThrice(Plain):
    """Output tokens count three times."""

    def cost(self, event: Event) -> float:
        return float(event["input_tokens"] + 3 * event["output_tokens"])


class TheGreaterPart(Plain):
    """The greater of both parts counts, not their sum."""

    def cost(self, event: Event) -> float:
        return float(max(event["input_tokens"], 2 * event["output_tokens"]))


class FailedIsFree(Plain):
    """A request that failed is not charged."""

    def cost(self, event: Event) -> float:
        return super().cost(event) if event["outcome"] == "completed" else 0


class GivenUpIsFree(Plain):
    """A request whose client went away is not charged."""

    def cost(self, event: Event) -> float:
        return 0 if event["outcome"] == "cancelled" else super().cost(event)


class FailedStaysInFlight(Plain):
    """A request that failed has not ended."""

    def complete(self, event: Event, now: int) -> None:
        super().complete(event, now)
        if event["outcome"] == "failed":
            self.programs[self.owners[event["request"]]].in_flight += 1


class FailedIsNoCompletion(Plain):
    """A request that failed does not count for the time to live."""

    def last(self, program: Program, event: Event, now: int) -> int:
        return now if event["outcome"] == "completed" else program.completed


class FirstSightCounts(Plain):
    """The time to live runs from when a program was first seen."""

    def last(self, program: Program, event: Event, now: int) -> int:
        return program.completed


class ChargesAtDispatch(Plain):
    """The estimate is charged at dispatch, and nothing at the end."""

    def sent(self, request: str, user: str, now: int) -> None:
        super().sent(request, user, now)
        self.add(self.programs[user], 1, now)

    def cost(self, event: Event) -> float:
        return 0


class CountsTwice(Plain):
    """In the default mode a completion that comes twice counts twice."""

    def complete(self, event: Event, now: int) -> None:
        self.flying |= self.owners.keys()
        super().complete(event, now)


class CountsOnce(Plain):
    """In the compatible modes a completion that comes twice counts once."""

    def complete(self, event: Event, now: int) -> None:
        if event["request"] in self.flying:
            super().complete(event, now)


class ChargesOnce(Plain):
    """In the compatible modes a completion that comes twice ends twice, and is charged once."""

    def complete(self, event: Event, now: int) -> None:
        first = event["request"] in self.flying
        super().complete(event if first else {**event, "input_tokens": 0, "output_tokens": 0}, now)


class CountStopsAtZero(Plain):
    """The count of requests in flight is never below zero, in no mode."""

    def one_less(self, count: int) -> int:
        return max(0, count - 1)


class OneEndsAll(Plain):
    """With one request that ends nothing is in flight any more."""

    def one_less(self, count: int) -> int:
        return 0


class NeverEnds(Plain):
    """What is in flight stays so."""

    def one_less(self, count: int) -> int:
        return count


class IdsOnce(Plain):
    """An id that comes again is that of its first request."""

    def sent(self, request: str, user: str, now: int) -> None:
        known = request in self.owners and request not in self.flying
        super().sent(request, user, now)
        if known:
            self.flying.discard(request)
            self.owners.pop(request)


class WithdrawnIsCharged(Plain):
    """What is withdrawn is charged its estimate."""

    def withdrawn(self, user: str, now: int) -> None:
        self.add(self.met(user, now), 1, now)


class WithdrawnEnds(Plain):
    """What is withdrawn is one less in flight."""

    def withdrawn(self, user: str, now: int) -> None:
        self.met(user, now).in_flight -= 1


class WithdrawnTakesTheQueue(Plain):
    """A queue that becomes empty by a withdrawal is registered no more."""

    def withdrawn(self, user: str, now: int) -> None:
        self.queues = {place: queue for place, queue in self.queues.items() if queue or place[1] != user}
