"""`sfq-spec audit`: a trace or a log is audited: is this the machine's order, or how unfair was it?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfq_spec import numbers
from sfq_spec.commands.console import STANDARD, Failure, must_be_writable, progress, writing
from sfq_spec.conformance.audit import html, told
from sfq_spec.conformance.audit.fairness import Fairness
from sfq_spec.conformance.audit.findings import (
    STATUS,
    FairnessFinding,
    OrderFinding,
    audit_fairness,
    audit_order,
    needs_all_intervals,
)
from sfq_spec.conformance.audit.fleet import FleetFinding, audit_fleet
from sfq_spec.conformance.audit.formats import UNITS, Columns, Prices, Tally
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.overtaking import OvertakingOrder
from sfq_spec.conformance.audit.reading import Log, Opened, entries
from sfq_spec.conformance.audit.records import Batch, Record, Unreadable
from sfq_spec.conformance.audit.timeline import Timeline
from sfq_spec.conformance.audit.worst_lead import MOST_USERS
from sfq_spec.fleet import Room

COLOURS = {"conforms": "green", "does not conform": "red", "no verdict": "yellow"}


class Format(StrEnum):
    """The formats that are read."""

    TRACE = "trace"
    VTC = "vtc"
    LITELLM = "litellm"
    CSV = "csv"


class Mode(StrEnum):
    """The questions."""

    ORDER = "order"
    FAIRNESS = "fairness"
    FLEET = "fleet"


class Ties(StrEnum):
    """Whom a tie may go to."""

    USER_ID = "user-id"
    ANY = "any"


class Placement(StrEnum):
    """What happens where the next request fits nowhere."""

    STALL = "stall"
    OVERTAKE = "overtake"


def weight(text: str) -> tuple[str, Fraction]:
    """A user and its weight, as `user=2`."""
    user, _, number = text.rpartition("=")
    if not user:
        raise typer.BadParameter(f"{text} is not a user and a weight above zero, such as alice=2")
    try:
        value = numbers.read(number)
    except numbers.NotANumber as error:
        raise typer.BadParameter(f"{text}: {error}") from None
    if not isinstance(value, Fraction) or value <= 0:
        raise typer.BadParameter(f"{text} is not a user and a weight above zero, such as alice=2")
    return user, value


def room(text: str) -> tuple[str, Room]:
    """A server and what it can hold, as `one=8` or `one=8,32768`."""
    server, _, told = text.rpartition("=")
    requests, _, tokens = told.partition(",")
    parts = told.split(",", 1)
    if not server or not all(part.isascii() and part.isdigit() for part in parts):
        raise typer.BadParameter(f"{text} is not a server and its room, such as one=8 or one=8,32768 with tokens")
    return server, Room(int(requests), int(tokens) if tokens else None)


def unit(text: str) -> str:
    """A unit of time."""
    if text not in UNITS:
        raise typer.BadParameter(f"{text} is none of {', '.join(UNITS)}")
    return text


def audit(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE", help="Files of one log, in order; - for standard input.")
    ],
    format: Annotated[Format, typer.Option(help="What the files are.")] = Format.TRACE,
    mode: Annotated[
        Mode | None, typer.Option(show_default="order for a trace, else fairness", help="The question.")
    ] = None,
    ties: Annotated[Ties, typer.Option(help="Order: whom a tie between equal meters may go to.")] = Ties.USER_ID,
    placement: Annotated[
        Placement, typer.Option(help="Order: may others overtake the users whom a dispatch names in `held`?")
    ] = Placement.STALL,
    rooms: Annotated[
        list[str] | None,
        typer.Option("--room", metavar="SERVER=N[,TOKENS]", help="Fleet: how much a server can hold at once."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result for machines.")] = False,
    page: Annotated[str, typer.Option("--html", metavar="FILE", help="A page with plots, in one file.")] = "",
    weights: Annotated[
        list[str] | None, typer.Option("--weight", metavar="USER=W", help="A user's weight; 1 for the others.")
    ] = None,
    input_weight: Annotated[int, typer.Option(min=0, help="What an input token costs.")] = 1,
    output_weight: Annotated[int, typer.Option(min=0, help="What an output token costs.")] = 2,
    user_column: Annotated[str, typer.Option(metavar="NAME", help="csv, litellm: who is the user.")] = "",
    arrival_column: Annotated[str, typer.Option(metavar="NAME", help="csv: when a request arrived.")] = "",
    dispatch_column: Annotated[str, typer.Option(metavar="NAME", help="csv: when it was dispatched.")] = "",
    cost_column: Annotated[str, typer.Option(metavar="NAME", help="csv: what it cost, or:")] = "",
    input_column: Annotated[str, typer.Option(metavar="NAME", help="csv: its input tokens.")] = "",
    output_column: Annotated[str, typer.Option(metavar="NAME", help="csv: its output tokens.")] = "",
    time_unit: Annotated[
        str, typer.Option(parser=unit, metavar="UNIT", help="csv: of times that are numbers: s, ms, us or ns.")
    ] = "s",
    most_users: Annotated[
        int,
        typer.Option(min=0, help="Fairness: with more users in one period of congestion, the certificate only."),
    ] = MOST_USERS,
) -> None:
    """Audit a trace, or the log of any scheduler.

    Order: is this the machine's trace? TRACE is JSON Lines, events with their answers, as `sfq-spec run` prints
    them. Told are the first wrong event, what was legal there, and the claims that it breaks.

    Fairness: how far did one user get ahead of another that waited throughout, over all pairs and intervals? From
    arrivals, dispatches and costs alone, so it does for any scheduler. The answer is exact, with the interval that
    shows it, and is held against FAIR-LEAD.

    Fleet: did every request end once, and did no server hold more than its room? For the trace of a dispatcher that
    tells in `server` where it sent each request, as sfq-gateway does.

    Files may be compressed with gzip or zstd. Several files are one log.

    \b
    Formats:
      trace    JSON Lines of sfq-spec
      vtc      client,req_time,first_token_latency,...: first tokens stand in for dispatches
      litellm  rows of LiteLLM_SpendLogs, as JSON Lines or an array
      csv      any CSV file with a header; the columns are named by options

    \b
    Examples:
      sfq-spec import sample | sfq-spec run - | sfq-spec audit -
      sfq-spec audit trace.jsonl.gz --mode fairness --html page.html
      sfq-spec audit overload_VTC.csv --format vtc
      sfq-spec audit log.csv --format csv --user-column tenant --arrival-column queued_at \\
          --dispatch-column started_at --input-column prompt --output-column completion
      sfq-spec audit traces/own-0001-*.jsonl --mode fleet --room one=8 --room two=8

    \b
    Exit status:
      0  conforms: the machine's trace, FAIR-LEAD holds throughout, or each request ended once and had room
      1  does not conform
      2  no verdict: the log has gaps, or cannot be read, or usage
    """
    prices = Prices(input_weight, output_weight)
    columns = None
    if format is Format.CSV:
        costs = (cost_column, input_column, output_column)
        columns = _columns(user_column, arrival_column, dispatch_column, costs, time_unit)
    else:
        named = {"arrival": arrival_column, "dispatch": dispatch_column, "cost": cost_column}
        _only_csv(format, {**named, "input": input_column, "output": output_column}, user_column, time_unit)
    if as_json and page == STANDARD:
        raise Failure("--json and --html - would both go to standard output: name a file for the page")
    if mode is Mode.FLEET and format is not Format.TRACE:
        raise Failure(f"--mode fleet reads traces; the format here is {format.value}, which tells of no servers")
    mode = mode or (Mode.ORDER if format is Format.TRACE else Mode.FAIRNESS)
    given_for = {
        "--ties": (ties is not Ties.USER_ID, (Mode.ORDER,)),
        "--placement": (placement is not Placement.STALL, (Mode.ORDER,)),
        "--weight": (bool(weights), (Mode.ORDER, Mode.FAIRNESS)),
        "--most-users": (most_users != MOST_USERS, (Mode.FAIRNESS,)),
        "--room": (bool(rooms), (Mode.FLEET,)),
    }
    _only_in(mode, given_for)
    _only_of_tokens(format, cost_column, {"--input-weight": input_weight != 1, "--output-weight": output_weight != 2})
    must_be_writable(page)
    log = Log(format.value, columns, user_column, prices)
    given = [Record("weight", user, weight=share) for user, share in map(weight, weights or [])]
    task = Task(log, traces, given, ties is Ties.ANY, most_users, as_json or bool(page), placement)
    try:
        found = task.fleet(dict(map(room, rooms or []))) if mode is Mode.FLEET else task.of_a_scheduler(mode)
    except Unreadable as error:
        raise Failure(f"no verdict: {error}{_hint(format, str(error))}") from None
    if as_json:
        print(json.dumps(found.as_json(), indent=2, ensure_ascii=False))
    elif page != STANDARD:
        _print(found)
    if page:
        with writing(page) as stream:
            stream.write(html.page(found, traces).encode(errors="backslashreplace"))
    if status := STATUS[found.verdict]:
        raise typer.Exit(status)


@dataclass(frozen=True)
class Task:
    """What is to be read, and how."""

    log: Log
    names: list[str]
    weights: list[Record]
    """What the users' weights are before the first event."""
    any_tie: bool
    most_users: int
    with_timeline: bool
    placement: Placement = Placement.STALL

    def of_a_scheduler(self, mode: Mode) -> OrderFinding | FairnessFinding:
        """What the two modes that know no servers find."""
        return self.order() if mode is Mode.ORDER else self.fairness()

    def fleet(self, rooms: Mapping[str, Room]) -> FleetFinding:
        """Whether each request ended once, and no server had more than its room."""
        with self._opened() as (opened, show):
            return audit_fleet(entries(opened, show), rooms)

    def order(self) -> OrderFinding:
        """Whether it is the machine's trace."""
        order = OvertakingOrder if self.placement is Placement.OVERTAKE else Order
        with self._batches(Tally()) as batches:
            return audit_order(batches, order(any_tie=self.any_tie), self.weights)

    def fairness(self) -> FairnessFinding:
        """How unfair it was. Where the worst lead leaves FAIR-LEAD open, the files are read again, for the excess."""
        can_be_read_again = all(Path(name).is_file() for name in self.names)
        found = self._fairness(beyond=not can_be_read_again)
        return self._fairness(beyond=True) if needs_all_intervals(found) else found

    def _fairness(self, *, beyond: bool) -> FairnessFinding:
        timeline = Timeline() if self.with_timeline else None
        audit = Fairness(most_users=self.most_users, beyond=beyond, timeline=timeline)
        tally = Tally()
        with self._batches(tally) as batches:
            return audit_fairness(batches, audit, tally, self.weights)

    @contextmanager
    def _batches(self, tally: Tally) -> Iterator[Iterator[Batch]]:
        with self._opened() as (opened, show):
            yield self.log.batches(opened, tally, show)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Opened, Callable[[int], None]]]:
        sizes = [Path(name).stat().st_size if Path(name).is_file() else 0 for name in self.names]
        opened = [(name if name != STANDARD else "standard input", partial(_opened, name)) for name in self.names]
        with progress("auditing", sum(sizes) if all(sizes) else None) as show:
            yield opened, show


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise Unreadable(f"{name}: cannot be read: {error.strerror}") from None
    with stream:
        yield stream


