"""Usage, read from answers that pass by."""

from __future__ import annotations

import pytest

from sfq_impl.fleet.policy import Usage
from sfq_impl.gateway.usage import LONGEST_BODY, LONGEST_LINE, BodyReader, StreamReader, reader

IN_AND_OUT = b'{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":10}}'


def streamed(text: bytes, size: int = 1 << 20) -> Usage | None:
    read = StreamReader()
    for start in range(0, len(text), size):
        read.feed(text[start : start + size])
    return read.usage


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    "events",
    [
        [IN_AND_OUT],
        [b'{"usage":null}', IN_AND_OUT, b"[DONE]"],
        [b'{"usage":{"prompt_tokens":1000,"completion_tokens":0}}', b"{}", b'{"usage":{"completion_tokens":10}}'],
        [b'{"usage":{"prompt_tokens":1000,"completion_tokens":%d}}' % n for n in range(11)],
        [b'{"type":"message_start","message":{"usage":{"input_tokens":1000}}}', b'{"usage":{"output_tokens":10}}'],
        [IN_AND_OUT, b'{"usage":{"prompt_tokens":"many"}}', b'{"usage":', b'{"usage":{"completion_tokens":-1}}'],
        [IN_AND_OUT, b'{"usage":{"prompt_tokens":1%s,"completion_tokens":100000001}}' % (b"0" * 30)],
    ],
)
def test_usage_is_read_however_it_is_told_and_cut(events: list[bytes], end: bytes, size: int) -> None:
    text = b"".join(b"data: " + event + end + end for event in events)
    assert streamed(text, size) == Usage(1000, 10)


def test_what_is_no_usage_is_none() -> None:
    assert streamed(b'data: {"choices":[{"delta":{"content":"\\"usage\\":{\\"prompt_tokens\\":5}"}}]}\n\n') is None
    assert streamed(b": " + IN_AND_OUT + b"\n\n") is None
    assert streamed(b"") is None


def test_a_line_that_is_too_long_is_passed_over() -> None:
    long = b"data: " + b'{"usage":{"prompt_tokens":7}, "x":"' + b"y" * (2 * LONGEST_LINE) + b'"}\n\n'
    assert streamed(long, 1 << 16) is None
    assert streamed(long + b"data: " + IN_AND_OUT + b"\n\n", 1 << 16) == Usage(1000, 10)


def test_a_body() -> None:
    read = BodyReader()
    for byte in IN_AND_OUT:
        read.feed(bytes([byte]))
    assert read.usage == read.usage == Usage(1000, 10)
    assert BodyReader().usage is None
    broken = BodyReader()
    broken.feed(IN_AND_OUT[:-1])
    assert broken.usage is None


def test_a_body_that_is_too_long_is_not_kept() -> None:
    read = BodyReader()
    read.feed(b"x" * LONGEST_BODY)
    read.feed(IN_AND_OUT)
    assert read.usage is None
    assert not read._pieces


def test_the_reader_goes_by_the_type_of_the_answer() -> None:
    assert isinstance(reader("text/event-stream"), StreamReader)
    assert isinstance(reader("application/json"), BodyReader)
