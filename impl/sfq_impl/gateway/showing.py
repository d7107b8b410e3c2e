"""How the demonstration is shown: a table that changes in a terminal, lines elsewhere, and a comparison at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sfq_impl.gateway.demo import FLOODING, LIGHT, USERS, Figures, Show

NAMED = {"fifo": "FIFO", "sfq": "Start-time Fair Queueing"}
STARTING = "two engines and a gateway are being started …"
NARROW = 76
"""Columns of a terminal; with fewer, only what matters most is shown."""
EVERY = 3.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def showing(seconds: float) -> Iterator[Show]:
    """A function that shows figures as they are now."""
    if not sys.stdout.isatty():
        print(STARTING.rstrip(" …"), flush=True)
        yield _lines(seconds)
        return
    console = Console()
    starting = Text(STARTING if is_unicode(console) else STARTING.replace("…", "..."))
    with Live(starting, console=console, refresh_per_second=4, transient=True) as live:
        yield lambda figures: live.update(now(figures, seconds, console))


def is_unicode(console: Console) -> bool:
    """Whether it can be asked to write what is not ASCII."""
    return console.encoding.lower().startswith("utf")


def _lines(seconds: float) -> Show:
    shown = dict[str, float]()

    def show(figures: Figures) -> None:
        last = figures.seconds >= seconds
        if figures.seconds - shown.get(figures.policy, 0.0) >= EVERY or last:
            shown[figures.policy] = figures.seconds
            light, flood = figures.felt(*LIGHT)[0], figures.felt(FLOODING)[0]
            waiting = sum(figures.waiting.values())
            print(
                f"{figures.policy:4} {figures.seconds:4.0f} s  first byte, median: light users {_seconds(light)}, "
                f"{FLOODING} {_seconds(flood)}  waiting: {waiting:.0f}",
                flush=True,
            )

    return show


def now(figures: Figures, seconds: float, console: Console) -> Table:
    """What has come of a policy so far, as a table that fits a terminal."""
    narrow, block = console.width < NARROW, "█" if is_unicode(console) else "#"
    title = f"{NAMED[figures.policy]}   {figures.seconds:.0f} of {seconds:.0f} s"
    table = Table("user", title=title, title_justify="left")
    for column in ("waiting", "first byte") if narrow else ("waiting", "served", "charged", "first byte"):
        table.add_column(column, justify="right")
    if not narrow:
        table.add_column("latest", min_width=20)
    longest = max((times[-1] for times in figures.first_bytes.values() if times), default=1.0)
    for user in USERS:
        times = figures.first_bytes[user]
        latest = times[-1] if times else 0.0
        waiting, median = f"{figures.waiting.get(user, 0):.0f}", _seconds(figures.felt(user)[0])
        counts = f"{len(times):,}", f"{figures.charged.get(user, 0):,.0f}"
        cells = (waiting, median) if narrow else (waiting, *counts, median, block * round(20 * latest / longest))
        table.add_row(user, *cells, style="bold" if user == FLOODING else "")
    return table


def conclude(found: Sequence[Figures]) -> None:
    """The comparison, on standard output."""
    table = Table("from a request to its first byte", title="What people feel", title_justify="left")
    for figures in found:
        table.add_column(NAMED[figures.policy], justify="right")
    for name, users in (("light users", LIGHT), (FLOODING, (FLOODING,))):
        table.add_row(f"{name}, median", *(_seconds(figures.felt(*users)[0]) for figures in found))
        table.add_row(f"{name}, 95 of 100", *(_seconds(figures.felt(*users)[1]) for figures in found))
    table.add_row("tokens a second, all users", *(f"{sum(f.tokens.values()) / f.seconds:,.0f}" for f in found))
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(table)
    first, last = (figures.felt(*LIGHT)[0] for figures in (found[0], found[-1]))
    if first == first and last == last:
        console.print(f"With fair queueing the light users wait {first / last:.1f} times less.")
    if failed := sum(figures.failed for figures in found):
        console.print(f"{failed} requests failed.")


def _seconds(seconds: float) -> str:
    return "-" if seconds != seconds else f"{1000 * seconds:,.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
