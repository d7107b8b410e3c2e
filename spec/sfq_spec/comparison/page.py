"""A comparison as one page that opens offline: a row for each method, the columns on common axes."""

from __future__ import annotations

from collections.abc import Iterator

from sfq_spec.comparison import panels, told
from sfq_spec.comparison.compare import Comparison, Result
from sfq_spec.comparison.measures import Measures, Waits
from sfq_spec.comparison.panels import Box, Frame, Line
from sfq_spec.comparison.report import curves, leads, seconds
from sfq_spec.comparison.workload import Workload
from sfq_spec.conformance.page.chart import COLOURS, GREY
from sfq_spec.conformance.page.document import document, table, text

TWO = 2.0
"""Of the largest charges: no lead of SFQ is above it."""

STYLE = """\
body { max-width: 82rem; }
p.about { max-width: 46rem; }
svg text { fill: var(--dim); font-size: 11px; } svg .level { stroke: var(--bad); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 1rem 0; padding: 0; list-style: none; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .4rem;
  vertical-align: -.08rem; }
.method { display: grid; grid-template-columns: 11.5rem repeat(3, minmax(0, 1fr)); gap: .2rem 1.2rem;
  padding: .7rem 0 .4rem; border-top: 1px solid var(--line); align-items: center; }
.method.head { border: 0; padding-bottom: 0; align-items: end; color: var(--dim); font-size: .85rem; line-height: 1.3; }
.method.head b { color: var(--ink); display: block; font-size: .95rem; }
.method h2 { margin: 0 0 .2rem; font-size: 1rem; } .method p { margin: 0; font-size: .8rem; line-height: 1.35; }
.method svg.order { width: auto; max-width: 100%; margin-top: .45rem; display: block; }
.method figure { margin: 0; } .method figcaption { display: none; }
.method .holds { color: var(--good); } .method .broken { color: var(--bad); } .method .open { color: var(--open); }
.box { fill: var(--dim); stroke: var(--dim); } .median { stroke: var(--ink); }
@media (max-width: 56rem) { .method { grid-template-columns: minmax(0, 1fr); } .method.head { display: none; }
  .method figcaption { display: block; color: var(--dim); font-size: .8rem; } .method h2 { font-size: 1.1rem; } }
"""

CAPTIONS = {
    "charged": ("Charged", "what each user has been charged so far, in thousands where so marked"),
    "lead": ("Lead", "how far one user is ahead of another that waits, in multiples of the largest charge"),
    "waits": ("Waits", "of light and heavy users: all, the middle half, median, 95 of 100"),
}


def page(comparison: Comparison) -> str:
    """The page. Nothing in it is loaded from elsewhere, and nothing runs. The runs must have been kept over time."""
    heading, *about = told.intro(comparison.workload)
    body = [
        f"<h1>{text(heading)}, by {told.count(len(comparison.results), 'method')}</h1>",
        *(f"<p class='about'>{text(line)}</p>" for line in about),
        _key(comparison),
        *_rows(comparison),
        "<h2>Figures</h2>",
        _figures(comparison),
        *(f"<p class='about'>{text(line)}</p>" for line in told.notes(comparison)),
    ]
    return document(f"Comparison: {heading}", body, STYLE)


def colours(workload: Workload) -> dict[str, str]:
    """The colour of each user: one of its own for those that ask for most."""
    own = dict(zip(workload.users, COLOURS[: _named(workload)], strict=False))
    return {user: own.get(user, GREY) for user in workload.users}


def _named(workload: Workload) -> int:
    return len(workload.users) if len(workload.users) <= len(COLOURS) else len(COLOURS) - 1


def _key(comparison: Comparison) -> str:
    workload = comparison.workload
    colour = colours(workload)
    named = workload.users[: _named(workload)]
    entries = [(_named_user(workload, user), colour[user]) for user in named]
    if rest := len(workload.users) - len(named):
        entries.append((f"{rest:,} others, together", GREY))
    items = "".join(f'<li><i style="background:{colour}"></i>{text(name)}</li>' for name, colour in entries)
    return f'<ul class="key">{items}</ul>'


def _named_user(workload: Workload, user: str) -> str:
    weight = workload.weights.get(user)
    return user if weight is None else f"{user}, weight {told.figure(weight)}"


