"""The adapter protocol for a library in Python: what every adapter of this folder shares.

An adapter runs in the environment of its library, with another Python than the rest of the project if need be, so this
module needs nothing but the standard library. A scheduler is a class as docs/validate.md describes it; it is made from
the events of a run, because some libraries want to know their users beforehand. What it cannot be asked it skips.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.metadata import version
from typing import Any, Protocol

Event = dict[str, Any]
Number = int | float | Fraction


class Refused(Exception):
    """An event is refused, with the code of the protocol that its text is."""


class Skipped(Exception):
    """The library does not claim what this run asks of it; the text says why."""


class Library(Protocol):
    """A library, with its names turned into those of the protocol."""

    def arrive(self, user: str, request: str, cost: Number) -> None:
        """A request joins the end of its user's queue."""

    def dispatch(self) -> str | None:
        """The request that goes next."""

    def cancel(self, request: str) -> None:
        """A waiting request is withdrawn."""

    def complete(self, request: str) -> None:
        """A dispatched request has ended."""

    def close(self) -> None:
        """The run is over."""


def number(value: int | str) -> Number:
    """Reads a number of the protocol: an integer, or a text such as "1/3", "0.5" or "nan"."""
    if value in ("nan", "inf", "-inf"):
        return float(value)
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else exact


def serve(package: str, capabilities: dict[str, object], start: Callable[[Sequence[Event]], Library]) -> None:
    """Answers the messages on standard input, until the last one."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            break
        if message["cmd"] == "start":
            who = {"name": package, "version": version(package), "language": "python"}
            told: dict[str, Any] = {"protocol": 1, "implementation": who, "capabilities": capabilities}
        else:
            told = {"seq": message["seq"], **_run(start, message["events"])}
        print(json.dumps(told), flush=True)


def _run(start: Callable[[Sequence[Event]], Library], events: Sequence[Event]) -> dict[str, Any]:
    try:
        library = start(events)
    except Skipped as skipped:
        return {"skipped": str(skipped)}
    try:
        return {"answers": [_answer(library, event) for event in events]}
    finally:
        library.close()


def _answer(library: Library, event: Event) -> dict[str, Any]:
    try:
        match event["event"]:
            case "arrive":
                library.arrive(event["user"], event["request"], number(event["cost"]))
            case "dispatch":
                return {"dispatched": library.dispatch()}
            case "cancel":
                library.cancel(event["request"])
            case "complete":
                library.complete(event["request"])
            case "upkeep":
                pass
            case other:
                raise NotImplementedError(other)
    except Refused as refused:
        return {"refused": str(refused)}
    return {}
