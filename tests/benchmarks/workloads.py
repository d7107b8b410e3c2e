"""What is timed: the floor, and steps of one dispatch and one arrival, in a backlog and in three kinds of churn.

T users wait throughout; in rotation it is T requests, in waves at most T. Costs are random, and the same for all; ids
are fresh and made beforehand. Completions are made after the steps, untimed, except where the name says so.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heapify, heapreplace
from itertools import count, cycle, islice
from typing import Any

from benchmarks.rivals import Rival
from benchmarks.timing import Work, clock
from sfq_impl.heap import HeapScheduler

HIGHEST_COST = 1_000

Kind = Callable[[Callable[[], Rival], int, int], Work]
"""Makes work of a scheduler, a number of users and a number of steps."""


def floor(users: int, steps: int) -> Work:
    """The least that a heap of pairs costs: the first is replaced, with a cost added."""
    rng = random.Random(users)
    heap = [(rng.randrange(HIGHEST_COST), user) for user in range(users)]
    heapify(heap)
    costs = _costs(steps)

    def run() -> int:
        began = clock()
        for cost in costs:
            meter, user = heap[0]
            heapreplace(heap, (meter + cost, user))
        return clock() - began

    return Work(steps, run)


def backlogged(make: Callable[[], Rival], users: int, steps: int) -> Work:
    """Each user has two requests. Who is served sends another one, so nobody's queue is ever empty."""
    return _served_and_back(make, users, steps, depth=2)


def drain_and_rejoin(make: Callable[[], Rival], users: int, steps: int) -> Work:
    """Each user has one request. Who is served leaves, and is back at once."""
    return _served_and_back(make, users, steps, depth=1)


def rotation(make: Callable[[], Rival], users: int, steps: int) -> Work:
    """Twice as many users take turns: at each step one is served and leaves, and one who has been away comes."""
    bench = Bench(make, 2 * users, steps)
    turns = cycle(bench.users)
    for user in islice(turns, users):
        bench.arrive(user)
    dispatch, arrive = bench.scheduler.dispatch, bench.scheduler.arrive

    def run() -> int:
        jobs = list(zip(bench.ids(steps), bench.costs, turns, strict=False))
        began = clock()
        for request, cost, user in jobs:
            dispatch()
            arrive(user, request, cost)
        taken = clock() - began
        bench.complete()
        return taken

    return Work(steps, run)


def waves(make: Callable[[], Rival], users: int, steps: int) -> Work:
    """All come with one request, all are served, and so on: between any two waves nobody waits."""
    rounds = max(1, steps // users)
    bench = Bench(make, users, users)
    dispatch, arrive = bench.scheduler.dispatch, bench.scheduler.arrive

    def run() -> int:
        taken = 0
        for _ in range(rounds):
            jobs = list(zip(bench.users, bench.ids(users), bench.costs, strict=True))
            began = clock()
            for user, request, cost in jobs:
                arrive(user, request, cost)
            for _ in jobs:
                dispatch()
            taken += clock() - began
            bench.complete()
        return taken

    return Work(rounds * users, run)


def with_completion(make: Callable[[], Rival], users: int, steps: int) -> Work:
    """As `backlogged`, and each request ends as soon as it has been dispatched: all that happens to a request."""
    bench = Bench(make, users, steps)
    for user in bench.users * 2:
        bench.arrive(user)
    scheduler: Any = bench.scheduler
    dispatch, arrive, complete = scheduler.dispatch, scheduler.arrive, scheduler.complete

    def run() -> int:
        jobs = list(zip(bench.ids(steps), bench.costs, strict=True))
        began = clock()
        for request, cost in jobs:
            sent = dispatch()
            complete(sent.request)
            arrive(sent.user, request, cost)
        return clock() - began

    return Work(steps, run)


def all_at_once(make: Callable[[], Rival], users: int, steps: int) -> Work:
    """All requests arrive, then all are served: what a simulator can do as well."""
    costs = _costs(steps)

    def run() -> int:
        bench = Bench(make, users, 0)
        jobs = list(zip(bench.ids(steps), costs, cycle(bench.users), strict=False))
        dispatch, arrive = bench.scheduler.dispatch, bench.scheduler.arrive
        began = clock()
        for request, cost, user in jobs:
            arrive(user, request, cost)
        for _ in jobs:
            dispatch()
        return clock() - began

    return Work(steps, run)


def all_at_once_simulated(serve: Callable[[int, list[int]], int], users: int, steps: int) -> Work:
    """The same by a simulator. Raises `AssertionError` if it has not served all."""
    costs = _costs(steps)

    def run() -> int:
        began = clock()
        served = serve(users, costs)
        taken = clock() - began
        assert served == steps, f"{served} of {steps} requests were served"
        return taken

    return Work(steps, run)


def most_records(passers_by: int) -> tuple[int, int]:
    """The most records kept while so many users come once each, beside a busy one, and the most that were allowed."""
    scheduler = HeapScheduler()
    for number in range(2):
        scheduler.arrive("busy", f"busy {number}", 1)
    kept = needed = 0
    for number in range(passers_by):
        scheduler.arrive(f"user {number}", f"once {number}", 5)
        scheduler.arrive("busy", f"busy {number + 2}", 1)
        for _ in range(2):
            request = scheduler.dispatch()
            assert request is not None
            scheduler.complete(request.request)
        kept = max(kept, scheduler.remembered_users)
        if number % 97 == 0:
            waiting = set(scheduler.waiting_users)
            needed = max(needed, sum(1 for user, lag in scheduler.lag.items() if lag > 0 or user in waiting))
    return kept, needed


class Bench:
    """A scheduler at work."""

    def __init__(self, make: Callable[[], Rival], users: int, steps: int) -> None:
        self.scheduler = make()
        self.users = [f"user {number}" for number in range(users)]
        self.costs = _costs(steps)
        self._numbers = count()

    def ids(self, number: int) -> list[str]:
        """Ids that nobody has used."""
        return [f"request {i}" for i in islice(self._numbers, number)]

    def arrive(self, user: str) -> None:
        """A request, outside of what is timed."""
        (request,) = self.ids(1)
        self.scheduler.arrive(user, request, self.costs[0])

    def complete(self) -> None:
        """All that is in flight ends. Only the scheduler under test keeps ids so long."""
        if isinstance(self.scheduler, HeapScheduler):
            for request in [request for request in self.scheduler._live.values() if not request.waits]:
                self.scheduler.complete(request.request)


def _costs(number: int) -> list[int]:
    rng = random.Random(1996)
    return [rng.randint(1, HIGHEST_COST) for _ in range(number)]


def _served_and_back(make: Callable[[], Rival], users: int, steps: int, depth: int) -> Work:
    bench = Bench(make, users, steps)
    for user in bench.users * depth:
        bench.arrive(user)
    scheduler: Any = bench.scheduler
    dispatch, arrive = scheduler.dispatch, scheduler.arrive

    def run() -> int:
        jobs = list(zip(bench.ids(steps), bench.costs, strict=True))
        began = clock()
        for request, cost in jobs:
            arrive(dispatch().user, request, cost)
        taken = clock() - began
        bench.complete()
        return taken

    return Work(steps, run)
