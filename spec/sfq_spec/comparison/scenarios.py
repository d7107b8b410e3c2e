"""The workloads that come with the package: small, made by code, the same in every run."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from random import Random

from sfq_spec import sample
from sfq_spec.comparison.workload import Loop, Workload
from sfq_spec.importers import FORMATS
from sfq_spec.importers.pool import Pool, Prices
from sfq_spec.importers.rows import SECOND, Arrival

TOKENS = Pool(2, Fraction(0), Fraction(1, 100))
"""Two servers, a hundredth of a second per output token."""
OUTPUT = Prices(1, 1)
"""What a token costs."""


def article() -> Workload:
    """The article's example (article §2.7)."""
    rounds = [Arrival(0, user, 0, tokens) for _ in range(12) for user, tokens in (("A", 3), ("B", 1))]
    more = [Arrival(0, "B", 0, 1) for _ in range(24)]
    return Workload(
        "article",
        "the article's example",
        "A's requests cost 3 and B's cost 1; both wait all the time. One server, one second per unit of cost.",
        (*rounds, *more),
        pool=Pool(1, Fraction(0), Fraction(1)),
        prices=OUTPUT,
        until=24 * SECOND,
    )


def flood() -> Workload:
    """One user sends far more than the others."""
    random = Random("flood")
    sent = [*_spread(random, "flood", 0, 10, 300, (20, 80))]
    for number in range(1, 9):
        sent += _spread(random, f"light-{number}", 2, 90, 12, (20, 80))
    return Workload(
        "flood",
        "one flood against many light users",
        "One user sends 300 requests within ten seconds; eight others send one now and then.",
        _ordered(sent),
        pool=TOKENS,
        prices=OUTPUT,
    )


def heavy() -> Workload:
    """Requests ten times as heavy."""
    sent = [Arrival(0, "heavy", 0, 400) for _ in range(30)]
    sent = [
        request
        for place in range(120)
        for request in (
            *sent[place : place + 1],
            *(Arrival(0, f"light-{number}", 0, 40) for number in range(1, 5)),
        )
    ]
    return Workload(
        "heavy",
        "requests ten times as heavy",
        "The requests of one user cost 400, those of four others 40; all wait all the time.",
        sent,
        pool=TOKENS,
        prices=OUTPUT,
        until=60 * SECOND,
    )


def returns() -> Workload:
    """A burst after a long idle time."""
    random = Random("returns")
    sent: list[Arrival] = []
    for number in range(1, 4):
        sent += _spread(random, f"steady-{number}", 0, 20, 80, (30, 90))
    sent += [Arrival(SECOND, "guest", 0, 60) for _ in range(4)]
    sent += [Arrival(50 * SECOND, "guest", 0, 60) for _ in range(16)]
    return Workload(
        "returns",
        "a burst after a long idle time",
        "Three users have requests waiting all the time; a guest returns after 49 seconds with 16 requests at once.",
        _ordered(sent),
        pool=TOKENS,
        prices=OUTPUT,
        returning="guest-5",
    )


def drain() -> Workload:
    """A client that drains its queue again and again."""
    sent = [Arrival(0, f"waits-{number}", 0, 50) for _ in range(120) for number in (1, 2, 3)]
    drainer = Loop(tuple(Arrival(0, "drains", 0, 100) for _ in range(200)), "dispatched")
    chat = Loop(tuple(Arrival(0, "chats", 0, 50) for _ in range(110)), "completed", SECOND // 2)
    return Workload(
        "drain",
        "a client that drains its queue and returns at once",
        "One client sends the next request as soon as the one before is dispatched, so that its queue empties each "
        "time, and its requests are twice as heavy; another waits for each answer. Three have requests waiting all "
        "the time.",
        sent,
        (drainer, chat),
        pool=TOKENS,
        prices=OUTPUT,
        until=80 * SECOND,
    )


def on_off() -> Workload:
    """Users that come and go."""
    random = Random("on-off")
    sent = [*_spread(random, "steady", 0, 120, 160, (30, 90))]
    for user, offset in (("even", 0), ("odd", 15)):
        for start in range(offset, 120, 30):
            sent += _spread(random, user, start, start + 5, 25, (30, 90))
    return Workload(
        "on-off",
        "users that come and go",
        "Two users send bursts in turn, every thirty seconds each; one sends all the time.",
        _ordered(sent),
        pool=TOKENS,
        prices=OUTPUT,
    )


def weights() -> Workload:
    """Users of different weights."""
    random = Random("weights")
    users = {"one": 1, "two": 2, "four": 4}
    sent = [Arrival(0, user, 0, random.randint(20, 80)) for _ in range(200) for user in users]
    return Workload(
        "weights",
        "weights 1, 2 and 4",
        "Three users with requests of like sizes wait all the time; their shares are to be 1 : 2 : 4.",
        sent,
        weights={user: Fraction(weight) for user, weight in users.items()},
        pool=TOKENS,
        prices=OUTPUT,
        until=70 * SECOND,
    )


def heavy_tail() -> Workload:
    """Sizes with a heavy tail."""
    random = Random("heavy-tail")
    sent = [
        Arrival(request.time, request.user, 10 * block, request.output_tokens, None, (request.user, f"topic {block}"))
        for number in range(1, 7)
        for request in _tailed(random, f"user-{number}", 60)
        for block in (1 + request.output_tokens % 3,)
    ]
    return Workload(
        "heavy-tail",
        "sizes with a heavy tail",
        "Six users send alike; most requests are small, and a few are a hundred times as large.",
        _ordered(sent),
        pool=TOKENS,
        prices=Prices(1, 2),
    )


def bundled() -> Workload:
    """The sample."""
    imported = FORMATS["servegen"](io.BytesIO(sample.bundled()))
    return Workload(
        "sample",
        "the sample",
        "Ten minutes of a dozen customers: heavy tails, bursts, one that returns and one that floods.",
        imported.arrivals,
    )


SCENARIOS: Mapping[str, Callable[[], Workload]] = {
    "article": article,
    "flood": flood,
    "heavy": heavy,
    "returns": returns,
    "drain": drain,
    "on-off": on_off,
    "weights": weights,
    "heavy-tail": heavy_tail,
    "sample": bundled,
}
"""The workloads by name."""


def _spread(
    random: Random, user: str, start: int, end: int, requests: int, tokens: tuple[int, int]
) -> Iterator[Arrival]:
    """Requests at random moments between two seconds, with so many output tokens."""
    for _ in range(requests):
        time = start * SECOND + random.randrange((end - start) * 1_000) * 1_000
        yield Arrival(time, user, 0, random.randint(*tokens))


def _tailed(random: Random, user: str, requests: int) -> Iterator[Arrival]:
    """Requests within a minute, with sizes as of the sample."""
    for request in _spread(random, user, 0, 60, requests, (0, 0)):
        size = min(1_500, int(12 / (1 - random.random())))
        yield Arrival(request.time, user, 0, size)


def _ordered(sent: list[Arrival]) -> tuple[Arrival, ...]:
    return tuple(sorted(sent, key=lambda arrival: arrival.time))
