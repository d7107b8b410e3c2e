"""A scheduler judged piece by piece says what `validate` says of it as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedulers import faulty
from schedulers.correct import Tags
from schedulers.linear_scan import LinearScan
from sfq_spec.conformance.case import Case
from sfq_spec.conformance.piecemeal import Piecemeal
from sfq_spec.conformance.subjects import NoVerdict, ProcessSubject, PythonSubject
from sfq_spec.conformance.validate import Report, bundled, validate
from sfq_spec.mutants import BY_NAME
from sfq_spec.scheduler import MachineScheduler

LONGEST = 60
"""Events of the longest vector that is played here."""
SKIPS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "start":
        told = {"protocol": 1, "implementation": {"name": "skips"}}
    elif message["cmd"] == "stop":
        open(GONE, "w").close()
        break
    elif message["seq"] == 1:
        told = {"seq": 1, "answers": [{}, {"dispatched": "A1"}, {"dispatched": None}]}
    else:
        told = {"seq": message["seq"], "skipped": "not today"}
    print(json.dumps(told), flush=True)
"""


def short() -> tuple[Case, ...]:
    return tuple(case for case in bundled().cases if len(case.events) <= LONGEST)


CLAIMS = sorted({claim for case in short() for claim in case.claims})


def judged(factory: Callable[[], Any]) -> Report:
    with PythonSubject("sample", factory) as subject:
        return validate(subject, short())


def mutant(name: str) -> Callable[[], Any]:
    return lambda: MachineScheduler(BY_NAME[name].take)


@pytest.mark.parametrize("name", ["frozen-clock", "cancels-the-head", "charges-a-refusal", "newest-first"])
def test_a_claim_fails_where_a_failure_names_it(name: str) -> None:
    broken = {claim for result in judged(mutant(name)).failed for claim in result.claims}
    assert broken
    pieces = Piecemeal(PythonSubject("sample", mutant(name)), short())
    told = {claim: pieces.claim(claim) for claim in CLAIMS}
    assert {claim for claim, about in told.items() if about.status == "failed"} == broken
    assert all(told[claim].text.startswith(f"{claim} is broken by ") for claim in broken)


def test_what_a_scheduler_cannot_do_is_skipped_and_said() -> None:
    report = judged(Tags)
    pieces = Piecemeal(PythonSubject("tags", Tags), short())
    for result in report.results:
        told = pieces.vector(result.id)
        assert (told.status, told.text) == (result.status, result.reason)
    passed = {claim for result in report.results if result.status == "passed" for claim in result.claims}
    claims = {claim: pieces.claim(claim) for claim in CLAIMS}
    assert {claim for claim, about in claims.items() if about.status == "passed"} == passed
    assert {about.status for claim, about in claims.items() if claim not in passed} == {"skipped"}
    assert claims["R-WEIGHT"].text == "every case that names R-WEIGHT was skipped: needs cancel, recost, weights"


def test_an_adapter_is_tested_and_stopped(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    (tmp_path / "adapter.py").write_text(SKIPS.replace("GONE", repr(str(gone))))
    pieces = Piecemeal(ProcessSubject([sys.executable, str(tmp_path / "adapter.py")]), short())
    assert pieces.vector(short()[0].id).status == "skipped"
    assert not gone.exists()
    pieces.close()
    assert gone.exists()


def test_pieces_remember_that_the_adapter_is_broken() -> None:
    pieces = Piecemeal(ProcessSubject(["no-such-program"]), short(), budget=2)
    for ask in (pieces.histories, lambda: pieces.vector("article-table"), lambda: pieces.claim("FAIR-LEAD")):
        with pytest.raises(NoVerdict, match="no-such-program cannot be started"):
            ask()
    assert Piecemeal(PythonSubject("sample", LinearScan), short()).histories().status == "skipped"
    ties = Piecemeal(PythonSubject("sample", faulty.TiesByInsertion, any_tie=True), short(), budget=2)
    assert ties.claim("ORDER-TOTAL").status == "passed"
