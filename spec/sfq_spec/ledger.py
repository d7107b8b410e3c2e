"""The ledger with its evidence: what each claim rests on, as the proofs last found it.

The claims are written down in `claims`; the evidence is gathered by `sfq-prove ledger` into package data, and every
`sfq-prove verify` fails where what it finds is not what is written there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec

from sfq_spec.claims import BY_ID, CLAIMS, LEVELS, Claim
from sfq_spec.mutants import BY_NAME


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one claim rests on."""

    obligations: tuple[str, ...] = ()
    """Questions that were put to the solvers."""
    solvers: tuple[str, ...] = ()
    """Who answered all of them."""
    searches: tuple[str, ...] = ()
    """What exhaustive searches found."""
    witness: str = ""
    """Why the claim is not empty: a shortest run in which it says something, or what meets its hypotheses."""
    mutants: tuple[str, ...] = ()
    """The wrong rules that break it."""
    refuted: tuple[str, ...] = ()
    """Wrong variants of the construction itself, refuted."""
    tests: tuple[str, ...] = ()
    """Tests that check it, `file::test`."""


@dataclass(frozen=True)
class Row:
    """A claim and its evidence."""

    claim: Claim
    evidence: Evidence

    def as_json(self) -> dict[str, Any]:
        """The row for machines."""
        claim, evidence = self.claim, self.evidence
        return {
            "claim": claim.id,
            "level": claim.level,
            "seed": claim.seed,
            "says": claim.says,
            "formula": claim.formula,
            "definition": claim.definition,
            "obligations": list(evidence.obligations),
            "solvers": list(evidence.solvers),
            "searches": list(evidence.searches),
            "witness": evidence.witness,
            "mutants": list(evidence.mutants),
            "refuted": list(evidence.refuted),
            "tests": list(evidence.tests),
        }


def read(text: bytes) -> dict[str, Evidence]:
    """The evidence in a file. Raises `msgspec.MsgspecError` where it is not such a file."""
    return msgspec.json.decode(text, type=dict[str, Evidence])


def write(evidence: Mapping[str, Evidence]) -> bytes:
    """The file for some evidence; the same for the same evidence, byte for byte."""
    return msgspec.json.format(msgspec.json.encode(dict(evidence)), indent=1) + b"\n"


def bundled() -> dict[str, Evidence]:
    """The evidence that comes with the package."""
    return read(resources.files("sfq_spec").joinpath("data/evidence.json").read_bytes())


def rows() -> list[Row]:
    """Every claim with what it rests on."""
    evidence = bundled()
    return [Row(claim, evidence.get(claim.id, Evidence())) for claim in CLAIMS]


def shortcomings(row: Row) -> Iterator[str]:
    """Where a claim is marked stronger than its evidence, a sentence each; nothing where it is not."""
    claim, evidence = row.claim, row.evidence
    if claim.level == "P" and (not evidence.obligations or len(evidence.solvers) < 2):
        yield f"{claim.id}: marked proved, without obligations that two solvers have answered"
    if claim.level == "X" and not evidence.searches:
        yield f"{claim.id}: marked exhausted, without a search"
    if claim.level == "E" and not evidence.refuted:
        yield f"{claim.id}: marked an erratum, without a run that refutes the wording"
    if not evidence.tests:
        yield f"{claim.id}: no test names it"
    if not evidence.witness:
        yield f"{claim.id}: nothing shows that it is not empty"
    if not evidence.mutants and not evidence.refuted:
        yield f"{claim.id}: nothing breaks it"


def in_full(row: Row) -> str:
    """One claim with everything that it rests on."""
    claim, evidence = row.claim, row.evidence
    parts = [
        f"{claim.id}: {LEVELS[claim.level]}",
        "",
        claim.says,
        "",
        f"    {claim.formula}",
        "",
        f"stands in    {claim.seed}",
        f"definition   sfq_spec.{claim.definition}",
        f"witness      {evidence.witness}",
        *_listed("proved by", evidence.obligations),
        *_listed("searched", evidence.searches),
        *_listed("broken by", [_described(name) for name in evidence.mutants]),
        *_listed("refuted", evidence.refuted),
        *_listed("tested by", evidence.tests),
    ]
    return "\n".join(parts)


def markdown() -> str:
    """The page `docs/claims.md`."""
    lines = [
        "# The claims",
        "",
        "Made by `sfq-prove ledger` from the ledger; do not edit. One claim in full: `sfq-spec claims FAIR-LEAD`.",
        "",
        "| level | means |",
        "|---|---|",
        "| P | proved by induction over one step: any number of users, any horizon, all positive rational costs and "
        "weights; two solvers agree |",
        "| X | exhausted: every reachable state of small instances, or every choice of a small world |",
        "| T | tested by randomised runs, which find every mutant |",
        "| E | a wording is refuted by a run; what holds instead is told, and of the article's wordings proved |",
        "",
        "| claim | level | says | formula | stands in | rests on | broken by |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows():
        claim, evidence = row.claim, row.evidence
        broken = [*evidence.mutants, *evidence.refuted]
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        cells = (
            claim.id,
            claim.level,
            claim.says,
            f"`{claim.formula}`",
            claim.seed,
            _rests_on(evidence),
            ", ".join(broken[:3]) + more,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def find(name: str) -> Row:
    """One claim. Raises `KeyError` where there is none of this id."""
    claim = BY_ID[name]
    return Row(claim, bundled().get(name, Evidence()))


def _rests_on(evidence: Evidence) -> str:
    counts = {
        "obligation": len(evidence.obligations),
        "search": len(evidence.searches),
        "test": len(evidence.tests),
    }
    plural = {"obligation": "obligations", "search": "searches", "test": "tests"}
    return ", ".join(f"{n} {name if n == 1 else plural[name]}" for name, n in counts.items() if n)


def _described(name: str) -> str:
    return f"{name}: {BY_NAME[name].mistake}" if name in BY_NAME else name


def _listed(title: str, items: tuple[str, ...] | list[str]) -> list[str]:
    return [f"{title if at == 0 else '':12} {item}" for at, item in enumerate(items)]
