"""What an audit has found, in numbers as the log has them, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from sfq_spec import numbers
from sfq_spec.conformance.audit.fairness import Fairness, User, Wait
from sfq_spec.conformance.audit.formats import Tally
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import Batch, Record, Unreadable
from sfq_spec.conformance.audit.timeline import Timeline
from sfq_spec.conformance.audit.worst_lead import Interval, Moment
from sfq_spec.conformance.judge import Wrong

Verdict = Literal["conforms", "does not conform", "no verdict"]
STATUS: dict[Verdict, int] = {"conforms": 0, "does not conform": 1, "no verdict": 2}

MOST_CURVES = 10
"""Users whose charges are told over time; the others are summed up."""
CONTEXT = 10
"""Events that are shown before a wrong one, at most."""


@dataclass(frozen=True)
class OrderFinding:
    """Whether a trace is the machine's."""

    events: int
    """How many were looked at."""
    dispatched: int
    refused: int
    wrong: Wrong | None = None
    place: str = ""
    """File and line of the wrong event."""
    context: tuple[Record, ...] = ()
    """The events up to the wrong one, as far as they are at hand."""

    @property
    def verdict(self) -> Verdict:
        """A trace without a dispatch shows nothing."""
        if self.wrong:
            return "does not conform"
        return "conforms" if self.dispatched else "no verdict"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        found: dict[str, Any] = {"mode": "order", "verdict": self.verdict, "events": self.events}
        found |= {"dispatched": self.dispatched, "refused": self.refused, "wrong": None}
        if self.wrong:
            found["wrong"] = {
                "event": self.wrong.at + 1,
                "place": self.place,
                "shortest_failing_prefix": self.wrong.at + 1,
                "sentence": self.wrong.sentence,
                "legal": list(self.wrong.legal),
                "claims": list(self.wrong.claims),
            }
        return found


def audit_order(batches: Iterable[Batch], order: Order, weights: Iterable[Record] = ()) -> OrderFinding:
    """Follow a trace to its end, or to the first wrong event. Raises `Unreadable`."""
    order.take(weights)
    order.events = 0
    for batch in batches:
        before = order.events
        try:
            wrong = order.take(batch.records)
        except Unreadable as gap:
            raise Unreadable(f"{batch.place(order.events - before - 1)}: {gap}") from None
        if wrong:
            index = order.events - before
            context = tuple(batch.records[max(0, index - CONTEXT) : index])
            return OrderFinding(order.events, order.dispatched, order.refused, wrong, batch.place(index - 1), context)
    return OrderFinding(order.events, order.dispatched, order.refused)


