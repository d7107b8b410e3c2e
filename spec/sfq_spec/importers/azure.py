"""Azure LLM inference traces: `TIMESTAMP,ContextTokens,GeneratedTokens`.

The file knows no users: it is one anonymous flow, of the user `azure`, unless it is dealt out. Time 0 is the
earliest timestamp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sfq_spec.importers.rows import SECOND, Arrival, Imported, in_order, table, whole
from sfq_spec.trace import BadLine, Readable

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
USER = "azure"

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?", re.ASCII)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def read(stream: Readable) -> Imported:
    """The requests of the file, all of the user `azure`. Raises `BadLine`."""
    imported = in_order(list(_rows(stream)))
    start = imported.arrivals[0].time if imported.arrivals else 0
    return Imported([replace(arrival, time=arrival.time - start) for arrival in imported.arrivals])


def deal(imported: Imported, users: int) -> Imported:
    """The same requests dealt out in order of arrival to users `azure-1` to `azure-N`, one each in turn.

    The numbers are padded with zeros, so that the ids sort as they count.
    """
    width = len(str(users))
    names = [f"{USER}-{number:0{width}}" for number in range(1, users + 1)]
    dealt = [replace(arrival, user=names[k % users]) for k, arrival in enumerate(imported.arrivals)]
    return replace(imported, arrivals=dealt)


def _rows(stream: Readable) -> Iterator[Arrival]:
    for line, (stamp, context, generated) in table(stream, COLUMNS):
        yield Arrival(
            _microseconds(line, stamp),
            USER,
            whole(line, "ContextTokens", context),
            whole(line, "GeneratedTokens", generated),
        )


def _microseconds(line: int, stamp: str) -> int:
    if found := _STAMP.fullmatch(stamp):
        try:
            moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
        except ValueError as error:
            raise BadLine(line, "TIMESTAMP", f"{stamp!r}: {error}") from None
        return (moment - _BEGINNING) // timedelta(seconds=1) * SECOND + int((found[2] or "").ljust(6, "0")[:6])
    example = "2023-11-16 18:17:03.9799600"
    raise BadLine(line, "TIMESTAMP", f"{stamp[:40]!r} is not a time such as {example!r}")
