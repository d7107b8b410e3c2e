"""`sfq-spec compare`: the same requests and servers through every method of scheduling."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from textwrap import wrap
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from sfq_spec.commands.auditing import weight
from sfq_spec.commands.console import STANDARD, Failure, must_be_writable, progress, reading, writing
from sfq_spec.commands.importing import seconds
from sfq_spec.comparison import files, page, report, told
from sfq_spec.comparison.compare import Comparison, all_policies, compare, from_workload, scenario
from sfq_spec.comparison.scenarios import SCENARIOS
from sfq_spec.comparison.workload import BadWorkload, Workload
from sfq_spec.importers.pool import Pool, Prices
from sfq_spec.related import policies
from sfq_spec.related.policies import BadPolicy
from sfq_spec.scheduler import SchedulerError
from sfq_spec.trace import BadLine

N = TypeVar("N", int, Fraction)

AS_A_LINE = '{"time": 1.5, "user": "A", "input_tokens": 100, "output_tokens": 20}, one a line'
GAP = 2
"""Letters between columns."""
STYLES = {True: "green", False: "red", None: "yellow"}


def compare_(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD", help="A scenario, a file of requests, or - for standard input.")
    ] = "",
    chosen: Annotated[
        str,
        typer.Option(
            "--policies", metavar="NAME[:PARAMETER=VALUE],...", show_default="all", help="The methods, in this order."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="The result for machines, the same each time.")] = False,
    html: Annotated[str, typer.Option("--html", metavar="FILE", help="A page with plots, in one file.")] = "",
    listed: Annotated[bool, typer.Option("--list", help="Tell which scenarios and methods there are.")] = False,
    with_time: Annotated[bool, typer.Option("--time", help="Add the time per decision to --json.")] = False,
    weights: Annotated[
        list[str] | None, typer.Option("--weight", metavar="USER=W", help="A user's weight; 1 for the others.")
    ] = None,
    servers: Annotated[
        int | None,
        typer.Option(min=1, show_default="what the file keeps busy", help="Requests served at a time."),
    ] = None,
    input_seconds: Annotated[
        Fraction | None,
        typer.Option(
            parser=seconds, metavar="X", show_default="0.0002", help="Files: a server's time per input token."
        ),
    ] = None,
    output_seconds: Annotated[
        Fraction | None,
        typer.Option(parser=seconds, metavar="X", show_default="0.02", help="Files: the same per output token."),
    ] = None,
    input_weight: Annotated[
        int | None, typer.Option(min=0, show_default="1", help="Files: what an input token costs.")
    ] = None,
    output_weight: Annotated[
        int | None, typer.Option(min=0, show_default="2", help="Files: what an output token costs.")
    ] = None,
    users: Annotated[
        int | None, typer.Option(min=1, show_default="1", help="Azure files: deal the requests out.")
    ] = None,
    first: Annotated[
        int | None, typer.Option(min=1, show_default="all", help="Files: the first so many requests only.")
    ] = None,
) -> None:
    """Serve the same requests by every method of scheduling, side by side.

    Each method fills the same free places on the same servers, and everything else follows: who waits how long, and
    by how much one user gets ahead of another that waits throughout, exact over all pairs and intervals. Charges are
    costs over weights for all methods alike, whatever a method counts for itself. Costs are exact: methods that charge
    at dispatch know what a request will take, and those that count tokens learn it while it runs.

    WORKLOAD is the name of a scenario, or a file: what `sfq-spec import` reads, known by its header, or JSON Lines of
    {"time": 1.5, "user": "A", "input_tokens": 100, "output_tokens": 20}, or of {"user": "A", "weight": 2}. A script of
    events is read for its arrivals and weights; as it tells costs and no tokens, a request holds a server as long as
    output tokens of that cost.

    Methods with parameters are written as in drr:quantum=512. Where they are not given, DRR's quantum is the largest
    cost, and the rate of methods that have one is what the servers do in a second (of VirtualClock: a user's share).

    \b
    Examples:
      sfq-spec compare --list
      sfq-spec compare flood
      sfq-spec compare heavy --policies sfq,drr:quantum=40,drr:quantum=400
      sfq-spec compare requests.csv --servers 16 --html page.html
      sfq-spec compare trace.csv --users 20 --first 2000 --json

    \b
    Exit status:
      0  compared
      2  there is no such scenario or policy, or the workload cannot be read
    """
    if listed:
        amounts = (servers, input_seconds, output_seconds, input_weight, output_weight, users, first)
        _alone(workload or chosen or as_json or html or with_time or weights, *amounts)
        print(*_list(), sep="\n")
        return
    if not workload:
        raise Failure(f"compare needs a WORKLOAD: a file, or one of {', '.join(SCENARIOS)}; --list tells more")
    if as_json and html == STANDARD:
        raise Failure("--json and --html - would both go to standard output: name a file for the page")
    if with_time and not as_json:
        raise Failure("--time adds to --json; the table has the time in any case")
    must_be_writable(html)
    pool, prices = Pool(), Prices()
    try:
        if workload in SCENARIOS:
            _refuse(
                workload,
                input_seconds=input_seconds,
                output_seconds=output_seconds,
                input_weight=input_weight,
                output_weight=output_weight,
                users=users,
                first=first,
            )
            work = scenario(workload)
        else:
            how = files.Reading(
                Pool(None, _or(input_seconds, pool.input_seconds), _or(output_seconds, pool.output_seconds)),
                Prices(_or(input_weight, prices.input_weight), _or(output_weight, prices.output_weight)),
                users=users,
                first=first,
            )
            work = _read(workload, how)
        work = _changed(work, dict(map(weight, weights or [])), servers)
        comparison = _compared(work, chosen, over_time=as_json or bool(html))
    except (BadWorkload, BadPolicy, SchedulerError) as error:
        raise Failure(str(error)) from None
    if html:
        with writing(html) as stream:
            stream.write(page.page(comparison).encode())
    if as_json:
        print(json.dumps(report.as_json(comparison, with_time=with_time), indent=2, ensure_ascii=False))
    elif html != STANDARD:
        _print(comparison)


def split(text: str) -> list[str]:
    """The policies in a list with commas; a parameter after a comma belongs to the policy before it."""
    found: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if found and "=" in part and ":" not in part and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _alone(others: object, *amounts: object) -> None:
    """What --list tells is always the same. Raises `Failure`."""
    if others or any(amount is not None for amount in amounts):
        raise Failure("--list goes alone: it tells which scenarios and methods there are")


def _or(given: N | None, default: N) -> N:
    return default if given is None else given


def _refuse(name: str, **only_files: object) -> None:
    """Options that a scenario does not take."""
    for option, value in only_files.items():
        if value is not None:
            raise Failure(f"--{option.replace('_', '-')} is for files: the scenario {name} has its own")


def _read(name: str, how: files.Reading) -> Workload:
    try:
        with reading(name) as source, progress("reading", source.size) as show:
            source.watch(show)
            data = b"".join(iter(source.readline, b""))
            try:
                return files.workload(source.name, data, how)
            except BadLine as bad:
                raise Failure(f"{name}: {bad}{_hint(data)}") from None
            except BadWorkload as bad:
                raise Failure(f"{bad}{_hint(data) if 'is no workload' in str(bad) else ''}") from None
    except Failure as failure:
        if "No such file" in str(failure):
            raise Failure(
                f"{name} is neither a file nor a scenario: the scenarios are {', '.join(SCENARIOS)}"
            ) from None
        raise


def _hint(data: bytes) -> str:
    """What to do with a log that `sfq-spec audit` reads and this does not."""
    first = data[:4096].lstrip().partition(b"\n")[0]
    spend = any(name in data[:4096] for name in (b'"startTime"', b'"prompt_tokens"'))
    if not spend and (b"," not in first or first[:1] in (b"{", b"[")):
        return ""
    what = "a spend log of LiteLLM" if spend else "a CSV file with columns of its own"
    return f"; if it is {what}, only audit reads it: here, write each request as {AS_A_LINE}"


def _changed(work: Workload, weights: dict[str, Fraction], servers: int | None) -> Workload:
    pool = work.pool if servers is None else replace(work.pool, servers=servers)
    return replace(work, weights={**work.weights, **weights}, pool=pool)


def _compared(work: Workload, chosen: str, *, over_time: bool) -> Comparison:
    names = split(chosen) if chosen else all_policies(work)
    if not names:
        raise BadPolicy(f"--policies {chosen!r} names none: the policies are {', '.join(policies.NAMES)}")
    with progress("comparing", len(names) * len(work.requests)) as show:
        return compare(work, names, over_time=over_time, show=show)


def _list() -> Iterator[str]:
    yield "Scenarios"
    for name, make in SCENARIOS.items():
        yield f"  {name:<12} {make().title}"
    yield ""
    yield "Methods"
    width = max(map(len, policies.NAMES))
    for name in policies.NAMES:
        yield f"  {name:<{width}} {_method(name)}"


def _method(name: str) -> str:
    """Its title and parameters."""
    if name == policies.SFQ:
        return "SFQ, the machine of this specification"
    kind = policies.METHODS[name]
    given = from_workload(kind)
    told = []
    for field in fields(kind):
        needed = "needed" if field.default is MISSING else field.default
        told.append(f"{field.name} ({'by the workload' if field.name in given else needed})")
    return f"{kind.title}{': ' if told else ''}{', '.join(told)}"


def _print(comparison: Comparison) -> None:
    orders = list(told.orders(comparison))
    title, *about = told.intro(comparison.workload)
    if not sys.stdout.isatty():
        print(title, *about, "", *_plain(told.table(comparison)), "", *told.notes(comparison, with_time=True), sep="\n")
        if orders:
            print("", told.legend(comparison), *_plain_orders(orders), sep="\n")
        return
    console = Console()
    console.print(Text(title, style="bold"))
    for line in about:
        console.print(Text(line, style="dim"))
    cells = told.table(comparison)
    console.print()
    cells = cells if fits(cells, console.width) else told.table(comparison, narrow=True)
    for row in in_lines(cells, console.width):
        console.print(row)
    console.print()
    for line in told.notes(comparison, with_time=True):
        console.print(Text(line, style="dim"))
    if orders:
        console.print(Text(f"\n{told.legend(comparison)}", style="dim"))
        for line in _plain_orders(orders):
            console.print(Text(line))


def _widths(cells: told.Cells) -> list[int]:
    """What each column needs: headers and titles may stand on several lines, figures may not."""
    needed = []
    for place, (name, *column) in enumerate(zip(cells.header, *cells.rows, strict=True)):
        words = [word for cell in (name, *([] if place else column)) for word in cell.split()]
        needed.append(max(map(len, (*words, *(column if place else ())))))
    return needed


def fits(cells: told.Cells, width: int) -> bool:
    """Whether the table has room in a terminal of this width."""
    return sum(_widths(cells)) + GAP * (len(cells.header) - 1) <= width


def in_lines(cells: told.Cells, width: int) -> Iterator[Text]:
    """The table for a terminal of this width."""
    first, *rest = _widths(cells)
    longest = max(len(row[0]) for row in cells.rows)
    widths = [max(first, min(longest, width - sum(rest) - GAP * len(rest))), *rest]
    yield from _row(cells.header, widths, ["dim"] * len(widths), at_bottom=True)
    coloured = 1 + cells.header.index(told.OF_BOUND)
    for row, holds in zip(cells.rows, cells.holds, strict=True):
        styles = ["bold" if place == 0 else STYLES[holds] if place < coloured else "" for place in range(len(row))]
        yield from _row(row, widths, styles, at_bottom=False)


def _row(row: Sequence[str], widths: Sequence[int], styles: Sequence[str], *, at_bottom: bool) -> Iterator[Text]:
    parts = [wrap(cell, width, break_on_hyphens=False) for cell, width in zip(row, widths, strict=True)]
    height = max(map(len, parts))
    for line in range(height):
        texts = []
        for place, part in enumerate(parts):
            at = line - (height - len(part) if at_bottom else 0)
            cell = part[at] if 0 <= at < len(part) else ""
            texts.append(Text(cell.rjust(widths[place]) if place else cell.ljust(widths[place]), style=styles[place]))
        yield Text(" " * GAP).join(texts)


def _plain(cells: told.Cells) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(cells.header, *cells.rows, strict=True)]
    for row in (cells.header, *cells.rows):
        first, *rest = zip(row, widths, strict=True)
        yield "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()


def _plain_orders(orders: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max(len(title) for title, _ in orders)
    return (f"  {title:<{width}}  {order}" for title, order in orders)
