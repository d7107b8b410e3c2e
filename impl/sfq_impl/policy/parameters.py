"""The parameters of each type of plugin: defaults, ranges, and the words in which a wrong one is refused.

Names are those of the original (seed, "Configuration"). Three are not in it, and are marked as such.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

PROGRAM_AWARE = "program-aware-fairness"
SETTLED = "program-aware-settled-fairness"
SFQ = "sfq-fairness"
ROUND_ROBIN = "round-robin-fairness"
GLOBAL_STRICT = "global-strict-fairness"

Compatibility = Literal["none", "release-0.10", "development-2026-08"]
"""What is reproduced.

    release-0.10         the releases 0.9 and 0.10, which the seed describes: what is idle decays only where a pick
                         comes by its empty queue, and adding to a service forfeits the decay that was due
    development-2026-08  the development version of August 2026: decay by the clock, always
    none                 the same decay, and none of the faults: a request is in flight until it ends, once
"""
Abandoned = Literal["reported", "estimate", "nothing"]
"""What a request is charged that failed or was given up."""

FACTOR = 0.99997
HALF_LIFE = 60.0


class BadParameter(ValueError):
    """A parameter that cannot be used. Names the plugin, the field, its value, and what would be right."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Of a plugin that has none."""

    def unknown(self) -> str:
        """What the version that is asked for does not know; empty where it knows everything."""
        return ""

    def check(self) -> str:
        """What is wrong; empty where nothing is."""
        return ""


class Memory(Parameters, frozen=True):
    """How long programs are remembered, and shown."""

    eviction_ttl_seconds: float = 3600
    """An idle program is forgotten once its last completion is longer ago; 0: never."""
    eviction_sweep_seconds: float = 300
    """How often that is looked for."""
    metrics_programs: int = 0
    """Not in the original: how many programs have metrics of their own, the others are `other`; 0: all."""

    def check(self) -> str:
        """What is wrong."""
        return (
            _least("evictionTtlSeconds", self.eviction_ttl_seconds)
            or _above("evictionSweepSeconds", self.eviction_sweep_seconds)
            or _least("metricsPrograms", self.metrics_programs)
        )


class ProgramAware(Memory, frozen=True):
    """Of `program-aware-fairness`."""

    strategy: str = "las"
    """The strategy: `las`."""
    las_weight_service: float = 0.8
    """What little service counts in the score."""
    las_weight_head_wait: float = 0.2
    """What the wait of the oldest request counts."""
    las_decay_factor: float | None = None
    """What a pick leaves of the service of an idle program, where there is no half-life."""
    las_half_life_seconds: float | None = None
    """In how many seconds attained service halves; 0: never."""
    compatibility: Compatibility = "none"
    """Not in the original: which version is reproduced, faults included."""
    charge_abandoned: Abandoned = "reported"
    """Not in the original: what a request is charged that failed or was given up."""

    @property
    def half_life(self) -> float:
        """Seconds; 0 is none. Where nothing is said it depends on the version, and on whether there is a factor."""
        if self.las_half_life_seconds is not None:
            return self.las_half_life_seconds
        without = self.compatibility == "release-0.10" or self.las_decay_factor is not None
        return 0.0 if without else HALF_LIFE

    @property
    def factor(self) -> float:
        """What a pick leaves, 1 for everything; it counts only where there is no half-life."""
        if self.half_life:
            return 1.0
        if self.las_decay_factor is not None:
            return self.las_decay_factor
        return FACTOR if self.compatibility == "release-0.10" else 1.0

    def unknown(self) -> str:
        """The development version has no factor."""
        if self.las_decay_factor is None or self.compatibility != "development-2026-08":
            return ""
        return f"unknown field `lasDecayFactor`: {self.compatibility} has none; use lasHalfLifeSeconds"

    def check(self) -> str:
        """What is wrong."""
        return (
            super().check()
            or _least("lasWeightService", self.las_weight_service)
            or _least("lasWeightHeadWait", self.las_weight_head_wait)
            or self._check_factor()
            or _least("lasHalfLifeSeconds", self.las_half_life_seconds or 0)
            or self._check_rest()
        )

    def _check_factor(self) -> str:
        factor = self.las_decay_factor
        if factor is None:
            return ""
        if not 0 < factor <= 1:
            return f"lasDecayFactor must be in (0, 1], got {_shown(factor)}"
        if self.compatibility == "none" and self.las_half_life_seconds:
            return "lasDecayFactor counts only where lasHalfLifeSeconds is 0: leave one of them out"
        return ""

    def _check_rest(self) -> str:
        if self.strategy not in ("", "las"):
            return f'unknown scoring strategy "{self.strategy}": only "las" is supported'
        if self.compatibility != "none" and self.charge_abandoned != "reported":
            return f'chargeAbandoned must be "reported" with compatibility {self.compatibility}'
        return ""


class Settled(Memory, frozen=True):
    """Of `program-aware-settled-fairness`, which is not in the original."""

    las_half_life_seconds: float = HALF_LIFE
    """In how many seconds attained service halves; 0: never."""
    charge_abandoned: Abandoned = "estimate"
    """What a request is charged that failed or was given up; the estimate stands where nothing else is known."""

    def check(self) -> str:
        """What is wrong."""
        return super().check() or _least("lasHalfLifeSeconds", self.las_half_life_seconds)


P = TypeVar("P", bound=Parameters)


def read(kind: type[P], type_name: str, name: str, given: Mapping[str, Any] | None) -> P:
    """The parameters of a plugin; one that is null is as if it were not there. Raises `BadParameter`."""
    where = f'{type_name} plugin "{name}"'
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    try:
        said = {field: value for field, value in (given or {}).items() if value is not None or field not in known}
        made = msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        raise BadParameter(f"invalid config for {where}: {_plainly(str(error), kind, given or {})}") from None
    if unknown := made.unknown():
        raise BadParameter(f"invalid config for {where}: {unknown}")
    if wrong := made.check():
        raise BadParameter(f"{where}: {wrong}")
    return made


def _plainly(error: str, kind: type[msgspec.Struct], given: Mapping[str, Any]) -> str:
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", error, re.DOTALL):
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
        close = difflib.get_close_matches(unknown[1], known, 1)
        there = ", ".join(known) or "none"
        meant = f"did you mean {close[0]}?" if close else f"the fields are: {there}"
        return f"unknown field `{unknown[1]}`: {meant}"
    reason, _, path = error.partition(" - at `$.")
    field = path.rstrip("`")
    return f"field `{field}`: {reason[:1].lower()}{reason[1:]}, got {given.get(field)!r}"


def _least(field: str, value: float) -> str:
    return _number(field, value, lambda number: number >= 0, ">= 0")


def _above(field: str, value: float) -> str:
    return _number(field, value, lambda number: number > 0, "> 0")


def _number(field: str, value: float, is_right: Callable[[float], bool], rule: str) -> str:
    if not is_right(value) or math.isinf(value):
        return f"{field} must be {rule}{' and finite' if math.isinf(value) and value > 0 else ''}, got {_shown(value)}"
    return ""


def _shown(value: float) -> str:
    """A number with all its digits, and without a point where it is whole."""
    return repr(value).removesuffix(".0")
