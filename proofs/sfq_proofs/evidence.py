"""All the evidence, gathered: what the solvers said, what the searches found, which mutants died where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TypeVar

from sfq_proofs import catalogue
from sfq_proofs.finding import Finding
from sfq_proofs.searches.witness import Witness, holds_for_the_article, replay, shortest
from sfq_proofs.solver.induction import Verdict, prove, refuted
from sfq_proofs.solver.kill_table import EXPECTED
from sfq_proofs.workers import workers
from sfq_spec.claims import CLAIMS, Claim
from sfq_spec.mutants import BY_NAME, MUTANTS

T = TypeVar("T")
Tell = Callable[[str], None]
"""Is told what was just done."""


@dataclass(frozen=True)
class Kill:
    """How a mutant died."""

    mutant: str
    obligations: tuple[str, ...]
    """Those whose proof breaks down, in the order in which they are put."""
    claims: tuple[str, ...]
    """The claims that rest on these, and those that the run breaks."""
    witness: Witness | None
    """A shortest run from the first state."""
    confirmed: bool
    """Played again, the run breaks the claim that the mutant names, and none for the article's machine."""
    expected: tuple[str, ...]
    """The obligations that should have broken down."""

    @property
    def as_expected(self) -> bool:
        """Dead, at the places where it should be, and shown by a run."""
        return self.confirmed and self.obligations == self.expected


@dataclass(frozen=True)
class Summary:
    """A claim with its evidence."""

    claim: Claim
    holds: bool
    solvers: tuple[str, ...]
    milliseconds: float
    obligations: int
    mutants: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """Everything that was found."""

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    kills: tuple[Kill, ...]
    only: str | None = None
    """The one claim that it was gathered for; None where for all."""

    @property
    def holds(self) -> bool:
        """Every claim holds, every mutant died as expected, and every obligation and search supports a claim."""
        return (
            all(summary.holds for summary in self.summaries())
            and all(verdict.holds for verdict in self.verdicts)
            and all(finding.holds for finding in self.findings)
            and all(kill.as_expected for kill in self.kills)
        )

    def summaries(self) -> Iterator[Summary]:
        """The claims in the order of the ledger. A claim that no mutant fails does not hold: it says nothing."""
        for claim in CLAIMS:
            if self.only not in (None, claim.id):
                continue
            verdicts = [verdict for verdict in self.verdicts if claim.id in verdict.claims]
            findings = [finding for finding in self.findings if claim.id in finding.claims]
            mutants = [kill.mutant for kill in self.kills if claim.id in kill.claims]
            killed = tuple(dict.fromkeys([*mutants, *(name for finding in findings for name in finding.refuted)]))
            if not verdicts and not findings:
                continue
            needed: Sequence[Verdict | Finding] = verdicts if claim.level == "P" else findings
            yield Summary(
                claim,
                bool(needed) and bool(killed) and all(v.holds for v in verdicts) and all(f.holds for f in findings),
                tuple(sorted({name for verdict in verdicts for name in verdict.answers}, reverse=True)),
                sum(sum(verdict.milliseconds.values()) for verdict in verdicts),
                len(verdicts),
                killed,
            )


def gather(only: str | None = None, tell: Tell = lambda done: None) -> Evidence:
    """Prove, search and kill; for one claim alone where `only` names it. Tells each step as it is done.

    Searches and mutants go to processes of their own, while the obligations are put here.
    """
    with workers(4) as pool:
        killing = kill_all(pool, only)
        searching = [
            (search.name, pool.submit(_search, place))
            for place, search in enumerate(catalogue.searches())
            if only is None or only in search.claims
        ]
        verdicts = [_told(tell, prove(o), o.name) for o in catalogue.obligations() if only is None or only in o.claims]
        findings = [finding for name, job in searching for finding in _told(tell, job.result(), name)]
        kills = [_told(tell, job.result(), "a mutant") for job in killing]
    return Evidence(
        tuple(verdicts),
        tuple(finding for finding in findings if only is None or only in finding.claims),
        tuple(killed for killed in kills if only is None or only in killed.claims),
        only,
    )


def kill_all(pool: Executor, only: str | None = None) -> list[Future[Kill]]:
    """Every mutant, in the order of the table of mutants."""
    return [pool.submit(kill, mutant.name, only) for mutant in MUTANTS]


def _search(place: int) -> list[Finding]:
    return catalogue.searches()[place].run()


def kill(name: str, only: str | None = None) -> Kill:
    """Put the obligations, those of one claim where `only` names it, to the rules of a mutant; find a shortest run."""
    mutant = BY_NAME[name]
    asked = [
        obligation
        for obligation in (catalogue.obligations(mutant.rules) if mutant.rules else ())
        if only is None or only in obligation.claims
    ]
    answered = {obligation.name: obligation for obligation in (catalogue.obligations() if asked else ())}
    dead = [one for one in asked if not one.asks_the_same(answered.get(one.name)) and refuted(one)]
    witness = shortest(mutant)
    broken: Iterable[str] = witness.broken if witness else ()
    claims = {claim for obligation in dead for claim in obligation.claims} | set(broken)
    confirmed = (
        witness is not None and mutant.breaks in replay(mutant.take, witness.events) and holds_for_the_article(witness)
    )
    names = {obligation.name for obligation in asked}
    return Kill(
        name,
        tuple(obligation.name for obligation in dead),
        tuple(sorted(claims)),
        witness,
        confirmed,
        tuple(expected for expected in EXPECTED.get(name, ()) if only is None or expected in names),
    )


def _told(tell: Tell, value: T, done: str) -> T:
    tell(done)
    return value
