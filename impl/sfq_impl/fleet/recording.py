"""The dispatcher's own trace: what it did, as events with their answers, which `sfq-spec audit` reads.

Besides the fields of the protocol a line has `time`, and where there is something to tell `tokens` (what a request was
expected to hold), `server`, `held` (users who were passed over, in the mode `overtake`), `ended` (why a request that
waited was withdrawn: cancelled, expired or refused), `moved` (all servers of a request that had more than one), and
`input_tokens` and `output_tokens` as the server told. No text of any prompt or answer. A request that was refused at
the door is no event, and a move to another server is none either.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path

from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Outcome, Request, TurnedAway
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Entry, Event, SetWeight, encode

__all__ = ["Memory", "Recorder", "Recording"]

Clock = Callable[[], float]


class Recorder:
    """An observer that makes an entry of whatever happens. Where it goes is told by a subclass."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self.waiting = 0
        """Requests that wait. With none, the next event begins a trace that can be read by itself."""

    def put(self, entry: Entry) -> None:
        """Keep an entry."""
        raise NotImplementedError

    def arrived(self, request: Request) -> None:
        """An event `arrive`."""
        self._note(Arrive(_text(request.user), _text(request.id), request.cost), tokens=request.tokens)
        self.waiting += 1

    def refused(self, request: Request, reason: TurnedAway) -> None:
        """No event: it never waited."""

    def dispatched(self, request: Request, server: Server) -> None:
        """An event `dispatch`, with its answer."""
        self.waiting -= 1
        told = Answer(dispatched=_text(request.id), user=_text(request.user), cost=request.cost)
        self._note(Dispatch(), told, server=_text(server.name), held=[_text(user) for user in request.overtook])

    def withdrawn(self, request: Request) -> None:
        """An event `cancel`, whatever the reason."""
        self.waiting -= 1
        self._note(Cancel(_text(request.id)), ended=request.ended)

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """An event `complete`."""
        moved = [_text(name) for name in request.servers] if request.servers[1:] else None
        used = usage or Usage()
        self._note(
            Complete(_text(request.id), outcome),
            moved=moved,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
        )

    def weighed(self, user: str, weight: float) -> None:
        """An event `weight`."""
        self._note(SetWeight(_text(user), weight))

    def _note(self, event: Event, answer: Answer | None = None, **extra: object) -> None:
        told = {name: value for name, value in extra.items() if value}
        self.put(Entry(event, answer or Answer(), {"time": round(self._clock(), 6), **told}))


class Memory(Recorder):
    """A trace in memory, without bound: for tests, and for short runs."""

    def __init__(self, clock: Clock = time.time) -> None:
        super().__init__(clock)
        self.entries: list[Entry] = []

    def put(self, entry: Entry) -> None:
        """To the end of the list."""
        self.entries.append(entry)

    @property
    def lines(self) -> bytes:
        """The trace as JSON Lines."""
        return b"".join(map(encode, self.entries))


