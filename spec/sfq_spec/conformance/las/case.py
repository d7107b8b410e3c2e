"""A vector of LAS: events with a clock, a mode with parameters, and what a policy must pick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from sfq_spec.conformance.case import Flag
from sfq_spec.conformance.las.model import Following, Mode, model
from sfq_spec.refusals import Refused
from sfq_spec.related.facts import Facts, read
from sfq_spec.related.method import MethodScheduler
from sfq_spec.trace import Answer, Dispatch, Event, decode

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
    """`cancel`, where a waiting request is withdrawn; `ties`, where a tie goes to the least id."""
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
    """A run in which rounding might decide: it is no vector."""


@dataclass(frozen=True)
class Line:
    """An event, with what its line tells beside it."""

    event: Event
    told: Facts


def lines(events: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The events of a case, read."""
    entries = [decode(msgspec.json.encode(event)) for event in events]
    return [Line(entry.event, read(entry.extra)) for entry in entries]


def answers(made: Following, events: Sequence[Line]) -> list[Answer]:
    """What a model answers; a wrong one may come to refuse what the right one would not."""
    scheduler, told = made.scheduler(made), []
    for line in events:
        try:
            told.append(scheduler.step(line.event, line.told))
        except Refused as refusal:
            told.append(Answer(refused=refusal.code))
    return told


def make(
    id: str,
    comment: str,
    mode: Mode,
    events: Sequence[Mapping[str, Any]],
    *,
    parameters: Mapping[str, float] | None = None,
    flags: Sequence[str] = (),
) -> LasCase:
    """The vector of some events, with the picks of the model. Raises `Unsure` where one of them is too close."""
    given = dict(parameters or {})
    made = model(mode, given, collected=False)
    scheduler, expected, required = MethodScheduler(made), list[Expected](), set[str]()
    for place, line in enumerate(lines(events)):
        told = scheduler.step(line.event, line.told)
        if isinstance(line.event, Dispatch):
            if told.dispatched is not None and made.near:
                raise Unsure(f"{id}: event {place + 1}: {told.dispatched} and {made.near} are too close")
            required |= {"ties"} if told.dispatched is not None and made.tied else set()
        required |= {"cancel"} if line.event.__struct_config__.tag == "cancel" else set()
        expected.append(Expected(told.dispatched))
    plain = tuple(dict(event) for event in events)
    return LasCase(id, comment, mode, given, tuple(flags), tuple(sorted(required)), plain, tuple(expected))


def bundled() -> LasVectors:
    """The vectors that come with the package."""
    data = resources.files("sfq_spec").joinpath("data/las_vectors.json").read_bytes()
    return msgspec.json.decode(data, type=LasVectors)
