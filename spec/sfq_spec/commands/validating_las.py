"""`sfq-spec validate --policy las`: policies of least attained service, judged by their own vectors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from sfq_spec.commands.console import Failure, progress
from sfq_spec.commands.listing import meant
from sfq_spec.conformance import report as reports
from sfq_spec.conformance.las.case import LasCase, bundled
from sfq_spec.conformance.las.subject import LasSubject
from sfq_spec.conformance.las.validate import LasReport, chosen, names, run_as_json, validate
from sfq_spec.conformance.subjects import NoVerdict


@dataclass(frozen=True)
class Asked:
    """What the command was given."""

    command: Sequence[str]
    only: Sequence[str]
    excused: frozenset[str]
    budget: int
    seed: int
    patience: float


def cases(only: Sequence[str]) -> list[LasCase]:
    """The cases that are asked for. Raises `Failure`."""
    try:
        return chosen(bundled(), only)
    except KeyError as missing:
        name = missing.args[0]
        hint = meant(name, names(bundled()))
        raise Failure(f"--only {name}: no case of las has this id, flag or mode{hint and f': {hint}'}") from None


def verdict(asked: Asked) -> LasReport:
    """Judge. Raises `NoVerdict`."""
    held = cases(asked.only)
    with (
        redirect_stdout(sys.stderr),
        LasSubject(asked.command, patience=asked.patience) as subject,
        progress("validating", len(held) + asked.budget) as show,
    ):
        done = 0

        def tell(what: str) -> None:
            nonlocal done
            done += 1
            show(done)

        return validate(subject, held, excused=asked.excused, budget=asked.budget, seed=asked.seed, show=tell)


def tell(report: LasReport, as_json: bool) -> None:
    """Print the report."""
    if as_json:
        made: dict[str, Any] = {"policy": "las", **reports.as_json(report), "run": report.shortest_run}
        print(json.dumps(made, indent=2, ensure_ascii=False))
    else:
        print("\n".join(reports.lines(report)))
        if report.shortest_run:
            print(f"\nThe shortest run that fails, with its clock:\n{run_as_json(report)}")


def no_verdict(broken: NoVerdict, as_json: bool) -> Failure:
    """What ends the command where the adapter is broken."""
    if as_json:
        print(json.dumps(reports.no_verdict(str(broken)), indent=2, ensure_ascii=False))
    return Failure(f"no verdict: {broken}")
