"""A small sample of requests in the format of ServeGen streams, made from a seed.

Ten minutes of a dozen customers: sizes with heavy tails, bursts, one that goes idle and returns, one that
floods.
Only uniform random numbers and divisions are used, so that a seed gives the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from random import Random

SEED = 1
"""The seed of the sample that comes with the package."""

HEADER = "arrival_s,client,input_tokens,output_tokens"


@dataclass(frozen=True)
class Spell:
    """A stretch of time in which a customer sends so many requests, at random moments."""

    start: int
    end: int
    requests: int


@dataclass(frozen=True)
class Customer:
    """Who sends what. Of each size the least and the greatest; the least is the most likely."""

    name: str
    spells: tuple[Spell, ...]
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]


CUSTOMERS = (
    Customer("flood", (Spell(10, 60, 400),), (40, 2_000), (60, 1_500)),
    Customer("steady-1", (Spell(0, 600, 120),), (200, 8_000), (120, 4_000)),
    Customer("steady-2", (Spell(0, 600, 90),), (100, 4_000), (150, 6_000)),
    Customer("steady-3", (Spell(0, 600, 60),), (50, 3_000), (80, 3_000)),
    Customer("bursts-1", tuple(Spell(t, t + 3, 25) for t in range(30, 600, 120)), (80, 4_000), (60, 2_000)),
    Customer("bursts-2", tuple(Spell(t, t + 2, 15) for t in range(75, 600, 150)), (400, 16_000), (40, 1_000)),
    Customer("returns", (Spell(0, 90, 40), Spell(420, 510, 40)), (100, 4_000), (100, 4_000)),
    Customer("heavy", (Spell(0, 600, 15),), (2_000, 40_000), (1_500, 24_000)),
    Customer("long-input", (Spell(60, 540, 40),), (4_000, 60_000), (30, 600)),
    Customer("long-output", (Spell(0, 600, 25),), (20, 400), (900, 12_000)),
    Customer("tiny", (Spell(0, 600, 150),), (5, 200), (1, 60)),
    Customer("rare", (Spell(0, 600, 4),), (300, 6_000), (200, 3_000)),
)


def generate(seed: int = SEED) -> str:
    """The sample for a seed, as the text of a CSV file."""
    rows = sorted(row for customer in CUSTOMERS for row in _requests(customer, seed))
    lines = (f"{time // 1000}.{time % 1000:03},{name},{sizes[0]},{sizes[1]}" for time, name, sizes in rows)
    return "\n".join((HEADER, *lines, ""))


def bundled() -> bytes:
    """The sample that comes with the package: what `generate` gives for `SEED`."""
    return files("sfq_spec").joinpath("data", "sample.csv").read_bytes()


def _requests(customer: Customer, seed: int) -> Iterator[tuple[int, str, tuple[int, int]]]:
    random = Random(f"{seed}:{customer.name}")
    for spell in customer.spells:
        for _ in range(spell.requests):
            time = spell.start * 1000 + int(random.random() * (spell.end - spell.start) * 1000)
            sizes = _tokens(random, *customer.input_tokens), _tokens(random, *customer.output_tokens)
            yield time, customer.name, sizes


def _tokens(random: Random, least: int, greatest: int) -> int:
    """A heavy tail: twice the size is exceeded half as often (a Pareto law), cut off at the greatest."""
    return min(greatest, int(least / (1 - random.random())))
