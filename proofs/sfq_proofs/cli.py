"""The command `sfq-prove`: the claims, proved again; `sfq-prove verify` adds the code on real requests.

Exit status: 0 everything holds, 1 something does not, 2 usage.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from sfq_proofs import deep, ledger, page
from sfq_proofs.evidence import Evidence, gather
from sfq_proofs.related import page as related
from sfq_proofs.scheduler import streams
from sfq_proofs.theorems import floats
from sfq_spec import ledger as written
from sfq_spec.claims import BY_ID
from sfq_spec.commands.console import Commands, Failure
from sfq_spec.commands.listing import unknown

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
"""Where real logs are looked for: beside the checkout."""


class Prover(Commands):
    """As the other commands, under its own name."""

    program = "sfq-prove"


app = typer.Typer(
    cls=Prover,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Claim = Annotated[
    str | None, typer.Option("--claim", metavar="ID", help="One claim of the ledger alone, such as FAIR-LEAD.")
]
Json = Annotated[bool, typer.Option("--json", help="A list for machines, one entry per claim.")]
Searches = Annotated[bool, typer.Option("--searches", help="Also what each search of small worlds found.")]
Mutants = Annotated[bool, typer.Option("--mutants", help="Also the table of mutants, each with a shortest run.")]


@app.callback(invoke_without_command=True)
def prove(
    context: typer.Context,
    claim: Claim = None,
    as_json: Json = False,
    mutants: Mutants = False,
    searches: Searches = False,
) -> None:
    """Prove the claims of the ledger again, search small worlds, and kill the mutants.

    Every obligation is put to Z3 and cvc5, after it was shown that its hypotheses can be met. Each mutant, a
    deliberately wrong rule, must break down exactly the proofs that the kill table names, and must be shown wrong
    by a shortest run of events. `unknown` counts as a failure.

    \b
    Examples:
      sfq-prove
      sfq-prove --claim FAIR-LEAD --mutants
      sfq-prove --json | jq '.[] | select(.verdict != "holds")'
      sfq-prove verify

    \b
    Exit status:
      0  every claim holds and every mutant died where it should
      1  something does not hold
      2  usage
    """
    if context.invoked_subcommand is not None:
        return
    if claim is not None and claim not in BY_ID:
        raise unknown("claim", claim, BY_ID, "sfq-spec claims lists them")
    with _telling() as tell:
        evidence = gather(claim, tell)
    if as_json:
        print(json.dumps(page.as_json(evidence), indent=2, ensure_ascii=False))
    else:
        _show(page.console(), evidence, mutants=mutants, searches=searches or claim is not None)
    raise typer.Exit(0 if evidence.holds else 1)


@app.command()
def methods(
    page_: Annotated[Path, typer.Argument(metavar="PAGE", help="The page whose tables are made.")],
    do_write: Annotated[bool, typer.Option("--write", help="Write the tables where they differ.")] = False,
) -> None:
    """Put every related method to every question, and hold the tables of a page against what comes of it.

    Takes about a minute. Shortest runs, exact leads and scenarios are found anew; nothing is remembered.

    \b
    Examples:
      sfq-prove methods docs/comparison.md
      sfq-prove methods docs/comparison.md --write

    \b
    Exit status:
      0  the page says what the runs say
      1  it says something else
      2  usage
    """
    try:
        text = page_.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{page_}: cannot be read: {getattr(error, 'strerror', 'is not UTF-8')}") from None
    with _telling() as tell:
        made = related.blocks(tell)
    try:
        new = related.renewed(text, made)
    except KeyError as unknown:
        raise Failure(f"{page_}: there is no table {unknown}: the tables are {', '.join(made)}") from None
    if do_write:
        page_.write_text(new, encoding="utf-8")
    for line in related.differences(text, new):
        print(line)
    raise typer.Exit(0 if do_write or new == text else 1)


@app.command()
def verify(
    data: Annotated[
        Path | None, typer.Option(help="A folder with real logs.", show_default="../shared/data, if there")
    ] = None,
) -> None:
    """The main job: prove, then run machine and scheduler side by side on real requests.

    \b
    Examples:
      sfq-prove verify
      sfq-prove verify --data ../shared/data
    """
    if data is not None and not data.is_dir():
        raise Failure(f"{data}: is not a folder; name one with real logs, or leave --data out")
    out = page.console()
    started = time.monotonic()
    _part(out, "1. The rules are what the article says they are: proofs from the very functions that run")
    with _telling() as tell:
        evidence = gather(tell=tell)
    _show(out, evidence, mutants=True, searches=False)
    drift = list(ledger.differences(ledger.gathered(evidence))) if ledger.TESTS.is_dir() else []
    for difference in drift:
        page.line(out, difference)
    _part(out, "2. The scheduler does what the rules say: every dispatch compared, every claim watched")
    compared = []
    for stream in (streams.bundled(), *streams.real(data or DATA)):
        with _telling() as tell:
            compared.append(streams.compare(stream, show=lambda n, tell=tell: tell(f"{n:,} dispatches")))  # type: ignore[misc]
    page.streams(out, compared)
    if len(compared) == 1:
        out.print("Real logs were not found beside the checkout; the sample alone was run.", highlight=False)
    good = evidence.holds and not drift and all(one.holds for one in compared)
    _part(out, _conclusion(evidence, compared, time.monotonic() - started) if good else "Something does not hold.")
    raise typer.Exit(0 if good else 1)


@app.command("ledger")
def write_ledger() -> None:
    """Gather the evidence again and write it down: the package data of `sfq-spec claims`, and docs/claims.md.

    In a checkout only. What has changed is then for you to look at; `sfq-prove verify` fails until it is committed.
    """
    if not ledger.TESTS.is_dir():
        raise Failure("the ledger is written in a checkout of the project, and this is an installed package")
    with _telling() as tell:
        found = ledger.gathered(gather(tell=tell))
    ledger.FILE.write_bytes(written.write(found))
    ledger.PAGE.parent.mkdir(exist_ok=True)
    ledger.PAGE.write_text(written.markdown(), encoding="utf-8")
    print(f"{len(found)} claims written to {ledger.FILE.name} and {ledger.PAGE.name}")


@app.command("deep")
def ask_again(
    write: Annotated[bool, typer.Option("--write", help="Keep the answers with the package.")] = False,
) -> None:
    """Ask the questions that take minutes: floats in the wide formats, of every solver that answers.

    Every `sfq-prove` relies on the answers that are kept, each with the fingerprint of its question; this asks anew.

    \b
    Examples:
      sfq-prove deep
      sfq-prove deep --write
    """
    with _telling() as tell:
        record = deep.asked(floats.questions(), tell)
    out = page.console()
    for kept in record.answers:
        page.line(out, f"{kept.answer:8} {kept.solver:9} {kept.format:9} {kept.seconds:7.2f} s  {kept.lemma}")
    good = all(kept.answer == "unsat" for kept in record.answers)
    if write and good:
        deep.FILE.write_bytes(deep.encode(record))
    page.line(out, "No counterexample in any format." if good else "Something was not proved; nothing is kept.")
    raise typer.Exit(0 if good else 1)


def main() -> None:
    """The console entry."""
    app(prog_name="sfq-prove")


def _show(out: Console, evidence: Evidence, *, mutants: bool, searches: bool) -> None:
    page.claims(out, evidence.summaries())
    if searches:
        out.print()
        for finding in evidence.findings:
            page.line(out, f"{', '.join(finding.claims)}: {finding.name}: {finding.says}")
    if mutants:
        out.print()
        page.kills(out, evidence.kills)
    page.problems(out, evidence)
    steps, dead = len(evidence.verdicts), sum(kill.as_expected for kill in evidence.kills)
    proved = sum(verdict.holds for verdict in evidence.verdicts)
    found = sum(finding.holds for finding in evidence.findings)
    page.line(
        out,
        f"{proved} of {steps} obligations proved, {found} of {len(evidence.findings)} searches as stated, "
        f"{dead} of {len(evidence.kills)} mutants dead as expected",
    )


def _conclusion(evidence: Evidence, compared: list[streams.Comparison], seconds: float) -> str:
    put, dispatches = {summary.claim.id for summary in evidence.summaries()}, sum(one.dispatches for one in compared)
    others = ", ".join(claim for claim in BY_ID if claim not in put)
    return (
        f"All {len(put)} claims that are put here hold, all {len(evidence.kills)} mutants are dead, and on "
        f"{dispatches:,} dispatches the scheduler did what the specification does. {seconds:.0f} s.\n"
        f"Tests alone, of `make test`, speak for {others}."
    )


def _part(out: Console, title: str) -> None:
    out.print(f"\n{title}\n", style="bold", highlight=False)


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done; only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")
        yield lambda done: bar.update(task, description=done)
