"""A simulated server: it reads a prompt, then writes tokens, several requests at once, and it can fail in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Mood = Literal["well", "slow", "refuses", "hangs"]


@dataclass(frozen=True)
class Pace:
    """How fast a server is. Times are virtual seconds."""

    connect: float = 0.001
    prefill: float = 0.0005
    """For each token of the prompt."""
    decode: float = 0.02
    """For each token of the answer."""
    crowd: float = 0.1
    """What each other request in the batch adds to any of that, as a part of it."""
    slow: float = 20.0
    """How many times as long all takes while the server is slow."""


@dataclass(frozen=True)
class Work:
    """What a request asks of a server."""

    prompt: int
    answer: int
    chunk: int = 4
    """Tokens that come together."""


class Broken(Exception):
    """The server has refused the connection, or has died."""


class Engine:
    """What runs behind one of the dispatcher's servers. It counts for itself what it has to do."""

    def __init__(self, name: str, pace: Pace | None = None) -> None:
        self.name = name
        self.pace = pace or Pace()
        self.is_alive = True
        self.mood: Mood = "well"
        self.active: dict[int, Work] = {}
        """What is in the batch."""
        self._waits: dict[asyncio.Future[None], None] = {}
        self._count = 0

    @property
    def tokens(self) -> int:
        """What the batch needs in memory."""
        return sum(work.prompt + work.answer for work in self.active.values())

    async def serve(self, work: Work, heard: Callable[[int], None]) -> None:
        """Do the work; `heard` is told of each chunk of tokens. Raises `Broken` before, between or after them."""
        self._count += 1
        number = self._count
        self.active[number] = work
        try:
            await self._wait(self.pace.connect)
            if self.mood == "refuses":
                raise Broken(f"{self.name} refuses")
            await self._wait(self.pace.prefill * work.prompt)
            for begun in range(0, work.answer, work.chunk):
                size = min(work.chunk, work.answer - begun)
                await self._wait(self.pace.decode * size)
                heard(size)
            await self._wait(0)
        finally:
            del self.active[number]

    def die(self) -> None:
        """All connections break, and no new one is taken."""
        self.is_alive = False
        for wait in self._waits:
            if not wait.done():
                wait.set_exception(Broken(f"{self.name} has died"))

    def revive(self) -> None:
        """It is back, and well."""
        self.is_alive = True
        self.mood = "well"

    async def _wait(self, seconds: float) -> None:
        """So long, more in a crowd; for ever while the server hangs, until it dies."""
        if not self.is_alive:
            raise Broken(f"{self.name} is dead")
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        self._waits[over] = None
        timer = None
        if self.mood != "hangs":
            factor = self.pace.slow if self.mood == "slow" else 1.0
            crowd = 1 + self.pace.crowd * (len(self.active) - 1)
            timer = loop.call_later(seconds * factor * crowd, _end, over)
        try:
            await over
        finally:
            del self._waits[over]
            if timer:
                timer.cancel()
            if over.done() and not over.cancelled():
                over.exception()


def _end(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)
