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
    """Its name, as reports show it."""
    version: str = ""
    """Its version."""
    language: str = ""
    """The programming language that it is written in."""


class Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the scheduler can do. A case that needs what is off is skipped, and counted as skipped."""

    cancel: bool = False
    """Whether a waiting request can be withdrawn: `cancel`."""
    weights: bool = False
    """Whether users have weights: `weight`."""
    recost: bool = False
    """Whether a waiting request can get a new estimate: `cost`."""
    lag: bool = False
    """Whether each answer tells `lag`."""
    ties: Literal["user-id", "any"] = "user-id"
    """Whom a tie goes to: the least user id, by code point; or any user of least meter."""
    numbers: Literal["integer", "rational", "binary64"] = "integer"
    """What meters are: exact integers, exact fractions, or binary floats of 64 bits."""

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
    """The version of the protocol that the adapter speaks."""
    implementation: Implementation
    """Who is under test."""
    capabilities: Capabilities = Capabilities()
    """What the scheduler can do."""


class Reply(Answer, frozen=True, forbid_unknown_fields=True):
    """The answer to one event, as an adapter gives it: a field that is misspelt is not passed over."""


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to `run`: answers, or why there are none."""

    seq: int
    """The number of the `run` that is answered."""
    answers: tuple[Reply, ...] | UnsetType = UNSET
    """One for each event, in the same order."""
    skipped: str | UnsetType = UNSET
    """Why the adapter does not take part in this case."""
    errored: str | UnsetType = UNSET
    """What went wrong in the scheduler, in place of answers: the case fails."""
    issue: str | UnsetType = UNSET
    """Where a skip is explained."""


class Start(msgspec.Struct, frozen=True, tag_field="cmd", tag="start", forbid_unknown_fields=True):
    """The first message, which asks who is there."""

    protocol: int
    """The version of the protocol that is spoken."""


class Run(msgspec.Struct, frozen=True, tag_field="cmd", tag="run", forbid_unknown_fields=True):
    """The message that asks for one case, to be played by a fresh scheduler."""

    seq: int
    """The number of the message, which its answer repeats."""
    id: str
    """The case, for the adapter to name in its own reports."""
    events: list[dict[str, Any]]
    """What happens, in order."""


class Stop(msgspec.Struct, frozen=True, tag_field="cmd", tag="stop", forbid_unknown_fields=True):
    """The last message: the adapter ends."""


START: dict[str, Any] = msgspec.to_builtins(Start(VERSION))
STOP: dict[str, Any] = msgspec.to_builtins(Stop())


def run(seq: int, id: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that asks for one case."""
    message: dict[str, Any] = msgspec.to_builtins(Run(seq, id, events))
    return message
