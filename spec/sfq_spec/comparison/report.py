"""A comparison for machines: plain values that JSON holds, the same in every run. Times are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from sfq_spec import numbers
from sfq_spec.comparison.compare import Comparison, Result
from sfq_spec.comparison.measures import FIGURES, Lead, Measures, Return, Waits
from sfq_spec.comparison.workload import Workload
from sfq_spec.importers.rows import SECOND

MOST_CURVES = 9
"""Users whose charges are told over time; the others are summed up."""


@dataclass(frozen=True)
class Curve:
    """What some users have been charged so far, at the moments of some dispatches."""

    label: str
    names: tuple[str, ...]
    points: tuple[tuple[int, Fraction], ...]
    """Microseconds, and the sum of the charges."""


def as_json(comparison: Comparison, *, with_time: bool = False) -> dict[str, Any]:
    """The whole comparison. With the time per decision it is another one each time."""
    reference = comparison.reference
    policies = []
    for result in comparison.results:
        told = _measures(result.measures) | {"over_time": _over_time(comparison.workload, result)}
        if with_time:
            told["decision"] = _decision(result.measures, reference)
        policies.append(told)
    return {"workload": _workload(comparison.workload), "policies": policies}


def curves(workload: Workload, result: Result) -> list[Curve]:
    """The charges of each user over time, in the same order for every method; the last curve is of all others."""
    timeline = result.played.found.audit.timeline
    if timeline is None:
        return []
    start = workload.arrivals[0].time
    groups: list[tuple[str, Sequence[str]]] = [(name, (name,)) for name in workload.users[:MOST_CURVES]]
    if rest := workload.users[MOST_CURVES:]:
        groups.append((f"{len(rest):,} others" if len(rest) > 1 else rest[0], rest))
    made = []
    spans = sorted(timeline.ends)
    times = [start, *(int(str(timeline.ends[span][1])) for span in spans)]
    for label, names in groups:
        parts = [timeline.charges[name] for name in names if name in timeline.charges]
        sums = accumulate((sum(part.get(span, 0) for part in parts) for span in spans), initial=0)
        points = zip(times, map(result.played.found.number, sums), strict=True)
        made.append(Curve(label, tuple(names), tuple(points)))
    return made


def leads(result: Result) -> list[tuple[int, Fraction]]:
    """The greatest lead at the moments of some dispatches: microseconds, and the lead. Empty where it is not known."""
    found = result.played.found
    timeline = found.audit.timeline
    if timeline is None or not found.is_exact:
        return []
    points = [(int(str(time)), found.number(lead)) for lead, _, time in timeline.leads.values()]
    return sorted(points, key=lambda point: point[0])


def seconds(microseconds: int) -> float:
    """Microseconds as JSON has them."""
    return microseconds / SECOND


def _workload(workload: Workload) -> dict[str, Any]:
    pool, prices = workload.pool, workload.prices
    return {
        "name": workload.name,
        "title": workload.title,
        "about": workload.about,
        "requests": len(workload.requests),
        "servers": workload.servers,
        "input_seconds": numbers.write(pool.input_seconds),
        "output_seconds": numbers.write(pool.output_seconds),
        "input_weight": prices.input_weight,
        "output_weight": prices.output_weight,
        "until": None if workload.until is None else seconds(workload.until),
        "users": [
            {
                "user": user,
                "group": workload.groups[user],
                "weight": numbers.write(Fraction(workload.weights.get(user, 1))),
                "asks_for": numbers.write(workload.asked[user]),
            }
            for user in workload.users
        ],
    }


def _measures(measured: Measures) -> dict[str, Any]:
    return {
        "policy": measured.policy,
        "title": measured.title,
        "lead": _lead(measured.lead),
        "waits": {"light": _waits(measured.light), "heavy": _waits(measured.heavy)},
        "first_dispatches": list(measured.order),
        "return": _return(measured.back),
        "dispatched": measured.dispatched,
        "makespan": seconds(measured.makespan),
        "busy": _rounded(measured.busy),
        "free_while_somebody_waits": seconds(measured.withheld),
        "users": [
            {
                "user": user.name,
                "dispatched": user.dispatched,
                "waiting": user.waiting,
                "charged": numbers.write(user.charged),
                "share": _rounded(user.share),
            }
            for user in measured.users
        ],
    }


def _lead(lead: Lead) -> dict[str, Any]:
    return {
        "worst": None if lead.worst is None else numbers.write(lead.worst),
        "ahead": lead.ahead or None,
        "behind": lead.behind or None,
        "largest_charge": numbers.write(lead.largest_charge),
        "times_largest_charge": _rounded(lead.of_largest),
        "times_fair_lead": _rounded(lead.of_bound),
        "fair_lead_holds": lead.holds,
    }


def _waits(waits: Waits | None) -> dict[str, Any] | None:
    if waits is None:
        return None
    return {
        "requests": waits.requests,
        "still_waiting": waits.still_waiting,
        **{name: seconds(getattr(waits, name)) for name in FIGURES},
        "at_least": list(waits.at_least),
    }


def _return(back: Return | None) -> dict[str, Any] | None:
    if back is None:
        return None
    return {
        "user": back.user,
        "request": back.request,
        "idle": seconds(back.idle),
        "sent_before": back.sent_before,
        "wait": seconds(back.wait),
        "next_dispatches": list(back.order),
    }


def _over_time(workload: Workload, result: Result) -> dict[str, Any] | None:
    made = curves(workload, result)
    if not made:
        return None
    return {
        "times": [seconds(time) for time, _ in made[0].points],
        "charged": {curve.label: [numbers.write(charge) for _, charge in curve.points] for curve in made},
        "leads": [{"time": seconds(time), "lead": numbers.write(lead)} for time, lead in leads(result)],
    }


def _decision(measured: Measures, reference: Measures | None) -> dict[str, Any]:
    ratio = None
    if reference and reference.seconds_per_decision:
        ratio = round(measured.seconds_per_decision / reference.seconds_per_decision, 2)
    return {"microseconds": round(measured.seconds_per_decision * SECOND, 1), "times_sfq": ratio}


def _rounded(number: Fraction | None) -> float | None:
    return None if number is None else round(float(number), 6)
