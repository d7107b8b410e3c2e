"""A claim: one checkable sentence, and how strong its evidence is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["P", "X", "T", "E"]
LEVELS: dict[Level, str] = {"P": "proved", "X": "exhausted", "T": "tested", "E": "erratum"}


@dataclass(frozen=True)
class Claim:
    """One checkable sentence."""

    id: str
    level: Level
    seed: str
    """Where it stands."""
    says: str
    formula: str
    """The same in plain mathematics. W is the sum of charges in the interval [t1, t2], δ = c/w, last the latest δ."""
    definition: str
    """The predicate that is proved and checked, `module.name` in `sfq_spec`."""
