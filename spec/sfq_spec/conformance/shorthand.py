"""Runs in one line: how cases are written down, and how they are shown.

`+A 3` is the arrival of a request of A with cost 3, named A1, A2, … in order; `+A 3×4` four of them; `+A,B 1×2` the
same for A and B in turn. `D` is a dispatch, `D×5` five; `x A1` a cancel, `✓ A1` and `✗ A1` a completion and a
failure, `w A 1/2` a weight, `c A1 7` a new cost, `upkeep` upkeep. Parts are separated by `;`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sfq_spec import numbers
from sfq_spec.trace import (
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Outcome,
    Recost,
    SetWeight,
    Upkeep,
)

_ENDS: dict[str, Outcome] = {"✓": "completed", "✗": "failed"}


class BadShorthand(ValueError):
    """A part that stands for no event; the message says which."""


def read(line: str) -> list[Event]:
    """The events of a line. Raises `BadShorthand`."""
    arrived = Counter[str]()
    return [event for part in line.split(";") for event in _part(part.strip(), arrived)]


def write(events: Iterable[Event]) -> str:
    """The line of some events, shorter where events repeat. Ids stand as they are."""
    parts: list[tuple[str, int]] = []
    for event in events:
        part = _shown(event)
        if parts and parts[-1][0] == part:
            parts[-1] = part, parts[-1][1] + 1
        else:
            parts.append((part, 1))
    return "; ".join(part if times == 1 else f"{part}×{times}" for part, times in parts)


def _part(part: str, arrived: Counter[str]) -> Iterator[Event]:
    words = part.replace("+", "+ ", 1).replace("✓", "✓ ", 1).replace("✗", "✗ ", 1).split()
    match words:
        case ["+", users, cost]:
            cost, times = _times(cost)
            for user in users.split(",") * times:
                arrived[user] += 1
                yield Arrive(user, f"{user}{arrived[user]}", numbers.read(cost))
        case ["x", request]:
            yield Cancel(request)
        case ["✓" | "✗" as end, request]:
            yield Complete(request, _ENDS[end])
        case ["w", user, weight]:
            yield SetWeight(user, numbers.read(weight))
        case ["c", request, cost]:
            yield Recost(request, numbers.read(cost))
        case ["upkeep"]:
            yield Upkeep()
        case [dispatch] if dispatch.partition("×")[0] == "D":
            yield from [Dispatch()] * _times(dispatch)[1]
        case _:
            raise BadShorthand(f"{part!r} stands for no event: write +A 3, D, x A1, ✓ A1, w A 2, c A1 5 or upkeep")


def _times(text: str) -> tuple[str, int]:
    text, _, times = text.partition("×")
    return text, int(times or 1)


def _shown(event: Event) -> str:
    match event:
        case Arrive(user=user, request=request, cost=cost):
            named = f"{user}:" if not request.startswith(user) else ""
            return f"+{named}{request} {numbers.write(cost)}"
        case Cancel(request=request):
            return f"x {request}"
        case Complete(request=request, outcome=outcome):
            return f"{'✓' if outcome == 'completed' else '✗'} {request}"
        case SetWeight(user=user, weight=weight):
            return f"w {user} {numbers.write(weight)}"
        case Recost(request=request, cost=cost):
            return f"c {request} {numbers.write(cost)}"
        case Upkeep():
            return "upkeep"
        case _:
            return "D"
