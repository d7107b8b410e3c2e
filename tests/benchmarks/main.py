"""The command behind `make bench`. Timings are shown beside their goals, and never decide how it ends."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from benchmarks.measures import FULL, QUICK, Extent, Result, measure

MARKS = {"reached": ("", "green"), "missed": ("*", "yellow"), "alarm": ("!", "red"), "reported": ("", "")}

NOTES = """\
A step is one dispatch and one arrival; the floor is heapreplace on pairs of numbers, one for each user who waits.
Each figure is the median of {repetitions} ratios of processor times.   * not at the goal   ! beyond the alarm
"The rules alone" is SFQ on a heap with nothing else: no request ids, refusals, cancels or weights, no safety from
exceptions and overlapping calls, no limit on memory. What a step costs beyond it is the price of these.
The others do not have them either. ns.py is timed with its simulator, and in cost only: the order in which the
version for this Python serves is not that of DRR or WFQ in all cases."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and show. Returns the exit status: 0, whatever the timings are."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and steps: seconds instead of minutes")
    parser.add_argument("--json", action="store_true", help="the results as a list for machines")
    chosen = parser.parse_args(arguments)
    results = run(QUICK if chosen.quick else FULL)
    if chosen.json:
        print(json.dumps([as_json(result) for result in results], indent=2, ensure_ascii=False))
    else:
        show(results, QUICK if chosen.quick else FULL)
    return 0


def run(extent: Extent) -> list[Result]:
    """Measure, with progress on standard error."""
    results = []
    with _telling() as tell:
        for told in measure(extent):
            if isinstance(told, str):
                tell(told)
            else:
                results.append(told)
    return results


def as_json(result: Result) -> dict[str, object]:
    """A result for machines."""
    goal = {name: bound for name, bound in asdict(result.goal).items() if bound is not None}
    timed = asdict(result.timed) if result.timed else {}
    return {
        "table": result.table,
        "measure": result.measure,
        "users": result.users,
        "value": result.value,
        "goal": goal or None,
        "verdict": result.verdict,
        **{name: timed[name] for name in ("spread", "nanoseconds") if timed},
    }


def show(results: list[Result], extent: Extent) -> None:
    """The results for people: a table per topic, a line per measure, its goals below it."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    console.print(
        f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores{load}", style="dim"
    )
    for topic in dict.fromkeys(result.table for result in results):
        console.print()
        console.print(_table(topic, [result for result in results if result.table == topic]))
    console.print()
    console.print(NOTES.format(repetitions=extent.repetitions), style="dim", highlight=False)


def _table(topic: str, results: list[Result]) -> Table:
    sizes = sorted({result.users for result in results})
    table = Table(title=topic, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("users", overflow="fold")
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    for name in dict.fromkeys(result.measure for result in results):
        line = {result.users: result for result in results if result.measure == name}
        table.add_row(name, *(_value(line.get(size)) for size in sizes))
        if any(str(result.goal) for result in line.values()):
            table.add_row("  goal", *(str(line[size].goal) if size in line else "" for size in sizes), style="dim")
    return table


def _value(result: Result | None) -> Text:
    if result is None:
        return Text("")
    mark, colour = MARKS[result.verdict]
    return Text(f"{result.value:.3g}{mark or ' '}", style=colour)


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """What is being measured: a line that changes, on a terminal; lines one after another elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: print(f"bench: {what}", file=sys.stderr, flush=True)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        yield lambda what: progress.update(task, description=what)
