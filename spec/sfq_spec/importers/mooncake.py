"""Mooncake traces: JSON Lines of `timestamp` (milliseconds), `input_length`, `output_length`, `hash_ids`.

The file names no users, but the hashes of each request's prefix, in blocks of 512 tokens. Blocks that begin
every request of the file are its common system prompt. The first block after them stands for the conversation
that the request continues: the user is `p` and the number of that block. A request that ends within the common
prompt belongs to the prompt's last block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import msgspec

from sfq_spec import numbers
from sfq_spec.importers.rows import Arrival, Imported, in_order, lines, microseconds, whole
from sfq_spec.trace import BadLine, Readable

FIELDS = ("timestamp", "input_length", "output_length", "hash_ids")
MILLISECOND = 1_000
"""In microseconds."""

_documents = msgspec.json.Decoder(float_hook=numbers.decimal)


def read(stream: Readable) -> Imported:
    """The requests of the file. Raises `BadLine`."""
    rows = list(_rows(stream))
    prompt = _common([blocks for _, _, _, blocks in rows])
    return in_order(
        [
            Arrival(time, f"p{blocks[min(prompt, len(blocks) - 1)]}", input_tokens, output_tokens, prefix=tuple(blocks))
            for time, input_tokens, output_tokens, blocks in rows
        ]
    )


def _rows(stream: Readable) -> Iterator[tuple[int, int, int, list[int]]]:
    for number, line in lines(stream):
        if not line.strip():
            continue
        row = _object(number, line)
        for field in FIELDS:
            if field not in row:
                raise BadLine(number, field, "is missing")
        yield (
            microseconds(number, "timestamp", row["timestamp"], MILLISECOND),
            whole(number, "input_length", row["input_length"]),
            whole(number, "output_length", row["output_length"]),
            _blocks(number, row["hash_ids"]),
        )


def _common(lists: Sequence[list[int]]) -> int:
    """How many blocks all requests begin with: as many as the least and the greatest of them have in common."""
    if not lists:
        return 0
    pairs = zip(min(lists), max(lists), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _object(number: int, line: str) -> dict[str, object]:
    try:
        row = _documents.decode(line)
    except RecursionError:
        raise BadLine(number, None, "is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise BadLine(number, None, f"is not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    if not isinstance(row, dict):
        raise BadLine(number, None, f"is not a JSON object with {', '.join(FIELDS)}")
    return row


def _blocks(number: int, value: object) -> list[int]:
    if isinstance(value, list) and value and all(type(block) is int for block in value):
        return value
    raise BadLine(number, "hash_ids", "is not a list of at least one block number")
