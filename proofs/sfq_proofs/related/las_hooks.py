"""LAS-FLIGHT on the policy that runs: its hooks in every order, as often as may be, with sweeps between.

Two requests of one program are met, sent, ended, given up, and told of under another program, each at any time and any
number of times. Two orders that leave the same are one, so that all orders of any length are gone through. What is in
flight by the policy's record must be what was dispatched less what has ended, and nothing may be forgotten meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sfq_impl.fleet.policy import Usage
from sfq_impl.policy.interfaces import SECOND, InferenceRequest, Response
from sfq_impl.policy.parameters import ProgramAware, Settled
from sfq_impl.policy.program import Program
from sfq_impl.policy.program_aware import ProgramAwareFairness, Programs
from sfq_impl.policy.settled import SettledFairness
from sfq_proofs.finding import Finding
from sfq_proofs.related.las_play import Clock

IDS = ("1", "2")
HOOKS = (
    "later",
    "met",
    "sweep",
    *(f"{kind} {id}" for id in IDS for kind in ("sent", "piece", "ended", "gone", "moved")),
)
"""`later`: a minute passes; `met`: a pick comes by; `piece`: a part of an answer; `gone`: its client has given it up;
`moved`: ended, and told of another program.
"""
QUICK: Mapping[str, Any] = {"eviction_ttl_seconds": 10.0, "eviction_sweep_seconds": 5.0}
Make = Callable[[Clock], Programs]


class Flight(NamedTuple):
    """What must be in flight, and what has been counted."""

    flying: frozenset[str] = frozenset()
    dispatched: int = 0
    ended: int = 0


def broken(make: Make, word: tuple[str, ...]) -> tuple[str, Any]:
    """What is wrong after an order of hooks, empty where nothing is; and what is left, to tell orders apart."""
    clock, flight = Clock(), Flight()
    policy = make(clock)
    for hook in word:
        flight = _happens(policy, clock, hook, flight)
        program = policy.programs.get("A")
        counted, known = 0 if program is None else program.in_flight, policy.programs.keys()
        if counted != flight.dispatched - flight.ended or counted < 0 or not known <= {"A"}:
            return f"{counted} in flight, {flight.dispatched} dispatched, {flight.ended} ended", None
        if program is not None and program.service < 0:
            return "a service below zero", None
    return "", (flight.flying, _essence(policy.programs.get("A"), clock))


def _happens(policy: Any, clock: Clock, hook: str, flight: Flight) -> Flight:
    kind, _, id = hook.partition(" ")
    flying, dispatched, ended = flight
    if kind == "met":
        policy.meet("A", clock.now)
    elif kind == "later":
        clock.after(60)
    elif kind == "sweep":
        policy.advance(clock.now)
    elif kind == "sent":
        policy.pre_request(InferenceRequest(id, "A", 3))
        return Flight(flying | {id}, dispatched + (id not in flying), ended)
    else:
        termination = "client-disconnect" if kind == "gone" else "natural"
        usage = None if kind == "gone" else Usage(1, 1)
        request = InferenceRequest(id, "B" if kind == "moved" else "A", 3)
        policy.response_body(request, Response(kind != "piece", usage, termination))  # type: ignore[arg-type]
        if kind != "piece":
            return Flight(flying - {id}, dispatched, ended + (id in flying))
    return Flight(flying, dispatched, ended)


def _essence(program: Program | None, clock: Clock) -> Any:
    """Whether it is known, what is in flight, and whether the next sweep would forget it."""
    return program and (program.in_flight, clock.now - program.last_completion > 10 * SECOND, program.service > 0)


def every_order(make: Make) -> tuple[int, str]:
    """How many states there are, and a shortest order after which something is wrong; empty where there is none."""
    seen = {broken(make, ())[1]}
    ahead = deque[tuple[str, ...]]([()])
    while ahead:
        word = ahead.popleft()
        for hook in HOOKS:
            longer = (*word, hook)
            wrong, left = broken(make, longer)
            if wrong:
                return len(seen), f"{', '.join(longer)}: {wrong}"
            if left not in seen:
                seen.add(left)
                ahead.append(longer)
    return len(seen), ""


class Races(ProgramAwareFairness):
    """A sweep comes between the look at a program and the count of its request, which goes to what is forgotten."""

    def meet(self, id: str, now: int) -> Program:
        """Found, and swept."""
        program = super().meet(id, now)
        self.sweep(now)
        return program


class Unprotected(ProgramAwareFairness):
    """The sweep does not look at what is in flight."""

    def sweep(self, at: int) -> None:
        """Whoever has completed nothing for a while is forgotten."""
        self.programs = {id: p for id, p in self.programs.items() if at - p.last_completion <= self._ttl}


def program_aware(compatibility: Any = "none", kind: type[ProgramAwareFairness] = ProgramAwareFairness) -> Make:
    """The policy in a mode."""
    parameters = ProgramAware(compatibility=compatibility, **QUICK)
    return lambda clock: kind(parameters, clock=clock)


def settled(clock: Clock) -> Programs:
    """The settled policy."""
    return SettledFairness(Settled(**QUICK), clock=clock)


GIVEN_UP, TWICE = ("sent 1", "gone 1"), ("sent 1", "ended 1", "ended 1")
WRONG: Mapping[str, tuple[Make, tuple[str, ...]]] = {
    "release 0.10: what is given up stays in flight": (program_aware("release-0.10"), GIVEN_UP),
    "release 0.10: a second end counts": (program_aware("release-0.10"), TWICE),
    "development version: what is given up stays in flight": (program_aware("development-2026-08"), GIVEN_UP),
    "development version: a second end counts": (program_aware("development-2026-08"), TWICE),
    "a sweep comes between the look and the count": (program_aware(kind=Races), ()),
    "the sweep does not look at what is in flight": (program_aware(kind=Unprotected), ()),
}
"""Policies that miscount, the compatible modes among them, and an order that shows it; else one is searched for."""


def shown(name: str) -> str:
    """What is wrong with a policy that miscounts; empty where nothing is."""
    make, order = WRONG[name]
    return broken(make, order)[0] if order else every_order(make)[1]


def findings() -> list[Finding]:
    """Both policies, and the wrong ones."""
    results = [every_order(make) for make in (program_aware(), settled)]
    refuted = tuple(name for name in WRONG if shown(name))
    wrong = next((wrong for _, wrong in results if wrong), "")
    states = " and ".join(str(states) for states, _ in results)
    says = wrong or f"{len(HOOKS)} hooks in all orders of any length, {states} states of the two policies"
    return [Finding("hooks", ("LAS-FLIGHT",), not wrong and len(refuted) == len(WRONG), says, refuted)]
