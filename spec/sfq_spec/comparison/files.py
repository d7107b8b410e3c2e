"""Workloads from files: what `sfq-spec import` reads, told by the header, or requests as JSON Lines.

A line of JSON Lines is a request, `{"time": 1.5, "user": "A", "input_tokens": 100, "output_tokens": 20}`, with `cost`
and `prefix` where it has them, or a user's weight, `{"user": "A", "weight": 2}`. The events `arrive` and `weight` of a
script have these fields; its other events are passed over, because who is served when is decided anew. A request with
a cost and no tokens holds a server as long as output tokens of that cost.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import PurePath

import msgspec

from sfq_spec import numbers
from sfq_spec.comparison.workload import BadWorkload, Workload
from sfq_spec.importers import FORMATS, azure
from sfq_spec.importers.pool import Pool, Prices
from sfq_spec.importers.rows import Arrival, in_order, lines, microseconds, named, whole
from sfq_spec.trace import BadLine, Readable

ARRIVALS = "arrivals"
"""The format of JSON Lines that is read here."""
MARKS = {"servegen": b"arrival_s", "azure": b"TIMESTAMP", "vtc": b"req_time", "mooncake": b'"hash_ids"'}
"""By what the first line of a format is known."""
TOKENS = ("input_tokens", "output_tokens")
COSTS_ALONE = (
    "A request with a cost and no tokens holds a server as long as output tokens of that cost: of a script, compare "
    "rather the file it was made from."
)
"""What is said where that is so: servers, waits and leads are others than with the tokens."""
PASSED_OVER = ("dispatch", "cancel", "complete", "cost", "upkeep")

_documents = msgspec.json.Decoder(float_hook=numbers.decimal)


@dataclass(frozen=True)
class Reading:
    """How a file becomes a workload."""

    pool: Pool = field(default_factory=Pool)
    prices: Prices = field(default_factory=Prices)
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """They come before those that the file tells."""
    users: int | None = None
    """Azure traces name no users: so many get the requests in turn."""
    first: int | None = None
    """So many requests at most."""


@dataclass
class _Told:
    """What JSON Lines tell beside the requests."""

    weights: dict[str, Fraction] = field(default_factory=dict)
    costs_alone: bool = False
    """A request has a cost and no tokens."""


def workload(name: str, data: bytes, how: Reading) -> Workload:
    """The workload in a file. Raises `BadLine`, and `BadWorkload` where nothing in it can be served."""
    format = format_of(name, data)
    told = _Told()
    if format == ARRIVALS:
        imported = in_order(_arrivals(io.BytesIO(data), how.prices, told))
    else:
        imported = FORMATS[format](io.BytesIO(data))
    if how.users is not None:
        if format != "azure":
            raise BadWorkload(f"{name}: only an azure trace is dealt out to users: {format} tells its users itself")
        imported = azure.deal(imported, how.users)
    sent = imported.arrivals[: how.first]
    name, title = PurePath(name).name, f"requests in the format {format}"
    about = "Requests as the file tells them; who is served when, each method decides anew."
    about += f" {COSTS_ALONE}" if told.costs_alone else ""
    return Workload(name, title, about, sent, (), {**told.weights, **how.weights}, how.pool, how.prices)


def format_of(name: str, data: bytes) -> str:
    """The format of a file, by its first line that is not empty. Raises `BadWorkload`."""
    first = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    for format, mark in MARKS.items():
        if mark in first:
            return format
    if first.startswith(b"{"):
        return ARRIVALS
    if not first:
        raise BadWorkload(f"{name}: there are no requests: the file is empty")
    raise BadWorkload(
        f"{name}: is no workload: its first line is neither the header of a format that `sfq-spec import` reads "
        f"({', '.join(FORMATS)}) nor a request as JSON"
    )


def _arrivals(stream: Readable, prices: Prices, told: _Told) -> list[Arrival]:
    """The requests; what else is told is noted. Raises `BadLine`."""
    arrivals = []
    for number, line in lines(stream):
        if not line.strip():
            continue
        row = _object(number, line)
        if row.get("event") in PASSED_OVER:
            continue
        if row.get("event", "arrive") not in ("arrive", "weight"):
            raise BadLine(number, "event", "is no event: a workload is told by arrive and weight")
        user = row.get("user")
        if not isinstance(user, str):
            raise BadLine(number, "user", "is missing" if user is None else "is not a text")
        named(number, "user", user)
        if "weight" in row:
            told.weights[user] = _positive(number, "weight", row["weight"])
        if row.get("event") != "weight" and not row.keys() <= {"event", "user", "weight"}:
            arrivals.append(_arrival(number, user, row, prices))
            told.costs_alone |= not row.keys() & set(TOKENS)
    return arrivals


def _arrival(line: int, user: str, row: dict[str, object], prices: Prices) -> Arrival:
    time = microseconds(line, "time", row.get("time", 0))
    cost = _positive(line, "cost", row["cost"]) if "cost" in row else None
    tokens = [whole(line, name, row.get(name, 0)) for name in TOKENS]
    if not row.keys() & set(TOKENS):
        if cost is None:
            raise BadLine(line, "cost", "is missing: a request has a cost, or input_tokens and output_tokens")
        tokens = [0, ceil(cost / max(1, prices.output_weight))]
    return Arrival(time, user, tokens[0], tokens[1], cost, _prefix(line, row.get("prefix", [])))


def _prefix(line: int, value: object) -> tuple[str | int, ...]:
    if isinstance(value, list) and all(type(block) in (int, str) for block in value):
        return tuple(value)
    raise BadLine(line, "prefix", "is not a list of numbers or texts")


def _positive(line: int, field: str, value: object) -> Fraction:
    try:
        number = numbers.read(value)
    except numbers.NotANumber as error:
        raise BadLine(line, field, str(error)) from None
    if not isinstance(number, Fraction) or number <= 0:
        raise BadLine(line, field, f"{value} is not above zero and finite")
    return number


def _object(number: int, line: str) -> dict[str, object]:
    try:
        row = _documents.decode(line)
    except RecursionError:
        raise BadLine(number, None, "is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise BadLine(number, None, f"is not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    if not isinstance(row, dict):
        raise BadLine(number, None, "is not a JSON object: a request has a user, a time and tokens or a cost")
    return row
