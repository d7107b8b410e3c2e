"""How fast the audit is, beside its goals: `python tests/benchmarks/audit.py [--quick]`.

The reference is reading the same lines into typed records and nothing else. The trace is that of the scheduler in a
backlog: every user waits all the time, so a worst lead has to look at all pairs. Ratios are medians of processor time.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.timing import Work, clock, compare
from sfq_impl.heap import HeapScheduler
from sfq_spec.conformance.audit.fairness import Fairness
from sfq_spec.conformance.audit.findings import audit_fairness, audit_order
from sfq_spec.conformance.audit.formats import Tally
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import batches

HIGHEST_COST = 1_000


@dataclass(frozen=True)
class Measure:
    """Two kinds of work, and the ratio that is wished for; None where it is only reported."""

    name: str
    work: Callable[[bytes], None]
    reference: Callable[[bytes], None]
    goal: float | None


def parse(trace: bytes) -> None:
    """Typed records, and nothing else."""
    for _ in batches("trace", io.BytesIO(trace)):
        pass


def order(trace: bytes) -> None:
    """Is it the machine's trace?"""
    assert audit_order(batches("trace", io.BytesIO(trace)), Order()).verdict == "conforms"


def certificate(trace: bytes) -> None:
    """All of the fairness but the pairs."""
    _fairness(trace, Fairness(most_users=0))


def exact(trace: bytes) -> None:
    """With the worst lead over all pairs and intervals."""
    _fairness(trace, Fairness())


def with_excess(trace: bytes) -> None:
    """With the worst excess over FAIR-LEAD as well, which a pipe needs and a file only in rare cases."""
    _fairness(trace, Fairness(beyond=True))


MEASURES = (
    Measure("order / typed parse", order, parse, 4),
    Measure("fairness with certificate / typed parse", certificate, parse, 4),
    Measure("exact worst lead / certificate", exact, certificate, 4),
    Measure("exact worst lead and excess / certificate", with_excess, certificate, None),
)


def backlog(users: int, dispatches: int) -> bytes:
    """A trace: each user has two requests; who is served sends another one."""
    rng, scheduler, lines, owners = random.Random(users), HeapScheduler(), list[str](), dict[str, tuple[str, int]]()

    def write(event: str) -> None:
        lines.append(f'{{{event},"time":{len(lines) / 8}}}\n')

    def arrive(user: str) -> None:
        request, cost = f"request-{len(lines)}", rng.randrange(1, HIGHEST_COST)
        scheduler.arrive(user, request, cost)
        owners[request] = user, cost
        write(f'"event":"arrive","user":"{user}","request":"{request}","cost":{cost}')

    for number in range(2 * users):
        arrive(f"user-{number % users}")
    for _ in range(dispatches):
        sent = scheduler.dispatch()
        assert sent is not None
        user, cost = owners.pop(sent.request)
        write(f'"event":"dispatch","dispatched":"{sent.request}","user":"{user}","cost":{cost}')
        arrive(user)
    return "".join(lines).encode()


def timed(work: Callable[[bytes], None], trace: bytes) -> Work:
    """One reading of a trace."""

    def run() -> int:
        began = clock()
        work(trace)
        return clock() - began

    return Work(trace.count(b"\n"), run)


def main() -> None:
    """Measure and print. Timings never decide how it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter traces, fewer repetitions")
    quick = parser.parse_args().quick
    dispatches, repetitions = (10_000, 3) if quick else (40_000, 5)
    print(f"{'':44}{'users':>7}{'ratio':>8}{'goal':>7}{'events/s':>12}")
    for users in (10, 100, 1_000):
        trace = backlog(users, dispatches)
        for measure in MEASURES:
            result = compare(timed(measure.work, trace), timed(measure.reference, trace), repetitions)
            goal = "" if measure.goal is None else f"≤ {measure.goal:g}"
            missed = " *" if measure.goal is not None and result.ratio > measure.goal else ""
            rate = f"{1e9 / result.nanoseconds:,.0f}"
            print(f"{measure.name:44}{users:7,}{result.ratio:8.2f}{goal:>7}{rate:>12}{missed}", flush=True)


def _fairness(trace: bytes, audit: Fairness) -> None:
    found = audit_fairness(batches("trace", io.BytesIO(trace)), audit, Tally())
    assert found.verdict == "conforms"


if __name__ == "__main__":
    main()
