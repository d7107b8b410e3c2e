"""The result of an audit in plain sentences and rows; who prints them decides how they look."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.conformance.audit.fairness import User, Wait
from sfq_spec.conformance.audit.findings import FairnessFinding, OrderFinding
from sfq_spec.conformance.audit.fleet import FleetFinding
from sfq_spec.conformance.audit.records import Record
from sfq_spec.conformance.audit.worst_lead import Interval, Moment
from sfq_spec.table import shown
from sfq_spec.words import counted

MOST_ROWS = 10
"""Users that a report names; the others are summed up."""

NOT_ASKED = "not looked for: --most-users 0 asks for the certificate alone"
OPEN = "which leaves FAIR-LEAD open"

Line = tuple[str, str]
"""What it is, and what was found."""


def order_lines(found: OrderFinding) -> Iterator[Line]:
    """The result of the mode `order`."""
    yield "verdict", _order_verdict(found)
    if wrong := found.wrong:
        yield "first wrong", f"event {wrong.at + 1:,} ({found.place})"
        yield "because", wrong.sentence
        if wrong.legal:
            yield "legal there", ", ".join(map(shown, wrong.legal))
        yield "breaks", ", ".join(wrong.claims)
        yield "shortest failing prefix", counted(wrong.at + 1, "event")
    yield "looked at", _counts(event=found.events, dispatch=found.dispatched, refusal=found.refused)


def _counts(**counts: int) -> str:
    return ", ".join(counted(number, what) for what, number in counts.items())


def _order_verdict(found: OrderFinding) -> str:
    if found.verdict == "no verdict":
        return "no verdict: nothing was dispatched, so there is nothing to judge"
    return "conforms: every answer is the machine's" if not found.wrong else "does not conform"


def lines(found: OrderFinding | FairnessFinding | FleetFinding) -> Iterator[Line]:
    """The result of any mode."""
    if isinstance(found, OrderFinding):
        return order_lines(found)
    return fleet_lines(found) if isinstance(found, FleetFinding) else fairness_lines(found)


def fleet_lines(found: FleetFinding) -> Iterator[Line]:
    """The result of the mode `fleet`."""
    yield "verdict", _fleet_verdict(found)
    if wrong := found.wrong:
        yield "first wrong", f"event {wrong.at + 1:,} ({found.place})"
        yield "because", wrong.sentence
        yield "breaks", ", ".join(wrong.claims)
    yield "accepted", counted(found.accepted, "request")
    yield "ended", ", ".join(f"{count:,} {how}" for how, count in sorted(found.ended.items())) or "none"
    if found.on_their_way:
        yield "on their way", f"{found.on_their_way:,} when the trace ends"
    if found.begun_before:
        yield "begun before", f"{found.begun_before:,} ended here, and began before the trace"
    if found.moved:
        yield "moved", f"{found.moved:,} to another server"
    if found.not_told:
        yield "not looked at", f"the room of {_listed(found.not_told)}; --room NAME=REQUESTS tells it"
    if found.not_seen:
        yield "note", f"nothing was sent to {_listed(found.not_seen)}"
    yield "looked at", _counts(event=found.events, server=len(found.servers))


def _listed(names: list[str]) -> str:
    rest = len(names) - MOST_ROWS
    return ", ".join([*map(shown, names[:MOST_ROWS]), *([counted(rest, "other")] if rest > 0 else [])])


def _fleet_verdict(found: FleetFinding) -> str:
    if found.wrong:
        return "does not conform"
    if found.undecided:
        return f"no verdict: too much on {found.undecided}, unless some had left; the trace ends before that is told"
    if not found.ended:
        return "no verdict: nothing has ended, so there is nothing to judge"
    if found.verdict == "no verdict":
        return (
            f"no verdict: nothing was sent to {_listed(found.not_seen)}, and the room of {_listed(found.not_told)} is "
            "not told: is a name misspelt?"
        )
    held = ", and what was completed had room" if found.rooms.keys() & found.servers else ""
    return f"conforms: each request that ended did so once{held}"


def record_line(record: Record) -> str:
    """An event in short."""
    fields: list[str] = [record.event]
    fields += [shown(str(value)) for value in (record.user, record.request) if value is not None]
    fields += [f"{name} {value}" for name in ("cost", "weight") if (value := getattr(record, name)) is not None]
    if record.dispatched is not UNSET:
        fields.append(f"-> {'nothing' if record.dispatched is None else shown(record.dispatched)}")
    if record.refused is not UNSET:
        fields.append(f"-> refused: {record.refused}")
    return " ".join(fields)


def fairness_lines(found: FairnessFinding) -> Iterator[Line]:
    """The result of the mode `fairness`, but for the users."""
    audit = found.audit
    yield "verdict", _fairness_verdict(found)
    if found.dispatched:
        yield from _lead_lines(found)
        yield "certificate", _certificate(found)
        if (excess := found.excess) and excess != audit.worst.worst:
            yield "FAIR-LEAD is broken", f"by most where {_interval(found, excess)}"
        yield "largest charge", number(found.number(audit.greatest))
    if wait := audit.longest_wait:
        yield "longest wait", _wait(wait)
    counts = [_counts(event=audit.events, user=len(audit.users), dispatch=found.dispatched)]
    counts += [counted(audit.refused, "refusal")] if audit.refused else []
    counts += [f"{audit.withdrawn:,} withdrawn"] if audit.withdrawn else []
    counts += [f"{len(audit.live):,} still waiting"] if audit.live else []
    yield "looked at", ", ".join(counts)
    if found.tally.left_out:
        yield "left out", f"{counted(found.tally.left_out, 'row')} ({found.tally.why})"
    for note in found.tally.notes:
        yield "note", note
    if idle := [user.name for user in audit.users.values() if user.weight != 1 and not user.dispatched + user.waiting]:
        who = ", ".join(map(shown, idle))
        yield "note", f"a weight is given to {who}, of whom nothing was dispatched: is the name right?"


def _fairness_verdict(found: FairnessFinding) -> str:
    match found.verdict:
        case "conforms":
            how = "by the certificate" if found.audit.certificate.is_level else "looked at in all of them"
            return f"conforms: FAIR-LEAD holds for all pairs and intervals, {how}"
        case "does not conform":
            return "does not conform: FAIR-LEAD is broken"
    if not found.dispatched:
        return "no verdict: nothing was dispatched, so there is nothing to judge"
    pairs = "there are too many users to look at all pairs" if found.audit.worst.most_users else "no pair was looked at"
    return f"no verdict on FAIR-LEAD: {pairs}, and the certificate does not settle it"


def _lead_lines(found: FairnessFinding) -> Iterator[Line]:
    audit, worst = found.audit, found.audit.worst
    if not found.is_exact:
        before = (
            f"; before event {worst.given_up:,} it was {number(found.number(worst.greatest))}" if worst.worst else ""
        )
        many = f"not known: more than {counted(worst.most_users, 'user')} in one period of congestion{before}"
        yield "worst lead", many if worst.most_users else NOT_ASKED
        return
    lead = number(found.number(worst.greatest))
    if worst.worst is None:
        yield "worst lead", "0: nobody got ahead of a user that waits throughout"
        return
    yield "worst lead", f"{lead}, exact over all pairs and intervals: {_interval(found, worst.worst)}"
    yield "share of FAIR-LEAD", f"{_times(worst.worst.lead, worst.worst.bound)} what it allows in that interval"
    two = number(found.number(2 * audit.greatest))
    yield "share of 2 c_max", f"{_times(worst.greatest, 2 * audit.greatest)} two of the largest charges, {two}"


def _interval(found: FairnessFinding, interval: Interval) -> str:
    lead, bound = number(found.number(interval.lead)), number(found.number(interval.bound))
    return (
        f"{quoted(interval.ahead)} got {lead} more than {quoted(interval.behind)}, which waited throughout, "
        f"{_moments(interval.begin, interval.end)}; FAIR-LEAD allows {bound}"
    )


def _moments(begin: Moment, end: Moment) -> str:
    times = f" (time {begin.time} to {end.time})" if begin.time is not None and end.time is not None else ""
    return f"after event {begin.event:,} until event {end.event:,}{times}"


def _certificate(found: FairnessFinding) -> str:
    bound = number(found.number(found.bound))
    if found.audit.certificate.is_level:
        return f"a user of least meter was dispatched each time, so FAIR-LEAD holds; no lead is above {bound}"
    after = "and FAIR-LEAD is broken" if found.excess else "which does not break FAIR-LEAD" if found.decided else OPEN
    return f"no lead is above {bound}; a user of least meter was not dispatched each time, {after}"


def _wait(wait: Wait) -> str:
    seconds = "" if wait.seconds is None else f"{wait.seconds:,.6g} s, "
    ended = "" if wait.is_over else ", and it still waits"
    return (
        f"{seconds}{counted(wait.events, 'event')}: {quoted(wait.request)} of {quoted(wait.user)}, "
        f"which arrived at event {wait.since:,}{ended}"
    )


def quoted(id: str) -> str:
    """An id within a sentence."""
    return f"'{shown(id)}'"


def user_rows(found: FairnessFinding, most: int = MOST_ROWS) -> Iterator[tuple[str, ...]]:
    """A header, and a row for each of the users that were charged most; the others in one row."""
    weighted = any(user.weight != 1 for user in found.audit.users.values())
    yield ("user", *(["weight"] if weighted else []), "dispatched", "charged", "share", "longest wait")
    users = found.users
    kept = users if len(users) <= most + 1 else users[:most]
    for user in kept:
        weight = [number(Fraction(user.weight))] if weighted else []
        yield (shown(user.name), *weight, *_cells(found, [user]))
    if rest := users[len(kept) :]:
        yield (counted(len(rest), "other"), *([""] if weighted else []), *_cells(found, rest))


def _cells(found: FairnessFinding, users: list[User]) -> tuple[str, ...]:
    total = sum(user.total for user in users)
    waits = [user.longest for user in users if user.longest]
    longest = max(waits, key=lambda wait: (wait.seconds or 0, wait.events), default=None)
    wait = (
        ""
        if longest is None
        else counted(longest.events, "event")
        if longest.seconds is None
        else f"{longest.seconds:,.6g} s"
    )
    return (
        f"{sum(user.dispatched for user in users):,}",
        number(found.number(total)),
        f"{100 * total / found.total:.1f} %" if found.total else "",
        wait,
    )


def number(value: Fraction) -> str:
    """A number for people: exact where it is whole or short, else with its first digits."""
    if value.denominator == 1:
        return f"{value.numerator:,}"
    written = str(numbers.write(value))
    return written if len(written) <= 12 else f"{float(value):,.6g}"


def _times(part: int, whole: int) -> str:
    if not whole:
        return "more than any multiple of"
    return f"{100 * part / whole:.1f} % of" if part <= 2 * whole else f"{part / whole:,.1f} times"
