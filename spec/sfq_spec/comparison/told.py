"""A comparison for people, in cells and sentences; who prints them decides how they look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from string import ascii_lowercase

from sfq_spec.comparison.compare import Comparison
from sfq_spec.comparison.measures import Lead, Measures, Waits
from sfq_spec.comparison.workload import Group, Workload
from sfq_spec.importers.rows import SECOND
from sfq_spec.table import shown

NOTHING = "–"
GROUPS: tuple[Group, Group] = ("light", "heavy")
DIGITS = 3
"""Of a figure that is rounded."""


@dataclass(frozen=True)
class Cells:
    """One table. Every column but the first holds numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    holds: tuple[bool | None, ...]
    """Of each row: whether FAIR-LEAD does."""


FIGURES = {"median": "median", "95 %": "most", "longest": "longest"}
"""What the columns of waits are called, and the figures in them."""
OF_BOUND = "× FAIR-LEAD"
"""The last of the columns that tell the worst lead."""
MOST_SHARES = 6
"""Users whose shares have columns."""


def table(comparison: Comparison, *, narrow: bool = False, with_time: bool = True) -> Cells:
    """A row for each method. The narrow table has fewer columns; the time per decision is not the same twice.

    Where the run ends while requests wait, shares are told, else waits.
    """
    workload = comparison.workload
    with_time = with_time and not narrow
    figures = ["median", "longest"] if narrow else list(FIGURES)
    shares = workload.users[:MOST_SHARES] if workload.until is not None else ()
    groups = [] if shares else _groups(workload)
    back = any(measured.back for measured in comparison.measures)
    header = ["method", "worst lead", *([] if narrow else ["× largest"]), OF_BOUND]
    header += [f"{shown(user)} %" for user in shares]
    header += [f"{group} {figure}" for group in groups for figure in figures]
    header += (["before return"] if back else []) + (["µs a decision"] if with_time else [])
    reference = comparison.reference
    rows = []
    for measured in comparison.measures:
        worst, of_largest, of_bound = lead_cells(measured.lead)
        row = [shown(measured.title), worst, *([] if narrow else [of_largest]), of_bound]
        got = {user.name: user.share for user in measured.users}
        row += [f"{float(100 * got.get(user, 0)):.1f}" for user in shares]
        row += [cell for group in groups for cell in wait_cells(getattr(measured, group), figures)]
        row += [_before(measured)] if back else []
        row += [_decision(measured, reference)] if with_time else []
        rows.append(tuple(row))
    return Cells(tuple(header), tuple(rows), tuple(measured.lead.holds for measured in comparison.measures))


def lead_cells(lead: Lead) -> tuple[str, str, str]:
    """The worst lead, as it is, and in multiples."""
    worst = "not known" if lead.worst is None else figure(lead.worst)
    return worst, times(lead.of_largest), times(lead.of_bound)


def wait_cells(waits: Waits | None, figures: Sequence[str]) -> Iterator[str]:
    """Waits in seconds; those that may become longer are marked."""
    for name in figures:
        if waits is None:
            yield NOTHING
        else:
            mark = "≥ " if FIGURES[name] in waits.at_least else ""
            yield f"{mark}{duration(getattr(waits, FIGURES[name]))}"


def intro(workload: Workload) -> Iterator[str]:
    """What is compared."""
    groups = [f"{len(_of(workload, group)):,} {group}" for group in _groups(workload)]
    kinds = f" ({', '.join(groups)})" if len(groups) > 1 else ""
    until = "" if workload.until is None else f", the first {duration(workload.until)} s"
    yield f"{shown(workload.name)}: {shown(workload.title)}"
    yield shown(workload.about)
    yield (
        f"{count(len(workload.requests), 'request')} of {count(len(workload.users), 'user')}{kinds}, "
        f"{count(workload.servers, 'server')}{until}"
    )


