"""ORDER-SPEED: with completions at other moments, or with none, the same requests go in the same order (article §5.3).

Clock times and numbers of servers are nowhere in the rules; all that they could do is to move completions about. In
every run of a small world up to a length the completions are left out, and nothing may change. Under rules that heed
completions something does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfq_proofs.finding import Finding
from sfq_proofs.searches.witness import in_short, runs
from sfq_spec.machine import Machine, take
from sfq_spec.mutants import BY_NAME, Take
from sfq_spec.trace import Complete, Event

LONGEST = 6
HEEDFUL = ("refunds-on-completion", "charges-on-completion")
"""Mutants whose order does depend on when work ends."""


def findings() -> list[Finding]:
    """What the search of all short runs shows."""
    found = list(_with_completions(take))
    right = sum(order(take, run) == order(take, _without(run)) for run in found)
    seen = {name: _first_difference(name) for name in HEEDFUL}
    refuted = tuple(name for name, run in seen.items() if run)
    shown = "; ".join(f"{name} is seen by {' '.join(map(in_short, run))}" for name, run in seen.items() if run)
    return [
        Finding(
            "completions left out",
            ("ORDER-SPEED",),
            right == len(found) > 0 and refuted == HEEDFUL,
            f"{right:,} of {len(found):,} runs of up to {LONGEST} events keep their order; {shown}",
            refuted,
        )
    ]


def order(take: Take, events: Sequence[Event]) -> list[object]:
    """The requests that are dispatched."""
    state, sent = Machine(), list[object]()
    for event in events:
        taken = take(state, event)
        state = taken.state
        sent.append(taken.answer.dispatched)
    return [request for request in sent if isinstance(request, str)]


def _with_completions(take: Take) -> Iterator[tuple[Event, ...]]:
    for events, _, _ in runs(take, ("complete",), LONGEST):
        if any(isinstance(event, Complete) for event in events[:-1]):
            yield events


def _without(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, Complete)]


def _first_difference(name: str) -> tuple[Event, ...] | None:
    wrong = BY_NAME[name].take
    for events in _with_completions(take):
        if order(wrong, events) != order(wrong, _without(events)):
            return events
    return None
