"""How far one user got ahead of another one that waited throughout: the worst lead, exactly, by counting.

A lead is what one was charged (cost over weight) less what the other was, in an interval in which the other waited all
the time. For each user that waits, and each other one, the least difference of the two since it began to wait is kept.
That is a number for every pair, so it is given up where there are too many users; `sfq-spec audit` can do more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

MOST_USERS = 400


@dataclass(frozen=True)
class Lead:
    """The worst one."""

    ahead: str
    behind: str
    charge: Fraction


class Leads:
    """Told of what waits and what is charged, it knows the worst lead."""

    def __init__(self, weights: Mapping[str, float], most_users: int = MOST_USERS) -> None:
        self.worst: Lead | None = None
        self.greatest = Fraction(0)
        """The greatest charge."""
        self.is_given_up = False
        self._most_users = most_users
        self._weights = {user: Fraction(repr(weight)) for user, weight in weights.items()}
        self._unit = math.lcm(*(weight.numerator for weight in self._weights.values()))
        self._charged: dict[str, int] = {}
        """What each has been charged, in parts of a unit."""
        self._least: dict[str, dict[str, int]] = {}
        """By user that waits: the least of what others have been charged more than it, since it began to wait."""
        self._waiting = Counter[str]()
        self._lead = 0

    def arrived(self, user: str) -> None:
        """A request waits."""
        self._waiting[user] += 1
        if self._waiting[user] > 1 or self.is_given_up:
            return
        own = self._charged.setdefault(user, 0)
        if len(self._charged) > self._most_users:
            self.is_given_up = True
            return
        self._least[user] = {other: charged - own for other, charged in self._charged.items()}

    def withdrawn(self, user: str) -> None:
        """A request waits no more."""
        self._waiting[user] -= 1
        if not self._waiting[user]:
            self._least.pop(user, None)

    def dispatched(self, user: str, cost: int) -> None:
        """A request is charged, and waits no more."""
        charge = cost / self._weights.get(user, Fraction(1))
        self.greatest = max(self.greatest, charge)
        if not self.is_given_up:
            self._charge(user, int(charge * self._unit))
        self.withdrawn(user)

    def _charge(self, user: str, charge: int) -> None:
        charged = self._charged
        charged[user] += charge
        total = charged[user]
        for other, least in self._least.items():
            if other != user:
                lead = total - charged[other] - least.setdefault(user, total - charge - charged[other])
                if lead > self._lead:
                    self._lead, self.worst = lead, Lead(user, other, Fraction(lead, self._unit))
        own = self._least[user]
        for other, of_other in charged.items():
            difference = of_other - total
            if difference < own.get(other, difference + 1):
                own[other] = difference
