"""The vocabulary: events, answers, refusals, and traces as JSON Lines (protocol, version 1).

A *script* is a file of events, one JSON object per line. A *trace* is the same with the answer of a scheduler
merged into each object. Numbers are exact. Fields that the protocol does not know are kept as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sfq_spec import numbers
from sfq_spec.refusals import (
    CODES,
    DuplicateRequest,
    InvalidCost,
    InvalidWeight,
    NotWaiting,
    Refused,
    UnknownRequest,
)

__all__ = [
    "CODES",
    "LONGEST_LINE",
    "Answer",
    "Arrive",
    "BadLine",
    "Cancel",
    "Complete",
    "Dispatch",
    "DuplicateRequest",
    "Entry",
    "Event",
    "InvalidCost",
    "InvalidWeight",
    "NotWaiting",
    "Outcome",
    "Readable",
    "Recost",
    "Refused",
    "SetWeight",
    "UnknownRequest",
    "Upkeep",
    "decode",
    "encode",
    "fields_of",
    "read",
]

LONGEST_LINE = 1 << 20
"""Bytes of the longest line that is read."""

if TYPE_CHECKING:
    Number = Fraction | float
    """Exact; a float only for NaN and the infinities, which are there to be refused."""
else:
    # What the document holds; `_exact` makes it a number. The form is told in the schemas.
    Number = Annotated[Any, Meta(extra_json_schema={"$ref": "#/$defs/Number"})]

Outcome = Literal["completed", "failed", "cancelled"]


def _exact(struct: msgspec.Struct, name: str) -> None:
    try:
        value = numbers.read(getattr(struct, name))
    except numbers.NotANumber as error:
        raise ValueError(f"field `{name}`: {error}") from None
    msgspec.structs.force_setattr(struct, name, value)


class Arrive(msgspec.Struct, frozen=True, tag_field="event", tag="arrive"):
    """A request of a user joins the end of the user's queue."""

    user: str
    """Whose request it is."""
    request: str
    """The id of the request, which no other request that waits or is in flight has."""
    cost: Number
    """What it is charged when it is dispatched; refused unless above zero and finite."""

    def __post_init__(self) -> None:
        _exact(self, "cost")


class Dispatch(msgspec.Struct, frozen=True, tag_field="event", tag="dispatch"):
    """There is room for one request: the scheduler says which."""


class Cancel(msgspec.Struct, frozen=True, tag_field="event", tag="cancel"):
    """A waiting request is withdrawn."""

    request: str
    """The id of the request."""


class Complete(msgspec.Struct, frozen=True, tag_field="event", tag="complete"):
    """A dispatched request has ended, one way or another."""

    request: str
    """The id of the request, which is free again."""
    outcome: Outcome = "completed"
    """How it has ended; it makes no difference to anybody's meter."""


class SetWeight(msgspec.Struct, frozen=True, tag_field="event", tag="weight"):
    """A user's share changes, from the next charge on."""

    user: str
    """Whose weight it is; it stays while the user is idle."""
    weight: Number
    """Costs are divided by it; refused unless above zero and finite."""

    def __post_init__(self) -> None:
        _exact(self, "weight")


class Recost(msgspec.Struct, frozen=True, tag_field="event", tag="cost"):
    """A waiting request gets a new estimate."""

    request: str
    """The id of the request."""
    cost: Number
    """What it is charged when it is dispatched; refused unless above zero and finite."""

    def __post_init__(self) -> None:
        _exact(self, "cost")


class Upkeep(msgspec.Struct, frozen=True, tag_field="event", tag="upkeep"):
    """A good moment to rebase or to forget."""


