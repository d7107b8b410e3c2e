"""Which known mistake does a scheduler look like? The whole behaviour is held against every mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from msgspec import UNSET

from sfq_spec.competition import SFQ
from sfq_spec.machine import Machine, answer
from sfq_spec.mutants import MUTANTS, Mutant
from sfq_spec.refusals import Refused
from sfq_spec.trace import Answer, Dispatch, Event


@dataclass(frozen=True)
class Behaviour:
    """One run, and what the scheduler answered."""

    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The mutants that a scheduler behaves as: one, several, or none."""

    mutants: tuple[Mutant, ...] = ()
    but_refusals: bool = False
    """This holds of the runs in which nothing is to be refused. Without a mutant: there it behaves as it should."""


def diagnose(behaviours: Sequence[Behaviour], *, any_tie: bool = False) -> Diagnosis:
    """The mutants that answer just like the scheduler, in every run; none where that is what it should answer.

    Where there is none, those that do in every run without a refusal. The lags that are told decide between mutants
    that send the same requests; on them alone, where the right order is sent, rests a diagnosis only if they agree.
    """
    shortest_first = sorted(behaviours, key=lambda behaviour: len(behaviour.events))
    if _is_like(RIGHT, shortest_first, any_tie, lags=True):
        return Diagnosis()
    if found := _alike(shortest_first, any_tie):
        return Diagnosis(tuple(found))
    unrefused = [behaviour for behaviour in shortest_first if not _refuses(behaviour.events)]
    if len(unrefused) == len(shortest_first) or not unrefused:
        return Diagnosis()
    if _is_like(RIGHT, unrefused, any_tie, lags=True):
        return Diagnosis(but_refusals=True)
    found = _alike(unrefused, any_tie)
    return Diagnosis(tuple(found), bool(found))


def _alike(behaviours: Sequence[Behaviour], any_tie: bool) -> list[Mutant]:
    in_order = [mutant for mutant in MUTANTS if _is_like(mutant, behaviours, any_tie, lags=False)]
    in_lags = [mutant for mutant in in_order if _is_like(mutant, behaviours, any_tie, lags=True)]
    if in_lags or not in_order or _is_like(RIGHT, behaviours, any_tie, lags=False):
        return in_lags
    return in_order


def _is_like(mutant: Mutant, behaviours: Sequence[Behaviour], any_tie: bool, *, lags: bool) -> bool:
    return all(_plays(mutant, behaviour, any_tie, lags) for behaviour in behaviours)


def _plays(mutant: Mutant, behaviour: Behaviour, any_tie: bool, lags: bool) -> bool:
    state = Machine()
    for event, told in zip(behaviour.events, behaviour.answers, strict=True):
        take = _following(mutant, state, told).take if any_tie and isinstance(event, Dispatch) else mutant.take
        try:
            taken = take(state, event)
        except Refused as refusal:
            said = Answer(refused=refusal.code)
        else:
            state, said = taken.state, taken.answer
        if (said.dispatched, said.refused) != (told.dispatched, told.refused):
            return False
        if lags and told.lag is not UNSET and _ahead(told.lag) != _ahead(state.lag):
            return False
    return True


def _following(mutant: Mutant, state: Machine, told: Answer) -> Mutant:
    """The mutant that makes the same choice among equals, where it selects by the least meter and may."""
    rules = mutant.rules or SFQ
    sent = state.live.get(str(told.dispatched))
    meters = {user: state.competition.meter[user] for user in state.queues}
    if rules.is_first is not SFQ.is_first or sent is None or sent.user not in meters:
        return mutant
    user = sent.user
    if meters[user] > min(meters.values()):
        return mutant
    return replace(mutant, rules=replace(rules, is_first=lambda logic, s, candidate, head: candidate == user))


def _refuses(events: Sequence[Event]) -> bool:
    """Whether the machine refuses any of the events."""
    state = Machine()
    for event in events:
        state, told = answer(state, event)
        if told.refused is not UNSET:
            return True
    return False


def _ahead(lags: Mapping[str, Fraction | float]) -> dict[str, Fraction | float]:
    return {user: lag for user, lag in lags.items() if lag > 0}


RIGHT = Mutant("right", "", "")
"""No mutant: the machine itself."""
