"""`--shadow`: the machine of the specification beside production, as a process of its own: `sfq-spec shadow`.

It is told what the dispatcher's trace tells, and answers only where it would have decided otherwise. It slows nothing
down: what it is told waits in a queue that is bounded, and whatever does not fit is passed over, up to the next moment
at which nobody waits. If it dies it is started again, and the gateway goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from contextlib import suppress
from pathlib import Path

import msgspec

from sfq_impl.fleet.dispatcher import Mode
from sfq_impl.fleet.recording import Recorder
from sfq_impl.gateway.config import ShadowSettings
from sfq_impl.gateway.logs import tell
from sfq_spec.trace import Cancel, Dispatch, Entry, SetWeight, encode

COMMAND = "sfq-spec"
AT_ONCE = 256
"""Events that are written in one go."""
LONGEST_ANSWER = 1 << 24
LAST_WORDS = 5.0
"""Seconds in which it may say its last, when everything else is done."""
PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until it is started again, and at most; it doubles each time."""


class NoShadow(Exception):
    """The command that reads along cannot be found."""


class Told(msgspec.Struct):
    """A line that it writes."""

    divergence: str | None = None
    lost: str | None = None
    claims: list[str] = []
    saved: str | None = None
    line: int | None = None


_told = msgspec.json.Decoder(Told)


def find() -> str:
    """The command: beside this Python, or on the path. Raises `NoShadow`."""
    beside = Path(sys.executable).with_name(COMMAND)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(COMMAND)
    if found is None:
        raise NoShadow(f"the shadow needs the command {COMMAND}, and it is neither beside {sys.executable} nor on PATH")
    return found


class Shadow(Recorder):
    """An observer of the dispatcher, and the process that it feeds."""

    def __init__(self, settings: ShadowSettings, mode: Mode = "stall", command: str | None = None) -> None:
        """Raises `NoShadow`."""
        super().__init__()
        self.settings = settings
        self.is_up = False
        self.divergences = 0
        self.lost = 0
        """Events that it was not told of."""
        self._command = [command or find(), "shadow", "-", "--placement", mode, "--save", str(settings.path)]
        self._queue: deque[Entry | int] = deque()
        """What it is to be told; a number stands for so many events that it is not."""
        self._missing = 0
        """Events that were passed over since the latest one that was queued."""
        self._more = asyncio.Event()
        self._weights: dict[str, Entry] = {}
        self._running: asyncio.Task[None] | None = None
        self._is_ending = False

    @property
    def waiting_events(self) -> int:
        """How many events it has not been told of yet."""
        return len(self._queue)

    def put(self, entry: Entry) -> None:
        """An event more; where the queue is full it is passed over, with all until nobody waits."""
        if isinstance(entry.event, SetWeight):
            self._weights[entry.event.user] = entry
            if entry.event.weight == 1:
                del self._weights[entry.event.user]
        is_level = self.waiting == 0 and not isinstance(entry.event, Cancel | Dispatch)
        if len(self._queue) >= self.settings.queue or (self._missing and not is_level):
            self._missing += 1
            self.lost += 1
            return
        if self._missing:
            self._queue.append(self._missing)
            self._queue.extend(self._weights.values())
            self._missing = 0
        self._queue.append(entry)
        self._more.set()

    def start(self) -> None:
        """Begin, in the event loop that runs."""
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Tell it the rest, and let it say its last."""
        self._is_ending = True
        self._more.set()
        if self._running is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    await asyncio.wait({self._running})
            self._running.cancel()
            await asyncio.wait({self._running})
        if self._queue:
            tell(logging.WARNING, "shadow was not told all before the end", events=len(self._queue))

    async def _run(self) -> None:
        pause, clock = PAUSE, asyncio.get_running_loop().time
        while not self._is_ending:
            begun = clock()
            why = await self._serve()
            self.is_up = False
            if self._is_ending:
                return
            tell(logging.ERROR, "shadow ended, it is started again", why=why, seconds=round(pause, 1))
            self._lose()
            await asyncio.sleep(pause)
            pause = PAUSE if clock() - begun > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)

    def _lose(self) -> None:
        """The next one knows nothing of what was before: it begins when nobody waits."""
        untold = sum(each if isinstance(each, int) else 1 for each in self._queue)
        self.lost += sum(not isinstance(each, int) for each in self._queue)
        self._missing += max(1, untold)
        self._queue.clear()

    async def _serve(self) -> str:
        """One process, from its beginning to its end, and why it has ended.

        Signals of the terminal are for the gateway alone: it ends the other one when all has been told.
        """
        try:
            child = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=LONGEST_ANSWER, start_new_session=True
            )
        except OSError as error:
            return f"{self._command[0]}: {error.strerror}"
        self.is_up = True
        feeding = asyncio.create_task(self._feed(child))
        complaining = asyncio.create_task(_last_line(child))
        try:
            if wrong := await self._hear(child):
                return wrong
            status, said = await child.wait(), await complaining
            return f"status {status}{f': {said}' if said else ''}"
        finally:
            for task in (feeding, complaining):
                task.cancel()
            await asyncio.wait({feeding, complaining})
            if child.returncode is None:
                child.kill()
                await child.wait()

    async def _feed(self, child: Process) -> None:
        """Tell it what is in the queue, as fast as it reads."""
        assert child.stdin is not None
        with suppress(ConnectionError):
            while not (self._is_ending and not self._queue):
                await self._more.wait()
                lines = list[bytes]()
                while self._queue and len(lines) < AT_ONCE:
                    lines.append(_line(self._queue.popleft()))
                if not self._queue and not self._is_ending:
                    self._more.clear()
                child.stdin.write(b"".join(lines))
                await child.stdin.drain()
            child.stdin.close()

    async def _hear(self, child: Process) -> str | None:
        """What it has to say, until it says no more, or something else than it should: what."""
        assert child.stdout is not None
        try:
            async for line in child.stdout:
                self._tell(_told.decode(line))
        except (msgspec.MsgspecError, ValueError) as error:
            return f"it cannot be understood: {error}"
        return None

    def _tell(self, told: Told) -> None:
        if told.divergence is not None:
            self.divergences += 1
            claims = ", ".join(told.claims) or None
            tell(logging.ERROR, "divergence", said=told.divergence, claims=claims, saved=told.saved, entry=told.line)
        elif told.lost is not None:
            tell(logging.WARNING, "shadow passes over what follows", why=told.lost)


def _line(told: Entry | int) -> bytes:
    return b'{"gap":%d}\n' % told if isinstance(told, int) else encode(told)


async def _last_line(child: Process) -> str:
    assert child.stderr is not None
    last = b""
    async for line in child.stderr:
        last = line
    return last.decode("utf-8", "replace").strip()
