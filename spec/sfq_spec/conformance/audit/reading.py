"""Several files in one format as the events of one log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Literal

from sfq_spec.conformance.audit import formats, moments, records
from sfq_spec.conformance.audit.formats import Columns, Prices, Tally
from sfq_spec.conformance.audit.moments import Row
from sfq_spec.conformance.audit.records import Batch, Unreadable
from sfq_spec.conformance.audit.sources import unpacked
from sfq_spec.trace import LONGEST_LINE, BadLine, Entry, decode

Format = Literal["trace", "vtc", "litellm", "csv"]

Opened = Iterable[tuple[str, Callable[[], AbstractContextManager[IO[bytes]]]]]
"""The name of each file, and how it is opened."""


@dataclass(frozen=True)
class Log:
    """What the files are, and what they do not say themselves."""

    format: Format = "trace"
    columns: Columns | None = None
    """For `csv`."""
    user_column: str = ""
    """For `litellm`."""
    prices: Prices = field(default_factory=Prices)

    def batches(self, files: Opened, tally: Tally, show: Callable[[int], None] = lambda done: None) -> Iterator[Batch]:
        """The events of the files, one file after another; rows of all files together are sorted by time.

        `show` is told how many bytes of the files have been read. Raises `Unreadable` where one cannot be read.
        """
        if self.format == "trace":
            for name, stream in _streams(files, show):
                yield from records.batches(name, stream)
        else:
            yield from moments.batches(self._rows(files, tally, show), tally.notes.append)

    def _rows(self, files: Opened, tally: Tally, show: Callable[[int], None]) -> Iterator[Row]:
        for name, stream in _streams(files, show):
            try:
                if self.format == "vtc":
                    yield from formats.read_vtc(name, stream, self.prices, tally)
                elif self.format == "litellm":
                    yield from formats.read_litellm(name, stream, self.user_column, self.prices, tally)
                else:
                    assert self.columns
                    yield from formats.read_csv(name, stream, self.columns, self.prices, tally)
            except BadLine as bad:
                raise Unreadable(f"{name}: {bad}") from None


def entries(files: Opened, show: Callable[[int], None] = lambda done: None) -> Iterator[tuple[str, Entry]]:
    """The events of traces, with all that their lines tell, each with its file and line. Raises `Unreadable`."""
    for name, stream in _streams(files, show):
        number = 0
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise Unreadable(f"{name}: line {number}: is longer than {LONGEST_LINE:,} bytes")
            if line.strip():
                try:
                    yield f"{name}: line {number}", decode(line, number)
                except BadLine as bad:
                    raise Unreadable(f"{name}: {bad}") from None


def _streams(files: Opened, show: Callable[[int], None]) -> Iterator[tuple[str, IO[bytes]]]:
    done = last = 0

    def shown(bytes_of_file: int) -> None:
        nonlocal last
        last = bytes_of_file
        show(done + bytes_of_file)

    for name, opened in files:
        with opened() as stream, unpacked(name, stream, shown) as inside:
            yield name, inside
        done, last = done + last, 0
