"""Random histories for `validate`: drawn by Hypothesis, which makes a failing one as short as it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sfq_spec.conformance.protocol import Capabilities
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import (
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Recost,
    SetWeight,
    Upkeep,
)

Action = tuple[str, int, int]
"""A kind of event, a number that chooses user or request, and a number that becomes cost or weight."""
USERS = ("A", "B", "C", "a", "é", "\ufffd", "\U0001f600")
LENGTHS = (0, 0, 0, 10, 30)
"""Actions at least: left to itself, a list seldom gets long enough for debts and returns."""
LONGEST = 60
WEIGHTS = (1, 2, 3, 4, Fraction(1, 2), Fraction(1, 3))


class NeedsHypothesis(Exception):
    """The random part needs an optional package."""

    def __init__(self) -> None:
        super().__init__("random histories need Hypothesis: pip install 'sfq-spec[kit]', or ask for none: --budget 0")


def search(check: Callable[[list[Event]], None], capabilities: Capabilities, *, budget: int, seed: int) -> None:
    """Call `check` with so many histories; where it raises, again with shorter ones, and raise the last.

    The same seed draws the same histories. Raises `NeedsHypothesis` where the package is missing.
    """
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        raise NeedsHypothesis from None
    kinds = ["arrive", "arrive", "arrive", "dispatch", "dispatch", "drain", "complete", "upkeep"]
    kinds += ["cancel", "duplicate"] * capabilities.cancel + ["cost"] * capabilities.recost
    kinds += ["weight"] * capabilities.weights + ["bad-cost"]
    action = st.tuples(st.sampled_from(kinds), st.integers(0, 40), st.integers(0, 60))
    actions = st.sampled_from(LENGTHS).flatmap(lambda least: st.lists(action, min_size=least, max_size=LONGEST))
    crowds = st.sampled_from((len(USERS), 2, 3))

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=budget,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(actions, crowds)
    def every(drawn: list[Action], users: int) -> None:
        check(history(drawn, capabilities, users))

    every()


def history(actions: Sequence[Action], capabilities: Capabilities, users: int = len(USERS)) -> list[Event]:
    """The events that some actions of so many users stand for; requests are chosen among those that are there then."""
    events: list[Event] = []
    state = Machine()
    for number, (kind, which, size) in enumerate(actions):
        for event in _events(state, number, kind, which, size, capabilities, USERS[which % users]):
            events.append(event)
            state, _ = answer(state, event)
    return events


def _events(
    state: Machine, number: int, kind: str, which: int, size: int, capabilities: Capabilities, user: str
) -> Sequence[Event]:
    waiting = [request.request for queue in state.queues.values() for request in queue]
    flying = sorted(state.live.keys() - set(waiting))
    match kind:
        case "arrive":
            return [Arrive(user, f"r{number}", Fraction(cost(size)))]
        case "bad-cost":
            return [Arrive(user, f"r{number}", Fraction(-(size % 2)))]
        case "duplicate" if state.live:
            return [Arrive(user, _chosen(sorted(state.live), which), Fraction(1))]
        case "drain":
            return [Dispatch()] * (1 + size % 8)
        case "complete" if flying:
            return [Complete(_chosen(flying, which))]
        case "upkeep":
            return [Upkeep()]
        case "cancel" if waiting:
            return [Cancel(_chosen(waiting, which))]
        case "cost" if waiting:
            return [Recost(_chosen(waiting, which), Fraction(cost(size)))]
        case "weight":
            weights = WEIGHTS if capabilities.numbers == "rational" else WEIGHTS[:2]
            return [SetWeight(user, Fraction(weights[size % len(weights)]))]
        case _:
            return [Dispatch()]


def cost(size: int) -> int:
    """Small costs often, so that ties are likely; large ones now and then. Even ones, for halves to be whole."""
    return 2 * (1 + size % 6) if size < 40 else 2 * 10 ** (size - 40) % 10**9 + 2


def _chosen(from_: Sequence[Any], which: int) -> Any:
    return from_[which % len(from_)]
