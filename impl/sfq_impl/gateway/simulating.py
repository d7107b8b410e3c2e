"""`sfq-gateway simulate`: what a stream of requests comes to, by user and by group, for people and for machines."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import IO, Any

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.recording import Memory
from sfq_impl.fleet.simulation.engine import Pace
from sfq_impl.fleet.simulation.planning import Clock, Fate, Figures, Fleet, plan
from sfq_impl.fleet.simulation.workload import Asked, BadWorkload, Workload, read
from sfq_impl.fleet.watching import Observer
from sfq_impl.gateway.app import placed_by
from sfq_impl.gateway.config import Settings
from sfq_impl.gateway.ordering import Ordering, ordering

STANDARD = "-"
Group = tuple[str, str]
"""A name, and the pattern of the users that are in it."""
HEAVY, LIGHT = "heavy", "light"
COLUMNS = ("requests", "served", "share", "wait, mean", "median", "95 of 100", "longest", "first token")
COMPRESSED = {"gzip": b"\x1f\x8b", "zstandard": b"\x28\xb5\x2f\xfd", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00"}
"""How a file begins that holds no lines."""
LEFT_OUT = ("requests", "wait, mean", "first token", "longest")
"""Columns that a narrow terminal does without, the first one first."""


@dataclass(frozen=True)
class Wish:
    """What is to be simulated."""

    servers: Sequence[tuple[str, int, int | None]]
    pace: Pace
    input_weight: float
    output_weight: float
    load: float
    """How many times as fast as in the stream requests come."""
    settings: Settings | None = None
    """Where a configuration is given: limits, placement, weights and policy are its own."""


def load_workload(name: str, pace: Pace) -> Workload:
    """The stream in a file, or on standard input. Raises `BadWorkload`."""
    shown = "standard input" if name == STANDARD else name
    try:
        with _opened(name) as stream:
            return read(_plain(stream), pace)
    except OSError as error:
        raise BadWorkload(f"{shown}: cannot be read: {error.strerror}") from None
    except BadWorkload as bad:
        raise BadWorkload(f"{shown}: {bad}") from None


def policies(names: Sequence[str], settings: Settings | None) -> list[Ordering]:
    """The policies that are to be compared. Raises `ValueError`."""
    if not names:
        return [ordering("sfq") if settings is None else settings.policy]
    try:
        return [ordering(name) for name in dict.fromkeys(names)]
    except ValueError as error:
        raise ValueError(f"--policy: {error}") from None


def group_of(text: str) -> Group:
    """A group as it is written, NAME=PATTERN. Raises `ValueError`."""
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise ValueError(f"--group {text}: write NAME=PATTERN, for instance paid='p-*'")
    return name, pattern


def simulated(
    workload: Workload,
    wish: Wish,
    policy: Ordering,
    record: Path | None = None,
    show: Callable[[int], None] = lambda arrived: None,
) -> Figures:
    """What a stream comes to under one policy. Raises `OSError` where the trace cannot be written."""
    settings = wish.settings
    mode = settings.placement.mode if settings and policy.name == "sfq" else "stall"
    fleet = Fleet(
        wish.servers,
        lambda time: policy.policy(mode, lambda: round(time() * 1e9)),
        wish.pace,
        weights=(settings.weights if settings and settings.weights else workload.weights),
        mode=mode,
    )
    if settings is not None:
        limits = settings.limits
        fleet = replace(
            fleet,
            limits=Limits(limits.requests, limits.requests_of_a_user, limits.cost, limits.cost_of_a_user, limits.wait),
            strategy=lambda: placed_by(settings.placement),
        )
    traces = list[Memory]()

    def observers(time: Clock) -> list[Observer]:
        if record is not None:
            traces.append(Memory(time))
        return [*traces]

    asked = [replace(each, time=each.time / wish.load) for each in workload.asked]
    found = plan(asked, fleet, lambda each: cost_of(each, wish), observers=observers, show=show)
    for trace in traces:
        assert record is not None
        record.write_bytes(trace.lines)
    return found


def cost_of(asked: Asked, wish: Wish) -> int:
    """What a request is charged: what the stream tells, or its weighted tokens."""
    if asked.cost is not None:
        return asked.cost
    return max(1, math.ceil(wish.input_weight * asked.work.prompt + wish.output_weight * asked.work.answer))


def groups(figures: Figures, workload: Workload, wish: Wish, told: Sequence[Group]) -> dict[str, list[str]]:
    """Users by group: those that match a pattern, or the fewest that ask for half of all, and the others."""
    if told:
        return {name: [user for user in sorted(figures.fates) if fnmatchcase(user, made)] for name, made in told}
    wanted = dict.fromkeys(figures.fates, 0)
    for each in workload.asked:
        wanted[each.user] += cost_of(each, wish)
    heavy, so_far = list[str](), 0
    for user in sorted(wanted, key=lambda user: (-wanted[user], user)):
        if 2 * so_far >= sum(wanted.values()):
            break
        heavy.append(user)
        so_far += wanted[user]
    light = sorted(set(wanted) - set(heavy))
    return {HEAVY: sorted(heavy), **({LIGHT: light} if light else {})}


def as_json(name: str, figures: Figures, grouped: dict[str, list[str]]) -> dict[str, Any]:
    """For machines. Times in seconds."""
    fates, leads = figures.fates, figures.leads
    total = sum(fate.charged for fate in fates.values())
    all_served = sum(fate.served for fate in fates.values())
    lead = leads.worst
    return {
        "policy": name,
        "seconds": _rounded(figures.seconds),
        "requests": sum(fate.asked for fate in fates.values()),
        "served": all_served,
        "refused": sum(fate.refused for fate in fates.values()),
        "expired": sum(fate.expired for fate in fates.values()),
        "requests_per_second": _rounded(all_served / figures.seconds) if figures.seconds else None,
        "output_tokens_per_second": _rounded(sum(fate.output_tokens for fate in fates.values()) / figures.seconds)
        if figures.seconds
        else None,
        "busy": _rounded(figures.busy),
        "longest_queue": figures.longest_queue,
        "charged": total,
        "worst_lead": None
        if leads.is_given_up
        else {
            "lead": float(lead.charge) if lead else 0.0,
            "ahead": lead.ahead if lead else None,
            "behind": lead.behind if lead else None,
        },
        "largest_charge": float(leads.greatest),
        "groups": {group: _told([fates[user] for user in users], total) for group, users in grouped.items()},
        "users": {
            user: _told([fates[user]], total) for user in sorted(fates, key=lambda user: (-fates[user].charged, user))
        },
    }


def writable(path: Path) -> None:
    """Raises `OSError` where a file cannot be written; before the work, not after it."""
    with path.open("ab"):
        pass


def columns() -> int | None:
    """How wide the terminal is; None where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def lines(told: dict[str, Any], most_users: int, width: int | None = None) -> Iterator[str]:
    """For people, whose terminal may be so many characters wide."""
    yield (
        f"policy {told['policy']}: {told['served']:,} of {told['requests']:,} requests served in "
        f"{told['seconds']:,.0f} s, {told['refused']:,} refused, {told['expired']:,} expired"
    )
    if told["seconds"]:
        yield (
            f"  {told['requests_per_second']:,.2f} requests and {told['output_tokens_per_second']:,.0f} output tokens "
            f"a second; rooms busy {told['busy']:.0%}; at most {told['longest_queue']:,} waited"
        )
    lead, largest = told["worst_lead"], told["largest_charge"]
    if lead is None:
        yield "  worst lead: not counted for so many users; --record a trace for `sfq-spec audit --mode fairness`"
    elif lead["ahead"] is None:
        yield "  worst lead: none; nobody waited while another one was served"
    else:
        yield (
            f"  worst lead: {lead['lead']:,.6g}, {lead['ahead']!r} over {lead['behind']!r}, which waited throughout; "
            f"the largest charge is {largest:,.6g}"
        )
    users = list(told["users"].items())
    yield from _table("group", list(told["groups"].items()), width)
    yield from _table("user", users[:most_users], width)
    if users[most_users:]:
        yield f"  and {len(users) - most_users:,} users more; all are in --json"


