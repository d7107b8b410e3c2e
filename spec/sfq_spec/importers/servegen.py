"""ServeGen streams: `arrival_s,client,input_tokens,output_tokens`. The user is the client."""

from __future__ import annotations

from sfq_spec.importers.rows import Arrival, Imported, in_order, microseconds, named, table, whole
from sfq_spec.trace import Readable

COLUMNS = ("arrival_s", "client", "input_tokens", "output_tokens")


def read(stream: Readable) -> Imported:
    """The requests of the file. Raises `BadLine`."""
    return in_order(
        [
            Arrival(
                microseconds(line, "arrival_s", arrival),
                named(line, "client", client),
                whole(line, "input_tokens", input_tokens),
                whole(line, "output_tokens", output_tokens),
            )
            for line, (arrival, client, input_tokens, output_tokens) in table(stream, COLUMNS)
        ]
    )
