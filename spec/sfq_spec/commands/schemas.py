"""`sfq-spec schema`: the formats as JSON Schemas."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from sfq_spec import schemas
from sfq_spec.commands.console import Failure, copy


class Action(StrEnum):
    """What to do with the schemas."""

    LIST = "list"
    SHOW = "show"
    COPY = "copy"


def schema(
    action: Annotated[Action, typer.Argument(help="list them, show one, or copy them all.")],
    what: Annotated[str, typer.Argument(metavar="[NAME|FOLDER]", help="The schema to show, or where to copy.")] = "",
) -> None:
    """The formats as JSON Schemas (2020-12): lines of a trace, vectors, and the messages of the adapter protocol.

    \b
    Examples:
      sfq-spec schema list
      sfq-spec schema show told
      sfq-spec schema copy tests/data
    """
    match action:
        case Action.LIST:
            for name in schemas.names():
                print(f"{name:12} {json.loads(schemas.bundled(name))['description']}")
        case Action.SHOW:
            if what not in schemas.names():
                raise Failure(f"there is no schema {what!r}: the schemas are {', '.join(schemas.names())}")
            sys.stdout.write(schemas.bundled(what).decode())
        case Action.COPY:
            copy({f"sfq-{name}.schema.json": schemas.bundled(name) for name in schemas.names()}, what)