class Recording(Recorder):
    """A trace in files, `NAME-RUN-PART.jsonl`: `keep` of them, and one more that nothing has been written to yet.

    A file that has reached its `size` is followed by another one as soon as nobody waits, and the weights are told
    again there: so each file of a run is a trace by itself, and all of them in order are one. If there is no such
    moment the file is ended at four times the size. What follows can then be audited only together with it, as
    nothing in a trace tells of a user's meter.

    Lines are written at the latest `flush_after` seconds after they were noted; with 0, at once. If a file cannot be
    written (a full disk), the dispatcher goes on, `lost` counts the entries that are missing, and `error` tells the
    reason, which `failed` is told of too. The file is cut behind the last line that was saved with all before it, or
    taken away if there is none. `try_again` seconds later, once nobody waits, a new run is begun: so no file has a gap
    within it. Files of earlier runs are given up only for lines that have been saved.
    """

    def __init__(
        self,
        path: Path,
        *,
        size: int = 64_000_000,
        keep: int = 16,
        flush_after: float = 1.0,
        try_again: float = 5.0,
        clock: Clock = time.time,
        failed: Callable[[OSError], object] = lambda error: None,
    ) -> None:
        """`path` is the folder and NAME. Raises `OSError` where the first file cannot be made."""
        if size < 1 or keep < 2:
            raise ValueError(f"size {size}, keep {keep}: at least one byte, and two files")
        super().__init__(clock)
        self.lost = 0
        self.error: OSError | None = None
        self._folder, self._name = path.parent, path.name
        self._size, self._keep, self._flush_after, self._try_again = size, keep, flush_after, try_again
        self._failed = failed
        self._failed_at = -math.inf
        self._weights: dict[str, Entry] = {}
        self._flushing: asyncio.TimerHandle | None = None
        self._file: BufferedWriter | None = None
        self._unsaved = 0
        """Entries that may not be in a file yet."""
        self._saved = 0
        """Bytes of this file that have been saved, which are whole lines."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._run, self._part = max([run for run, _, _ in self._files()], default=0), 0
        self._begin_run()

    @property
    def files(self) -> list[Path]:
        """All files of the name that are there, oldest first, those of earlier runs included."""
        return [file for _, _, file in self._files()]

    def put(self, entry: Entry) -> None:
        """To the end of the current file."""
        if isinstance(entry.event, SetWeight):
            self._weights[entry.event.user] = entry
            if entry.event.weight == 1:
                del self._weights[entry.event.user]
        self._unsaved += 1
        try:
            if self._file is None and self._may_begin(entry.event):
                self._begin_run()
            if self._file is None:
                self._lose()
                return
            self._write(entry)
            full = self._written >= self._size and self.waiting == 0
            if full or self._written >= 4 * self._size:
                self._begin_part()
            elif not self._flush_after:
                self.flush()
            elif self._flushing is None:
                self._flush_later()
        except OSError as error:
            self._fail(error)

    def flush(self) -> None:
        """Write what has been noted."""
        self._flushing = None
        if self._file:
            try:
                self._save(self._file)
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Write what has been noted, and end the file; one that has nothing in it is taken away."""
        if self._flushing:
            self._flushing.cancel()
        self.flush()
        if self._file:
            self._file.close()
            if not self._saved:
                with suppress(OSError):
                    Path(self._file.name).unlink()
            self._file = None

    def _write(self, entry: Entry) -> None:
        assert self._file
        self._written += self._file.write(encode(entry))

    def _flush_later(self) -> None:
        with suppress(RuntimeError):
            self._flushing = asyncio.get_running_loop().call_later(self._flush_after, self.flush)

    def _begin_run(self) -> None:
        self._run, self._part = self._run + 1, 0
        self._begin_part()

    def _begin_part(self) -> None:
        if self._file:
            self._save(self._file)
            self._file.close()
        self._part += 1
        self._written = self._saved = 0
        self._file = (self._folder / f"{self._name}-{self._run:04}-{self._part:04}.jsonl").open("xb")
        for weight in self._weights.values():
            self._write(weight)

    def _save(self, file: BufferedWriter) -> None:
        """What was noted is in the file. With the first lines of a file, the oldest one too many goes."""
        file.flush()
        is_new, self._saved, self._unsaved = not self._saved, self._written, 0
        if is_new and self._saved:
            for old in self.files[: -self._keep]:
                old.unlink()

    def _may_begin(self, event: Event) -> bool:
        """Whether a trace that can be read by itself may begin with the event, and it is time to try one."""
        is_time = abs(self._clock() - self._failed_at) >= self._try_again
        return is_time and self.waiting == 0 and not isinstance(event, Cancel | Dispatch)

    def _fail(self, error: OSError) -> None:
        """Nothing more goes into this file, and what was half written goes out of it."""
        self.error, file, self._file = error, self._file, None
        self._failed_at = self._clock()
        self._lose()
        if file:
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                if self._saved:
                    os.truncate(file.name, self._saved)
                else:
                    Path(file.name).unlink()
        self._failed(error)

    def _lose(self) -> None:
        """What was not saved is not in the trace."""
        self.lost += self._unsaved
        self._unsaved = 0

    def _files(self) -> list[tuple[int, int, Path]]:
        name = re.compile(re.escape(self._name) + r"-(\d{4,})-(\d{4,})\.jsonl")
        found = ((name.fullmatch(path.name), path) for path in self._folder.iterdir())
        return sorted((int(match[1]), int(match[2]), path) for match, path in found if match)


def _text(text: str) -> str:
    """An id as a document can hold it: half of a surrogate pair alone is written as its escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
