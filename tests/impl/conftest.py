"""Short runs, written as one line, and schedulers with a fault in them.

`+u c×n` is n arrivals of user u with cost c (requests u1, u2, …), `D×n` dispatches, `x r` a cancel, `✓r` a completion,
`✗r` a failure, `w u k` a weight, `c r k` a new cost. `+A,B 3×2` is the same for two users in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from sfq_impl.heap import HeapScheduler
from sfq_proofs.scheduler.faults import Fault, plant
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight, Upkeep

Script = Callable[[str], list[Event]]


@pytest.fixture(scope="session")
def script() -> Script:
    """The events of a line such as `+A 3×2; +B 1; D×2; x A2; upkeep`."""
    return lambda line: list(_events(line))


def _events(line: str) -> Iterator[Event]:
    arrived = Counter[str]()
    for part in line.split(";"):
        match part.replace("✓", "✓ ").replace("✗", "✗ ").replace("+", "+ ").split():
            case ["+", users, costs]:
                cost, _, times = costs.partition("×")
                for user in users.split(",") * int(times or 1):
                    arrived[user] += 1
                    yield Arrive(user, f"{user}{arrived[user]}", Fraction(cost))
            case ["x", request]:
                yield Cancel(request)
            case ["✓", request]:
                yield Complete(request, "completed")
            case ["✗", request]:
                yield Complete(request, "failed")
            case ["w", user, weight]:
                yield SetWeight(user, Fraction(weight))
            case ["c", request, cost]:
                yield Recost(request, Fraction(cost))
            case ["upkeep"]:
                yield Upkeep()
            case [dispatch] if dispatch[0] == "D":
                for _ in range(int(dispatch.partition("×")[2] or 1)):
                    yield Dispatch()
            case _:
                raise ValueError(f"what is {part!r}?")


@pytest.fixture(scope="session")
def planted() -> Callable[[str, str, str], Callable[[], HeapScheduler]]:
    """The scheduler, made from a copy of its source in which a text of one module is replaced by another."""
    return _planted


def _planted(module: str, right: str, wrong: str) -> Callable[[], HeapScheduler]:
    """The scheduler, made from a copy of its source with one fault in it."""
    return plant(Fault(f"{right} is {wrong}", module, right, wrong))
