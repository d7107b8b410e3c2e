"""What the kit finds in schedulers that others have published, and the part of docs/third-parties.md that tells it.

    python tests/third_party/findings.py [--write]

Each library stands behind an adapter, in a process of its own. It is played all vectors that it can take, and besides
all small runs: two users, requests of cost 1, up to seven arrivals and dispatches. So a run that is called the shortest
is the shortest of its kind. Each small run is played once more with every request completed as soon as it may be.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.diagnose import Behaviour, Diagnosis, diagnose
from sfq_spec.conformance.judge import Wrong, judge
from sfq_spec.conformance.subjects import ProcessSubject, Skipped
from sfq_spec.conformance.validate import Report, bundled, validate
from sfq_spec.trace import Arrive, Complete, Dispatch, Event

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "third-parties.md"
OWN = CHECKOUT / "build" / "third-party" / "bin" / "python"
"""The environment of the libraries that need a newer Python than the project: environment.py makes it."""
LONGEST = 7
"""Events in a small run."""


@dataclass(frozen=True)
class Library:
    """A scheduler that somebody has published."""

    name: str
    adapter: str
    arguments: tuple[str, ...] = ()
    newer: bool = False
    """Whether it needs the environment with the newer Python."""

    @property
    def python(self) -> Path:
        """The Python that runs its adapter."""
        return OWN if self.newer else Path(sys.executable)

    @property
    def command(self) -> list[str]:
        """How its adapter is started."""
        return [str(self.python), str(Path(__file__).with_name(self.adapter)), *self.arguments]


LIBRARIES = (
    Library("wicket", "wicket_adapter.py", newer=True),
    Library("vtrr-queue", "vtrr_adapter.py", newer=True),
    Library("ns.py WFQ", "ns_adapter.py", ("wfq",)),
    Library("ns.py Virtual Clock", "ns_adapter.py", ("virtual-clock",)),
)


@dataclass(frozen=True)
class Small:
    """The shortest small run that goes wrong."""

    run: str
    sent: tuple[str, ...]
    wrong: Wrong


@dataclass(frozen=True)
class Finding:
    """What came of one library."""

    report: Report
    small: Small | None
    diagnosis: Diagnosis
    """The mutants that send the same, in every small run and every vector in which nothing is to be refused."""

    def failed(self, *, refusals: bool) -> list[str]:
        """The vectors that fail because of a refusal that did not come; or else because of the order."""
        return [
            result.id
            for result in self.report.failed
            if result.wrong and (result.wrong.claims == ("R-REFUSE",)) == refusals
        ]


def small_runs(events: int) -> Iterator[list[Event]]:
    """Every run of so many events that ends in a dispatch, in which somebody waits at every dispatch."""

    def grown(run: list[Event], arrived: dict[str, int], waiting: int) -> Iterator[list[Event]]:
        if len(run) == events:
            if isinstance(run[-1], Dispatch):
                yield run
            return
        for user in ("A", "B") if run else ("A",):
            number = arrived.get(user, 0) + 1
            arrival = Arrive(user, f"{user}{number}", Fraction(1))
            yield from grown([*run, arrival], {**arrived, user: number}, waiting + 1)
        if waiting:
            yield from grown([*run, Dispatch()], arrived, waiting - 1)

    yield from grown([], {}, 0)


def find(library: Library) -> Finding:
    """Play everything to a library. Raises `NoVerdict` where its adapter is broken."""
    with ProcessSubject(library.command) as subject:
        report = validate(subject, bundled().cases)
        small = [played(subject, events) for length in range(2, LONGEST + 1) for events in small_runs(length)]
        ended = [played(subject, completed(behaviour.events)) for behaviour in small]
    in_order = [
        Behaviour(result.events, result.answers)
        for result in report.results
        if result.answers and not any(isinstance(answer.refused, str) for answer in result.case.expect)
    ]
    return Finding(
        report, next(filter(None, map(judged, small)), None), diagnose([*small, *ended, *in_order], any_tie=True)
    )


def played(subject: ProcessSubject, events: Sequence[Event]) -> Behaviour:
    """What a started library answers to a run that it can take."""
    answers = subject.run("small", events)
    assert not isinstance(answers, Skipped), answers.reason
    return Behaviour(tuple(events), tuple(answers))


def completed(events: Sequence[Event]) -> list[Event]:
    """The run, with completions of all that has arrived after each dispatch: of what is waiting they are ignored."""
    run: list[Event] = []
    for event in events:
        run.append(event)
        if isinstance(event, Dispatch):
            run += [Complete(arrival.request) for arrival in run if isinstance(arrival, Arrive)]
    return run


def judged(behaviour: Behaviour) -> Small | None:
    """What is wrong with it, if anything."""
    wrong = judge(behaviour.events, behaviour.answers, any_tie=True)
    return Small(shorthand.write(behaviour.events), sent(behaviour), wrong) if wrong else None


def sent(behaviour: Behaviour) -> tuple[str, ...]:
    """The requests, in the order in which they went."""
    return tuple(answer.dispatched for answer in behaviour.answers if isinstance(answer.dispatched, str))


def told(finding: Finding) -> str:
    """A finding in a few lines."""
    report, small = finding.report, finding.small
    who = report.hello.implementation
    rows = [("order", ", ".join(finding.failed(refusals=False)) or "no vector fails")]
    if refusals := finding.failed(refusals=True):
        rows += [("refusals", ", ".join(refusals))]
    if small:
        rows += [("shortest", small.run), ("sent", " ".join(small.sent)), ("wrong", small.wrong.sentence)]
        rows += [("claims", ", ".join(small.wrong.claims))]
    rows += [("like", ", ".join(mutant.name for mutant in finding.diagnosis.mutants) or "none of the known mistakes")]
    return f"{who.name} {who.version}\n" + "".join(f"{row(label, text)}\n" for label, text in rows)


def row(label: str, text: str) -> str:
    """A label and what it says, in lines of a readable length."""
    begin = f"  {label:<9} "
    return textwrap.fill(text, 110, initial_indent=begin, subsequent_indent=" " * len(begin), break_on_hyphens=False)


def block(library: Library) -> re.Pattern[str]:
    """Where the page tells of a library: the block of text below its heading."""
    return re.compile(rf"(?<=^## {re.escape(library.name)}\n)(.*?^```text\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Print what is found; or write it into the page."""
    page = PAGE.read_text(encoding="utf-8")
    for library in LIBRARIES:
        if not library.python.exists():
            sys.exit("the environment of these libraries is not there: make third-party")
        text = told(find(library))
        print(text)
        if found := block(library).search(page):
            page = page[: found.start(2)] + text + page[found.end(2) :]
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
