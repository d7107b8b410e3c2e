"""`sfq-spec validate` and `sfq-spec vectors`: other people's schedulers, judged."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sfq_spec.commands import validating_las as las
from sfq_spec.commands.console import Failure, must_be_writable, progress, say
from sfq_spec.commands.listing import Action, copied, meant, refuse_more, unknown
from sfq_spec.conformance import report as reports
from sfq_spec.conformance import shorthand
from sfq_spec.conformance.case import Case
from sfq_spec.conformance.histories import NeedsHypothesis
from sfq_spec.conformance.hosted import HostedSubject
from sfq_spec.conformance.las.case import LasCase
from sfq_spec.conformance.page import verdict
from sfq_spec.conformance.subjects import PATIENCE, NoVerdict, ProcessSubject, Subject
from sfq_spec.conformance.validate import Report, bundled, chosen, names, validate


class Judged(StrEnum):
    """What a scheduler may claim to be."""

    SFQ = "sfq"
    LAS = "las"


def validate_(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The adapter, a process of its own.")
    ] = None,
    python: Annotated[str | None, typer.Option(metavar="MODULE:FACTORY", help="A scheduler in Python.")] = None,
    policy: Annotated[Judged, typer.Option(help="What it claims to be.")] = Judged.SFQ,
    only: Annotated[list[str] | None, typer.Option(help="Cases of this id, flag or claim; may be repeated.")] = None,
    skip: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of cases known to fail, one a line. One that passes fails.")
    ] = None,
    budget: Annotated[int, typer.Option(min=0, help="Random histories.")] = 200,
    seed: Annotated[int | None, typer.Option(help="Draw the same histories again.", show_default="a new one")] = None,
    any_tie: Annotated[bool, typer.Option("--any-tie", help="With --python: a tie may go to anybody.")] = False,
    patience: Annotated[float, typer.Option(min=0.1, help="Seconds for one case.")] = PATIENCE,
    as_json: Annotated[bool, typer.Option("--json", help="The report for machines.")] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also the report for a test runner.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also the report for a CI summary.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also a page with the failing runs drawn.")] = None,
) -> None:
    """Is this scheduler Start-time Fair Queueing? If not: on which shortest run, against which claim, like which
    known mistake.

    The scheduler is a class or factory in Python, or any program that speaks the adapter protocol; `sfq-spec adapter
    new` writes one to begin with. First a smoke test tells a broken adapter from a broken scheduler, then come the
    vectors, then random histories; a failing one is made short.

    \b
    Examples:
      sfq-spec validate --python my_scheduler:Scheduler
      sfq-spec validate -- ./adapter --fast
      sfq-spec validate --python my_scheduler:Scheduler --only ResetOnReturn --budget 0
      sfq-spec validate --html page.html -- ./adapter
      sfq-spec validate --json -- node adapter.mjs > report.json
      sfq-spec validate --policy las -- ./adapter

    \b
    Exit status:
      0  conforms
      1  does not conform
      2  no verdict: the adapter is broken, or usage
    """
    if bool(command) == bool(python):
        raise Failure("name one scheduler: --python module:factory, or -- and the command of an adapter")
    if any_tie and not python:
        raise Failure('--any-tie is for --python: an adapter says "ties": "any" among its capabilities')
    for path in (junit, markdown, html):
        must_be_writable(str(path or ""))
    if policy is Judged.LAS:
        _validate_las(command, only or [], skip, budget, seed, patience, as_json, junit, markdown, html)
    vectors = bundled()
    try:
        cases = chosen(vectors, only or [])
    except KeyError as missing:
        name = missing.args[0]
        hint = meant(name, names(vectors)) or "see sfq-spec vectors list"
        raise Failure(f"--only {name}: no case has this id, flag or claim: {hint}") from None
    drawn = secrets.randbelow(2**31) if seed is None else seed
    whom = ["--python", python, *["--any-tie"] * any_tie] if python else ["--", *(command or [])]
    again = [*_again(drawn, budget, only or [], skip, patience), *whom]
    try:
        with redirect_stdout(sys.stderr):
            subject: Subject = (
                HostedSubject(python, any_tie=any_tie, patience=patience)
                if python
                else ProcessSubject(command or [], patience=patience)
            )
            report = _judged(subject, cases, excused_by(skip, vectors.cases), budget, drawn)
    except (NoVerdict, NeedsHypothesis) as broken:
        reason = str(broken)
        if as_json:
            print(json.dumps(reports.no_verdict(reason), indent=2, ensure_ascii=False))
        _write(junit, reports.no_verdict_as_junit(reason))
        _write(markdown, reports.no_verdict_as_markdown(reason).encode())
        _write(html, verdict.no_verdict(reason, again).encode())
        raise Failure(f"no verdict: {reason}") from None
    if as_json:
        print(json.dumps(reports.as_json(report), indent=2, ensure_ascii=False))
    else:
        print("\n".join(reports.lines(report)))
    _write(junit, reports.as_junit(report))
    _write(markdown, reports.as_markdown(report).encode())
    _write(html, verdict.page(report, again).encode())
    raise typer.Exit(0 if report.conforms else 1)


def _validate_las(
    command: list[str] | None,
    only: list[str],
    skip: Path | None,
    budget: int,
    seed: int | None,
    patience: float,
    as_json: bool,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
) -> NoReturn:
    """The same for policies of least attained service."""
    if not command:
        raise Failure("--policy las is for adapters: -- and the command")
    if html:
        raise Failure("--html is not for --policy las: the runs there have a clock; take --json or --markdown")
    excused = excused_by(skip, tuple(las.cases([])))
    drawn = secrets.randbelow(2**31) if seed is None else seed
    try:
        report = las.verdict(las.Asked(command, only, excused, budget, drawn, patience))
    except NoVerdict as broken:
        failure = las.no_verdict(broken, as_json)
        _write(junit, reports.no_verdict_as_junit(str(broken)))
        _write(markdown, reports.no_verdict_as_markdown(str(broken)).encode())
        raise failure from None
    las.tell(report, as_json)
    _write(junit, reports.as_junit(report))
    _write(markdown, reports.as_markdown(report).encode())
    raise typer.Exit(0 if report.conforms else 1)


def vectors(
    action: Annotated[Action, typer.Argument(help="list them, show one, or copy the file.")],
    what: Annotated[str, typer.Argument(metavar="[ID|FOLDER]", help="The case to show, or where to copy.")] = "",
) -> None:
    """The vectors: runs, each with the answers that a scheduler must give.

    \b
    Examples:
      sfq-spec vectors list
      sfq-spec vectors show article-table
      sfq-spec vectors copy tests/data
    """
    held = bundled()
    match action:
        case Action.LIST:
            refuse_more(what, "vectors")
            for case in held.cases:
                print(f"{case.id:34} {len(case.events):5} events  {', '.join(case.flags) or '-'}")
        case Action.SHOW:
            found = [case for case in held.cases if case.id == what]
            if not found:
                raise unknown("case", what, (case.id for case in held.cases), "sfq-spec vectors list names them")
            _show(found[0])
        case Action.COPY:
            data = resources.files("sfq_spec").joinpath("data")
            files = {name: data.joinpath(name).read_bytes() for name in ("vectors.json", "las_vectors.json")}
            copied(files, what, "vectors")


def _judged(subject: Subject, cases: list[Case], excused: frozenset[str], budget: int, seed: int) -> Report:
    total = len(cases) + budget
    with subject as started, progress("validating", total) as show:
        done = 0

        def tell(what: str) -> None:
            nonlocal done
            done += 1
            show(done)

        return validate(started, cases, excused=excused, budget=budget, seed=seed, show=tell)


def _again(seed: int, budget: int, only: list[str], skip: Path | None, patience: float) -> list[str]:
    """The command that judges with the same cases and histories, but for whom it judges."""
    cases = [f"--only={name}" for name in only] + ([f"--skip={skip}"] if skip else [])
    patient = [f"--patience={patience:g}"] if patience != PATIENCE else []
    return ["sfq-spec", "validate", f"--seed={seed}", f"--budget={budget}", *cases, *patient]


def excused_by(skip: Path | None, cases: Sequence[Case | LasCase]) -> frozenset[str]:
    """The cases that a file excuses. Raises `Failure` where it cannot be read, or names what is no case."""
    if skip is None:
        return frozenset()
    try:
        lines = skip.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Failure(f"{skip}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Failure(f"{skip}: is not UTF-8 (byte {error.start + 1})") from None
    named = [line.partition("#")[0].strip() for line in lines]
    known = {case.id for case in cases}
    for number, name in enumerate(named, 1):
        if name and name not in known:
            hint = meant(name, known)
            raise Failure(f"{skip}: line {number}: there is no case {name!r}{hint and f': {hint}'}")
    return frozenset(filter(None, named))


def _write(path: Path | None, data: bytes) -> None:
    if path is not None:
        try:
            path.write_bytes(data)
        except OSError as error:
            raise Failure(f"{path}: cannot be written: {error.strerror}") from None
        say(f"written: {path}")


def _show(case: Case) -> None:
    print(f"{case.id}: {case.comment}")
    print(f"claims    {', '.join(case.claims) or '-'}")
    print(f"flags     {', '.join(case.flags) or '-'}")
    print(f"requires  {', '.join(case.requires) or '-'}")
    print(f"run       {shorthand.write(case.played())}")
    order = [expected.dispatched for expected in case.expect if isinstance(expected.dispatched, str)]
    print(f"order     {' '.join(order)}", file=sys.stdout)