def notes(comparison: Comparison, *, with_time: bool = False) -> Iterator[str]:
    """What the columns say, and what all methods have in common."""
    yield (
        "Worst lead: by how much a user was charged more than another that waited throughout, exact over all pairs "
        "and intervals; also in multiples of the largest charge, and of what FAIR-LEAD allows in the interval."
    )
    if comparison.workload.until is not None:
        yield "%: the user's part of the costs of all that was dispatched until the end, when requests wait still."
    else:
        yield "Waits in seconds." + (
            " Light users ask for less than an equal share in relation to their weights."
            if len(_groups(comparison.workload)) > 1
            else ""
        )
    if back := next((measured.back for measured in comparison.measures if measured.back), None):
        yield (
            f"Before return: requests of others that are dispatched before the first of {shown(back.user)!r}, which "
            f"returns after {duration(back.idle)} s without a request waiting."
        )
    if with_time:
        yield (
            "µs a decision: the time that this model in Python takes for an arrival, a dispatch and a completion, and "
            "how many times that of SFQ; not the same twice."
        )
    if not any(wait.longest for measured in comparison.measures for wait in (measured.light, measured.heavy) if wait):
        servers = max(1, comparison.workload.servers // 2)
        yield f"Nobody waits, so all methods are alike: fewer servers tell them apart, such as --servers {servers}."
    spans = sorted(measured.makespan for measured in comparison.measures)
    withheld = max(measured.withheld for measured in comparison.measures)
    span = duration(spans[0]) if spans[0] == spans[-1] else f"{duration(spans[0])} to {duration(spans[-1])}"
    free = (
        "No server is free while somebody waits."
        if not withheld
        else f"Servers are free while somebody waits for up to {duration(withheld)} s."
    )
    yield f"From the first arrival to the end: {span} s. {free}"


def orders(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """For each method in what order it sends, a sign for each user: from the return, or else from the beginning."""
    signs = signs_of(comparison.workload)
    if signs is None:
        return
    for measured in comparison.measures:
        order = measured.back.order if measured.back else measured.order
        yield shown(measured.title), " ".join(signs[user] for user in order)


def legend(comparison: Comparison) -> str:
    """What the signs stand for, and what the order is of."""
    signs = signs_of(comparison.workload) or {}
    named = [f"{sign} {shown(user)}" for user, sign in signs.items() if sign != user]
    return f"{what(comparison)}{': ' if named else ''}{', '.join(named)}"


def what(comparison: Comparison) -> str:
    """What the order of dispatches is of."""
    back = next((measured.back for measured in comparison.measures if measured.back), None)
    return f"The next dispatches when {shown(back.user)!r} returns" if back else "The first dispatches"


def signs_of(workload: Workload) -> dict[str, str] | None:
    """One letter for each user; None where there are too many."""
    if len(workload.users) > len(ascii_lowercase):
        return None
    if all(len(user) == 1 and shown(user) == user for user in workload.users):
        return {user: user for user in workload.users}
    return dict(zip(workload.users, ascii_lowercase, strict=False))


def count(number: int, what: str) -> str:
    """So many of something."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def figure(number: Fraction) -> str:
    """A number for people: whole numbers as they are, others rounded."""
    if number.denominator == 1:
        return f"{number.numerator:,}"
    return f"{float(number):,.{DIGITS}f}".rstrip("0").rstrip(".")


def times(multiple: Fraction | None) -> str:
    """A multiple, rounded."""
    if multiple is None:
        return NOTHING
    return f"{float(multiple):.2f}" if multiple < 100 else f"{float(multiple):,.0f}"


def duration(microseconds: int) -> str:
    """Seconds, rounded: to a millisecond where they are few."""
    value = microseconds / SECOND
    if not value:
        return "0"
    return f"{value:.3f}" if value < 1 else f"{value:,.2f}" if value < 100 else f"{value:,.1f}"


def _groups(workload: Workload) -> list[Group]:
    return [group for group in GROUPS if group in workload.groups.values()]


def _of(workload: Workload, group: str) -> list[str]:
    return [user for user in workload.users if workload.groups[user] == group]


def _before(measured: Measures) -> str:
    if measured.back is None:
        return NOTHING
    return "all" if measured.back.sent_before is None else f"{measured.back.sent_before:,}"


def _decision(measured: Measures, reference: Measures | None) -> str:
    told = f"{measured.seconds_per_decision * SECOND:,.0f}"
    if reference is None or not reference.seconds_per_decision:
        return told
    return f"{told} ({measured.seconds_per_decision / reference.seconds_per_decision:.1f} ×)"
