"""What a pick takes by each policy, with so many programs that wait.

Run as `python tests/policy/pick_time.py`: milliseconds of the processor for a pick, a dispatch, an end and an arrival
together, the least of several rounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Request
from sfq_impl.policy.configuration import TYPES, made
from sfq_impl.policy.queue_policy import QueuePolicy

PROGRAMS = (10, 100, 1000)
ROUNDS, STEPS = 7, 40


def waiting(type: str, programs: int) -> QueuePolicy:
    """A policy with two requests of each program."""
    policy = QueuePolicy(made(type))
    for number in range(2 * programs):
        policy.arrive(Request(f"{number}", f"program-{number % programs}", 300))
    return policy


def step(policy: QueuePolicy, number: int) -> None:
    """A request goes and has ended, and its program sends another one."""
    request = policy.next()
    assert request is not None
    policy.dispatch(request)
    policy.complete(request, "completed", Usage(100, number % 7))
    policy.arrive(Request(f"next-{number}", request.user, 300))


def milliseconds(type: str, programs: int, *, rounds: int = ROUNDS, steps: int = STEPS) -> float:
    """What a step takes, at least."""
    policy, taken = waiting(type, programs), list[float]()
    for round in range(rounds):
        begin = time.process_time()
        for number in range(steps):
            step(policy, round * steps + number)
        taken.append((time.process_time() - begin) / steps * 1000)
    return min(taken)


def table() -> Iterator[str]:
    """A line for each policy."""
    yield f"{'programs':32}" + "".join(f"{programs:8}" for programs in PROGRAMS)
    for type in TYPES:
        yield f"{type:32}" + "".join(f"{milliseconds(type, programs):8.3f}" for programs in PROGRAMS)


if __name__ == "__main__":
    print("\n".join(table()))
