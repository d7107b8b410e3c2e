"""A scheduler in Python that is not trusted: it may hang, crash, print, or take the process with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import msgspec

from sfq_spec.conformance import notes, shorthand
from sfq_spec.conformance.child import Child
from sfq_spec.conformance.subjects import PATIENCE, Errored, NoVerdict, ProcessSubject, Skipped
from sfq_spec.scheduler import search_path
from sfq_spec.trace import Answer, Event

_HOST = (sys.executable, "-P", "-m", "sfq_spec.conformance.host")
_BROKEN = b'{"broken":'


def _on_standard_error(said: str) -> None:
    sys.stderr.write(said)
    sys.stderr.flush()


class HostedSubject(ProcessSubject):
    """The scheduler that `module:factory` names, in a Python of its own, with a time for every run.

    What it prints is handed on to `heard`. Where it gives no answer, the reason names the event, and, as far as Python
    still knows, the line.
    """

    late = "--patience gives more time"
    speaker = "the scheduler's process"
    failed = ""

    def __init__(
        self,
        name: str,
        *,
        any_tie: bool = False,
        patience: float = PATIENCE,
        heard: Callable[[str], None] = _on_standard_error,
    ) -> None:
        super().__init__((*_HOST, name), patience=patience)
        self._name, self._ties, self._heard = name, "any" if any_tie else "user-id", heard
        self._events: Sequence[Event] | None = None

    def __enter__(self) -> Self:
        self._notes = TemporaryDirectory(prefix="sfq-spec-", ignore_cleanup_errors=True)
        try:
            self._place = notes.Place(self._folder)
            return super().__enter__()
        except BaseException:
            self._clear()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            super().__exit__(kind, error, at)
        finally:
            self._clear()

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        """See `Subject.run`. An `Errored` names the event."""
        self._place.write(0)
        self._events = events
        try:
            return super().run(id, events)
        except Errored as error:
            raise Errored.at(id, events, self._place.read() - 1, error.what) from None
        finally:
            self._events = None

    def _started(self) -> Child:
        command = [*self._command, str(self._folder), str(self._patience), self._ties]
        path = os.pathsep.join(filter(None, search_path()))
        return Child(command, heard=self._heard, environment={**os.environ, "PYTHONPATH": path})

    def _reply(self, message: bytes, what: str) -> bytes:
        line = super()._reply(message, what)
        if line.startswith(_BROKEN):
            told: dict[str, Any] = msgspec.json.decode(line)
            raise NoVerdict(told["broken"])
        return line

    def _broken(self, what: str) -> NoVerdict:
        """With the event and the line, where it was in the middle of a run."""
        place = self._place.read()
        where = notes.line(notes.stack(self._folder).read_text(encoding="utf-8", errors="replace"))
        if not self._events or not place:
            return super()._broken(f"{what} {where}".rstrip())
        case, colon, told = what.partition(": ")
        run = shorthand.write(self._events[:place])
        broken = super()._broken(f"{case}, event {place}{colon}{told} {where}".rstrip())
        return NoVerdict(f"{broken}\nThe run: {run}")

    @property
    def _folder(self) -> Path:
        return Path(self._notes.name)

    def _clear(self) -> None:
        self._place.__exit__(None, None, None)
        self._notes.cleanup()