def _rows(comparison: Comparison) -> Iterator[str]:
    frames = _frames(comparison)
    longest = max(
        (wait.longest for measured in comparison.measures for wait in (measured.light, measured.heavy) if wait),
        default=0,
    )
    back = any(measured.back for measured in comparison.measures)
    squares = told.what(comparison) if back else "the first dispatches"
    heads = [("Method", f"squares: {squares[:1].lower()}{squares[1:]}"), *CAPTIONS.values()]
    cells = "".join(f"<div><b>{text(name)}</b>{text(about)}</div>" for name, about in heads)
    yield f'<div class="method head">{cells}</div>'
    for result in comparison.results:
        yield '<section class="method">'
        yield _about(comparison.workload, result.measures)
        yield _figure("charged", _charged(comparison.workload, result, frames[0]))
        yield _figure("lead", _lead(comparison.workload, result, frames[1]))
        yield _figure("waits", _waits(result.measures, seconds(longest)))
        yield "</section>"


def _figure(name: str, drawn: str) -> str:
    caption, about = CAPTIONS[name]
    return f"<figure><figcaption>{text(caption)}: {text(about)}</figcaption>{drawn}</figure>"


def _frames(comparison: Comparison) -> tuple[Frame, Frame]:
    """The axes of charges and of leads, that hold all methods."""
    end = seconds(max(measured.makespan for measured in comparison.measures))
    charged = [
        float(curve.points[-1][1]) for result in comparison.results for curve in curves(comparison.workload, result)
    ]
    ratios = [float(measured.lead.of_largest or 0) for measured in comparison.measures]
    return Frame(end, max(charged, default=1.0)), Frame(end, max(2.5, *ratios), is_log=True)


def _about(workload: Workload, measured: Measures) -> str:
    worst, of_largest, of_bound = told.lead_cells(measured.lead)
    words = {True: ("holds", "FAIR-LEAD holds"), False: ("broken", f"{of_bound} × what FAIR-LEAD allows")}
    kind, verdict = words.get(measured.lead.holds, ("open", "FAIR-LEAD: not known"))  # type: ignore[arg-type]
    lines = [f"worst lead {text(worst)}, {of_largest} × the largest charge", f'<span class="{kind}">{verdict}</span>']
    if measured.back:
        before = measured.back.sent_before
        lines.append("the return is not served" if before is None else f"{before:,} go before the return")
    colour = colours(workload)
    sent = measured.back.order if measured.back else measured.order
    squares = panels.order("order of dispatches", [(user, colour[user]) for user in sent])
    return f"<div><h2>{text(measured.title)}</h2><p>{'<br>'.join(lines)}</p>{squares}</div>"


def _charged(workload: Workload, result: Result, frame: Frame) -> str:
    start = workload.arrivals[0].time
    colour = colours(workload)
    drawn = [
        Line(
            curve.label,
            [(seconds(time - start), float(charge)) for time, charge in curve.points],
            colour[curve.names[0]],
        )
        for curve in curves(workload, result)
    ]
    return panels.lines(f"charges under {result.measures.title}", frame, drawn)


def _lead(workload: Workload, result: Result, frame: Frame) -> str:
    start = workload.arrivals[0].time
    largest = float(result.measures.lead.largest_charge or 1)
    points = [(seconds(time - start), float(lead) / largest) for time, lead in leads(result)]
    if not points:
        return "<p>Not followed: there are too many users to look at all pairs.</p>"
    line = Line("greatest lead", [(0.0, 0.0), *points], "var(--ink)")
    return panels.lines(f"lead under {result.measures.title}", frame, [line], TWO)


def _waits(measured: Measures, end: float) -> str:
    groups = {"light": measured.light, "heavy": measured.heavy}
    there = {name: waits for name, waits in groups.items() if waits}
    drawn = [_box(name if len(there) > 1 else "all", waits) for name, waits in there.items()]
    return panels.boxes(f"waits under {measured.title}", end, drawn)


def _box(name: str, waits: Waits) -> Box:
    values = (waits.shortest, waits.quarter, waits.median, waits.three_quarters, waits.most, waits.longest)
    shortest, quarter, median, three_quarters, most, longest = map(seconds, values)
    words = f"{name}: median {told.duration(waits.median)} s, longest {told.duration(waits.longest)} s"
    more = f", {waits.still_waiting:,} wait still" if waits.still_waiting else ""
    figures = (shortest, quarter, median, three_quarters, most, longest)
    return Box(name, figures, "longest" in waits.at_least, words + more)


def _figures(comparison: Comparison) -> str:
    """The table, without what is not the same twice."""
    cells = told.table(comparison, with_time=False)
    return table(cells.header, (list(map(text, row)) for row in cells.rows))
