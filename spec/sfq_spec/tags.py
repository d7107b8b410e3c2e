"""The formulation of 1996: a start tag and a finish tag for every request (article §2.1).

Independent of the meters: requests carry their tags from arrival on, and virtual time is the start tag of the
latest request sent. Weights count when a request arrives, so a run that changes a weight or a cost while the user
waits, or cancels, has no counterpart here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfq_spec.logic import N


def start_tag(v: N, previous_finish: N, maximum: Callable[[N, N], N]) -> N:
    """S(p) = max(v(A(p)), F(previous p)) (article §2.1)."""
    return maximum(v, previous_finish)


def finish_tag(start: N, length: N, weight: N) -> N:
    """F(p) = S(p) + l/w (article §2.1)."""
    return start + length / weight  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Tagged:
    """A request with its tags."""

    user: str
    request: str
    start: Fraction
    finish: Fraction


@dataclass(frozen=True)
class TagScheduler:
    """The waiting requests in order of arrival, the latest finish tag of each user, and virtual time."""

    v: Fraction = Fraction(0)
    waiting: tuple[Tagged, ...] = ()
    finish: Mapping[str, Fraction] = field(default_factory=dict)
    """The finish tag that each user's latest arrival was given."""
    greatest: Fraction = Fraction(0)
    """The largest finish tag among the requests sent."""

    def arrive(self, user: str, request: str, length: Fraction, weight: Fraction) -> TagScheduler:
        """The request is tagged and waits."""
        start = start_tag(self.v, self.finish.get(user, Fraction(0)), max)
        tagged = Tagged(user, request, start, finish_tag(start, length, weight))
        return replace(self, waiting=(*self.waiting, tagged), finish={**self.finish, user: tagged.finish})

    def dispatch(self) -> tuple[TagScheduler, Tagged | None]:
        """The request of least (start tag, user id) is sent; at the end of a busy period v is the largest finish."""
        if not self.waiting:
            return self, None
        sent = min(self.waiting, key=lambda tagged: (tagged.start, tagged.user))
        waiting = tuple(tagged for tagged in self.waiting if tagged is not sent)
        greatest = max(self.greatest, sent.finish)
        v = sent.start if waiting else greatest
        return replace(self, v=v, waiting=waiting, greatest=greatest), sent
