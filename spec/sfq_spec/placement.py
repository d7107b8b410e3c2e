"""What to do when the selected request fits on no server: stall, or let others overtake (article §5.2).

`placeable` tells of each user, at the moment of a dispatch, whether its next request could be placed now. Both ways are
rules like those of the article, with another dispatch, and run on the same machine: `take(state, Dispatch(),
stalling(...))`. Every other event is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sfq_spec.competition import SFQ, Competition, Rules, Step
from sfq_spec.logic import Logic, N, T, U

Dispatch = Callable[..., Step[Any, Any, Any]]


def stall(
    logic: Logic[U, N, T],
    rules: Rules,
    s: Competition[U, N, T],
    user: U,
    head: Mapping[U, N],
    drains: T,
    placeable: Callable[[U], T],
) -> Step[U, N, T]:
    """PLACE-STALL. The dispatch of the rules, or none: who is first is asked again next time, and nobody is held."""
    step = rules.dispatch(logic, rules, s, user, head, drains)
    return replace(step, enabled=logic.both(step.enabled, placeable(user)))


def stands(logic: Logic[U, N, T], s: Competition[U, N, T], placeable: Callable[[U], T], user: U) -> T:
    """Whether the user takes part in a dispatch: it waits, and its request could be placed."""
    return logic.both(s.waiting[user], placeable(user))


def field(
    logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T], placeable: Callable[[U], T]
) -> Competition[U, N, T]:
    """Those who take part: whoever cannot be placed has left, whoever can be placed again has rejoined (article §2.4).

    Of those who were there all along nothing changes, as their meters are not below v.
    """
    meter = logic.put_each(
        s.meter,
        lambda user: logic.choose(
            stands(logic, s, placeable, user), rules.join(s.meter[user], s.v, logic.maximum), s.meter[user]
        ),
    )
    return replace(s, meter=meter, waiting=logic.put_each(s.waiting, lambda user: stands(logic, s, placeable, user)))


def overtake(
    logic: Logic[U, N, T],
    rules: Rules,
    s: Competition[U, N, T],
    user: U,
    head: Mapping[U, N],
    drains: T,
    placeable: Callable[[U], T],
) -> Step[U, N, T]:
    """PLACE-OVERTAKE. The dispatch of the rules among those who take part; a reset still needs that nobody waits."""
    queued = logic.put(s.waiting, user, logic.no(drains))

    def is_over(logic: Logic[U, N, T], after: Competition[U, N, T], user: U) -> T:
        return rules.is_over(logic, replace(after, waiting=queued), user)  # type: ignore[no-any-return]

    among = field(logic, rules, s, placeable)
    step = rules.dispatch(logic, replace(rules, is_over=is_over), among, user, head, drains)
    return Step(step.enabled, replace(step.after, waiting=queued), replace(step.charged, waiting=queued))


def placing(how: Dispatch, placeable: Callable[[Any], Any], rules: Rules = SFQ) -> Rules:
    """The rules with `stall` or `overtake` as their dispatch, for one moment."""

    def dispatch(logic: Any, _: Rules, s: Any, user: Any, head: Any, drains: Any) -> Step[Any, Any, Any]:
        return how(logic, rules, s, user, head, drains, placeable)

    return replace(rules, dispatch=dispatch)
