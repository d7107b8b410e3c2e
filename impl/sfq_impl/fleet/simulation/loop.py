"""An event loop whose time is virtual and whose order is drawn from a seed.

**Time** stands still while anything can run, and then jumps to the next timer: hours take milliseconds, and nothing
depends on how fast the machine is.

**Order.** asyncio runs what is ready first in, first out; what became ready together in one look at the sockets comes
in any order. Here, with `shuffle`, each next callback is any of those that are ready, whenever they became so. That
permutes the steps of different tasks, the callbacks of different futures, and timers that have come due, among each
other and between the rounds of the loop. It keeps what any order must keep: a task takes one step at a time, nothing
runs before what made it ready, and no timer before its time. So it allows every order that sockets could bring about,
and more. Code that is right here depends on no order of asyncio's.

**Steps.** Every callback is counted, and something can be done right before a given one, such as to cancel a task:
that reaches every `await` in the code that runs.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(Exception):
    """Tasks wait, and nothing will ever happen: no callback is ready and no timer is set."""

    def __init__(self, tasks: list[str]) -> None:
        super().__init__(f"nothing will ever wake {', '.join(tasks)}")
        self.tasks = tasks


class Endless(Exception):
    """A run has taken more steps than any that ends."""


class _Ready(deque[asyncio.Handle]):
    """What can run. Hands out its members in an order of its own, and counts them."""

    def __init__(self, loop: VirtualLoop, rng: random.Random, shuffle: bool) -> None:
        super().__init__()
        self._loop, self._rng, self._shuffle = loop, rng, shuffle

    def popleft(self) -> asyncio.Handle:
        self._loop.before_step()
        at = self._rng.randrange(len(self)) if self._shuffle and len(self) > 1 else 0
        self.rotate(-at)
        handle = super().popleft()
        self.rotate(at)
        return handle


class _NoSockets:
    """What a loop asks when it has nothing to run: here, time passes."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[object]:
        self._loop.pass_time(timeout)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """One run. It has no sockets, no threads and no subprocesses; everything else of asyncio is as ever."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, seed: int, *, shuffle: bool = True, most_steps: int = 1_000_000) -> None:
        super().__init__()
        self.steps = 0
        """Callbacks that have run."""
        self.problems: list[dict[str, Any]] = []
        """What the loop's handler of exceptions was told: exceptions that nobody took."""
        self.left: list[str] = []
        """Tasks that were not over at the end of a run."""
        self.after_each: Callable[[], None] | None = None
        """Called between any two steps."""
        self._now = 0.0
        self._most_steps = most_steps
        self._acts: dict[int, list[Callable[[], None]]] = {}
        self._ready = _Ready(self, random.Random(seed), shuffle)
        self._selector = _NoSockets(self)
        self.set_exception_handler(lambda _, context: self.problems.append(context))

    def time(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now

    def at_step(self, step: int, act: Callable[[], None]) -> None:
        """Do something right before the callback of this number, from 1."""
        self._acts.setdefault(step, []).append(act)

    def before_step(self) -> None:
        """Whatever is to be done between two steps."""
        self.steps += 1
        if self.steps > self._most_steps:
            raise Endless(f"not over after {self._most_steps:,} steps")
        if self.after_each:
            self.after_each()
        for act in self._acts.pop(self.steps, ()):
            act()

    def stop_watching(self) -> None:
        """Nothing more is done between two steps."""
        self.after_each, self._acts, self._most_steps = None, {}, self.steps + 100_000

    def pass_time(self, timeout: float | None) -> None:
        """Nothing can run: go on to the next timer. Raises `Deadlock` where there is none."""
        if timeout is None:
            raise Deadlock(sorted(task.get_name() for task in asyncio.all_tasks(self)))
        if timeout > 0:
            self._now = max(self._now, self._scheduled[0].when())

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""

    def _process_events(self, events: list[object]) -> None:
        """There are none."""


def run(loop: VirtualLoop, main: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine on the loop, which is closed then. Raises `Deadlock`, `Endless`, and what it raises.

    Tasks that are not over when it is over are named in `loop.left`, and cancelled.
    """
    task = loop.create_task(main, name="main")
    try:
        return loop.run_until_complete(task)
    finally:
        left = asyncio.all_tasks(loop)
        loop.left = sorted(other.get_name() for other in left)
        loop.stop_watching()
        for other in left:
            other.cancel()
        if left:
            with suppress(Deadlock, Endless):
                loop.run_until_complete(asyncio.wait(left))
        loop.close()