def _columns(user: str, arrival: str, dispatch: str, costs: tuple[str, str, str], time_unit: str) -> Columns:
    named = {"--user-column": user, "--arrival-column": arrival, "--dispatch-column": dispatch}
    missing = [option for option, name in named.items() if not name]
    if missing:
        raise Failure(f"csv needs {', '.join(missing)}: the names of columns in the file's header")
    cost, *tokens = costs
    if bool(cost) == any(tokens):
        raise Failure("csv needs --cost-column, or --input-column and --output-column, and not both")
    return Columns(user, arrival, dispatch, *costs, time_unit)


def _only_csv(format: Format, columns: dict[str, str], user: str, time_unit: str) -> None:
    given = [f"--{name}-column" for name, column in columns.items() if column]
    given += ["--user-column"] if user and format is not Format.LITELLM else []
    given += ["--time-unit"] if time_unit != "s" else []
    if given:
        readers = "csv or litellm" if given == ["--user-column"] else "csv"
        raise Failure(f"{', '.join(given)}: only with --format {readers}; the format here is {format.value}")


def _only_in(mode: Mode, options: Mapping[str, tuple[bool, tuple[Mode, ...]]]) -> None:
    """Raises `Failure` for an option that was given and is for other modes."""
    for option, (is_given, modes) in options.items():
        if is_given and mode not in modes:
            raise Failure(f"{option} is for --mode {' or '.join(modes)}; the mode here is {mode}")


