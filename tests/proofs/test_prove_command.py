"""`sfq-prove` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfq_proofs import catalogue
from sfq_proofs.cli import app
from sfq_proofs.scheduler import streams
from sfq_spec.mutants import BY_NAME
from sfq_spec.scheduler import MachineScheduler


@pytest.mark.integration
def test_one_claim_as_json() -> None:
    result = CliRunner().invoke(app, ["--claim", "R-WEIGHT", "--json"])
    assert result.exit_code == 0, result.output
    (told,) = json.loads(result.stdout)
    assert told | {"ms": 0} == {
        "claim": "R-WEIGHT",
        "level": "P",
        "verdict": "holds",
        "solvers": ["z3", "cvc5"],
        "ms": 0,
        "mutants": ["weight-rescales-history"],
        "obligations": 1,
    }
    assert told["ms"] > 0


def test_a_claim_that_does_not_hold_is_a_status_of_1(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = BY_NAME["weight-rescales-history"].rules
    assert wrong is not None
    monkeypatch.setattr("sfq_proofs.evidence.catalogue.obligations", _of(wrong))
    monkeypatch.setattr("sfq_proofs.evidence.kill_all", lambda *asked: [])
    result = CliRunner().invoke(app, ["--claim", "R-WEIGHT"])
    assert result.exit_code == 1
    assert "FAILS" in result.stdout
    assert "not proved: weight: R-WEIGHT" in result.stdout


def _of(rules: object) -> object:
    original = catalogue.obligations
    return lambda *of: original(rules)  # type: ignore[arg-type]


def test_an_unknown_claim_is_named_with_the_one_that_may_be_meant() -> None:
    result = CliRunner().invoke(app, ["--claim", "FAIR-PLAY"])
    assert result.exit_code == 2
    assert result.stderr == "sfq-prove: there is no claim 'FAIR-PLAY': did you mean FAIR-PAIR?\n"


def test_a_folder_that_is_not_there_is_named() -> None:
    result = CliRunner().invoke(app, ["verify", "--data", "no/such/folder"])
    assert result.exit_code == 2
    assert "no/such/folder" in result.stderr


def test_the_sample_is_compared() -> None:
    found = streams.compare(streams.bundled())
    assert found.holds
    assert found.dispatches == found.requests > 1_000
    assert found.checks > 10 * found.dispatches
    assert 0 < found.watch.worst <= found.bound


def test_a_scheduler_that_differs_is_found() -> None:
    found = streams.compare(streams.bundled(), lambda: MachineScheduler(BY_NAME["reset-on-return"].take))
    assert not found.holds
    assert found.differences[0].startswith("event ")
    assert len(found.differences) == 10


def test_real_streams_are_found(shared_data: Path) -> None:
    titles = [stream.title for stream in streams.real(shared_data)]
    assert titles == [title for _, _, title in streams.REAL]