def _table(of: str, rows: Sequence[tuple[str, dict[str, Any]]], width: int | None) -> Iterator[str]:
    cells = [[of, *COLUMNS]]
    for name, row in rows:
        wait = row["wait"]
        times = [wait["mean"], wait["median"], wait["95_of_100"], wait["longest"], row["first_token"]["median"]]
        counts = [f"{row['requests']:,}", f"{row['served']:,}", "" if row["share"] is None else f"{row['share']:.1%}"]
        cells.append([name if name.isprintable() else ascii(name), *counts, *map(_seconds, times)])
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for column in LEFT_OUT:
        if width is not None and sum(widths) + 2 * len(widths) > width:
            at = cells[0].index(column)
            cells = [row[:at] + row[at + 1 :] for row in cells]
            del widths[at]
    yield ""
    for first, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield f"  {first.ljust(widths[0])}  {'  '.join(numbers)}".rstrip()


def _told(fates: Sequence[Fate], total: int) -> dict[str, Any]:
    charged = sum(fate.charged for fate in fates)
    return {
        "users": len(fates),
        "requests": sum(fate.asked for fate in fates),
        "served": sum(fate.served for fate in fates),
        "refused": sum(fate.refused for fate in fates),
        "expired": sum(fate.expired for fate in fates),
        "charged": charged,
        "share": _rounded(charged / total) if total else None,
        "output_tokens": sum(fate.output_tokens for fate in fates),
        "wait": _spread([wait for fate in fates for wait in fate.waits]),
        "first_token": _spread([first for fate in fates for first in fate.firsts]),
    }


def _spread(seconds: list[float]) -> dict[str, float | None]:
    if not seconds:
        return {"mean": None, "median": None, "95_of_100": None, "longest": None}
    seconds.sort()
    return {
        "mean": _rounded(math.fsum(seconds) / len(seconds)),
        "median": _rounded(median(seconds)),
        "95_of_100": _rounded(seconds[min(len(seconds) - 1, math.ceil(0.95 * len(seconds)) - 1)]),
        "longest": _rounded(seconds[-1]),
    }


def _rounded(value: float) -> float:
    return round(value, 6)


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:,.1f} s" if seconds >= 10 else f"{seconds:,.3f} s"


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """How far it has come, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    step = max(1, total // 100)

    def show(done: int) -> None:
        if done % step == 0:
            print(f"\r{what}: {done:,} of {total:,} requests", end="", file=sys.stderr, flush=True)

    yield show
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _plain(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines. Raises `BadWorkload` where they are compressed."""
    first = stream.readline()
    for how, begins in COMPRESSED.items():
        if first.startswith(begins):
            raise BadWorkload(f"is compressed ({how}); unpack it, and give what comes out")
    yield first
    yield from stream


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as stream:
        yield stream