def _only_of_tokens(format: Format, cost_column: str, options: Mapping[str, bool]) -> None:
    given = ", ".join(option for option, is_given in options.items() if is_given)
    if given and (format is Format.TRACE or cost_column):
        costs = f"the column {cost_column} tells" if cost_column else "a trace tells"
        raise Failure(f"{given}: only where the log counts tokens; here {costs} the costs themselves")


def _hint(format: Format, reason: str) -> str:
    first = ("line 1: is not JSON", "line 1: field `event`: is missing")
    if format is Format.TRACE and any(sign in reason for sign in first):
        return "; if it is another system's log, say so by --format vtc, litellm or csv"
    return ""


def _print(found: OrderFinding | FairnessFinding | FleetFinding) -> None:
    lines = list(told.lines(found))
    rows = list(told.user_rows(found)) if isinstance(found, FairnessFinding) else []
    context = [told.record_line(record) for record in found.context] if isinstance(found, OrderFinding) else []
    if not sys.stdout.isatty():
        for name, text in lines:
            print(f"{name}: {text}")
        for line in context:
            print(f"  {line}")
        if len(rows) > 1:
            print()
            print(*_plain(rows), sep="\n")
        return
    console = Console()
    grid = Table.grid(padding=(0, 2))
    for name, text in lines:
        style = f"bold {COLOURS[found.verdict]}" if name == "verdict" else ""
        grid.add_row(Text(name, style="dim"), Text(text, style=style))
    console.print(grid)
    for number, line in enumerate(context, start=1):
        console.print(Text(f"  {line}", style="red" if number == len(context) else "dim"))
    if len(rows) > 1:
        table = Table(header_style="bold")
        for place, name in enumerate(rows[0]):
            table.add_column(name, justify="left" if place == 0 else "right")
        for row in rows[1:]:
            table.add_row(*map(Text, row))
        console.print(table)


def _plain(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = zip(row, widths, strict=True)
        yield "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()
