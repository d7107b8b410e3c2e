"""Random histories for `validate`, drawn by Hypothesis.

Each history has a style: whatever happens, or a few kinds of event that happen often. Left to itself a list of all
kinds seldom gets far into one thing, such as cancels while many wait, or ids that are used again and again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
    Outcome,
    Recost,
    SetWeight,
    Upkeep,
)

Action = tuple[str, int, int]
"""A kind of event, a number that chooses user or request, and a number that becomes cost or weight."""
USERS = (*"ABCDEFGHIJ", "a", "é", "\ufffd", "\U0001f600")
LENGTHS = (6, 18, 30)
"""Actions at least: left to itself, a list seldom gets long enough for debts and returns."""
OUTCOMES: tuple[Outcome, ...] = ("completed", "failed", "cancelled")
WEIGHTS: dict[str, tuple[int | Fraction, ...]] = {
    "integer": (1, 2),
    "binary64": (1, 2, 4, Fraction(1, 2), Fraction(1, 4)),
    "rational": (1, 2, 3, 4, Fraction(1, 2), Fraction(1, 3)),
}
"""By what numbers are held."""
HEIGHTS = (2**31 - 4, 2**26, 2**40)
EXACT_HEIGHTS = (*HEIGHTS, 2**53)
"""To what meters are lifted: from there on, small charges need all digits."""


@dataclass(frozen=True)
class Style:
    """What a history is made of."""

    kinds: tuple[str, ...]
    """The kinds of action; those that are named twice come twice as often."""
    users: tuple[int, ...] = (len(USERS), 2, 3)
    """How many there may be."""
    longest: int = 60
    """Actions."""


STYLES = (
    Style(
        (
            *("arrive", "arrive", "arrive", "dispatch", "dispatch", "drain", "complete", "upkeep", "bad-cost"),
            *("cancel", "newest", "duplicate", "again", "gone", "cost", "weight", "crowd"),
        )
    ),
    Style(("burst", "arrive", "dispatch", "dispatch", "drain"), users=(3, 4, 8)),
    Style(
        ("crowd", "crowd", "leave", "leave", "leave", "newest", "drain", "empty"), users=(14, 13, 14, 14, 9), longest=24
    ),
    Style(("burst", "newest", "cancel", "cancel", "cancel", "dispatch", "gone"), users=(2, 1, 2)),
    Style(
        ("burst", "burst", "again", "anew", "anew", "anew", "dispatch", "complete", "duplicate", "early", "gone"),
        users=(2, 3, 2, 2),
    ),
    Style(("burst", "weight", "cost", "drain", "cancel", "dispatch", "bad-weight"), users=(2, 3, 2)),
    Style(("arrive", "arrive", "burst", "weight", "weight", "drain", "dispatch", "upkeep"), users=(2, 3, 2)),
    Style(("lift", "arrive", "arrive", "arrive", "dispatch", "drain", "upkeep"), users=(3, 2), longest=40),
)
"""The first is everything, the others a part of it."""
_FIRST, _LETTERS = 0x10000, 61 * 41 * max(len(style.kinds) for style in STYLES)
"""A letter for each action: so a history is one thing to Hypothesis, which otherwise draws most of them by repeating
parts of others, and few that are new."""
_NEEDS = {
    "cancel": ("cancel", "newest", "leave", "duplicate", "again", "anew", "early", "gone"),
    "recost": ("cost",),
    "weights": ("weight", "bad-weight"),
}
"""The kinds of action that need a capability. One without cancels need not know ids."""


class NeedsHypothesis(Exception):
    """The random part needs an optional package."""

    def __init__(self) -> None:
        super().__init__("random histories need Hypothesis: pip install hypothesis, or ask for none: --budget 0")


def search(check: Callable[[list[Event]], None], capabilities: Capabilities, *, budget: int, seed: int) -> None:
    """Call `check` with so many histories, until it raises; what it raises is raised, after one more call.

    The same seed draws the same histories. Raises `NeedsHypothesis` where the package is missing.
    """
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        raise NeedsHypothesis from None
    lacking = {kind for need, kinds in _NEEDS.items() if not getattr(capabilities, need) for kind in kinds}

    styles = [(style, least, users) for style in STYLES for least in LENGTHS for users in style.users]

    def text(style: int) -> Any:
        longest = styles[style][0].longest
        letters = st.characters(min_codepoint=_FIRST, max_codepoint=_FIRST + _LETTERS - 1)
        return st.text(letters, min_size=min(styles[style][1], longest // 2), max_size=longest)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=budget,
        database=None,
        deadline=None,
        print_blob=False,
        phases=[hypothesis.Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.data())
    def every(data: Any) -> None:
        number = data.draw(st.integers(0, len(styles) - 1))
        style, _, users = styles[number]
        kinds = [kind for kind in style.kinds if kind not in lacking]
        check(history([_action(letter, kinds) for letter in data.draw(text(number))], capabilities, users))

    every()


def _action(letter: str, kinds: Sequence[str]) -> Action:
    code, kind = divmod(ord(letter) - _FIRST, len(kinds))
    return kinds[kind], code // 61 % 41, code % 61


def history(actions: Sequence[Action], capabilities: Capabilities, users: int = len(USERS)) -> list[Event]:
    """The events that some actions of so many users stand for; requests are chosen among those that are there then."""
    story = _Story(capabilities, users)
    for kind, which, size in actions:
        for event in story.events_of(kind, which, size):
            story.tell(event)
    return story.events


@dataclass
class _Story:
    """A history as far as it is told."""

    capabilities: Capabilities
    users: int
    events: list[Event] = field(default_factory=list)
    state: Machine = field(default_factory=Machine)
    arrived: Counter[str] = field(default_factory=Counter)
    ids: dict[str, None] = field(default_factory=dict)
    """Of all requests so far; the one that something happened to last stands last."""

    def tell(self, event: Event) -> None:
        """It happens."""
        self.events.append(event)
        self.state, _ = answer(self.state, event)
        if isinstance(event, Arrive | Cancel | Complete):
            self.ids.pop(event.request, None)
            self.ids[event.request] = None

    def events_of(self, kind: str, which: int, size: int) -> Iterator[Event]:
        """What an action stands for; a dispatch where there is nothing that it could be about."""
        waiting = [request.request for queue in self.state.queues.values() for request in queue]
        flying = sorted(self.state.live.keys() - set(waiting))
        ended = [id for id in self.ids if id not in self.state.live]
        user = USERS[which % self.users]
        match kind:
            case "arrive":
                yield self._next(user, self._cost(size))
            case "crowd":
                for place in random.Random(61 * which + size).sample(range(self.users), min(self.users, 1 + size // 2)):
                    yield self._next(USERS[place], Fraction(2))
            case "burst":
                yield from [self._next(user, self._cost(size)) for _ in range(1 + size % 6)]
            case "lift":
                heights = HEIGHTS if self.capabilities.numbers == "binary64" else EXACT_HEIGHTS
                yield self._next(user, Fraction(heights[size % len(heights)]))
                yield from [Dispatch()] * (1 + len(waiting))
            case "bad-cost":
                yield self._next(user, Fraction(-(size % 2)))
            case "bad-weight":
                yield SetWeight(user, Fraction(-(size % 2)))
            case "drain":
                yield from [Dispatch()] * (1 + size % 8)
            case "empty":
                yield from [Dispatch()] * (1 + len(waiting))
            case "upkeep":
                yield Upkeep()
            case "weight":
                weights = WEIGHTS[self.capabilities.numbers]
                yield SetWeight(user, Fraction(weights[size % len(weights)]))
            case "complete" if flying:
                yield Complete(_chosen(flying, which), OUTCOMES[size % 3])
            case "cost" if waiting:
                yield Recost(_chosen(waiting, which), self._cost(size))
            case _:
                yield from self._about_ids(kind, which, size, waiting, ended)

    def _about_ids(self, kind: str, which: int, size: int, waiting: list[str], ended: list[str]) -> Iterator[Event]:
        user = USERS[which % self.users]
        match kind:
            case "cancel" if waiting:
                yield Cancel(_chosen(waiting, which))
            case "newest" if waiting:  # the newest of a user is withdrawn, and the user goes on
                whose = _chosen(list(self.state.queues), which)
                yield Cancel(self.state.queues[whose][-1].request)
                yield self._next(whose, self._cost(size))
            case "leave" if waiting:
                for request in self.state.queues[_chosen(list(self.state.queues), which)]:
                    yield Cancel(request.request)
            case "anew" if waiting:  # it is withdrawn, and comes again under the same id
                id = _chosen(waiting, size)
                yield Cancel(id)
                yield Arrive(user, id, self._cost(which))
            case "gone" if self.state.live.keys() - set(waiting) or ended:
                yield Cancel(_chosen([id for id in self.ids if id not in waiting], which))
            case "early" if waiting:
                yield Complete(_chosen(waiting, which), OUTCOMES[size % 3])
            case "again" if ended:
                yield Arrive(user, ended[-1 - size % min(3, len(ended))], self._cost(which))
            case "duplicate" if self.state.live:
                yield Arrive(user, _chosen(sorted(self.state.live), size), Fraction(2))
            case _:
                yield Dispatch()

    def _next(self, user: str, cost: Fraction) -> Arrive:
        """The next request of a user, named as shorthand does."""
        self.arrived[user] += 1
        return Arrive(user, f"{user}{self.arrived[user]}", cost)

    def _cost(self, size: int) -> Fraction:
        """Small costs often, so that ties are likely; large ones now and then. Even ones, for halves to be whole."""
        if size >= 50:
            return Fraction(2 * 10 ** (size - 50) % 10**9 + 2)
        if size >= 48 and self.capabilities.numbers != "integer":
            return Fraction(1, 2)
        return Fraction(2 * (1 + size % 6))


def _chosen(from_: Sequence[Any], which: int) -> Any:
    return from_[which % len(from_)]
