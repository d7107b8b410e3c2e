"""A vector: events, and what a scheduler must answer; with the file that holds them (protocol, "Vectors")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from sfq_spec import numbers
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import Answer, Event, decode, fields_of

SCHEMA = 1


class Expected(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is asserted of one answer; nothing is asserted of what is left out."""

    dispatched: str | UnsetType | None = UNSET
    """The request that goes next; null where nobody waits."""
    refused: str | UnsetType | None = UNSET
    """A code of the protocol. Left out where the event must be carried out."""
    lag: dict[str, int | str] | UnsetType = UNSET
    """S − v where it is above zero, for schedulers that tell."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One vector. Its id is a slug that never changes and is never used again."""

    id: str
    """A slug."""
    comment: str
    """What the case shows."""
    claims: tuple[str, ...]
    """Ids of the claims that it holds a scheduler to."""
    flags: tuple[str, ...]
    """Kinds of fault that it finds, by their names in `flags` of the file."""
    requires: tuple[str, ...]
    """Capabilities without which the case is skipped."""
    events: tuple[dict[str, Any], ...]
    """What happens, in order, to a fresh scheduler."""
    expect: tuple[Expected, ...]
    """What is asserted of each answer: one entry for each event."""

    def played(self) -> list[Event]:
        """The events."""
        return [decode(msgspec.json.encode(event)).event for event in self.events]


class Flag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of fault."""

    kind: str
    """What the mistake is."""
    effect: str
    """What goes wrong for users."""
    seen: tuple[str, ...]
    """Public reports."""


class Vectors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of vectors: runs, with what a scheduler must answer."""

    schema: int
    """The version of this format."""
    source: dict[str, str]
    """By what the file was made."""
    flags: dict[str, Flag]
    """The kinds of fault, by name."""
    cases: tuple[Case, ...]
    """The cases, of which no two have the same id."""


def make(
    id: str,
    comment: str,
    events: Sequence[Event],
    *,
    claims: Sequence[str] = (),
    flags: Sequence[str] = (),
    lag: bool = False,
) -> Case:
    """The vector of some events, with the answers of the machine."""
    state, expected = Machine(), []
    required = {"lag"} if lag else set[str]()
    for event in events:
        state, told = answer(state, event)
        expected.append(_expected(told, state.lag if lag else {}))
        required |= {*_NEEDS.get(str(event.__struct_config__.tag), ()), *_numbers(state)}
    plain = tuple(fields_of(event) for event in events)
    return Case(id, comment, tuple(claims), tuple(flags), tuple(sorted(required)), plain, tuple(expected))


def _numbers(state: Machine) -> Iterator[str]:
    """What kinds of number a scheduler must hold to follow: see `Capabilities.lacks`."""
    s = state.competition
    for number in (s.v, *s.meter.values(), *s.weight.values()):
        if number.denominator & (number.denominator - 1):
            yield "rational"
        elif number.denominator > 1:
            yield "fractions"
        if number.numerator.bit_length() > 53:
            yield "exact"


_NEEDS: Mapping[str, tuple[str, ...]] = {"cancel": ("cancel",), "weight": ("weights",), "cost": ("recost",)}


def _expected(told: Answer, lag: Mapping[str, Any]) -> Expected:
    ahead = {user: numbers.write(distance) for user, distance in sorted(lag.items()) if distance > 0}
    return Expected(told.dispatched, told.refused, ahead if ahead else UNSET)
