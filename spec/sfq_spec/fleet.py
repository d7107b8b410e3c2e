"""What a dispatcher in front of servers promises besides its order (article §2.6, §5.1, §5.3, §7.4).

Each predicate speaks of what can be seen from outside. That what is dispatched is the machine's choice (FLEET-ORDER) is
said by `machine.step`, with `placement.placing` where others may overtake whoever fits nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sfq_spec.competition import Competition

Number = int | float | Fraction


@dataclass(frozen=True)
class Room:
    """What a server can hold."""

    requests: int
    """How many at once."""
    tokens: int | None = None
    """Of all of them together; None: they are not counted."""


def once(accepted: int, ended: int) -> bool:
    """FLEET-ONCE, at any moment: every acceptance of an id but the latest has ended, and no end is without one."""
    return accepted - ended in (0, 1)


def is_over(accepted: int, ended: int) -> bool:
    """FLEET-ONCE, when all is over: whatever was accepted under an id has ended."""
    return accepted == ended


def within(held: Iterable[int], room: Room) -> bool:
    """FLEET-CAP: what a server holds, given as the tokens of each request, has room on it."""
    tokens = list(held)
    return len(tokens) <= room.requests and (room.tokens is None or sum(tokens) <= room.tokens)


def same_meters(v: Number, lag: Mapping[str, Number], told: Competition[str, Fraction, bool]) -> bool:
    """FLEET-METER: v and whoever is ahead of it are what they are where nothing is known of servers and times.

    `told` is the competition after the same arrivals, withdrawals, dispatches and weights; `lag` is S − v by user, and
    need not name those who are not ahead (KEEP-FORGET).
    """
    ahead = {user: meter - told.v for user, meter in told.meter.items() if meter > told.v}
    return v == told.v and {user: by for user, by in lag.items() if by > 0} == ahead


def fixed(costs: Iterable[Number]) -> bool:
    """COST-OUTSIDE: whenever the cost of one request is looked at, from its estimate to its end, it is the same."""
    return len(set(costs)) == 1
