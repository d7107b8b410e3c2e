"""What an adapter says, read; a message that the protocol does not know is told by its field, with what to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from sfq_spec import numbers
from sfq_spec.conformance.protocol import Hello, Told

Message = TypeVar("Message")
_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number with a point or exponent",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_EXAMPLES: dict[type, str] = {
    Hello: '{"protocol": 1, "implementation": {"name": "my-sfq"}, "capabilities": {}}',
    Told: '{"seq": 1, "answers": [{}, {"dispatched": "A1"}]}, the seq as it was asked',
}
_ERRORS = re.compile(r"(?P<reason>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)


class BadMessage(ValueError):
    """A line that is not the message which was expected. Names the field, and what to write there."""


def hello(line: bytes) -> Hello:
    """The answer to `start`. Raises `BadMessage`."""
    return read(_hello, Hello, line)


def told(line: bytes) -> Told:
    """The answer to `run`. Raises `BadMessage`."""
    return read(_told, Told, line)


def read(decode: Callable[[bytes], Message], kind: type[Message], line: bytes, example: str = "") -> Message:
    """A message of some kind; the example is told where a field is missing. Raises `BadMessage`."""
    try:
        return decode(line)
    except msgspec.ValidationError as error:
        raise BadMessage(_told_plainly(str(error), kind, example or _EXAMPLES[kind])) from None
    except msgspec.DecodeError as error:
        hint = '; write "nan" and "inf", in quotes' if re.search(rb"[:,\[]\s*-?(NaN|Infinity)", line) else ""
        raise BadMessage(f"is not JSON: {str(error).removeprefix('JSON is malformed: ')}{hint}") from None
    except UnicodeDecodeError:
        raise BadMessage("is not UTF-8") from None
    except RecursionError:
        raise BadMessage("is nested too deeply") from None


def _told_plainly(error: str, kind: type, example: str) -> str:
    found = _ERRORS.fullmatch(error)
    assert found is not None
    reason, path = found["reason"], found["path"] or ""
    at = f"`{path}`: " if path else ""
    if missing := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return f"field `{_below(path, missing[1])}` is missing: write {example}"
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", reason, re.DOTALL):
        known = ", ".join(f"`{name}`" for name in _fields(kind, path))
        return f"field `{_below(path, unknown[1])}` is not known: the fields there are {known}"
    if wrong := re.fullmatch(r"Invalid enum value (.*)", reason, re.DOTALL):
        values = ", ".join(str(value) for value in _values(kind, path))
        return f"field {at}{wrong[1]} is none of {values}"
    if wrong := re.fullmatch(r"Expected `(.*)`, got `(.*)`", reason):
        expected = " or ".join(_WORDS.get(word, word) for word in wrong[1].split(" | "))
        return f"{'field ' if at else ''}{at}must be {expected}, and is {_WORDS.get(wrong[2], wrong[2])}"
    if number := re.fullmatch(r"field `(\w+)`: (.*)", reason, re.DOTALL):
        return f"field `{_below(path, number[1])}`: {number[2]}"
    return f"{'field ' if at else ''}{at}{reason[:1].lower()}{reason[1:]}"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _type(kind: type, path: str) -> msgspec.inspect.Type:
    """The type of what stands at a path, such as `capabilities.ties` or `answers[1]`."""
    found = msgspec.inspect.type_info(kind)
    for step in re.findall(r"\w+|\[", re.sub(r"\[[^\]]*\]", "[", path)):
        match found:
            case msgspec.inspect.StructType(fields=fields):
                found = next(field.type for field in fields if field.name == step)
            case msgspec.inspect.VarTupleType(item_type=inner):
                found = inner
            case _:
                break
        if isinstance(found, msgspec.inspect.UnionType):
            found = found.types[0]
    return found


def _fields(kind: type, path: str) -> list[str]:
    found = _type(kind, path)
    return [field.encode_name for field in found.fields] if isinstance(found, msgspec.inspect.StructType) else []


def _values(kind: type, path: str) -> list[object]:
    found = _type(kind, path)
    return list(found.values) if isinstance(found, msgspec.inspect.LiteralType) else []


_hello = msgspec.json.Decoder(Hello).decode
_told = msgspec.json.Decoder(Told, float_hook=numbers.decimal).decode
