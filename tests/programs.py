"""Programs under LAS, and what they have attained."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from playing import Playing
from sfq_spec.related.halving import Halving
from sfq_spec.related.las import Las

SAMPLE = """\
plugins:
  - type: program-aware-fairness
    parameters:
      strategy: las
      lasWeightService: 0.8
      lasWeightHeadWait: 0.2
      lasHalfLifeSeconds: 60
      evictionTtlSeconds: 3600
      evictionSweepSeconds: 300

flowControl:
  defaultPriorityBand:
    fairnessPolicyRef: program-aware-fairness
"""
"""The sample of the second seed, as it stands there."""
NEVER = Fraction(0)
"""No half-life."""


def timeless(**parameters: Any) -> Playing:
    """LAS without decay."""
    return Playing(Las(half_life=NEVER, **parameters))


def attain(playing: Playing, services: dict[str, int]) -> None:
    """Let programs attain service, each by one request that is alone."""
    for name, tokens in services.items():
        if tokens:
            playing.arrive(f"{name}0")
            assert playing.send() == f"{name}0"
            playing.complete(f"{name}0", input_tokens=tokens)


def service(playing: Playing, name: str, time: Fraction | int | None = None) -> Halving:
    """What a program has attained, as it counts now or at a time."""
    las: Any = playing.scheduler.method
    now = playing.scheduler.situation.time if time is None else Fraction(time)
    found: Halving = las.service(playing.state, name, now)
    return found
