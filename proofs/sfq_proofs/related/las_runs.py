"""LAS and the settled policy through all short runs: accounts that hold, and hopes that do not (`las_questions`).

The same search puts a hope to LAS, where it must be broken, and to the settled policy. Each run that is found is played
on the policy that runs as well, and must send the same. What is said to hold is asked of wrong models too, and of these
it must be found false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from sfq_impl.policy.configuration import made
from sfq_impl.policy.parameters import PROGRAM_AWARE
from sfq_proofs.finding import Finding
from sfq_proofs.related.known import breaks
from sfq_proofs.related.las_play import Clock, Play
from sfq_proofs.related.search import Found, search
from sfq_spec.conformance.shorthand import read, write
from sfq_spec.related.behaviour import Fair, Question
from sfq_spec.related.facts import Facts
from sfq_spec.related.halving import Halving
from sfq_spec.related.las import Las, LasV1, Program, Programs
from sfq_spec.related.las_questions import Counted, Fresh, Remembered, Rooms, Starved
from sfq_spec.related.method import Job, MethodScheduler
from sfq_spec.related.model import MethodModel, Model, model
from sfq_spec.related.settled import Account, Accounts, Settled
from sfq_spec.trace import Arrive, Complete, Dispatch, Event, Outcome

NEVER = Fraction(0)
LAS = Las()


@dataclass(frozen=True)
class AtOnce(Settled):
    """The settled policy where all happens in one moment, so that states come again."""

    uses_clock: ClassVar[bool] = False
    half_life: Fraction = NEVER


# Wrong models.


class Forfeits(Las):
    """What is due when something is added is lost."""

    def _added(self, at: Any, user: str, used: Halving) -> Program:
        return replace(super()._added(at, user, used), anchor=at.time)


class Pins(Las):
    """What has ended stays in flight, as what is abandoned does in the original."""

    def complete(self, at: Any, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """Charged, and no more."""
        return replace(super().complete(at, job, outcome, told), in_flight=at.state.in_flight)


class EndsAll(Las):
    """When one request has ended, its program is taken for idle."""

    def complete(self, at: Any, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """Nothing of the program is in flight."""
        after = super().complete(at, job, outcome, told)
        return replace(after, in_flight={user: n for user, n in after.in_flight.items() if user != job.user})


class ChargesLate(AtOnce):
    """Nothing is charged at dispatch."""

    def dispatch(self, at: Any) -> tuple[Accounts, Job]:
        """It goes, and costs nothing yet."""
        accounts, job = super().dispatch(at)
        before = at.state.known.get(job.user) or Account(self.service(at.state, job.user, at.time), at.time, at.time)
        return replace(accounts, known={**accounts.known, job.user: before}), job


class NoFloor(AtOnce):
    """Whoever comes back begins where it was."""

    def floor(self, accounts: Accounts, time: Fraction) -> Halving:
        """There is none."""
        return Halving()


# Runs.


def at_once(settled: type[AtOnce] = AtOnce) -> Model:
    """A settled policy as a model."""
    return MethodModel(settled())


def asked(question: Question, scheduler: Model, most_states: int) -> Found:
    """Put a question to a model that need not have a name."""
    return search("", question, scheduler=scheduler, most_states=most_states)


def ends_badly(question: Question, wrong: Model, text: str) -> bool:
    """Whether a run breaks a question with its last event under a wrong model, and not under the right one."""
    run = read(text)
    return breaks("", question, run, wrong) == len(run) and breaks("", question, run, at_once()) is None


def by_model(las: MethodScheduler[Any], run: Sequence[Event]) -> list[str]:
    """What is sent, an event a second as in the search."""
    answers = [las.step(event, Facts(Fraction(second))) for second, event in enumerate(run)]
    return [answer.dispatched for answer in answers if isinstance(answer.dispatched, str)]


def by_policy(run: Sequence[Event], type: str = PROGRAM_AWARE) -> list[str]:
    """What the policy that runs sends: an answer without a usage is charged its estimate."""
    clock = Clock()
    play, sent = Play(made(type, clock=clock), clock), list[str]()
    for second, event in enumerate(run):
        clock.at(second)
        match event:
            case Arrive():
                play.arrive(event.request, cost=int(event.cost))
            case Dispatch():
                sent.append(play.send())
            case Complete():
                play.complete(event.request, tokens=None)
    return sent


def goes_on(run: Sequence[Event], times: int) -> list[Event]:
    """The run of LAS-STARVE, and so many requests more of the one that goes first."""
    more = [event for number in range(times) for event in (Arrive("B", f"B{100 + number}", 1), Dispatch())]
    return [*run, *more]


# What is found.


class Hope(NamedTuple):
    """A sentence that LAS makes false."""

    claim: str
    question: Question
    most_states: int
    wording: str


HOPES = (
    Hope("LAS-ROOMS", Rooms(), 1_000, "rooms that are free before anything has completed are shared"),
    Hope("LAS-STARVE", Starved(), 8_000, "while one waits no other is sent more than so many requests"),
    Hope("LAS-FRESH", Fresh(), 8_000, "to take a new id for each request gains nothing"),
)
STARVED_FOR = 100
"""Requests that are sent past one that waits, when the run of LAS-STARVE goes on."""


def hopes() -> Iterator[Finding]:
    """Each broken by LAS, at the end of a shortest run, and what the settled policy makes of it."""
    for hope in HOPES:
        found = asked(hope.question, model("las"), hope.most_states)
        settled = asked(hope.question, at_once(), 1_000)
        same = by_model(MethodScheduler(LAS), found.run) == by_policy(found.run)
        lasting = hope.claim != "LAS-STARVE" or _starves(found.run)
        then = f"not in {settled.longest} events" if settled.holds else f"after {write(settled.run)} as well"
        says = f"“{hope.wording}” is false after {write(found.run)}, and after no shorter run; if settled, {then}"
        if hope.claim == "LAS-STARVE":
            says += f"; A waits for {STARVED_FOR} requests of B more"
        refuted = () if found.holds else (hope.wording,)
        repaired = settled.holds == (hope.claim != "LAS-FRESH")
        yield Finding("hope", (hope.claim,), bool(refuted) and same and lasting and repaired, says, refuted)


def _starves(run: Sequence[Event]) -> bool:
    longer = goes_on(run, STARVED_FOR)
    sent = by_model(MethodScheduler(LAS), longer)
    return sent == by_policy(longer) and all(id[0] == "B" for id in sent[-STARVED_FOR:])


class Holds(NamedTuple):
    """What holds in all runs, and the wrong models of which it does not."""

    claim: str
    question: Question
    right: Callable[[], Model]
    most_states: int
    wrong: Mapping[str, Callable[[], Model]]
    longer: Mapping[str, tuple[Callable[[], Model], str]] = {}
    """Those that it takes a longer run to refute than are searched, with the run; the right one gets through it."""


HOLDS = (
    Holds(
        "LAS-FLIGHT",
        Counted(),
        lambda: model("las"),
        1_000,
        {
            "what has ended stays in flight": lambda: MethodModel(Pins()),
            "one that ends, ends all": lambda: MethodModel(EndsAll()),
        },
    ),
    Holds(
        "LAS-KEPT",
        Remembered(LAS),
        lambda: model("las"),
        1_000,
        {
            "decay that is due is forfeited": lambda: MethodModel(Forfeits()),
            "only what is visited decays, as in the release": lambda: MethodModel(LasV1(half_life=Fraction(60))),
        },
    ),
    Holds("SETTLED-ROOMS", Rooms(), at_once, 2_000, {"nothing is charged at dispatch": lambda: at_once(ChargesLate)}),
    Holds("SETTLED-ROOMS", Starved(), at_once, 1_000, {"nothing is charged at dispatch": lambda: at_once(ChargesLate)}),
    Holds(
        "SETTLED-LEAD",
        Fair(),
        at_once,
        3_000,
        {
            "nothing is charged at dispatch": lambda: at_once(ChargesLate),
            "LAS": lambda: model("las"),
        },
        {"whoever returns begins where it was": (lambda: at_once(NoFloor), "+B 1×5; D×4; +A 1×3; D×3")},
    ),
)


def accounts() -> Iterator[Finding]:
    """What holds, in all runs of a length, and is found false of each wrong model."""
    for one in HOLDS:
        found = asked(one.question, one.right(), one.most_states)
        refuted = [name for name, wrong in one.wrong.items() if not asked(one.question, wrong(), one.most_states).holds]
        refuted += [name for name, (wrong, run) in one.longer.items() if ends_badly(one.question, wrong(), run)]
        says = f"{one.question.id}: in all runs of up to {found.longest} events, {found.states:,} states"
        holds = found.holds and len(refuted) == len(one.wrong) + len(one.longer)
        yield Finding("all runs", (one.claim,), holds, says, tuple(refuted))


CLAIMS = (*(hope.claim for hope in HOPES), *dict.fromkeys(one.claim for one in HOLDS))


def findings() -> list[Finding]:
    """Hopes and accounts."""
    return [*hopes(), *accounts()]
