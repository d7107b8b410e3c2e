"""The evidence for the ledger: gathered anew, in the form of `sfq_spec.ledger`.

Nothing in it depends on the machine: no times, no versions. So it is the same as long as the evidence is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from sfq_proofs.evidence import Evidence
from sfq_proofs.searches.witness import exercising, in_short
from sfq_spec import ledger
from sfq_spec.claims import CLAIMS

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
FILE = ROOT / "spec" / "sfq_spec" / "data" / "evidence.json"
PAGE = ROOT / "docs" / "claims.md"
TESTS = ROOT / "tests"


def gathered(evidence: Evidence, tests: Path = TESTS) -> dict[str, ledger.Evidence]:
    """What each claim of the ledger rests on."""
    runs = exercising()
    checked = by_claim(tests)
    summaries = {summary.claim.id: summary for summary in evidence.summaries()}
    found = {}
    for claim in CLAIMS:
        verdicts = [verdict for verdict in evidence.verdicts if claim.id in verdict.claims]
        findings = [finding for finding in evidence.findings if claim.id in finding.claims]
        found[claim.id] = ledger.Evidence(
            obligations=tuple(verdict.obligation for verdict in verdicts),
            solvers=summaries[claim.id].solvers if claim.id in summaries else (),
            searches=tuple(f"{finding.name}: {finding.says}" for finding in findings),
            witness=_witness(claim.id, runs, evidence),
            mutants=tuple(kill.mutant for kill in evidence.kills if claim.id in kill.claims),
            refuted=tuple(dict.fromkeys(name for finding in findings for name in finding.refuted)),
            tests=tuple(checked.get(claim.id, ())),
        )
    return found


def differences(found: Mapping[str, ledger.Evidence]) -> Iterator[str]:
    """Where the evidence is not what is written down, a sentence for each claim."""
    written = ledger.bundled()
    for name in sorted(found.keys() | written.keys()):
        if found.get(name) != written.get(name):
            yield f"{name}: the evidence is not what the ledger says: run sfq-prove ledger, and look at the change"


def by_claim(tests: Path) -> dict[str, list[str]]:
    """The tests that are marked with each claim, as `file::test`, in order."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        for name, claims in _marked(ast.parse(path.read_text(encoding="utf-8"))):
            for claim in claims:
                found.setdefault(claim, []).append(f"{path.relative_to(tests.parent).as_posix()}::{name}")
    return found


def _marked(module: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            claims = [claim for decorator in statement.decorator_list for claim in _claims(decorator)]
            if claims:
                yield statement.name, claims


def _claims(decorator: ast.expr) -> list[str]:
    """The arguments of `@pytest.mark.claims(…)`; none for any other decorator."""
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "pytest.mark.claims":
        return []
    return [str(ast.literal_eval(argument)) for argument in decorator.args]


def _witness(claim: str, runs: Mapping[str, tuple[object, ...]], evidence: Evidence) -> str:
    if claim in runs:
        return "it says something of the run " + " ".join(map(in_short, runs[claim]))  # type: ignore[arg-type]
    verdicts = [verdict for verdict in evidence.verdicts if claim in verdict.claims]
    if verdicts and all(verdict.meetable for verdict in verdicts):
        return "its hypotheses are met in a world of two users"
    return next((finding.says for finding in evidence.findings if claim in finding.claims), "")
