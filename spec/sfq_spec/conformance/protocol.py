"""The adapter protocol, version 1: what is said to a scheduler under test, and what it says (protocol, "Adapter").

Newline-delimited JSON on standard input and output of one process. The structs here are the contract: they read the
messages, and the JSON Schemas that are shipped are made from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sfq_spec.trace import Answer

VERSION = 1


class Implementation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is under test."""

    name: str
    version: str = ""
    language: str = ""


class Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the scheduler can do. A case that needs what is off is skipped, and counted as skipped."""

    cancel: bool = False
    weights: bool = False
    recost: bool = False
    lag: bool = False
    ties: Literal["user-id", "any"] = "user-id"
    """Whom a tie goes to: the least user id, by code point; or any user of least meter."""
    numbers: Literal["integer", "rational", "binary64"] = "integer"

    def lacks(self, requires: Iterable[str]) -> tuple[str, ...]:
        """Those of the requirements of a case that are not met.

        Besides the capabilities there are `fractions`, which rationals and binary floats hold; `rational`, for
        thirds and the like; and `exact`, for more than 53 bits.
        """
        numbers = {
            "fractions": self.numbers != "integer",
            "rational": self.numbers == "rational",
            "exact": self.numbers != "binary64",
        }
        return tuple(name for name in requires if not numbers.get(name, getattr(self, name, False)))


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to `start`."""

    protocol: int
    implementation: Implementation
    capabilities: Capabilities = Capabilities()


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to `run`: answers, or why there are none."""

    seq: int
    answers: tuple[Answer, ...] | UnsetType = UNSET
    skipped: str | UnsetType = UNSET
    errored: str | UnsetType = UNSET
    issue: str | UnsetType = UNSET
    """Where a skip is explained."""


START = {"cmd": "start", "protocol": VERSION}
STOP = {"cmd": "stop"}


def run(seq: int, id: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that asks for one case."""
    return {"cmd": "run", "seq": seq, "id": id, "events": events}
