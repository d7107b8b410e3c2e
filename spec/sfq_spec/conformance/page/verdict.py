"""The report of `validate` as one page: the verdict, the shortest run that fails, drawn, and the rest.

Whatever the scheduler said of itself, names, ids and reasons, is shown as text.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from sfq_spec.claims import BY_ID
from sfq_spec.conformance import shorthand
from sfq_spec.conformance.case import Flag
from sfq_spec.conformance.flags import flags, name
from sfq_spec.conformance.page import told
from sfq_spec.conformance.page.document import document, table, terms, text
from sfq_spec.conformance.page.drawing import picture
from sfq_spec.conformance.page.following import Run, follow
from sfq_spec.conformance.report import diagnosed, suspects, why
from sfq_spec.conformance.validate import Report, Result

DRAWN = 12
"""Failures that are drawn, the shortest first."""
EXAMPLE = "article-table"
"""What is drawn of a scheduler that conforms."""
PARTS = 30
"""Parts of a run that are written out: the last ones."""

STYLE = """\
header { border-left: .4rem solid currentColor; padding: .1rem 0 .1rem 1rem; margin-bottom: 1.5rem; }
header h1 { color: var(--ink); margin: 0; font-size: 1.5rem; } header p { margin: .2rem 0 0; color: var(--dim);
  font-weight: 400; } header strong { font-size: 1.25rem; display: block; }
ul.counts { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; margin: 0 0 1rem; }
ul.counts li { background: var(--soft); border-radius: .4rem; padding: .3rem .9rem; }
ul.counts b { font-size: 1.25rem; font-variant-numeric: tabular-nums; display: block; line-height: 1.3; }
.wrong { background: var(--fault); border-radius: .4rem; padding: .5rem 1rem; margin: .8rem 0; }
dl.facts { grid-template-columns: 6rem minmax(0, 1fr); } a { color: inherit; text-decoration-color: var(--dim); }
code { font-size: .9em; background: var(--soft); border-radius: .25rem; padding: .05rem .3rem;
  overflow-wrap: anywhere; } pre code { background: none; padding: 0; }
