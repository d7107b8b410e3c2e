"""`sfq-spec validate --policy las`: policies of least attained service, judged by their own vectors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, NoReturn

import typer

from sfq_spec.commands.console import Failure, progress
from sfq_spec.conformance import report as reports
from sfq_spec.conformance.las.case import LasCase, bundled
from sfq_spec.conformance.las.subject import LasSubject
from sfq_spec.conformance.las.validate import LasReport, chosen, run_as_json, validate
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
    except KeyError as unknown:
        raise Failure(f"--only {unknown.args[0]}: no case of las has this id, flag or mode") from None


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


def told(report: LasReport, as_json: bool) -> NoReturn:
    """Print the report, and end with its status."""
    if as_json:
        made: dict[str, Any] = {"policy": "las", **reports.as_json(report), "run": report.shortest_run}
        print(json.dumps(made, indent=2, ensure_ascii=False))
    else:
        print("\n".join(reports.lines(report)))
        if report.shortest_run:
            print(f"\nThe shortest run that fails, with its clock:\n{run_as_json(report)}")
    raise typer.Exit(0 if report.conforms else 1)


def no_verdict(broken: NoVerdict, as_json: bool) -> Failure:
    """What ends the command where the adapter is broken."""
    if as_json:
        print(json.dumps(reports.no_verdict(str(broken)), indent=2, ensure_ascii=False))
    return Failure(f"no verdict: {broken}")
