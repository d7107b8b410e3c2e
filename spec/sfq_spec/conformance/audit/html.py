"""The result of an audit as one page that opens offline: the findings, and plots of charges, leads and waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from sfq_spec.conformance.audit import told
from sfq_spec.conformance.audit.fairness import NUMBER
from sfq_spec.conformance.audit.findings import FairnessFinding, OrderFinding
from sfq_spec.conformance.audit.fleet import FleetFinding
from sfq_spec.conformance.audit.timeline import Timeline
from sfq_spec.conformance.page.chart import COLOURS, GREY, Chart, Curve, Level, Point, Span
from sfq_spec.conformance.page.document import document, table, terms, text
from sfq_spec.table import shown
from sfq_spec.words import counted


def page(found: OrderFinding | FairnessFinding | FleetFinding, names: Sequence[str]) -> str:
    """The page. Nothing in it is loaded from elsewhere, and nothing runs."""
    title, rest = "Fleet", list[str]()
    if isinstance(found, OrderFinding):
        title, rest = "Order", list(_context(found))
    elif isinstance(found, FairnessFinding):
        title, rest = "Fairness", [_users(found), *_plots(found)]
    kind = found.verdict.replace(" ", "-")
    rows = [
        (name, f"<span class={kind!r}>{text(said)}</span>" if name == "verdict" else text(said))
        for name, said in told.lines(found)
    ]
    heading = f"{title} of {', '.join(names)}"
    return document(heading, [f"<h1>{text(heading)}</h1>", terms(rows), *rest])


def _context(found: OrderFinding) -> Iterator[str]:
    if found.context:
        *before, last = (text(told.record_line(record)) for record in found.context)
        yield "<h2>The last events</h2>"
        yield f"<pre>{chr(10).join([*before, f'<b>{last}</b>'])}</pre>"


def _users(found: FairnessFinding) -> str:
    header, *rows = told.user_rows(found)
    return f"<h2>Users</h2>{table(header, (list(map(text, row)) for row in rows))}"


def _plots(found: FairnessFinding) -> Iterator[str]:
    timeline = found.audit.timeline
    if timeline is None or not timeline.ends:
        return
    axis = _Axis(timeline)
    about = "What each user has been charged so far. Users that compete all the time have parallel lines."
    yield _figure(_charged(found, timeline, axis), about)
    if lead := _lead(found, timeline, axis):
        about = "How far one user is ahead of another that has been waiting, at that moment; the greatest of all."
        yield _figure(lead, f"{about} Looked up at {counted(len(timeline.leads), 'moment')}.")
    else:
        why = (
            "there are too many users to look at all pairs" if found.audit.worst.most_users else "it was not asked for"
        )
        yield f"<h2>Lead</h2><p class='about'>Not followed: {why}.</p>"
    unit = "seconds" if axis.has_times else "events"
    about = f"The longest wait, in {unit}, of the requests that were dispatched in each stretch of the log."
    yield _figure(_waited(found, timeline, axis), about)


class _Axis:
    """The x axis: the times of the log where every dispatch has one, else the numbers of events."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.spans = sorted(timeline.ends)
        self.has_times = all(isinstance(time, NUMBER) for _, time in timeline.ends.values())
        self.label = "time, s" if self.has_times else "event"

    def at(self, span: int) -> float:
        """Where the last dispatch of a span is."""
        event, time = self.timeline.ends[span]
        return float(time) if self.has_times and isinstance(time, NUMBER) else float(event)

    def moment(self, event: int, time: object) -> float | None:
        """Where a moment is; None if it has no time, and the axis has."""
        if not self.has_times:
            return float(event)
        return float(time) if isinstance(time, NUMBER) else None


def _figure(chart: Chart, about: str) -> str:
    return f"<h2>{text(chart.title)}</h2><p class='about'>{text(about)}</p>\n{chart.svg()}"


def _groups(found: FairnessFinding) -> list[tuple[str, list[str], str]]:
    """The users that were charged most, and the others together: a label, the names, a colour."""
    names = [user.name for user in found.users]
    groups = [(shown(name), [name], colour) for name, colour in zip(names, COLOURS, strict=False)]
    rest = names[len(groups) :]
    return groups + ([(counted(len(rest), "other"), rest, GREY)] if rest else [])


def _charged(found: FairnessFinding, timeline: Timeline, axis: _Axis) -> Chart:
    curves = []
    for label, names, colour in _groups(found):
        parts = [timeline.charges[name] for name in names if name in timeline.charges]
        sums = accumulate(float(found.number(sum(part.get(span, 0) for part in parts))) for span in axis.spans)
        curves.append(Curve(label, list(zip(map(axis.at, axis.spans), sums, strict=True)), colour))
    return Chart("Charged", axis.label, "charge so far", curves)


def _lead(found: FairnessFinding, timeline: Timeline, axis: _Axis) -> Chart | None:
    worst = found.audit.worst
    if not found.is_exact:
        return None
    points: list[Point] = []
    for _, (lead, event, time) in sorted(timeline.leads.items()):
        if (x := axis.moment(event, time)) is not None:
            points.append((x, float(found.number(lead))))
    two = float(found.number(2 * found.audit.greatest))
    curves = [Curve("greatest lead", points, COLOURS[0])]
    spans = []
    if interval := worst.worst:
        begin, end = (axis.moment(moment.event, moment.time) for moment in (interval.begin, interval.end))
        if begin is not None and end is not None:
            greatest = found.number(worst.greatest)
            spans = [Span("the worst interval", begin, end)]
            peak = [(end, float(greatest))]
            curves.append(Curve(f"worst: {told.number(greatest)}", peak, COLOURS[3], as_points=True))
    return Chart("Lead", axis.label, "lead", curves, [Level("two of the largest charges", two)], spans)


def _waited(found: FairnessFinding, timeline: Timeline, axis: _Axis) -> Chart:
    curves = []
    for label, names, colour in _groups(found):
        longest: dict[int, float] = {}
        for name in names:
            for span, wait in timeline.waits.get(name, {}).items():
                longest[span] = max(longest.get(span, 0.0), float(wait))
        points = [(axis.at(span), wait) for span, wait in sorted(longest.items())]
        curves.append(Curve(label, points, colour, as_points=len(axis.spans) > 1))
    return Chart("Waits", axis.label, "seconds" if axis.has_times else "events", curves)
