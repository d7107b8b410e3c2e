"""A run as a table: what happened, what the scheduler answered, what was due, and where v and the meters stand then."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.conformance.page.document import table, text
from sfq_spec.conformance.page.drawing import picture
from sfq_spec.conformance.page.following import Moment, Run
from sfq_spec.conformance.page.scale import short
from sfq_spec.conformance.page.words import answered, expected, label

SHORT = 16
"""Events of a run whose table is open."""
DIGITS = 40
"""Letters of the longest number that stands there whole."""


def steps(run: Run, *, is_open: bool) -> str:
    """The table of what is drawn, which opens by a click; for the shortest run it is open where it is short."""
    named = picture(run, "").named
    header = ("event", "what", "answer", "due", "v", *(f"S of {user}" for user in named))
    rows = [tuple(_row(moment, named)) for moment in run.moments]
    opened = " open" if is_open and len(rows) <= SHORT else ""
    return f"<details class='plain'{opened}><summary>Event by event</summary>{table(header, rows, 'words')}</details>"


def _row(moment: Moment, named: tuple[str, ...]) -> Iterator[str]:
    number = f"{moment.first}" if moment.first == moment.last else f"{moment.first}–{moment.last}"
    bad = ["<span class='bad'>", "</span>"] if moment.is_wrong else ["", ""]
    lag = moment.told.lag
    told = answered(moment)
    if moment.told.refused is not UNSET:
        told = f"refused: {moment.told.refused}"
    if moment.is_wrong and lag is not UNSET:
        ahead = ", ".join(f"{user} {numbers.write(value)}" for user, value in sorted(lag.items()))
        told = f"{told}; lags: {ahead or 'none'}".lstrip("; ")
    yield number
    yield f"<code>{text(label(moment))}</code>"
    yield f"{bad[0]}{text(told)}{bad[1]}"
    yield text(expected(moment))
    yield short(moment.after.v, DIGITS)
    for user in named:
        yield short(moment.after.meter[user], DIGITS) if user in moment.after.meter else ""
