"""The vectors of LAS: written by hand for each mode, and drawn; every pick is the exact model's."""

from __future__ import annotations

import msgspec

from sfq_spec.conformance.case import Flag
from sfq_spec.conformance.las.case import SCHEMA, LasVectors
from sfq_spec.conformance.las.catalogue import FAULTS, told_of
from sfq_spec.conformance.las.drawing import drawn
from sfq_spec.conformance.las.further import further
from sfq_spec.conformance.las.model import MODES
from sfq_spec.conformance.las.written import written

DRAWN = 8
"""Histories that are drawn for each mode."""


def flags() -> dict[str, Flag]:
    """Every kind of fault, by name."""
    return {name: Flag(*told_of(name), ()) for name in sorted(FAULTS)}


def vectors() -> LasVectors:
    """The whole file."""
    cases = [*written(), *further(), *(drawn(mode, seed) for mode in MODES for seed in range(DRAWN))]
    return LasVectors(SCHEMA, "las", flags(), tuple(cases))


def encoded() -> bytes:
    """The file, a case on each line."""
    made = msgspec.to_builtins(vectors())
    cases = ",\n".join(msgspec.json.encode(case).decode() for case in made.pop("cases"))
    head = msgspec.json.encode(made).decode()[:-1]
    return f'{head},"cases":[\n{cases}\n]}}\n'.encode()
