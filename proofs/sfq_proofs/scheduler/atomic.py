"""An exception out of nowhere, at every point of every event, from every state of a small world (IMPL-ATOMIC).

A trace function raises before the n-th point that is reached inside the scheduler, for every n. What is left must keep
the representation invariant and stand for the machine's state before the event or after it. Points are lines, or the
finer ones at which CPython lets an exception through: around every call, at function entries and backward jumps.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import CodeType, FrameType
from typing import Any, Literal

import sfq_impl
from sfq_impl.heap import HeapScheduler
from sfq_impl.representation import flaws
from sfq_proofs.scheduler.normal_form import View, parted
from sfq_proofs.scheduler.refinement import Move
from sfq_proofs.scheduler.worlds import World
from sfq_spec.scheduler import play

Points = Literal["lines", "calls"]
HOUSE = (sfq_impl.__path__[0], "planted_")
LETS_THROUGH = ("CALL", "JUMP_BACKWARD", "RESUME", "FOR_ITER")
"""Instructions at or after which an interrupt may come, or an error of what was called."""


class Injected(BaseException):
    """What no code expects."""


def inject() -> None:
    """Raise what no code expects."""
    raise Injected


def interrupted(
    number: int,
    during: Callable[[], object],
    points: Points = "lines",
    happens: Callable[[], object] = inject,
) -> bool:
    """Let something happen before a point, counted as they are reached, of what is done; whether there were so many."""
    left = number

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == ("line" if points == "lines" else "opcode") and _counts(frame, points):
            left -= 1
            if left == -1:
                happens()
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOUSE):
            return None
        frame.f_trace = local  # Python 3.13 traces no instructions of a frame that has no trace function yet
        frame.f_trace_opcodes, frame.f_trace_lines = points == "calls", points == "lines"
        return local

    usual = sys.gettrace()
    sys._getframe().f_trace_opcodes = points == "calls"  # Python 3.12 traces none unless a frame has asked before
    sys.settrace(enter)
    try:
        during()
    except Injected:
        pass
    finally:
        sys.settrace(usual)
    return left < 0


_open: dict[CodeType, frozenset[int]] = {}


def _counts(frame: FrameType, points: Points) -> bool:
    if points == "lines":
        return True
    code = frame.f_code
    if code not in _open:
        found, before = set(), ""
        for instruction in dis.get_instructions(code):
            if instruction.opname.startswith(LETS_THROUGH) or before.startswith(LETS_THROUGH):
                found.add(instruction.offset)
            before = instruction.opname
        _open[code] = frozenset(found)
    return frame.f_lasti in _open[code]


@dataclass
class Interrupting:
    """Interrupts each event everywhere, as `besides` of a search."""

    points: Points = "lines"
    raised: int = 0
    """How often an exception was raised."""

    def __call__(self, make: Callable[[], HeapScheduler], before: View, move: Move) -> str:
        """What an exception at some point of the first event leaves that may not be; empty where there is nothing."""
        number, event = 0, move.events[0]
        while interrupted(number, partial(play, scheduler := make(), event), self.points):
            if wrong := next(flaws(scheduler), ""):
                return f"{event}, point {number}: {wrong}"
            if parted(scheduler, before) and (wrong := parted(scheduler, move.first)):
                return f"{event}, point {number}: {wrong}, nor is it as before"
            number += 1
            self.raised += 1
        return ""


WORLD = World("2 users, interrupted", 2, (1, 2), 2, (Fraction(1), Fraction(3, 2)), recosts=True, slack=1, deepest=3)
DEEP = (
    replace(WORLD, deepest=6),
    World("3 users, interrupted", 3, (1, 2), 2, slack=1, deepest=5),
)
