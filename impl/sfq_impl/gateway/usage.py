"""What a server tells of the tokens that a request took, read while its answer passes by and not changed.

A stream may tell it in parts: the input in an early event, the output in a late one, or both again and again as they
grow. Each number counts as the largest one told.
"""

from __future__ import annotations

import re
from typing import Protocol

import msgspec

from sfq_impl.fleet.policy import MOST_TOKENS, Usage
from sfq_impl.gateway.asking import NOT_READ

LONGEST_LINE = 1 << 20
LONGEST_BODY = 8 << 20
"""Bytes; of what is longer nothing is read, and its usage is not known."""
LINE_END = re.compile(rb"\r\n|\n|\r")


class Tokens(msgspec.Struct):
    """Usage under the names of chat and completions, and under those of responses and messages."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Told(msgspec.Struct):
    """What matters of an event or a body; `message` is where some servers put the first part."""

    usage: Tokens | None = None
    message: msgspec.Raw = msgspec.Raw(b"")


_told = msgspec.json.Decoder(Told)


class UsageReader(Protocol):
    """Sees each piece of an answer, in order."""

    def feed(self, piece: bytes) -> None:
        """The next piece."""

    @property
    def usage(self) -> Usage | None:
        """What has been told so far; None where nothing has."""


class _Reader:
    def __init__(self) -> None:
        self._input: int | None = None
        self._output: int | None = None

    @property
    def usage(self) -> Usage | None:
        """What has been told so far."""
        if self._input is None and self._output is None:
            return None
        return Usage(self._input or 0, self._output or 0)

    def _read(self, text: bytes) -> None:
        try:
            told = _told.decode(text)
            tokens = told.usage or (_told.decode(told.message).usage if bytes(told.message) else None)
        except NOT_READ:
            return
        if tokens is not None:
            self._input = _most(self._input, tokens.prompt_tokens, tokens.input_tokens)
            self._output = _most(self._output, tokens.completion_tokens, tokens.output_tokens)


def _most(*numbers: int | None) -> int | None:
    return max((number for number in numbers if number is not None and 0 <= number <= MOST_TOKENS), default=None)


class StreamReader(_Reader):
    """Of a stream of events, however it is cut into pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = b""
        self._passing = False
        """Within a line that is too long to be read."""

    def feed(self, piece: bytes) -> None:
        """The next piece."""
        *lines, rest = LINE_END.split(self._begun + piece if self._begun else piece)
        for line in lines:
            if not self._passing and b'"usage"' in line and line.startswith(b"data:"):
                self._read(line[5:])
            self._passing = False
        self._begun = rest
        if len(rest) > LONGEST_LINE:
            self._begun, self._passing = b"", True


class BodyReader(_Reader):
    """Of a body that is one object of JSON."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """The next piece."""
        self._size += len(piece)
        if self._size <= LONGEST_BODY:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    @property
    def usage(self) -> Usage | None:
        """What the body tells, once it is whole."""
        if self._pieces:
            self._read(b"".join(self._pieces))
            self._pieces.clear()
        return super().usage


def reader(content_type: str) -> UsageReader:
    """The reader for an answer."""
    return StreamReader() if content_type.startswith("text/event-stream") else BodyReader()
