"""The result of an audit as one page that opens offline: the findings, and plots of charges, leads and waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate

from sfq_spec.conformance.audit import told
from sfq_spec.conformance.audit.chart import COLOURS, GREY, Chart, Curve, Level, Point, Span
from sfq_spec.conformance.audit.fairness import NUMBER
from sfq_spec.conformance.audit.findings import FairnessFinding, OrderFinding
from sfq_spec.conformance.audit.timeline import Timeline
from sfq_spec.table import shown

STYLE = """\
:root { color-scheme: light dark; --ink: #1d2129; --dim: #636975; --paper: #fff; --line: #dfe2e8; --span: #f0d9a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6eb; --dim: #9aa1ad; --paper: #16181d; --line: #343842; --span: #5a4a20; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.about { color: var(--dim); margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: 11rem 1fr; gap: .3rem 1rem; } dt { color: var(--dim); } dd { margin: 0; }
.conforms { color: #2c8a4b; font-weight: 600; } .does-not-conform { color: #c0392b; font-weight: 600; }
.no-verdict { color: #b07d12; font-weight: 600; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem; border-bottom: 1px solid var(--line); }
th, td { text-align: right; font-variant-numeric: tabular-nums; } th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
svg text { fill: var(--ink); } svg .grid { stroke: var(--line); } svg .axis { stroke: var(--dim); }
svg .level { stroke: var(--dim); stroke-dasharray: 5 4; } svg .span { fill: var(--span); fill-opacity: .6; }
pre { overflow-x: auto; } pre b { color: #c0392b; }
"""


def page(found: OrderFinding | FairnessFinding, names: Sequence[str]) -> str:
    """The page. Nothing in it is loaded from elsewhere, and nothing runs."""
    if isinstance(found, OrderFinding):
        title, lines, rest = "Order", list(told.order_lines(found)), list(_context(found))
    else:
        title, lines, rest = "Fairness", list(told.fairness_lines(found)), [_users(found), *_plots(found)]
    kind = found.verdict.replace(" ", "-")
    rows = [
        f"<dt>{escape(name)}</dt><dd{f' class={kind!r}' if name == 'verdict' else ''}>{escape(text)}</dd>"
        for name, text in lines
    ]
    files = ", ".join(shown(name) for name in names)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}: {escape(files)}</title>",
            f"<style>\n{STYLE}</style></head><body>",
            f"<h1>{title} of {escape(files)}</h1>",
            f"<dl>{''.join(rows)}</dl>",
            *rest,
            "</body></html>\n",
        ]
    )


def _context(found: OrderFinding) -> Iterator[str]:
    if found.context:
        *before, last = (escape(told.record_line(record)) for record in found.context)
        yield "<h2>The last events</h2>"
        yield f"<pre>{chr(10).join([*before, f'<b>{last}</b>'])}</pre>"


def _users(found: FairnessFinding) -> str:
    header, *rows = told.user_rows(found)
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    return f"<h2>Users</h2><table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _plots(found: FairnessFinding) -> Iterator[str]:
    timeline = found.audit.timeline
    if timeline is None or not timeline.ends:
        return
    axis = _Axis(timeline)
    about = "What each user has been charged so far. Users that compete all the time have parallel lines."
    yield _figure(_charged(found, timeline, axis), about)
    if lead := _lead(found, timeline, axis):
        about = "How far one user is ahead of another that has been waiting, at that moment; the greatest of all."
        yield _figure(lead, f"{about} Looked up at {len(timeline.leads):,} moments.")
    else:
        yield "<h2>Lead</h2><p class='about'>Not followed: there are too many users to look at all pairs.</p>"
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
    return f"<h2>{escape(chart.title)}</h2><p class='about'>{escape(about)}</p>\n{chart.svg()}"


def _groups(found: FairnessFinding) -> list[tuple[str, list[str], str]]:
    """The users that were charged most, and the others together: a label, the names, a colour."""
    names = [user.name for user in found.users]
    groups = [(shown(name), [name], colour) for name, colour in zip(names, COLOURS, strict=False)]
    rest = names[len(groups) :]
    return groups + ([(f"{len(rest):,} others", rest, GREY)] if rest else [])


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
