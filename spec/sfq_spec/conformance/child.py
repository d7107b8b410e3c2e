"""A process that is spoken to line by line, and not trusted: it may hang, die, flood, or never read.

Whatever it does, a call returns in its time, memory stays bounded, and nothing of it is left at the end.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

LONGEST_LINE = 1 << 24
"""Bytes of the longest line that is read."""
KEPT = 2_000
"""Bytes of standard error that are kept: the last ones."""
FAREWELL = 2.0
"""Seconds in which a process may end by itself once it is told to."""
_POSIX = os.name == "posix"


class Silent(Exception):
    """It did not read, or did not answer, in the time that it had."""


class Ended(Exception):
    """It has closed its side: there is nothing more to come."""


class TooLong(Exception):
    """It sent a line of more than `LONGEST_LINE` bytes."""


class Child:
    """A process with everything that it starts. Raises `OSError` where it cannot be started."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        heard: Callable[[str], None] | None = None,
    ) -> None:
        """`environment` is its own, where it is not the one here. `heard` is told what it says on standard error."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=_POSIX,
            env=environment,
        )
        self._heard = heard
        self._stdin, self._stdout, self._stderr = map(_opened, (process.stdin, process.stdout, process.stderr))
        self._process = process
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=1)
        self._said = b""
        self._reader = _thread(self._read)
        self._listener = _thread(self._listen)

    def send(self, line: bytes, seconds: float) -> None:
        """Write a line. Raises `Ended`, or `Silent` where it is not read: a pipe holds only so much."""
        failed: list[OSError | ValueError] = []

        def write() -> None:
            try:
                self._stdin.write(line)
                self._stdin.flush()
            except (OSError, ValueError) as error:
                failed.append(error)

        writer = _thread(write)
        writer.join(seconds)
        if writer.is_alive():
            raise Silent
        if failed:
            raise Ended

    def receive(self, seconds: float) -> bytes:
        """The next line. Raises `Silent`, `Ended` or `TooLong`."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise Silent from None
        if not line:
            raise Ended
        if len(line) > LONGEST_LINE:
            raise TooLong
        return line

    def ending(self) -> str:
        """How it has ended, in words; empty where it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        status = self._process.returncode
        if status is None:
            return ""
        if status >= 0:
            return f"its exit status is {status}"
        with contextlib.suppress(ValueError):
            return f"it was ended by {signal.Signals(-status).name}"
        return f"it was ended by signal {-status}"

    def errors(self) -> str:
        """The end of what it said on standard error."""
        if self._process.poll() is not None:
            self._listener.join(0.5)
        return self._said.decode(errors="replace").strip()

    def stop(self, farewell: bytes = b"") -> None:
        """End it, and everything that it started; first a last line and some time, where there is such a line."""
        if farewell and self._process.poll() is None:
            with contextlib.suppress(Silent, Ended):
                self.send(farewell, FAREWELL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(FAREWELL)
        self._kill()
        self._process.wait()
        self._drain()
        for stream, thread in ((self._stdout, self._reader), (self._stderr, self._listener)):
            if not thread.is_alive():
                stream.close()
        with contextlib.suppress(OSError):
            self._stdin.close()

    def _kill(self) -> None:
        if _POSIX:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def _drain(self) -> None:
        """Let the threads come to their end: they read what is left in the pipes, which nobody fills any more."""
        end = time.monotonic() + FAREWELL
        while self._reader.is_alive() and time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                self._lines.get(timeout=0.02)
        self._listener.join(max(0.0, end - time.monotonic()))

    def _read(self) -> None:
        """Hand over line by line, an empty one at the end. A flood waits here, and fills a pipe, not the memory."""
        for line in _lines(self._stdout):
            self._lines.put(line)
        self._lines.put(b"")

    def _listen(self) -> None:
        """Keep the last bytes; what is said is never waited for."""
        text = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError, ValueError):
            while said := os.read(self._stderr.fileno(), 1 << 16):
                self._said = (self._said + said)[-KEPT:]
                if self._heard:
                    self._heard(text.decode(said))


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    with contextlib.suppress(OSError, ValueError):
        while line := stream.readline(LONGEST_LINE + 1):
            yield line


def _thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread
