"""What the commands print: tables of claims, mutants and streams, and the page of `sfq-prove verify`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from sfq_proofs.evidence import Evidence, Kill, Summary
from sfq_proofs.scheduler.streams import Comparison
from sfq_proofs.searches.witness import in_short

WIDE = 200
"""Columns where there is no terminal to ask."""


def console() -> Console:
    """Standard output: with lines and colours in a terminal, plain in a pipe."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=WIDE)


def as_json(evidence: Evidence) -> list[dict[str, Any]]:
    """The claims for machines."""
    return [
        {
            "claim": summary.claim.id,
            "level": summary.claim.level,
            "verdict": "holds" if summary.holds else "fails",
            "solvers": list(summary.solvers),
            "ms": round(summary.milliseconds, 1),
            "mutants": list(summary.mutants),
            "obligations": summary.obligations,
        }
        for summary in evidence.summaries()
    ]


def claims(out: Console, summaries: Iterable[Summary]) -> None:
    """The table of claims."""
    rows = [
        (
            summary.claim.id,
            summary.claim.level,
            " ".join(summary.solvers) or "search",
            str(summary.obligations or ""),
            f"{summary.milliseconds:,.0f}" if summary.obligations else "",
            str(len(summary.mutants)),
            "holds" if summary.holds else "FAILS",
            summary.claim.says,
        )
        for summary in summaries
    ]
    header = ("claim", "level", "by", "steps", "ms", "mutants killed", "", "what it says")
    _table(out, header, rows, right=(3, 4, 5))


def kills(out: Console, found: Sequence[Kill]) -> None:
    """The table of mutants: which obligations break down, and a shortest run that shows it."""
    rows = [
        (
            kill.mutant,
            "dead" if kill.as_expected else "NOT AS EXPECTED",
            f"{kill.obligations[0]}, and {len(kill.obligations) - 1} more" if kill.obligations else "(queues)",
            " ".join(map(in_short, kill.witness.events)) if kill.witness else "no run found",
            kill.witness.broken[0] if kill.witness else "",
        )
        for kill in found
    ]
    _table(out, ("mutant", "", "obligation that breaks down", "shortest run", "breaks"), rows)


def problems(out: Console, evidence: Evidence) -> None:
    """Everything that is not as it should be, one line each."""
    for verdict in evidence.verdicts:
        if not verdict.holds:
            said = ", ".join(f"{name} says {answer}" for name, answer in verdict.answers.items())
            meetable = "" if verdict.meetable else "; its hypotheses cannot be met"
            line(out, f"not proved: {verdict.obligation}: {said}{meetable}")
    for finding in evidence.findings:
        if not finding.holds:
            line(out, f"not so in a small world ({finding.name}): {', '.join(finding.claims)}: {finding.says}")
    for kill in evidence.kills:
        if not kill.as_expected:
            missing = sorted(set(kill.expected) - set(kill.obligations))
            new = sorted(set(kill.obligations) - set(kill.expected))
            shown = "" if kill.confirmed else "; no run shows it"
            line(out, f"mutant {kill.mutant}: survives {missing}, dies unexpectedly at {new}{shown}")
    for summary in evidence.summaries():
        if not summary.mutants:
            line(out, f"claim {summary.claim.id}: no mutant breaks it")


def streams(out: Console, found: Sequence[Comparison]) -> None:
    """The table of streams."""
    rows = [
        (
            one.title,
            f"{one.requests:,}",
            f"{one.users:,}",
            f"{one.servers:,}",
            f"{one.dispatches:,}",
            f"{len(one.differences)}" if not one.differences else f"{len(one.differences)} or more",
            f"{one.checks:,}",
            f"{len(one.broken)}",
            f"{float(one.watch.worst):,.0f}" if one.users > 1 else "-",
            f"{float(one.bound):,.0f}" if one.users > 1 else "-",
        )
        for one in found
    ]
    header = (
        "requests of", "requests", "users", "servers", "dispatches compared", "differ", "claims checked", "broken",
        "worst lead", "of at most",
    )  # fmt: skip
    _table(out, header, rows, right=tuple(range(1, 10)))
    for one in found:
        for text in (*one.differences, *one.broken):
            line(out, f"{one.title}: {text}")


def _table(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    if out.is_terminal:
        table = Table(header_style="bold")
        for at, name in enumerate(header):
            table.add_column(name, justify="right" if at in right else "left")
        for row in rows:
            bad = any(cell in ("FAILS", "NOT AS EXPECTED") for cell in row)
            table.add_row(*row, style="red" if bad else None)
        out.print(table)
        return
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    for row in (header, *rows):
        cells = [
            cell.rjust(w) if at in right else cell.ljust(w)
            for at, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        line(out, "  ".join(cells).rstrip())


def line(out: Console, text: str) -> None:
    """One line as it stands."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)
