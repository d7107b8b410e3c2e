"""LAS-PLUGIN: the policy that runs beside the exact model, in random histories with a clock, dispatch by dispatch.

Decisions are the same, but where the exact scores are closer than rounding can tell; those are counted. Services are
the model's, within rounding, and requests in flight exactly. The settled policy is held against its model as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from sfq_impl.policy import attained, program_aware
from sfq_impl.policy.configuration import made
from sfq_impl.policy.interfaces import SECOND
from sfq_impl.policy.parameters import SETTLED
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.settled import SettledFairness
from sfq_proofs.finding import Finding
from sfq_proofs.related.las_play import Beside, Clock, Play
from sfq_spec.conformance.las.model import PARAMETERS
from sfq_spec.related.facts import Facts
from sfq_spec.related.method import MethodScheduler
from sfq_spec.related.settled import Settled
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch

SHORT = {"evictionTtlSeconds": 90, "evictionSweepSeconds": 10}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "short memory": SHORT,
    "no decay": {"lasHalfLifeSeconds": 0, **SHORT},
    "by picks": {"lasDecayFactor": 0.5, **SHORT},
    "other weights": {"lasWeightService": 0.55, "lasWeightHeadWait": 0.45, **SHORT},
    "release": {"compatibility": "release-0.10"},
    "release, quick factor": {"compatibility": "release-0.10", "lasDecayFactor": 0.5, **SHORT},
    "release, half-life": {"compatibility": "release-0.10", "lasHalfLifeSeconds": 60, **SHORT},
    "development": {"compatibility": "development-2026-08", **SHORT},
}
USERS = "ABCD"
PAUSES = ("0", "0.0005", "0.001", "0.25", "1", "7", "30", "60", "61", "300", "301", "4000")
TOKENS = (0, 1, 3, 10, 100, 10_000)
LENGTH = 80


class Picks(NamedTuple):
    """Of some histories: how many picks there were, in how many the policy chose otherwise, or could have."""

    all: int = 0
    close: int = 0
    open: int = 0

    @property
    def are_few(self) -> bool:
        """Whether rounding has seldom mattered."""
        return self.close < 0.005 * self.all and self.open < 0.05 * self.all


def history(beside: Beside, seed: int) -> None:
    """Random events; at last all that waits is sent. Raises `AssertionError` where the two differ."""
    rng = Random(seed)
    users = USERS[: rng.randint(2, 4)]
    waiting = rng.choice([1, 3, 20])
    for number in range(LENGTH):
        beside.clock.after(Fraction(rng.choice(PAUSES) if rng.random() < 0.4 else "0"))
        match rng.randrange(8):
            case 0 | 1 | 2 if len(beside.waiting) < waiting:
                beside.arrive(f"{rng.choice(users)}{number}")
            case 3 if beside.waiting and rng.random() < 0.3:
                beside.cancel(rng.choice(list(beside.waiting)))
            case 4 | 5:
                beside.send()
            case _ if beside.in_flight:
                ended = rng.choice(list(beside.in_flight))
                outcome = rng.choice(["completed", "completed", "failed"])
                beside.complete(ended, tokens=(rng.choice(TOKENS), rng.choice(TOKENS)), outcome=outcome)  # type: ignore[arg-type]
        agree(beside)
    beside.send(len(beside.waiting) + 1)


def agree(beside: Beside) -> None:
    """Services and requests in flight are those of the model. Raises `AssertionError`."""
    now = beside.clock.now
    beside.fairness.advance(now)
    flying = Counter(id.rstrip("0123456789") for id in beside.in_flight)
    for user in USERS:
        program = beside.fairness.programs.get(user)
        counted = program.in_flight if program else 0
        assert counted == flying[user], f"{counted} of {user} in flight instead of {flying[user]}"
        mine, exact = beside.service(user), beside.exact_service(user)
        assert mine >= 0, f"{user} has attained {mine}"
        assert math.isclose(mine, exact, rel_tol=1e-9, abs_tol=1e-300), f"{user} has attained {mine}, not {exact}"


def histories(variant: str, seeds: range) -> Picks:
    """Random histories of a variant. Raises `AssertionError` where the two differ."""
    picks = Picks()
    for seed in seeds:
        beside = Beside(VARIANTS[variant])
        history(beside, seed)
        picks = Picks(picks.all + beside.picks, picks.close + beside.close, picks.open + beside.open)
    return picks


def sweeps_all(self: ProgramAwareFairness, at: int) -> None:
    """What is in flight is no protection."""
    self.programs = {id: program for id, program in self.programs.items() if at <= program.last_completion}


FAULTS: Mapping[str, tuple[tuple[Any, str, Any], ...]] = {
    "output counts once": ((attained, "OUTPUT_WEIGHT", 1),),
    "nothing decays": ((program_aware, "halved", lambda service, elapsed, half_life: service),),
    "waits are not whole milliseconds": ((attained, "MILLISECOND", 1),),
    "the sweep does not look at what is in flight": ((ProgramAwareFairness, "sweep", sweeps_all),),
}
"""What is put in the place of something."""


@contextmanager
def planted(fault: str) -> Iterator[None]:
    """Meanwhile the policy has a fault."""
    with ExitStack() as stack:
        for owner, name, instead in FAULTS[fault]:
            stack.enter_context(patch.object(owner, name, instead))
        yield


def is_found(fault: str, seeds: range) -> bool:
    """Whether some history tells a fault."""
    with planted(fault):
        for variant in VARIANTS:
            try:
                histories(variant, seeds)
            except (AssertionError, KeyError):
                return True
    return False


# The settled policy.


def settled(seed: int, parameters: Mapping[str, Any]) -> int:
    """A history of the settled policy beside its model; how many picks were the same, until rounding may decide one.

    Raises `AssertionError` where the two differ.
    """
    rng, clock = Random(seed), Clock()
    play = Play(made(SETTLED, parameters=parameters, clock=clock), clock)
    given = {PARAMETERS[name]: Fraction(str(value)) for name, value in parameters.items()}
    model = MethodScheduler(Settled(**given))
    for number in range(LENGTH):
        clock.after(Fraction(rng.choice(PAUSES) if rng.random() < 0.4 else "0"))
        now = Facts(Fraction(clock.now, SECOND))
        match rng.randrange(8):
            case 0 | 1 | 2:
                id, cost = f"{rng.choice(USERS)}{number}", rng.choice(TOKENS[1:])
                model.step(Arrive(id.rstrip("0123456789"), id, Fraction(cost)), now)
                play.arrive(id, cost=cost)
            case 3 if play.waiting and rng.random() < 0.3:
                id = rng.choice(list(play.waiting))
                model.step(Cancel(id), now)
                play.cancel(id)
            case 4 | 5:
                if _is_close(play, model):
                    return number
                theirs, mine = model.step(Dispatch(), now).dispatched, play.send()
                assert mine == (theirs or "-"), f"{mine} instead of {theirs}"
            case _ if play.in_flight:
                id, tokens = rng.choice(list(play.in_flight)), (rng.choice(TOKENS), rng.choice(TOKENS))
                outcome = rng.choice(["completed", "completed", "failed"])
                model.step(Complete(id, outcome), Facts(now.time, *tokens))  # type: ignore[arg-type]
                play.complete(id, tokens=tokens, outcome=outcome)  # type: ignore[arg-type]
        _agree(play, model)
    return LENGTH


def _is_close(play: Play, model: MethodScheduler[Any]) -> bool:
    """Whether two that wait have attained nearly the same, and not the same, or the same only by rounding."""
    method: Any = model.method
    at = replace(model.situation, time=Fraction(play.clock.now, SECOND))
    exact = {user: method.service(method._swept(at), user, at.time) for user in at.queues}
    services = sorted((play.service(user), user) for user in at.queues)
    return any(
        0 < high - low <= 1e-9 * high or (high == low and exact[one].minus(exact[other]).sign != 0)
        for (low, one), (high, other) in pairwise(services)
    )


def _agree(play: Play, model: MethodScheduler[Any]) -> None:
    method: Any = model.method
    at, now = model.situation, Fraction(play.clock.now, SECOND)
    play.fairness.advance(play.clock.now)
    swept = method._swept(replace(at, time=now))
    for user in USERS:
        mine, exact = play.service(user), method.service(swept, user, now).near[0]
        assert math.isclose(mine, exact, rel_tol=1e-9, abs_tol=1e-6), f"{user} has been charged {mine}, not {exact}"


SETTLED_VARIANTS: tuple[Mapping[str, Any], ...] = ({"lasHalfLifeSeconds": 0}, {"lasHalfLifeSeconds": 0, **SHORT}, {})
SETTLED_FAULTS: Mapping[str, tuple[str, Any]] = {
    "there is no floor": ("floor", lambda self, now: 0.0),
    "estimates are never settled": ("charge", lambda self, estimate, response: estimate),
    "nobody begins anew": ("_begin_anew_if_idle", lambda self: None),
}


def settled_differs(seeds: range) -> str:
    """Where the settled policy is not like its model; empty where it is."""
    for parameters in SETTLED_VARIANTS:
        for seed in seeds:
            try:
                settled(seed, parameters)
            except AssertionError as difference:
                return str(difference)
    return ""


SEEDS = range(4)
"""Those that are played every time; the tests play more."""


def findings() -> list[Finding]:
    """Some histories of each variant, and the faults that they find."""
    wrong, picks = "", Picks()
    for variant in VARIANTS:
        try:
            more = histories(variant, SEEDS)
        except AssertionError as difference:
            wrong = wrong or f"{variant}: {difference}"
        else:
            picks = Picks(*(a + b for a, b in zip(picks, more, strict=True)))
    refuted = tuple(fault for fault in FAULTS if is_found(fault, SEEDS))
    says = wrong or f"{len(VARIANTS)} variants, {picks.all:,} picks, in {picks.close} of them rounding has decided"
    holds = not wrong and picks.are_few and len(refuted) == len(FAULTS)
    return [Finding("beside the model", ("LAS-PLUGIN",), holds, says, refuted), _settled()]


def _settled() -> Finding:
    wrong, refuted = settled_differs(SEEDS), []
    for name, (method, instead) in SETTLED_FAULTS.items():
        with patch.object(SettledFairness, method, instead):
            refuted += [name] if settled_differs(SEEDS) else []
    says = wrong or f"{len(SETTLED_VARIANTS)} variants of the settled policy, {len(SEEDS)} histories of each"
    holds = not wrong and len(refuted) == len(SETTLED_FAULTS)
    return Finding("beside the model", ("LAS-PLUGIN",), holds, says, tuple(refuted))
