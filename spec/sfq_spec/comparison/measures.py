"""What is measured of a run, as exact values. A wait that has not ended counts as long as it has lasted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sfq_spec.comparison.simulate import Played, Sent
from sfq_spec.comparison.workload import Group, Workload
from sfq_spec.conformance.audit.findings import FairnessFinding

FIRST = 16
"""Dispatches whose order is told."""
LONG = 10
"""Who was away for less than this part of the time has not been idle for long."""
FIGURES = {"shortest": 0, "quarter": 25, "median": 50, "three_quarters": 75, "most": 95, "longest": 100}
"""So many of 100 waits are not above each figure."""


@dataclass(frozen=True)
class Lead:
    """By how much a user got ahead of another that waited throughout, in charges: cost over weight."""

    worst: Fraction | None
    """Exact, over all pairs and intervals; None where there are too many users to look at all pairs."""
    largest_charge: Fraction
    ahead: str
    behind: str
    """Who it was; empty where nobody got ahead."""
    of_bound: Fraction | None
    """Times what FAIR-LEAD allows: in the interval that breaks it by most, else in the one of the worst lead."""
    holds: bool | None
    """Whether FAIR-LEAD holds in every interval; None: not known."""

    @property
    def of_largest(self) -> Fraction | None:
        """Times the largest charge."""
        return None if self.worst is None or not self.largest_charge else self.worst / self.largest_charge


@dataclass(frozen=True)
class Waits:
    """Waits of some requests, in microseconds. Each is one of the waits there were (nearest rank)."""

    requests: int
    still_waiting: int
    """Of these, at the end."""
    at_least: tuple[str, ...]
    """The names of figures that may become greater when the waits that last have ended."""
    shortest: int
    quarter: int
    median: int
    three_quarters: int
    most: int
    """95 of 100 waits are not above it."""
    longest: int


@dataclass(frozen=True)
class Return:
    """What happened when a user returned from idle while others had requests waiting."""

    user: str
    request: str
    idle: int
    """Microseconds without a request waiting."""
    sent_before: int | None
    """Requests of others that went first; None: its own was not dispatched."""
    wait: int
    """Microseconds from its arrival to its dispatch, or to the end."""
    order: tuple[str, ...]
    """The users of the first dispatches after it arrived."""


@dataclass(frozen=True)
class User:
    """What became of a user."""

    name: str
    group: Group
    weight: Fraction
    dispatched: int
    waiting: int
    """Requests that wait at the end."""
    charged: Fraction
    """Costs over weight."""
    share: Fraction
    """Of the costs of all that was dispatched."""


@dataclass(frozen=True)
class Measures:
    """What is measured of one method on one workload."""

    policy: str
    title: str
    lead: Lead
    light: Waits | None
    heavy: Waits | None
    """None: there are no such users."""
    users: tuple[User, ...]
    """Those first that ask for most."""
    order: tuple[str, ...]
    """The users of the first dispatches."""
    back: Return | None
    """None: nobody returned from idle while others waited."""
    dispatched: int
    makespan: int
    """Microseconds from the first arrival to the end."""
    busy: Fraction
    """Part of the servers' time in which they served."""
    withheld: int
    """Microseconds of servers that were free while somebody waited."""
    seconds_per_decision: float
    """By the clock, of the model in Python: it is not the same twice."""


def measure(workload: Workload, policy: str, title: str, played: Played, back: str | None) -> Measures:
    """The measures of a run. `back` is the request with which a user returns from idle, if one does."""
    seen = played.congestion
    capacity = seen.elapsed * workload.servers
    groups: dict[Group, list[Sent]] = {"light": [], "heavy": []}
    for request in played.requests:
        groups[workload.groups[request.user]].append(request)
    return Measures(
        policy,
        title,
        lead(played.found),
        waits(groups["light"], played.ended),
        waits(groups["heavy"], played.ended),
        _users(workload, played.found),
        _owners(played, 0),
        _return(played, back),
        len(played.order),
        seen.elapsed,
        Fraction(seen.busy, capacity) if capacity else Fraction(0),
        seen.withheld,
        played.seconds / len(played.order) if played.order else 0.0,
    )


def lead(found: FairnessFinding) -> Lead:
    """The worst lead, as the audit has found it."""
    worst, excess = found.audit.worst, found.excess
    telling = excess or worst.worst
    holds = None if not found.decided else excess is None
    return Lead(
        found.number(worst.greatest) if found.is_exact else None,
        found.number(found.audit.greatest),
        worst.worst.ahead if worst.worst else "",
        worst.worst.behind if worst.worst else "",
        Fraction(telling.lead, telling.bound) if telling else None,
        holds,
    )


def waits(requests: Sequence[Sent], ended: int) -> Waits | None:
    """The waits of some requests of a run that ended then."""
    if not requests:
        return None
    so_far = sorted(waited(request, ended) for request in requests)
    over = sorted(waited(request, ended) for request in requests if request.dispatched is not None)
    values: dict[str, int] = {}
    at_least = []
    for name, percent in FIGURES.items():
        place = max(1, ceil(Fraction(percent * len(so_far), 100))) - 1
        values[name] = so_far[place]
        # If those that last were to last for ever, the figure would be this one:
        if place >= len(over) or over[place] != so_far[place]:
            at_least.append(name)
    return Waits(len(so_far), len(so_far) - len(over), tuple(at_least), **values)


def waited(request: Sent, ended: int) -> int:
    """How long it waited, in microseconds."""
    return (ended if request.dispatched is None else request.dispatched) - request.arrived


def find_return(workload: Workload, played: Played) -> str | None:
    """The request whose user returns after the longest time without one waiting, while others have some waiting.

    It is what the workload says, where it says so. None where nobody was away for a tenth of the time.
    """
    if workload.returning is not None:
        return workload.returning
    returns = [request for request in played.requests if request.idle is not None and request.others]
    longest = max(returns, key=lambda request: request.idle or 0, default=None)
    is_long = longest is not None and LONG * (longest.idle or 0) >= played.congestion.elapsed
    return longest.request if longest and is_long else None


def _return(played: Played, request: str | None) -> Return | None:
    found = next((sent for sent in played.requests if sent.request == request), None)
    if found is None:
        return None
    after = _owners(played, found.before)
    before = played.order.index(found.request) - found.before if found.dispatched is not None else None
    return Return(found.user, found.request, found.idle or 0, before, waited(found, played.ended), after)


def _owners(played: Played, start: int) -> tuple[str, ...]:
    owner = {sent.request: sent.user for sent in played.requests}
    return tuple(owner[request] for request in played.order[start : start + FIRST])


def _users(workload: Workload, found: FairnessFinding) -> tuple[User, ...]:
    seen = found.audit.users
    weight = {name: Fraction(workload.weights.get(name, 1)) for name in seen}
    served = {name: found.number(user.total) * weight[name] for name, user in seen.items()}
    total = sum(served.values())
    return tuple(
        User(
            name,
            workload.groups[name],
            weight[name],
            seen[name].dispatched,
            seen[name].waiting,
            found.number(seen[name].total),
            served[name] / total if total else Fraction(0),
        )
        for name in workload.users
        if name in seen
    )
