"""`sfq-spec run`: a script is executed, by the machine or by a scheduler in Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import IO, Annotated, TextIO

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from sfq_spec.commands.console import Failure, Source, progress, reading, say
from sfq_spec.related import policies
from sfq_spec.related.policies import BadPolicy
from sfq_spec.running import Run
from sfq_spec.scheduler import Scheduler, SchedulerError, load
from sfq_spec.table import Observed, Table, is_text, layout, observe
from sfq_spec.trace import BadLine, Entry, encode, read
from sfq_spec.words import counted


def run(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="A file of events, or - for standard input.")],
    python: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FACTORY", show_default="the machine", help="A scheduler in Python."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME[:PARAMETER=VALUE,...]", help="Another method than SFQ, by its name.")
    ] = None,
    as_table: Annotated[bool, typer.Option("--table", help="A table like the article's, not the trace.")] = False,
    with_lag: Annotated[bool, typer.Option("--lag", help="Add S - v of each user to every answer.")] = False,
) -> None:
    """Execute a script of events and print the trace.

    SCRIPT is JSON Lines, one event a line, plain or compressed with gzip or zstd. The trace is the same with the
    scheduler's answer merged into each line, and each line is answered as it is read. A dispatch has the request that
    goes, its user and its cost; an event that is not carried out has the code of its refusal. Other fields of a line,
    such as time, stay as they are; answers that the script has already are replaced. The scheduler is not judged.

    Without --python the machine of the specification runs. MODULE is looked for in the current directory first,
    and FACTORY is a class, or a function without arguments, that makes a scheduler: an object with the methods
    arrive(user, request, cost) and dispatch(), and as far as the script needs them cancel(request),
    complete(request, outcome), weight(user, weight), cost(request, cost), upkeep() and lag(). What it prints goes
    to standard error.

    With --policy another method decides, each an exact model: the names are those of `sfq-spec compare --list`.
    Methods that need more than costs read it from the line: time, input_tokens, output_tokens, produced, prefix.

    The table shows, for each dispatch, v (the start tag), the user selected, the charge and the meters after it.
    They are what the rules give for the dispatches that were made, for a scheduler in Python too. With more than
    12 users, or where the terminal is too narrow, there is only the meter of the user selected.

    \b
    Examples:
      sfq-spec run script.jsonl
      sfq-spec run script.jsonl --python my_scheduler:Scheduler > trace.jsonl
      sfq-spec import sample | sfq-spec run - --table
      sfq-spec import sample | sfq-spec run - --policy drr:quantum=512 | sfq-spec audit -

    \b
    Exit status:
      0  the script was executed; refusals are answers
      2  the script or the scheduler is broken; everything before that has been printed
    """
    if as_table and with_lag:
        raise Failure("--lag adds to the trace, and --table prints none: leave one of them out")
    out, failures, observed = sys.stdout, list[Failure](), None
    with (
        reading(script) as source,
        progress("running", source.size, printing=not as_table) as show,
        redirect_stdout(sys.stderr),
    ):
        source.watch(show)
        try:
            going = Run(_scheduler(python, policy), with_lag=with_lag)
        except (SchedulerError, BadPolicy) as error:
            raise Failure(str(error)) from None
        trace = _trace(source, going, failures)
        if as_table:
            observed = observe(trace)
        else:
            _print_trace(out.buffer, trace, at_once=source.size is None)
    if observed is not None:
        _print_table(out, observed)
    for failure in failures:
        raise failure
    say(
        f"{source.name}: {counted(going.events, 'event')}, {counted(going.dispatched, 'dispatch')}, "
        f"{going.refused:,} refused, {going.waiting:,} still waiting, by {python or policy or 'the machine'}"
    )


def _scheduler(python: str | None, policy: str | None) -> Scheduler:
    """The scheduler that was asked for. Raises `Failure`, `SchedulerError` or `BadPolicy`."""
    if python and policy:
        raise Failure("name one scheduler: --python module:factory or --policy NAME")
    return load(python)() if python else policies.policy(policy or policies.SFQ)()


def _trace(source: Source, going: Run, failures: list[Failure]) -> Iterator[Entry]:
    """As much of the trace as there is, and the failure that ended it, if one did."""
    try:
        for entry in read(source):
            yield going.play(entry)
    except BadLine as bad:
        failures.append(Failure(f"{source.name}: {bad}"))
    except Failure as failure:
        failures.append(failure)
    except SchedulerError as error:
        failures.append(Failure(f"{source.name}: line {source.line}: {error}"))


def _print_trace(out: IO[bytes], trace: Iterator[Entry], *, at_once: bool) -> None:
    """Write the lines; each at once where somebody may be waiting for it."""
    for entry in trace:
        out.write(encode(entry))
        if at_once:
            out.flush()


def _print_table(out: TextIO, observed: Observed) -> None:
    table = layout(observed)
    if not out.isatty():
        out.buffer.writelines(f"{line}\n".encode() for line in table.plain())
        return
    console = Console(file=out)
    fits = sum(table.widths) + 3 * len(table.widths) < console.width
    console.print(_for_terminal(table if fits else layout(observed, most_users=0)))


def _for_terminal(table: Table) -> RichTable:
    rich = RichTable()
    for name in table.header:
        rich.add_column(Text(name), justify="left" if is_text(name) else "right")
    for row in table.rows:
        rich.add_row(*map(Text, row))
    return rich
