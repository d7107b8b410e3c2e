"""How long it takes to validate a scheduler, beside its goals: `python tests/benchmarks/validate.py [--quick]`.

All vectors and a thousand random histories, for the same scheduler in Python and behind an adapter. The time is that
of a clock on the wall, since it is what somebody waits for; of a machine that others use too it says little.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sfq_spec.conformance.hosted import HostedSubject
from sfq_spec.conformance.subjects import ProcessSubject, Subject
from sfq_spec.conformance.validate import bundled, validate

ADAPTER = Path(__file__).with_name("adapter.py")
HISTORIES = 1_000
SCHEDULER = "sfq_impl.heap:HeapScheduler"


@dataclass(frozen=True)
class Measure:
    """A kind of scheduler, and the seconds that are wished for."""

    name: str
    subject: Callable[[], Subject]
    goal: float


def as_adapter() -> Subject:
    """The scheduler behind the adapter of the benchmarks, which speaks JSON as any program would."""
    return ProcessSubject([sys.executable, str(ADAPTER)])


MEASURES = (
    Measure("a scheduler in Python", lambda: HostedSubject(SCHEDULER), 20),
    Measure("a scheduler behind an adapter", as_adapter, 30),
)


def seconds(measure: Measure, histories: int) -> float:
    """From the start of the scheduler to the verdict."""
    cases = bundled().cases
    began = time.monotonic()
    with measure.subject() as subject:
        report = validate(subject, cases, budget=histories, seed=1)
    assert report.conforms
    assert report.count("passed") + report.count("skipped") == len(cases)
    return time.monotonic() - began


def main() -> None:
    """Measure and print. Timings never decide how it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer histories")
    histories = 100 if parser.parse_args().quick else HISTORIES
    print(f"{f'all vectors and {histories:,} random histories':44}{'seconds':>9}{'goal':>8}")
    for measure in MEASURES:
        taken = seconds(measure, histories)
        missed = " *" if taken > measure.goal else ""
        print(f"{measure.name:44}{taken:9.1f}{f'< {measure.goal:g}':>8}{missed}", flush=True)


if __name__ == "__main__":
    main()