@dataclass(frozen=True)
class FairnessFinding:
    """How unfair a scheduler was."""

    audit: Fairness
    bound: int
    """No lead is above it, by the certificate."""
    tally: Tally = field(default_factory=Tally)

    @property
    def is_exact(self) -> bool:
        """Whether the worst lead is that of all pairs and intervals."""
        return not self.audit.worst.given_up

    @property
    def excess(self) -> Interval | None:
        """An interval in which FAIR-LEAD does not hold, if one is known."""
        worst, beyond = self.audit.worst.worst, self.audit.beyond
        if beyond and beyond.worst:
            return beyond.worst
        return worst if worst and worst.lead > worst.bound else None

    @property
    def dispatched(self) -> int:
        """How many requests."""
        return sum(user.dispatched for user in self.audit.users.values())

    @property
    def decided(self) -> str:
        """By what it is known whether FAIR-LEAD holds; empty where it is not known, or nothing was dispatched."""
        if not self.dispatched:
            return ""
        if self.audit.certificate.is_level:
            return "the certificate"
        if self.excess:
            return "an interval"
        return "all intervals" if self.audit.beyond and not self.audit.beyond.given_up else ""

    @property
    def verdict(self) -> Verdict:
        """Whether FAIR-LEAD holds for all pairs and intervals."""
        if not self.decided:
            return "no verdict"
        return "does not conform" if self.excess else "conforms"

    @property
    def users(self) -> list[User]:
        """The users that were charged most first."""
        return sorted(self.audit.users.values(), key=lambda user: (-user.total, user.name))

    @property
    def total(self) -> int:
        """All charges together."""
        return sum(user.total for user in self.audit.users.values())

    def number(self, units: int) -> Fraction:
        """A charge, lead or bound as the log has it."""
        return Fraction(units, self.audit.unit)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        audit, worst = self.audit, self.audit.worst
        return {
            "mode": "fairness",
            "verdict": self.verdict,
            "events": audit.events,
            "dispatched": self.dispatched,
            "refused": audit.refused,
            "withdrawn": audit.withdrawn,
            "still_waiting": len(audit.live),
            "left_out": {"rows": self.tally.left_out, "why": self.tally.why} if self.tally.left_out else None,
            "notes": self.tally.notes,
            "largest_charge": self._written(audit.greatest),
            "worst_lead": {
                "exact": self.is_exact,
                "lead": self._written(worst.greatest),
                "share_of_two_largest_charges": self._share(worst.greatest, 2 * audit.greatest),
                "interval": self._interval(worst.worst),
                "given_up_at_event": worst.given_up or None,
            },
            "certificate": {
                "no_lead_above": self._written(self.bound),
                "least_meter_each_time": audit.certificate.is_level,
            },
            "fair_lead": {
                "holds": None if not self.decided else not self.excess,
                "decided_by": self.decided or None,
                "broken_in": self._interval(self.excess),
            },
            "longest_wait": _wait(audit.longest_wait),
            "users": [
                {
                    "user": user.name,
                    "weight": numbers.write(Fraction(user.weight)),
                    "dispatched": user.dispatched,
                    "charged": self._written(user.total),
                    "share": self._share(user.total, self.total),
                    "waiting": user.waiting,
                    "longest_wait": _wait(user.longest),
                }
                for user in self.users
            ],
            "over_time": self._over_time(audit.timeline),
        }

    def _over_time(self, timeline: Timeline | None) -> dict[str, Any] | None:
        if timeline is None:
            return None
        spans = sorted(timeline.ends)
        names = [user.name for user in self.users]

        def charged(some: list[str]) -> list[int | str]:
            parts = [timeline.charges[name] for name in some if name in timeline.charges]
            return [self._written(sum(part.get(span, 0) for part in parts)) for span in spans]

        return {
            "events": [timeline.ends[span][0] for span in spans],
            "times": [timeline.ends[span][1] for span in spans],
            "charged": {name: charged([name]) for name in names[:MOST_CURVES]},
            "charged_to_others": charged(names[MOST_CURVES:]),
            "leads": [
                {"event": event, "time": time, "lead": self._written(lead)}
                for _, (lead, event, time) in sorted(timeline.leads.items())
            ],
        }

    def _interval(self, interval: Interval | None) -> dict[str, Any] | None:
        if interval is None:
            return None
        return {
            "ahead": interval.ahead,
            "behind": interval.behind,
            "after": _moment(interval.begin),
            "until": _moment(interval.end),
            "lead": self._written(interval.lead),
            "fair_lead_allows": self._written(interval.bound),
            "share_of_that": self._share(interval.lead, interval.bound),
            "latest_charge_of_ahead": self._written(interval.last_ahead),
            "charge_of_behind_before": self._written(interval.last_behind),
        }

    def _written(self, units: int) -> int | str:
        return numbers.write(self.number(units))

    def _share(self, part: int, whole: int) -> float | None:
        return round(part / whole, 6) if whole else None


def audit_fairness(
    batches: Iterable[Batch], audit: Fairness, tally: Tally, weights: Iterable[Record] = ()
) -> FairnessFinding:
    """Follow a log to its end. Raises `Unreadable`."""
    audit.take(weights)
    audit.events = 0
    for batch in batches:
        before = audit.events
        try:
            audit.take(batch.records)
        except Unreadable as gap:
            raise Unreadable(f"{batch.place(audit.events - before - 1)}: {gap}") from None
    return FairnessFinding(audit, audit.finish(), tally)


def needs_all_intervals(found: FairnessFinding) -> bool:
    """Whether FAIR-LEAD is open only because the excess over it was not followed, and could be."""
    return found.audit.beyond is None and found.is_exact and found.dispatched > 0 and not found.decided


def _moment(moment: Moment) -> dict[str, Any]:
    return {"event": moment.event, "time": moment.time}


def _wait(wait: Wait | None) -> dict[str, Any] | None:
    if wait is None:
        return None
    return {
        "user": wait.user,
        "request": wait.request,
        "events": wait.events,
        "seconds": wait.seconds,
        "arrived_at_event": wait.since,
        "is_over": wait.is_over,
    }
