"""Logs with one row per request become events: an arrival and a dispatch each, in the order of their times.

At equal times arrivals come first, then the order of the rows counts. The rows may come in any order; a log that is
too long for the memory is sorted on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from heapq import merge
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO

import msgspec

from sfq_spec.conformance.audit.records import Batch, Record

SECOND = 1_000_000_000
"""Times are whole nanoseconds."""
TOGETHER = 200_000
"""Moments that are held in memory at a time."""
BATCH = 1_000
EARLIEST_DATE = 100_000_000 * SECOND
"""A time from here on is a date, counted from 1970."""

Key = tuple[int, int, int, str, str, int, int | str]
"""Time, 0 for an arrival or 1 for a dispatch, number of the row, user, file, line, cost (a fraction as a text)."""


@dataclass(frozen=True)
class Row:
    """One request that was dispatched. Times in nanoseconds."""

    file: str
    line: int
    user: str
    arrival: int
    dispatch: int
    cost: int | Fraction


def batches(rows: Iterable[Row], note: Callable[[str], None], *, together: int = TOGETHER) -> Iterator[Batch]:
    """The events of the rows, each with its time in seconds. A request's id is the number of its row.

    Times that are dates are told from the first one on, and `note` is told which that was.
    """
    moments = in_order(_moments(rows), together)
    if (first := next(moments, None)) is None:
        return
    begin = first[0] if first[0] >= EARLIEST_DATE else 0
    if begin:
        note(f"times are seconds since {datetime.fromtimestamp(begin // SECOND, UTC):%Y-%m-%d %H:%M:%S} UTC")
        begin -= begin % SECOND
    moments = chain((first,), moments)
    while some := list(islice(moments, BATCH)):
        records = [_record(moment, begin) for moment in some]
        yield Batch(records, [moment[4] for moment in some], [moment[5] for moment in some])


def in_order(moments: Iterator[Key], together: int = TOGETHER) -> Iterator[Key]:
    """The moments sorted; no more than `together` of them are in memory at a time."""
    first = sorted(islice(moments, together))
    if len(first) < together:
        yield from first
        return
    files = []
    try:
        while first:
            files.append(_put_away(first))
            first = sorted(islice(moments, together))
        yield from merge(*map(_taken_out, files))
    finally:
        for file in files:
            file.close()


def _moments(rows: Iterable[Row]) -> Iterator[Key]:
    for number, row in enumerate(rows, start=1):
        cost = row.cost if isinstance(row.cost, int) else str(row.cost)
        yield row.arrival, 0, number, row.user, row.file, row.line, cost
        yield row.dispatch, 1, number, row.user, row.file, row.line, cost


def _record(moment: Key, begin: int) -> Record:
    time, is_dispatch, number, user, _, _, cost = moment
    time -= begin
    seconds = time // SECOND if time % SECOND == 0 else time / SECOND
    if is_dispatch:
        return Record("dispatch", user, cost=cost, dispatched=str(number), time=seconds)
    return Record("arrive", user, str(number), cost, time=seconds)


def _put_away(moments: list[Key]) -> IO[bytes]:
    file = TemporaryFile()  # noqa: SIM115 - closed by whoever asked for it
    for start in range(0, len(moments), BATCH):
        packed = msgspec.msgpack.encode(moments[start : start + BATCH])
        file.write(len(packed).to_bytes(4, "little") + packed)
    file.seek(0)
    return file


def _taken_out(file: IO[bytes]) -> Iterator[Key]:
    while size := file.read(4):
        yield from msgspec.msgpack.decode(file.read(int.from_bytes(size, "little")), type=list[Key])
