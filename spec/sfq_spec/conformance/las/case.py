"""A vector of LAS: events with a clock, a mode with parameters, and what a policy must pick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from sfq_spec.conformance.case import Flag
from sfq_spec.conformance.las.model import Following, Mode, model
from sfq_spec.conformance.las.player import Player
from sfq_spec.refusals import Refused
from sfq_spec.related.facts import Facts, read
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event, Upkeep, decode

SCHEMA = 1


class Expected(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is asserted of one answer; nothing of an event that is no dispatch."""

    dispatched: str | UnsetType | None = UNSET
    """The request that goes next; null where nobody waits."""


class LasCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One vector. Its id is a slug that never changes and is never used again."""

    id: str
    """A slug."""
    comment: str
    """What the case shows."""
    mode: Mode
    """The version that it is for: `compatibility` among the parameters of the policy here."""
    parameters: dict[str, float]
    """Parameters, named as in a configuration; what is left out is as the mode has it."""
    flags: tuple[str, ...]
    """Kinds of fault that it finds."""
    requires: tuple[str, ...]
    """`cancel`, where a waiting request is withdrawn; `ties`, where a tie goes to the least id; `priorities`."""
    events: tuple[dict[str, Any], ...]
    """What happens, in order, to a fresh policy; each event has its `time`."""
    expect: tuple[Expected, ...]
    """One entry for each event."""


class LasVectors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of the vectors of LAS."""

    schema: int
    """The version of this format."""
    policy: str
    """`las`."""
    flags: dict[str, Flag]
    """The kinds of fault, by name."""
    cases: tuple[LasCase, ...]
    """The cases, of which no two have the same id."""


class Unsure(ValueError):
    """A run that is no vector: rounding might decide, a sweep is missing, or something ends that was never sent."""


@dataclass(frozen=True)
class Line:
    """An event, with what its line tells beside it."""

    event: Event
    told: Facts
    priority: int = 0
    """Of an arrival: at which priority it waits."""


def lines(events: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The events of a case, read."""
    entries = [(decode(msgspec.json.encode(event)), event.get("priority", 0)) for event in events]
    return [Line(entry.event, read(entry.extra), priority) for entry, priority in entries]


def play(made: Following, events: Sequence[Line]) -> Iterator[Answer]:
    """The answers of a model, one by one. Raises a `Refused`, which leaves everything as it was."""
    player = Player(made)
    for line in events:
        if isinstance(line.event, Arrive):
            made.priorities[line.event.request] = line.priority
        try:
            yield player.step(line.event, line.told)
        except Refused as refusal:
            yield Answer(refused=refusal.code)


def answers(made: Following, events: Sequence[Line]) -> list[Answer]:
    """What a model answers; a wrong one may come to refuse what the right one would not."""
    return list(play(made, events))


def make(
    id: str,
    comment: str,
    mode: Mode,
    events: Sequence[Mapping[str, Any]],
    *,
    parameters: Mapping[str, float] | None = None,
    flags: Sequence[str] = (),
) -> LasCase:
    """The vector of some events, with the picks of the model.

    Raises `Unsure` where one of them is too close, or where the events are none that an adapter is to be sent.
    """
    given = dict(parameters or {})
    made, read_ = model(mode, given, collected=False), lines(events)
    expected, required = list[Expected](), set[str]()
    _check_sweeps(id, read_, made.sweep)
    for place, (line, told) in enumerate(zip(read_, play(made, read_), strict=True)):
        if isinstance(told.refused, str):
            raise Unsure(f"{id}: event {place + 1}: refused with {told.refused}")
        if isinstance(line.event, Dispatch):
            if isinstance(told.dispatched, str) and made.near:
                raise Unsure(f"{id}: event {place + 1}: {told.dispatched} and {made.near} are too close")
            required |= {"ties"} if isinstance(told.dispatched, str) and made.tied else set()
        required |= {"cancel"} if isinstance(line.event, Cancel) else set()
        required |= {"priorities"} if line.priority else set()
        expected.append(Expected(told.dispatched))
    _check_ends(id, read_, expected)
    plain = tuple(dict(event) for event in events)
    return LasCase(id, comment, mode, given, tuple(flags), tuple(sorted(required)), plain, tuple(expected))


def _check_sweeps(id: str, events: Sequence[Line], sweep: Fraction) -> None:
    """The model sweeps at whole multiples of the interval, an adapter at each `upkeep`: these must be the same times.

    Of several that have become due between two events the last is enough. Raises `Unsure`.
    """
    swept = 0
    for place, line in enumerate(events):
        number = (line.told.time or 0) // sweep
        if isinstance(line.event, Upkeep):
            if number * sweep != (line.told.time or 0):
                raise Unsure(f"{id}: event {place + 1}: a sweep between two multiples of {sweep} s")
            swept = number
        elif number != swept:
            raise Unsure(f"{id}: event {place + 1}: a sweep was due at {number * sweep} s")


def _check_ends(id: str, events: Sequence[Line], expected: Sequence[Expected]) -> None:
    """Only what was sent may end, if more than once. Raises `Unsure`."""
    sent = set[str]()
    for place, (line, told) in enumerate(zip(events, expected, strict=True)):
        if isinstance(told.dispatched, str):
            sent.add(told.dispatched)
        elif isinstance(line.event, Arrive):
            sent.discard(line.event.request)
        elif isinstance(line.event, Complete) and line.event.request not in sent:
            raise Unsure(f"{id}: event {place + 1}: {line.event.request} was not sent, and cannot end")


def bundled() -> LasVectors:
    """The vectors that come with the package."""
    data = resources.files("sfq_spec").joinpath("data/las_vectors.json").read_bytes()
    return msgspec.json.decode(data, type=LasVectors)
