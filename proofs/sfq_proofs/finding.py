"""What a search is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What an exhaustive search showed of some claims."""

    name: str
    claims: tuple[str, ...]
    holds: bool
    says: str
    refuted: tuple[str, ...] = ()
    """The wrong variants that it tells from the right one, by name."""


@dataclass(frozen=True)
class Search:
    """An exhaustive search, to be run."""

    name: str
    claims: tuple[str, ...]
    """The claims that it may say something of."""
    run: Callable[[], list[Finding]]
