"""`sfq-spec schema`: the formats as JSON Schemas."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from sfq_spec import schemas
from sfq_spec.commands.listing import Action, copied, refuse_more, unknown


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
            refuse_more(what, "schema")
            for name in schemas.names():
                print(f"{name:12} {json.loads(schemas.bundled(name))['description']}")
        case Action.SHOW:
            if what not in schemas.names():
                raise unknown("schema", what, (), f"the schemas are {', '.join(schemas.names())}")
            sys.stdout.write(schemas.bundled(what).decode())
        case Action.COPY:
            files = {f"sfq-{name}.schema.json": schemas.bundled(name) for name in schemas.names()}
            copied(files, what, "schema")
