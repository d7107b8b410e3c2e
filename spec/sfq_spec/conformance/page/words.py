"""What stands below a picture and in its table: the event, the answer, and what was due."""

from __future__ import annotations

from msgspec import UNSET

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.page.following import Moment
from sfq_spec.conformance.page.scale import short
from sfq_spec.trace import Arrive, Dispatch

LONGEST = 14
"""Letters of a label at most."""


def label(moment: Moment) -> str:
    """The event, with the request by its name; several arrivals that are drawn together by their number."""
    if len(moment.events) > 1:
        users = {event.user for event in moment.events if isinstance(event, Arrive)}
        return f"{len(moment.events)}×+{next(iter(users)) if len(users) == 1 else ''}"
    (event,) = moment.events
    if not isinstance(event, Arrive):
        return shorthand.write(moment.events)
    owner = "" if event.request.startswith(event.user) else f"{event.user}:"
    cost = event.cost if isinstance(event.cost, float) else short(event.cost)
    return f"+{owner}{event.request}({cost})"


def answered(moment: Moment) -> str:
    """What the scheduler did, where that is more than to accept."""
    if moment.told.refused is not UNSET:
        return "refused"
    if isinstance(moment.events[-1], Dispatch):
        return moment.told.dispatched if isinstance(moment.told.dispatched, str) else "none"
    return "accepted" if moment.is_wrong else ""


def expected(moment: Moment) -> str:
    """What was to be done, where that is more than to accept."""
    if isinstance(moment.events[-1], Dispatch):
        return " or ".join(moment.due) or "none"
    if moment.refuses:
        return "refused"
    return "accepted" if moment.is_wrong else ""


def cut(told: str, letters: int = LONGEST) -> str:
    """A text that is not longer than there is room for."""
    return told if len(told) <= letters else told[: letters - 1] + "…"