pre { background: var(--soft); border-radius: .4rem; padding: .6rem 1rem; white-space: pre-wrap; }
details { border-top: 1px solid var(--line); padding: .4rem 0; } summary { cursor: pointer; }
summary code { font-weight: 600; } details > :not(summary) { margin-left: 1rem; }
details.plain { border: 0; } details.plain > :not(summary) { margin-left: 0; }
figure { margin: 1rem 0; } figcaption { color: var(--dim); font-size: .9rem; }
table.words th, table.words td { text-align: left; vertical-align: top; font-size: .9rem; }
table.words code { overflow-wrap: normal; } table.words td:first-child { white-space: nowrap; }
.bad { color: var(--bad); }
svg.run { width: auto; max-width: none; } svg polyline { fill: none; stroke-linejoin: round; }
svg .waits { stroke-width: 3; } svg .idle { stroke-width: 1.6; stroke-dasharray: 2 4; }
svg .rest { stroke-width: 1; stroke-dasharray: 6 3; } svg .v { stroke-width: 1.4; }
svg .band { fill: var(--band); } svg .fault { fill: var(--fault); } svg text.dim { fill: var(--dim); }
svg text.bad, svg text.sent, svg text.told { fill: var(--bad); font-weight: 600; }
svg .lead { stroke: var(--dim); stroke-width: .6; }
svg path.sent, svg path.told { stroke: var(--bad); stroke-width: 2.4; fill: none; }
svg path.due { stroke: var(--good); stroke-width: 2.4; fill: none; }
svg text.sent, svg text.due, svg text.told { paint-order: stroke; stroke: var(--fault); stroke-width: 5px; }
svg text.due { fill: var(--good); font-weight: 600; }
@media (max-width: 40rem) { dl.facts { display: block; } dl.facts dd { margin-bottom: .5rem; } }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } .wide { overflow: visible; }
  svg.run { max-width: 100%; height: auto; } figure, .wrong, tr { break-inside: avoid; }
  header, .wrong, .counts li, svg { print-color-adjust: exact; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""


def page(report: Report, command: Sequence[str] = ()) -> str:
    """The report. `command` is what judges the scheduler again, with the same random histories."""
    who = report.hello.implementation
    title = " ".join(filter(None, (who.name, who.version)))
    failed = sorted(report.failed, key=lambda result: (result is not report.shortest, len(result.prefix)))
    shown = [result for result in failed if result.wrong]
    body = [
        *_head(title, "conforms" if report.conforms else "does not conform", _about(report)),
        *_counts(report, command),
        *(_shortest(report, shown[0]) if shown else ()),
        *(_diagnosis(report) if shown else ()),
        *_others(report, shown[1:DRAWN], [result for result in failed if result not in shown[:DRAWN]]),
        *(_example(report) if report.conforms else ()),
        *_cases(report, shown[:DRAWN]),
        *_claims(shown[:DRAWN]),
        *(_reading() if shown or report.conforms else ()),
    ]
    return document(f"{title}: {'conforms' if report.conforms else 'does not conform'}", body, STYLE)


def no_verdict(reason: str, command: Sequence[str] = ()) -> str:
    """The page where the scheduler could not be judged."""
    about = "The scheduler could not be judged: nothing is said for it or against it."
    body = [
        *_head("sfq-spec validate", "no verdict", about),
        f"<h2>Why</h2><pre>{text(reason)}</pre>",
        *([f"<h2>To try again</h2><pre>{text(shlex.join(command))}</pre>"] if command else []),
    ]
    return document("sfq-spec: no verdict", body, STYLE)


def _head(title: str, verdict: str, about: str) -> Iterator[str]:
    yield f"<header class='{verdict.replace(' ', '-')}'><h1>{text(title)}</h1>"
    yield f"<strong>{verdict[0].upper()}{verdict[1:]}</strong><p>{text(about)}</p></header>"


def _about(report: Report) -> str:
    able = report.hello.capabilities
    can = [what for what in ("cancel", "weights", "recost", "lag") if getattr(able, what)]
    ties = "a tie may go to anybody" if able.ties == "any" else "a tie goes to the least user id"
    language = [report.hello.implementation.language] if report.hello.implementation.language else []
    able_to = f"with {', '.join(can)}" if can else "without cancel, weights, recost and lag"
    return "; ".join([*language, able_to, f"numbers: {able.numbers}", ties])


def _counts(report: Report, command: Sequence[str]) -> Iterator[str]:
    counts = [(report.count("passed"), "passed"), (len(report.failed), "failed"), (report.count("skipped"), "skipped")]
    counts += [(report.count("excused"), "excused")] * bool(report.count("excused"))
    counts += [(report.histories, "random histories")]
    items = "".join(f"<li><b>{count:,}</b> {what}</li>" for count, what in counts)
    yield f"<ul class='counts'>{items}</ul>"
    rows = []
    skipped = Counter(result.reason for result in report.results if result.status == "skipped")
    reasons = [f"{text(reason)} ({count})" for reason, count in sorted(skipped.items(), key=lambda one: (-one[1], one))]
    if reasons:
        rows.append(("skipped", "; ".join(reasons)))
    excused = [f"<code>{text(result.id)}</code>" for result in report.results if result.status == "excused"]
    if excused:
        rows.append(("excused", f"known to fail, by --skip: {', '.join(excused)}"))
    rows.append(("seed", f"{report.seed}"))
    if command:
        rows.append(("again", f"<code>{text(shlex.join(command))}</code>"))
    yield terms(rows, "facts")


# What fails


def _shortest(report: Report, result: Result) -> Iterator[str]:
    yield f"<h2 id='case-{text(result.id)}'>The shortest run that fails</h2>"
    yield from _failure(report, result, is_open=True)


def _failure(report: Report, result: Result, *, is_open: bool = False) -> Iterator[str]:
    assert result.wrong is not None
    run = follow(result, any_tie=report.hello.capabilities.ties == "any")
    yield f"<p class='wrong'>Event {result.wrong.at + 1}: {text(result.wrong.sentence)}</p>"
    rows = [("case", f"<code>{text(result.id)}</code> {text(result.case.comment)}"), ("run", _written(result))]
    if result.wrong.legal:
        rows.append(("legal", " or ".join(f"<code>{text(request)}</code>" for request in result.wrong.legal)))
    said = [f"{_link(claim)} {text(BY_ID[claim].says)}" for claim in result.wrong.claims if claim in BY_ID]
    rows.append(("breaks", "<br>".join(said)))
    about = [_link(claim) for claim in result.claims if claim not in result.wrong.claims]
    if about:
        rows.append(("is about", ", ".join(about)))
    yield terms(rows, "facts")
    yield from _figure(run, f"The run of {result.id} up to event {result.wrong.at + 1}")
    yield told.steps(run, is_open=is_open)


def _written(result: Result) -> str:
    parts = shorthand.write(result.prefix).split("; ")
    if len(parts) <= PARTS:
        return f"<code>{text('; '.join(parts))}</code>"
    whole = "" if result.id == "random" else f"; <code>sfq-spec vectors show {text(result.id)}</code> has all of it"
    return f"<code>… {text('; '.join(parts[-PARTS:]))}</code> (the end{whole})"


def _figure(run: Run, title: str) -> Iterator[str]:
    drawn = picture(run, title)
    if len(drawn.scale.values) == 1:
        yield "<p class='about'>There is nothing to draw: no meter has moved.</p>"
        return
    notes = []
    if run.earlier:
        notes.append(f"Drawn is the end: {run.earlier:,} earlier events are left out.")
    if run.wrong and run.later:
        notes.append(f"The case has {run.later:,} more events; after a wrong answer nothing is judged.")
    if any(len(moment.events) > 1 for moment in run.moments):
        notes.append("Arrivals that move nothing stand in one column, as 8×+A.")
    if drawn.others:
        notes.append(
            f"{len(drawn.named)} users have a line; of the {len(drawn.others):,} others only the ends are drawn."
        )
    if drawn.scale.in_order:
        notes.append("Not to scale: the values are too far apart, and follow each other at equal distances.")
    if drawn.scale.base:
        notes.append(f"Numbers with a sign are told from {int(drawn.scale.base):,}.")
    about = "Drawn are the meters that the rules give. <a href='#reading'>How to read a picture</a>"
    caption = f"<figcaption>{about}. {text(' '.join(notes))}</figcaption>"
    yield f"<figure><div class='wide'>{drawn.svg()}</div>{caption}</figure>"


def _diagnosis(report: Report) -> Iterator[str]:
    yield "<h2>What it looks like</h2>"
    known = flags()
    yield from (f"<p>{text(sentence)}</p>" for sentence in diagnosed(report))
    for mutant in report.diagnosis.mutants:
        seen = ", ".join(known[name(mutant.name)].seen)
        reports = (
            f"Public reports of {mutant.name}: {seen}." if seen else f"No public report of {mutant.name} is listed."
        )
        yield f"<p class='about'>{text(reports)} Its flag is <code>{text(name(mutant.name))}</code>.</p>"
    if found := [one for one in suspects(report) if one[0] in known]:
        yield "<p>The cases that fail are about these kinds of fault:</p>"
        header = ("kind", "what it does", "what comes of it", "seen in public", "cases that fail")
        yield table(header, (_kind(flag, known[flag], f"{bad} of {tried}") for flag, bad, tried in found), "words")


def _kind(flag: str, kind: Flag, share: str) -> Sequence[str]:
    effect = kind.effect if kind.effect.rstrip(".") != kind.kind.rstrip(".") else "–"
    return f"<code>{text(flag)}</code>", text(kind.kind), text(effect), text(", ".join(kind.seen)) or "–", share


def _others(report: Report, drawn: Sequence[Result], rest: Sequence[Result]) -> Iterator[str]:
    if not drawn and not rest:
        return
    yield f"<h2>{len(drawn) + len(rest):,} more</h2>" if report.shortest else "<h2>Excused, and does not fail</h2>"
    for result in drawn:
        id = text(result.id)
        yield f"<details id='case-{id}'><summary><code>{id}</code> {text(why(result))}</summary>"
        yield from _failure(report, result)
        yield "</details>"
    if rest:
        excused = [result for result in rest if not result.wrong]
        yield from (f"<p><code>{text(result.id)}</code>: {text(why(result))}.</p>" for result in excused)
        if left := len(rest) - len(excused):
            yield f"<p>{left:,} longer ones are not drawn: they stand in the table of all cases.</p>"


def _example(report: Report) -> Iterator[str]:
    found = [result for result in report.results if result.id == EXAMPLE and result.status == "passed"]
    for result in found[:1]:
        yield "<h2>A run that it plays</h2>"
        about = "It sent what the rules send: nothing here is wrong, the run is an example."
        yield f"<p>{text(result.case.comment)} {about}</p>"
        run = follow(result, any_tie=report.hello.capabilities.ties == "any")
        yield from _figure(run, f"The run of {result.id}")
        yield told.steps(run, is_open=False)


# Lists


def _cases(report: Report, drawn: Sequence[Result]) -> Iterator[str]:
    yield "<h2>All cases</h2>"
    linked = {result.id for result in drawn}
    rows = []
    for result in report.results:
        id = f"<code>{text(result.id)}</code>"
        bad = result in report.failed
        status = f"<span class='bad'>{result.status}</span>" if bad else result.status
        reason = why(result) if bad else result.reason
        shown = f"<a href='#case-{text(result.id)}'>{id}</a>" if result.id in linked else id
        events = f"{len(result.case.events):,}"
        rows.append((shown, status, events, ", ".join(map(text, result.case.flags)) or "–", text(reason) or "–"))
    yield table(("case", "status", "events", "kinds of fault", "why"), rows, "words")


def _claims(drawn: Sequence[Result]) -> Iterator[str]:
    named = [claim for claim in BY_ID if any(claim in result.claims for result in drawn)]
    if named:
        yield "<h2>The claims</h2>"
        rows = [
            (
                f"<span id='claim-{claim}'><code>{claim}</code></span>",
                text(BY_ID[claim].says),
                f"<code>{text(BY_ID[claim].formula)}</code>",
                text(BY_ID[claim].seed),
            )
            for claim in named
        ]
        yield table(("claim", "says", "formula", "stands in"), rows, "words")


def _link(claim: str) -> str:
    return f"<a href='#claim-{claim}'><code>{claim}</code></a>" if claim in BY_ID else f"<code>{text(claim)}</code>"


def _reading() -> Iterator[str]:
    yield "<h2 id='reading'>How to read a picture</h2>"
    yield terms(
        [
            ("lines", "The meter S of each user, as the rules have it, after each event: whole while the user waits, "
             "dotted while it does not. Lines at the same height are drawn a little apart."),
            ("v", "The thin line: virtual time, the start tag of the latest dispatch."),
            ("band", "From v to v + c_max, the largest charge so far. No meter is above it; none that waits is below."),
            ("dots", "A dispatch, at the start tag of what was sent."),
            ("○ ×", "At the first wrong answer: the meter of the request that was due, and of the one that was sent. "
             "To the right stands what the rules have after it."),
            ("events", "<code>+A1(3)</code> is the arrival of A1 with cost 3, <code>D</code> a dispatch, "
             "<code>x A1</code> a cancel, <code>✓ A1</code> and <code>✗ A1</code> a completion and a failure, "
             "<code>w A 2</code> a weight, <code>c A1 5</code> a new cost."),
        ],
        "facts",
    )  # fmt: skip
