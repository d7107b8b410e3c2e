"""Many small numbers side by side in one large integer, so that one operation of Python works on all of them.

A *lane* is a field of some bits. Numbers are not negative and leave the top bits of their lanes free, so that sums
and differences of whole rows do not run from one lane into the next. Exact, and some ten times faster than a loop.
"""

from __future__ import annotations

from dataclasses import dataclass

NARROWEST = 32
"""Bits of a lane at first; twice as many whenever they do not suffice."""
SPARE = 2
"""Top bits of a lane that numbers leave free: one that marks a difference below zero, one so that it cannot borrow."""


@dataclass(frozen=True)
class Lanes:
    """A layout: so many lanes of so many bits."""

    count: int
    width: int = NARROWEST

    def __post_init__(self) -> None:
        ones = ((1 << self.count * self.width) - 1) // ((1 << self.width) - 1)
        object.__setattr__(self, "ones", ones)
        object.__setattr__(self, "guards", ones << (self.width - 1))

    ones: int = 0
    """1 in every lane."""
    guards: int = 0
    """The top bit of every lane."""

    @property
    def limit(self) -> int:
        """Numbers are below it."""
        return 1 << (self.width - SPARE)

    def unpack(self, row: int) -> list[int]:
        """The number in each lane."""
        size = self.width // 8
        whole = row.to_bytes(self.count * size, "little")
        if size in (4, 8):
            return memoryview(whole).cast("I" if size == 4 else "Q").tolist()
        return [int.from_bytes(whole[at : at + size], "little") for at in range(0, len(whole), size)]

    def pack(self, numbers: list[int]) -> int:
        """The row that holds these numbers, and zeros in further lanes."""
        size = self.width // 8
        return int.from_bytes(b"".join(number.to_bytes(size, "little") for number in numbers), "little")

    def kept(self, difference: int) -> int:
        """All bits but the top one of every lane whose top bit survived a subtraction: where it is not negative."""
        survived = difference & self.guards
        return survived - (survived >> (self.width - 1))