Event = Arrive | Dispatch | Cancel | Complete | SetWeight | Recost | Upkeep
KINDS = ("arrive", "dispatch", "cancel", "complete", "weight", "cost", "upkeep")


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a scheduler says to an event; empty where there is nothing to say."""

    dispatched: str | UnsetType | None = UNSET
    """The request that goes next; null where nobody waits. Only for `dispatch`."""
    refused: str | UnsetType = UNSET
    """The code of a refusal."""
    user: str | UnsetType = UNSET
    """The user of the dispatched request, in a trace."""
    cost: Number | UnsetType = UNSET
    """The cost charged for the dispatched request, in a trace."""
    lag: dict[str, Number] | UnsetType = UNSET
    """S − v of the users that the scheduler remembers."""

    def __post_init__(self) -> None:
        if self.cost is not UNSET:
            _exact(self, "cost")
        if self.lag is not UNSET:
            try:
                exact = {user: numbers.read(value) for user, value in self.lag.items()}
            except numbers.NotANumber as error:
                raise ValueError(f"field `lag`: {error}") from None
            msgspec.structs.force_setattr(self, "lag", exact)


@dataclass(frozen=True)
class Entry:
    """One line: the event, the answer that it carries, and the fields that are only passed on."""

    event: Event
    answer: Answer = Answer()
    extra: Mapping[str, Any] = field(default_factory=dict)


class BadLine(ValueError):
    """A line that is not an event. Names the line (from 1), the field where there is one, and the reason."""

    def __init__(self, line: int, field: str | None, reason: str) -> None:
        where = f"line {line}: " if line else ""
        super().__init__(where + (f"field `{field}`: " if field else "") + reason)
        self.line, self.field, self.reason = line, field, reason


_events: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event, float_hook=numbers.decimal)
_fields: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer, float_hook=numbers.decimal)
_ANSWER = ("dispatched", "refused", "lag")
_ANSWER_TO_DISPATCH = (*_ANSWER, "user", "cost")


class Readable(Protocol):
    """A binary file, as far as a reader needs one."""

    def readline(self, limit: int = ..., /) -> bytes:
        """The next line with its newline, cut at `limit` bytes; empty at the end."""


def read(stream: Readable) -> Iterator[Entry]:
    """The entries of a script or trace, one at a time. Empty lines are passed over.

    Raises `BadLine` at the first line that is not an event, is not UTF-8, is longer than `LONGEST_LINE`, or is
    the last one and cut off.
    """
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise BadLine(number, None, f"is longer than {LONGEST_LINE:,} bytes")
        if line.strip():
            yield decode(line, number)


def decode(line: bytes, number: int = 0) -> Entry:
    """The entry on one line. Raises `BadLine` under the given line number."""
    try:
        line.decode()
        event = _events.decode(line)
        extra: dict[str, Any] = dict(_fields.decode(line))
        for name in ("event", *event.__struct_fields__):
            extra.pop(name, None)
        names = _ANSWER_TO_DISPATCH if isinstance(event, Dispatch) else _ANSWER
        told = {name: extra.pop(name) for name in names if name in extra}
        answer = _answers.decode(msgspec.json.encode(told)) if told else Answer()
        return Entry(event, answer, extra)
    except UnicodeDecodeError as bad:
        raise BadLine(number, None, f"is not UTF-8 (byte {bad.start + 1})") from None
    except RecursionError:
        raise BadLine(number, None, "is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise _bad_line(line, number, error) from None


def encode(entry: Entry) -> bytes:
    """The line for an entry, with its newline."""
    return msgspec.json.encode(fields_of(entry.event) | _told(entry.answer) | dict(entry.extra)) + b"\n"


def fields_of(event: Event) -> dict[str, Any]:
    """The event as a JSON object."""
    return {"event": event.__struct_config__.tag} | _told(event)


def _told(struct: Event | Answer) -> dict[str, Any]:
    values = {name: getattr(struct, name) for name in struct.__struct_fields__}
    return {name: _plain(value) for name, value in values.items() if value is not UNSET}


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction | float):
        return numbers.write(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _bad_line(line: bytes, number: int, error: Exception) -> BadLine:
    text = str(error)
    if "truncated" in text and not line.rstrip().endswith(b"}"):
        return BadLine(number, None, "is cut off: it ends in the middle of a JSON object")
    if not isinstance(error, msgspec.ValidationError):
        return BadLine(number, None, f"is not JSON: {text.removeprefix('JSON is malformed: ')}")
    if at := re.fullmatch(r"field `(\w+)`: (.*)", text, re.DOTALL):
        return BadLine(number, at[1], at[2])
    if missing := re.fullmatch(r"Object missing required field `(\w+)`(.*)", text):
        return BadLine(number, missing[1], "is missing")
    reason, _, path = text.partition(" - at `$.")
    name = re.split(r"[.`\[]", path)[0] or None
    if name == "event":
        unknown = f"unknown event {reason.removeprefix('Invalid value ')}" if "'" in reason else "is not a text"
        reason = f"{unknown}: the events are {', '.join(KINDS)}"
    return BadLine(number, name, reason[0].lower() + reason[1:])
