"""The judge: are these the machine's answers? If not, the first one that is wrong, and why.

The judge follows the machine, and where a scheduler may break ties as it likes, the choice that it made among the
waiting users of least meter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.competition import SFQ
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight

Lags = Mapping[str, Fraction | float]


@dataclass(frozen=True)
class Wrong:
    """The first answer that is wrong."""

    at: int
    """The place of the event, from 0."""
    sentence: str
    """What was expected, what came, and which rule it contradicts."""
    legal: tuple[str, ...]
    """The requests that might have gone, where it was a dispatch."""
    claims: tuple[str, ...]
    """The claims that it breaks."""


@dataclass
class Judge:
    """Follows one scheduler from its first event on."""

    any_tie: bool = False
    """Any waiting user of least meter may go, not just the one of least id."""
    with_lag: bool = False
    """Lags are compared where they are told."""
    state: Machine = field(default_factory=Machine)
    seen: int = 0
    slack: Fraction = Fraction(0)
    """How far a told lag may be off, as a part of the meter: rounding, where numbers are binary floats."""
    _checked: tuple[Machine, Lags] = field(default_factory=lambda: (Machine(), {}))
    """The state and the told lags of the last event after which they were compared."""

    def see(self, event: Event, told: Answer) -> Wrong | None:
        """Note one event and its answer. After a wrong one there is nothing more to follow."""
        before = self.state
        self.state, wanted = answer(before, event)
        at, self.seen = self.seen, self.seen + 1
        if isinstance(event, Dispatch):
            wrong = self._dispatch(at, before, wanted, told)
        else:
            wrong = _refusal(at, event, wanted, told)
        if wrong is None and self.with_lag and told.lag is not UNSET:
            wrong = _lag(at, self.state, told.lag, self.slack, self._changed(told.lag))
        return wrong

    def _changed(self, told: Lags) -> list[str]:
        """The users whose lag must be looked at: something about it is not as it was when it was found right."""
        state, (old, before) = self.state, self._checked
        s, other = state.competition, old.competition
        self._checked = state, told
        users = s.meter.keys() | told.keys()
        if s.v != other.v:
            return sorted(users)
        return sorted(
            user
            for user in users
            if s.meter.get(user) is not other.meter.get(user)
            or told.get(user) is not before.get(user)
            or (user in state.queues) is not (user in old.queues)
        )

    def failed(self, at: int, event: Event, how: str) -> Wrong:
        """The scheduler fails in an event: it says how, and gives no answer."""
        if isinstance(event, Dispatch):
            return Wrong(at, how, tuple(self._legal(self.state)), ("ORDER-WORK",))
        return Wrong(at, how, (), ("R-REFUSE",))

    def _dispatch(self, at: int, before: Machine, wanted: Answer, told: Answer) -> Wrong | None:
        if told.refused is not UNSET:
            return Wrong(
                at, f"a dispatch was refused with {told.refused}: there is nothing to refuse", (), ("R-REFUSE",)
            )
        if told.dispatched == wanted.dispatched:
            return None
        legal = tuple(self._legal(before))
        sent = told.dispatched
        if self.any_tie and sent in legal:
            assert isinstance(sent, str)
            self.state = followed(before, sent)
            return None
        return Wrong(at, *_mischoice(before, legal, sent))

    def _legal(self, before: Machine) -> Sequence[str]:
        meters = before.competition.meter
        heads = sorted((meters[user], user, queue[0].request) for user, queue in before.queues.items())
        return [request for meter, _, request in heads if self.any_tie and meter == heads[0][0]] or [
            request for _, _, request in heads[:1]
        ]


def judge(
    events: Sequence[Event],
    answers: Sequence[Answer],
    *,
    any_tie: bool = False,
    with_lag: bool = False,
    slack: Fraction = Fraction(0),
) -> Wrong | None:
    """The first wrong answer of a whole run; None where all are right."""
    following = Judge(any_tie, with_lag, slack=slack)
    for event, told in zip(events, answers, strict=True):
        if wrong := following.see(event, told):
            return wrong
    return None


def followed(state: Machine, sent: str) -> Machine:
    """The machine after the dispatch of a request that is the head of its user's queue, whoever's turn it was."""
    user = state.live[sent].user
    rules = replace(SFQ, is_first=lambda logic, s, candidate, head: candidate == user)
    return answer(state, Dispatch(), rules)[0]


def _mischoice(before: Machine, legal: tuple[str, ...], sent: object) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    s = before.competition
    if not legal:
        what = "the answer does not say that nothing goes" if sent is UNSET else f"{sent} was sent"
        return f"{what} while nobody waits", (), ("ORDER-WORK",)
    right = before.live[legal[0]]
    due = f"{right.request} of {right.user} (S = {numbers.write(s.meter[right.user])})"
    v = f"v = {numbers.write(s.v)}"
    if sent is None or sent is UNSET:
        return f"{v}; nothing was sent while {due} waits: contradicts ORDER-WORK", legal, ("ORDER-WORK",)
    request = before.live.get(str(sent))
    if request is None:
        return f"{sent} was sent, which is not here: it has not arrived, or has ended", legal, ("R-FIFO",)
    if not before.is_waiting(request):
        return f"{sent} was sent again: it has been dispatched before", legal, ("R-FIFO",)
    head = before.queues[request.user][0].request
    if request.user in {before.live[due].user for due in legal}:
        return f"{sent} was sent before {head}, which arrived before it: contradicts R-FIFO", legal, ("R-FIFO",)
    own = numbers.write(s.meter[request.user])
    if s.meter[request.user] == s.meter[right.user]:
        tie = f"{v}; {right.user!r} and {request.user!r} have the same meter {own}, and the first id goes first"
        return f"{tie}; {sent} was sent: contradicts R-SELECT", legal, ("R-SELECT",)
    less = f"{v}; {right.user}.S = {numbers.write(s.meter[right.user])} is less than {request.user}.S = {own}"
    return f"{less}; {sent} was sent: contradicts R-SELECT", legal, ("R-SELECT",)


def _refusal(at: int, event: Event, wanted: Answer, told: Answer) -> Wrong | None:
    if told.refused == wanted.refused:
        return None
    if wanted.refused is UNSET:
        return Wrong(at, f"{_named(event)} was refused with {told.refused}: it is valid", (), ("R-REFUSE",))
    came = "was accepted" if told.refused is UNSET else f"was refused with {told.refused}"
    return Wrong(at, f"{_named(event)} {came}: it must be refused with {wanted.refused}", (), ("R-REFUSE",))


def _lag(at: int, state: Machine, told: Lags, slack: Fraction, users: Sequence[str]) -> Wrong | None:
    """Whether the lags are right: a user that is left out counts as one that is not ahead of v."""
    meters, v = state.competition.meter, state.competition.v
    for user in users:
        right, lag = meters.get(user, v) - v, told.get(user, Fraction(0))
        if lag == right:
            continue
        off = slack * max(v, meters.get(user, v))
        if isinstance(lag, float) or abs(max(lag, Fraction(0)) - max(right, Fraction(0))) > off:
            sentence = f"the lag of {user!r} is told as {numbers.write(lag)}, and S - v is {numbers.write(right)}"
            less = not isinstance(lag, float) and lag < right
            return Wrong(at, sentence, (), ("FAIR-UPPER" if less else "INV-UPPER", "DISP-BEFORE"))
        if user in state.queues and lag < -off:
            return Wrong(at, f"{user!r} waits with a lag below 0: its meter is below v", (), ("INV-LOWER",))
    return None


def _named(event: Event) -> str:
    kind = event.__struct_config__.tag
    match event:
        case Recost(request=request, cost=cost):
            return f"cost {numbers.write(cost)} for {request}"
        case Cancel(request=request) | Complete(request=request):
            return f"{kind} of {request}"
        case Arrive(request=request, cost=cost):
            return f"{kind} of {request} with cost {numbers.write(cost)}"
        case SetWeight(user=user, weight=weight):
            return f"{kind} {numbers.write(weight)} for {user!r}"
        case _:
            return str(kind)
