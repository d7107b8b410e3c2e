"""REPLICA: the lead of one user over another where R independent schedulers dispatch for both (article §8).

Each scheduler has its own virtual time and meters and knows nothing of the others. What an observer who started at t1
adds up over them is a `Total`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from sfq_spec.logic import Logic, N, T, U
from sfq_spec.properties import Account


@dataclass(frozen=True)
class Total(Generic[N]):
    """Sums over some schedulers, of the accounts of one interval."""

    lead: N
    """W_i − W_j."""
    allowed: N
    """last_i(t2) + last_j(t1), the bound of FAIR-LEAD on each."""
    most: N
    """Two of the largest charges for each scheduler: R times the bound of FAIR-PAIR."""


def none(zero: N) -> Total[N]:
    """No scheduler yet."""
    return Total(zero, zero, zero)


def plus(total: Total[N], a: Account[U, N, T], i: U, j: U, greatest: N) -> Total[N]:
    """One scheduler more; `greatest` is the largest charge on any of them."""
    return Total(
        total.lead + a.charged[i] - a.charged[j],
        total.allowed + a.last[i] + a.last1[j],
        total.most + greatest + greatest,
    )


def within(logic: Logic[U, N, T], total: Total[N]) -> T:
    """REPLICA: the lead is at most the sum of the bounds, and so at most R times two of the largest charges."""
    return logic.both(total.lead <= total.allowed, total.allowed <= total.most)
