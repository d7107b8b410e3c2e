"""What a line may tell beside its event, for methods that need more than the cost at dispatch.

    time            seconds, on any line: the clock, which never goes back
    input_tokens    on `arrive`: the length of the prompt; on `complete`: as measured
    output_tokens   on `complete`: how many tokens were produced in all
    produced        on any line: output tokens since the line before, by request
    prefix          on `arrive`: the blocks of the prompt, first to last, as hashes or names

All are optional; a method says in its docstring which ones it uses, and what it does where they are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from sfq_spec import numbers
from sfq_spec.scheduler import SchedulerError


class BadFact(SchedulerError):
    """A field beside an event that cannot be read. The message names the field and what it must be."""


class _Told(msgspec.Struct):
    time: Any = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    produced: dict[str, int] = {}
    prefix: tuple[str | int, ...] = ()


_decoder: msgspec.json.Decoder[_Told] = msgspec.json.Decoder(_Told, float_hook=numbers.decimal)


@dataclass(frozen=True)
class Facts:
    """What a line told, read."""

    time: Fraction | None = None
    """Seconds."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    produced: Mapping[str, int] = field(default_factory=dict)
    prefix: tuple[str | int, ...] = ()


NOTHING = Facts()


def read(fields: Mapping[str, Any]) -> Facts:
    """The facts among the fields of a line; other fields are passed over. Raises `BadFact`."""
    known = {name: fields[name] for name in _Told.__struct_fields__ if name in fields}
    if not known:
        return NOTHING
    try:
        told = _decoder.decode(msgspec.json.encode(known))
        time = None if told.time is None else numbers.read(told.time)
    except numbers.NotANumber as error:
        raise BadFact(f"field `time`: {error}") from None
    except msgspec.MsgspecError as error:
        reason, _, path = str(error).partition(" - at `$.")
        raise BadFact(f"field `{path.rstrip('`') or 'beside the event'}`: {reason}") from None
    if isinstance(time, float):
        raise BadFact("field `time`: must be a finite number of seconds")
    counts = {"input_tokens": told.input_tokens or 0, "output_tokens": told.output_tokens or 0}
    counts |= {f"produced.{request}": tokens for request, tokens in told.produced.items()}
    for name, tokens in counts.items():
        if tokens < 0:
            raise BadFact(f"field `{name}`: {tokens} is below zero: tokens are counted from 0 up")
    return Facts(time, told.input_tokens, told.output_tokens, told.produced, told.prefix)
