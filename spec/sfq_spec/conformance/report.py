"""What a report says: to a person, to a machine, to a test runner, to the summary of a CI job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

import msgspec

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.validate import Report, Result
from sfq_spec.trace import Arrive, Entry, encode

EXPLAINED = 5
"""Failures that are told in full; the others by name."""
WINDOW = 100
"""Events of a failing run that the report for machines holds, the last ones."""
FEW = 20
"""Where there are more users, it holds lags of those alone that so many of the last events are about."""
LIKELY = 5
"""Kinds of fault that are told where no known mistake explains everything."""


def lines(report: Report) -> Iterator[str]:
    """The report for a person."""
    who = report.hello.implementation
    yield f"{who.name} {who.version} {who.language}".strip()
    if report.shortest:
        yield ""
        yield "The shortest run that fails:"
        yield from explained(report.shortest)
        yield ""
        yield from diagnosed(report)
        yield from _suspected(report)
    others = [result for result in _shortest_first(report) if result is not report.shortest]
    if others:
        yield ""
        yield f"{len(others)} more:" if report.shortest else "--skip names what does not fail:"
        for result in others[:EXPLAINED]:
            yield f"  {result.id}: {why(result)}"
        if len(others) > EXPLAINED:
            yield f"  and {', '.join(result.id for result in others[EXPLAINED:])}"
    skipped = [result for result in report.results if result.status == "skipped"]
    if skipped:
        lacking = ", ".join(sorted({name for result in skipped for name in result.lacks}))
        reasons = sorted({result.reason for result in skipped if not result.lacks})
        yield ""
        yield f"{len(skipped)} skipped: {'; '.join([f'needs {lacking}'] * bool(lacking) + reasons)}"
    yield ""
    yield summary(report)


def summary(report: Report) -> str:
    """One line."""
    verdict = "conforms" if report.conforms else "does not conform"
    excused = f", {report.count('excused')} excused" if report.count("excused") else ""
    histories = f", {report.histories} random histories (--seed {report.seed})" if report.histories else ""
    return (
        f"{verdict}: {report.count('passed')} cases passed, {len(report.failed)} failed, "
        f"{report.count('skipped')} skipped{excused}{histories}"
    )


def as_json(report: Report) -> dict[str, Any]:
    """The report for machines."""
    return {
        "verdict": "conforms" if report.conforms else "does-not-conform",
        "implementation": msgspec.to_builtins(report.hello.implementation),
        "capabilities": msgspec.to_builtins(report.hello.capabilities),
        "counts": {
            "passed": report.count("passed"),
            "failed": len(report.failed),
            "skipped": report.count("skipped"),
            "excused": report.count("excused"),
        },
        "histories": report.histories,
        "seed": report.seed,
        "diagnosis": [{"mutant": mutant.name, "mistake": mutant.mistake} for mutant in report.diagnosis.mutants],
        "but-refusals": report.diagnosis.but_refusals,
        "shortest": report.shortest.id if report.shortest else None,
        "failures": [_failure(result) for result in report.failed],
        "skipped": {result.id: result.reason for result in report.results if result.status == "skipped"},
    }


def no_verdict(reason: str) -> dict[str, Any]:
    """The report for machines, where there is no verdict."""
    return {"verdict": "no-verdict", "reason": reason}


def no_verdict_as_junit(reason: str) -> bytes:
    """The report for a test runner, where there is no verdict: one test case, which is an error."""
    suite = Xml.Element("testsuite", name="sfq-spec", tests="1", errors="1", failures="0", skipped="0")
    case = Xml.SubElement(suite, "testcase", classname="sfq-spec", name="verdict")
    Xml.SubElement(case, "error", message=_printable(reason.partition("\n")[0])).text = _printable(reason)
    return _document(suite)


def no_verdict_as_markdown(reason: str) -> str:
    """The report for the summary of a CI job, where there is no verdict."""
    fence = "`" * (3 + max(map(len, re.findall("`+", reason)), default=0))
    return f"### sfq-spec: no verdict\n\n{fence}text\n{reason}\n{fence}\n"


def as_junit(report: Report) -> bytes:
    """The report for a test runner: one test case per vector."""
    suite = Xml.Element(
        "testsuite",
        name=_printable(f"sfq-spec: {report.hello.implementation.name}"),
        tests=str(len(report.results)),
        failures=str(len(report.failed)),
        skipped=str(report.count("skipped") + report.count("excused")),
    )
    for result in report.results:
        case = Xml.SubElement(suite, "testcase", classname="sfq-spec", name=result.id)
        if result.status in ("failed", "excuse not needed"):
            failure = Xml.SubElement(case, "failure", message=_printable(why(result)))
            failure.text = _printable("\n".join(explained(result)))
        elif result.status != "passed":
            Xml.SubElement(case, "skipped", message=_printable(result.reason or "excused by --skip"))
    return _document(suite)


def as_markdown(report: Report) -> str:
    """The report for the summary of a CI job."""
    parts = [f"### sfq-spec: {report.hello.implementation.name}", "", f"**{summary(report)}**"]
    if report.failed:
        parts += ["", *diagnosed(report), *_suspected(report)] if report.wrong else []
        parts += ["", "| case | what is wrong | claims | run |", "|---|---|---|---|"]
        for result in _shortest_first(report):
            claims = ", ".join(result.wrong.claims) if result.wrong else ""
            run = shorthand.write(result.prefix)
            cells = (result.id, why(result), claims, f"`{run if len(run) <= 200 else run[:197] + '...'}`")
            parts.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(parts) + "\n"


def explained(result: Result) -> Iterator[str]:
    """What is wrong in one case: lines."""
    yield f"  case      {result.id}: {result.case.comment}"
    if result.wrong is None:
        yield f"  wrong     {why(result)}"
        return
    yield f"  run       {shorthand.write(result.prefix)}"
    yield f"  wrong     event {result.wrong.at + 1}: {result.wrong.sentence}"
    if result.wrong.legal:
        yield f"  legal     {' or '.join(result.wrong.legal)}"
    if result.claims:
        yield f"  claims    {', '.join(result.claims)}"


def diagnosed(report: Report) -> Iterator[str]:
    """The known mistakes that a scheduler which fails behaves as: lines."""
    where = "Apart from refusals, it" if report.diagnosis.but_refusals else "In every run it"
    for mutant in report.diagnosis.mutants:
        yield f"{where} behaves as {mutant.name}. {mutant.mistake}"
    if not report.diagnosis.mutants:
        as_it_should = "Apart from refusals, it behaves as it should: look at what it does with invalid events."
        yield as_it_should if report.diagnosis.but_refusals else "It behaves as none of the known mistakes."


def suspects(report: Report) -> Sequence[tuple[str, int, int]]:
    """The flags with the largest share of failing cases, with how many fail, and how many were tried.

    There are none where known mistakes behave just so: these say more.
    """
    if report.diagnosis.mutants:
        return ()
    tried = Counter(flag for result in report.results if result.answers for flag in result.case.flags)
    failing = Counter(flag for result in report.wrong for flag in result.case.flags)
    found = [(flag, count, tried[flag]) for flag, count in failing.items()]
    return sorted(found, key=lambda one: (-one[1] / one[2], -one[1], one[0]))[:LIKELY]


def _suspected(report: Report) -> Iterator[str]:
    if found := suspects(report):
        shares = ", ".join(f"{flag} ({bad} of {tried})" for flag, bad, tried in found)
        yield f"The cases that fail are about {shares}."


def _shortest_first(report: Report) -> list[Result]:
    return sorted(report.failed, key=lambda result: len(result.prefix))


def why(result: Result) -> str:
    """What is wrong in one case: one line."""
    if result.wrong is None:
        return "it is excused by --skip and passes: take it off the list"
    return f"event {result.wrong.at + 1}: {result.wrong.sentence}"


def _failure(result: Result) -> dict[str, Any]:
    wrong = result.wrong
    trace, left_out = _window(result)
    return {
        "case": result.id,
        "why": why(result),
        "event": wrong.at + 1 if wrong else None,
        "legal": list(wrong.legal) if wrong else [],
        "claims": list(result.claims),
        "flags": list(result.case.flags),
        "run": shorthand.write(result.prefix),
        "trace": trace,
        "left-out": left_out,
    }


def _window(result: Result) -> tuple[list[dict[str, Any]], dict[str, int] | None]:
    """The last events of a failing run with their answers; and how much of it is left out, where anything is.

    Of many lags those of the users that the latest events are about are kept.
    """
    entries = list(zip(result.prefix, result.answers, strict=False))
    users = {event.request: event.user for event, _ in entries if isinstance(event, Arrive)}
    kept = entries[-WINDOW:]
    near = {users[id] for id in (result.wrong.legal if result.wrong else ()) if id in users}
    for event, told in kept[-FEW:]:
        named = (getattr(event, "request", None), told.dispatched)
        near |= {getattr(event, "user", None), *(users.get(str(id)) for id in named)}  # type: ignore[arg-type]
    trace, far = [], set[str]()
    for event, told in kept:
        entry: dict[str, Any] = msgspec.json.decode(encode(Entry(event, told)))
        lags = entry.get("lag")
        if isinstance(lags, dict) and len(lags) > FEW:
            far |= lags.keys() - near
            entry["lag"] = {user: lag for user, lag in lags.items() if user in near}
        trace.append(entry)
    before = len(entries) - len(kept)
    return trace, {"events-before": before, "lags-of-users": len(far)} if before or far else None


def _document(suite: Xml.Element) -> bytes:
    document: bytes = Xml.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _printable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)
