"""The formats as JSON Schemas (2020-12), made from the typed structs that read them and from their docstrings.

What this project writes is described by schemas that are closed: a field which they do not know is an error. What it
reads may hold more where the protocol says so: further fields in a line of a trace, and in an adapter's answer to an
event, are kept and ignored. `trace` is therefore the line to write, and `trace-read` the line that is read.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from importlib import resources
from itertools import pairwise
from typing import Any, get_args

import msgspec

from sfq_spec.conformance import case, protocol
from sfq_spec.numbers import LONGEST
from sfq_spec.trace import CODES, Answer, Dispatch, Event

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION = 1
"""Part of each `$id`; a change after which a document is no longer valid, or has another meaning, raises it."""

Schema = dict[str, Any]

_ENDING = ".json"
_FINITE = r"[+-]?([0-9]+/0*[1-9][0-9]*|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?(0?[0-9]{1,3}|1000))?)"
_NOT_FINITE = r"[+-]?([nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)"

NUMBER: Schema = {
    "title": "Number",
    "description": (
        "An exact number: in JSON, or as a text that holds an integer, a decimal or a fraction. A JSON float is read "
        "as the decimal that it is written as. NaN and the infinities are texts too, and are there to be refused. "
        f"No number has more than {LONGEST:,} digits."
    ),
    "anyOf": [
        {"type": "number"},
        # Some dialects of patterns let `$` match before a line break at the end.
        {
            "type": "string",
            "maxLength": LONGEST,
            "pattern": f"^({_FINITE}|{_NOT_FINITE})$",
            "not": {"pattern": "[\\r\\n]"},
        },
    ],
    "examples": [3, "1/3", "0.5", "nan"],
}
TIME: Schema = {
    "description": "When the event happened; the rules do not look at it.",
    "type": ["number", "string"],
}
_CODE: Schema = {"type": "string", "enum": list(CODES)}


def names() -> tuple[str, ...]:
    """The names of the schemas."""
    return tuple(_MADE)


def bundled(name: str) -> bytes:
    """A schema that comes with the package, as it stands in its file. Raises `KeyError` where there is none."""
    if name not in _MADE:
        raise KeyError(name)
    return resources.files("sfq_spec").joinpath("data", "schemas", name + _ENDING).read_bytes()


def encoded() -> dict[str, bytes]:
    """The files, made again, by their names."""
    made = {
        name: {"$schema": DIALECT, "$id": f"urn:sfq-spec:{VERSION}:{name}"} | make() for name, make in _MADE.items()
    }
    return {
        name + _ENDING: json.dumps(schema, indent=2, ensure_ascii=False).encode() + b"\n"
        for name, schema in made.items()
    }


def _hello() -> Schema:
    found = _of(protocol.Hello)
    found["$defs"]["Hello"]["properties"]["protocol"] |= {"const": protocol.VERSION}
    return found


def _start() -> Schema:
    found = _of(protocol.Start)
    found["$defs"]["Start"]["properties"]["protocol"] |= {"const": protocol.VERSION}
    return found


def _run() -> Schema:
    found = _of(protocol.Run)
    found["$defs"]["Run"]["properties"]["events"]["items"] = {"$ref": "#/$defs/Event"}
    return _with_events(found)


def _told() -> Schema:
    found = _of(protocol.Told, with_number=True)
    found["$defs"]["Told"]["oneOf"] = [{"required": [part]} for part in ("answers", "skipped", "errored")]
    found["$defs"]["Reply"]["properties"]["refused"] |= _CODE
    return found


def _vectors() -> Schema:
    found = _of(case.Vectors)
    defs = found["$defs"]
    defs["Vectors"]["properties"]["schema"] |= {"const": case.SCHEMA}
    defs["Case"]["properties"]["id"] |= {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
    defs["Case"]["properties"]["events"]["items"] = {"$ref": "#/$defs/Event"}
    defs["Expected"]["properties"]["lag"]["additionalProperties"] = {"$ref": "#/$defs/Number"}
    defs["Expected"]["properties"]["refused"] |= {"enum": list(CODES)}
    return _with_events(found)


def _trace(*, closed: bool) -> Schema:
    """A line: an event, with the answer merged into it."""
    defs: dict[str, Schema] = {}
    told = _of(Answer)["$defs"]["Answer"]["properties"]
    if closed:
        told["refused"] |= _CODE
    for name, schema in _events().items():
        to_dispatch = name == Dispatch.__name__
        fields = ["refused", "lag"] + ["dispatched"] * (to_dispatch or not closed) + ["user", "cost"] * to_dispatch
        properties = schema["properties"] | {field: told[field] for field in fields}
        if closed:
            properties |= {"time": TIME}
        defs[name] = schema | {"properties": properties, "additionalProperties": not closed}
    description = "An event, with the answer of a scheduler merged into it"
    description += "." if closed else ", as it is read: further fields are kept and ignored."
    title = "Line of a trace" if closed else "Line of a trace, as it is read"
    return {"title": title, "description": description, "oneOf": _each(defs), "$defs": defs | {"Number": NUMBER}}


_MADE: Mapping[str, Callable[[], Schema]] = {
    "trace": lambda: _trace(closed=True),
    "trace-read": lambda: _trace(closed=False),
    "vectors": _vectors,
    "start": _start,
    "hello": _hello,
    "run": _run,
    "told": _told,
    "stop": lambda: _of(protocol.Stop),
}


def _of(struct: type[msgspec.Struct], *, with_number: bool = False) -> Schema:
    """The schema of a struct, and of those in it, with all fields described."""
    (top,), defs = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    for found in _structs(struct):
        described = _docstrings(found)
        for field, schema in defs[found.__name__]["properties"].items():
            if field in described:
                schema["description"] = described[field]
    told = {part: defs[struct.__name__][part] for part in ("title", "description")}
    return told | top | {"$defs": defs | ({"Number": NUMBER} if with_number else {})}


def _events() -> dict[str, Schema]:
    """The schemas of the events, closed, by the names of their structs."""
    found = {}
    for event in get_args(Event):
        schema = _of(event)["$defs"][event.__name__]
        schema["properties"]["event"]["description"] = "The kind of event."
        found[event.__name__] = schema | {"additionalProperties": False}
    return found


def _with_events(schema: Schema) -> Schema:
    events = _events()
    event = {"title": "Event", "description": "What happens to a scheduler.", "oneOf": _each(events)}
    return schema | {"$defs": schema["$defs"] | {"Event": event} | events | {"Number": NUMBER}}


def _each(defs: Mapping[str, Schema]) -> list[Schema]:
    return [{"$ref": f"#/$defs/{name}"} for name in defs]


def _structs(top: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """A struct and those in it."""
    found: list[type[msgspec.Struct]] = []

    def look(kind: msgspec.inspect.Type) -> None:
        match kind:
            case msgspec.inspect.StructType(cls=cls, fields=fields) if cls not in found:
                found.append(cls)
                for field in fields:
                    look(field.type)
            case msgspec.inspect.UnionType(types=types):
                for one in types:
                    look(one)
            case msgspec.inspect.DictType(value_type=inner) | msgspec.inspect.VarTupleType(item_type=inner):
                look(inner)
            case _:
                pass

    look(msgspec.inspect.type_info(top))
    return found


def _docstrings(struct: type[msgspec.Struct]) -> dict[str, str]:
    """The text below each field, in one line; of inherited fields too."""
    found = {"cmd": "The kind of message."}
    for kind in reversed(struct.__mro__):
        if issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct:
            found |= _own_docstrings(kind)
    return found


def _own_docstrings(struct: type[msgspec.Struct]) -> dict[str, str]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in pairwise(body.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found
