"""What the audit reads: traces in batches, logs of other systems, compressed files, rows in any order."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from sfq_spec.conformance.audit import records as module
from sfq_spec.conformance.audit.formats import Columns, Prices, Tally, read_csv, read_litellm, read_vtc
from sfq_spec.conformance.audit.moments import SECOND, Row, batches, in_order
from sfq_spec.conformance.audit.records import Batch, Record, Unreadable
from sfq_spec.conformance.audit.sources import unpacked
from sfq_spec.trace import BadLine

TRACE = (
    b'{"event":"arrive","user":"A","request":"A1","cost":0.10,"time":1.5,"more":[1]}\n'
    b"\n"
    b'{"event":"dispatch","dispatched":"A1"}\n'
)


def read(text: bytes) -> list[Batch]:
    return list(module.batches("log", io.BytesIO(text)))


def told(text: bytes) -> list[tuple[str, str]]:
    """Each event with its place."""
    return [(record.event, batch.place(at)) for batch in read(text) for at, record in enumerate(batch.records)]


def test_numbers_are_exact_and_further_fields_are_passed_over() -> None:
    (batch,) = read(TRACE)
    assert module.exact(batch.records[0].cost) == Fraction(1, 10)
    assert batch.records[0].time == 1.5
    assert batch.records[1].dispatched == "A1"


def test_each_record_knows_its_line() -> None:
    assert told(TRACE) == [("arrive", "log: line 1"), ("dispatch", "log: line 3")]
    assert told(TRACE.replace(b"\n\n", b"\n").rstrip()) == [("arrive", "log: line 1"), ("dispatch", "log: line 2")]


@pytest.mark.parametrize("chunk", [1, 7, 100, 1 << 18])
def test_lines_may_be_cut_anywhere_when_they_are_read(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    lines = [
        ("arrive", "log: line 1"),
        ("dispatch", "log: line 3"),
        ("arrive", "log: line 4"),
        ("dispatch", "log: line 6"),
    ]
    assert told(TRACE * 2) == lines


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", "line 4: "),
        (b"nonsense", "line 4: is not JSON"),
        (b'{"event":"arrives"}', "line 4: field `event`: unknown event 'arrives'"),
        (b'{"event":"arrive","user":1,"request":"r","cost":1}', "line 4: field `user`: expected `str`, got `int`"),
        (b'{"event":"upkeep"', "line 4: is cut off"),
        (b'{"event":"cancel","request":"\xff"}', "line 4: is not UTF-8"),
        (b" " * 5000 + b'{"event":"upkeep"}', "line 4: is longer than"),
        (b"[" * 4000, "line 4: "),
    ],
)
def test_the_first_bad_line_is_named_and_what_was_before_it_is_read(
    line: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 4500)
    reading, read_so_far = module.batches("log", io.BytesIO(TRACE + line + b"\n" + TRACE)), list[Record]()
    with pytest.raises(Unreadable) as error:
        read_so_far.extend(record for batch in reading for record in batch.records)
    assert str(error.value).startswith(f"log: {reason}")
    assert [record.event for record in read_so_far] == ["arrive", "dispatch"]


def unpack(content: bytes) -> bytes:
    with unpacked("log", io.BytesIO(content)) as stream:
        return stream.read()


def test_compressed_files() -> None:
    assert unpack(TRACE) == unpack(gzip.compress(TRACE)) == TRACE
    assert unpack(gzip.compress(TRACE) + gzip.compress(TRACE)) == TRACE * 2
    assert unpack(b"") == b""


def test_a_file_of_zstd() -> None:
    zstandard = pytest.importorskip("zstandard", reason="needs the extra zstd")
    packed = zstandard.compress(TRACE)
    assert unpack(packed) == TRACE
    assert unpack(packed + packed) == TRACE * 2
    assert unpack(zstandard.compress(TRACE * 9_000)) == TRACE * 9_000
    for broken in (packed[:-3], packed[:5], packed + packed[:9], packed + b"more", packed[:6] + b"\0" + packed[7:-1]):
        with pytest.raises(Unreadable, match="is not whole, as zstd"):
            unpack(broken)


def test_zstd_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Unreadable, match="pip install zstandard"):
        unpack(b"\x28\xb5\x2f\xfd rest")


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


PACKED = gzip.compress(TRACE * 50)
BROKEN = {
    "cut off": PACKED[:-9],
    "another sum": flipped(PACKED, len(PACKED) - 5),
    "no such code": flipped(PACKED, 10),
    "more of something else": PACKED + b"more",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_compressed_file_that_is_not_whole(content: bytes) -> None:
    with pytest.raises(Unreadable, match="log: is not whole, as gzip"):
        unpack(content)


class Growing(io.RawIOBase):
    """A file that somebody still writes to: whoever reads on waits."""

    def __init__(self, there: bytes) -> None:
        self.there = there

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        assert self.there, "this would wait"
        count = len(self.there)
        buffer[:count], self.there = self.there, b""
        return count


def test_no_more_is_waited_for_than_is_there() -> None:
    stream = unpacked("log", io.BufferedReader(Growing(TRACE)))
    assert [stream.readline() for _ in range(3)] == TRACE.splitlines(keepends=True)


VTC = "client,req_time,first_token_latency,request_latency,prompt_len,output_len\n"


def rows(reader: Any, text: str | bytes, *options: Any) -> tuple[list[Row], Tally]:
    tally = Tally()
    stream = io.BytesIO(text.encode() if isinstance(text, str) else text)
    return list(reader("log", stream, *options, Prices(), tally)), tally


def test_vtc() -> None:
    found, tally = rows(read_vtc, VTC + "1,0.5,1.25,9,10,20\n2,0.000001,-1,9,1,1\n1,2,0,9,0,0\n")
    assert found == [
        Row("log", 2, "1", SECOND // 2, 7 * SECOND // 4, 50),
        Row("log", 4, "1", 2 * SECOND, 2 * SECOND, 1),
    ]
    assert (tally.left_out, tally.why) == (1, "first_token_latency below 0: rejected")


COLUMNS = Columns("who", "came", "went", "price")


def test_any_csv() -> None:
    found, tally = rows(read_csv, "went,who,price,came,more\n3,A,1.5,1,x\n,B,1,1,x\n1,C,4,1,x\n", COLUMNS)
    assert [(row.user, row.arrival, row.dispatch, row.cost) for row in found] == [
        ("A", SECOND, 3 * SECOND, Fraction(3, 2)),
        ("C", SECOND, SECOND, 4),
    ]
    assert tally.left_out == 1


def test_any_csv_with_tokens_and_dates() -> None:
    columns = Columns("who", "came", "went", "", "in", "out", "ms")
    text = "who,came,went,in,out\nA,1,2.5,10,20\nA,2026-01-31T12:00:00Z,2026-01-31 13:00:00.25+01:00,1,0\n"
    (first, second), _ = rows(read_csv, text, columns)
    assert (first.arrival, first.dispatch, first.cost) == (SECOND // 1000, SECOND // 400, 50)
    assert second.dispatch - second.arrival == SECOND // 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("who,came,price\nA,1,1\n", "line 1: field `went`: is missing from the header"),
        (
            "who;came;went\nA;1\n",
            "line 1: field `who`: is missing from the header, which needs who, came, went, price, and is 'who;came",
        ),
        ("who,came,went,price\nA,2,1,1\n", "line 2: field `went`: is 1 s before the arrival"),
        ("who,came,went,price\nA,1,1,0\n", "line 2: field `price`: 0 is not above zero"),
        ("who,came,went,price\n,1,1,1\n", "line 2: field `who`: is empty"),
        ("who,came,went,price\nA,soon,1,1\n", "line 2: field `came`: 'soon' is not a number"),
        ("who,came,went,price\nA,12:61,1,1\n", "line 2: field `came`: '12:61' is not a time"),
        ("who,came,went,price\nA,-1,1,1\n", "line 2: field `came`: -1 is below zero"),
        ("who,came,went,price\nA,nan,1,1\n", "line 2: field `came`: nan is not finite"),
        ("who,came,went,price\nA,1,1\n", "line 2: has 3 fields"),
    ],
)
def test_a_bad_row_is_named(text: str, reason: str) -> None:
    with pytest.raises(BadLine) as error:
        rows(read_csv, text, COLUMNS)
    assert str(error.value).startswith(reason)


def spend(**fields: Any) -> dict[str, Any]:
    """A row of LiteLLM_SpendLogs."""
    row = {
        "request_id": "chatcmpl-1",
        "call_type": "acompletion",
        "api_key": "88dc28d0f030c55e",
        "spend": 0.00002,
        "total_tokens": 30,
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "startTime": "2026-01-31T12:00:00.100000Z",
        "endTime": "2026-01-31T12:00:03.000000Z",
        "completionStartTime": "2026-01-31T12:00:01.500000Z",
        "model": "gpt",
        "user": "alice",
        "cache_hit": "False",
        "end_user": "",
        "status": "success",
        "metadata": {"anything": [1]},
    }
    return row | fields


SPENT = [
    spend(),
    spend(status="failure"),
    spend(cache_hit="True"),
    spend(user="", end_user="bob", completionStartTime=None),
]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, SPENT)),
        json.dumps(SPENT),
        json.dumps(SPENT, indent=2),
        json.dumps({"data": SPENT, "total": 4}),
        json.dumps({"total": 4, "data": SPENT}, indent=1),
    ],
    ids=["lines", "array", "indented", "object", "indented object"],
)
def test_litellm(text: str) -> None:
    found, tally = rows(read_litellm, text, "")
    assert [(row.user, row.dispatch - row.arrival, row.cost) for row in found] == [
        ("alice", 1_400_000_000, 50),
        ("bob", 2_900_000_000, 50),
    ]
    assert tally.left_out == 2
    assert [note.partition(":")[0] for note in tally.notes] == [
        "users were told apart by different columns",
        "not streamed",
    ]
    assert tally.notes[1].startswith("not streamed: 1 response, where the end")


def test_litellm_by_key() -> None:
    found, _ = rows(read_litellm, json.dumps(SPENT), "api_key")
    assert {row.user for row in found} == {"88dc28d0f030c55e"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (spend(user="", api_key=""), "line 1: field `user, end_user, api_key`: is empty"),
        (spend(prompt_tokens=None), "line 1: field `prompt_tokens`: is missing"),
        (spend(completion_tokens=1.5), "line 1: field `completion_tokens`: 1.5 is not a whole number"),
        (spend(startTime="yesterday"), "line 1: field `startTime`: 'yesterday' is not a number"),
        (spend(endTime=None, completionStartTime=None), "line 1: field `endTime`: is missing"),
        (
            spend(completionStartTime="2026-01-31T11:00:00Z"),
            "line 1: field `completionStartTime`: is 3600.1 s before",
        ),
    ],
)
def test_a_bad_row_of_litellm_is_named(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadLine) as error:
        rows(read_litellm, json.dumps(row), "")
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize("text", ["[1]", "{", "[{]", '{"data": 3}', "7"])
def test_what_is_no_spend_log(text: str) -> None:
    with pytest.raises(BadLine, match="is not"):
        rows(read_litellm, text, "")


def events(some: Iterable[Row], **options: int) -> tuple[list[Record], list[str]]:
    notes: list[str] = []
    return [record for batch in batches(some, notes.append, **options) for record in batch.records], notes


def test_arrivals_come_before_dispatches_of_the_same_time() -> None:
    found, notes = events([Row("log", 2, "A", 5, 9, 1), Row("log", 3, "B", 9, 9, 1), Row("log", 4, "C", 1, 5, 2)])
    assert [(record.event, record.request or record.dispatched) for record in found] == [
        ("arrive", "3"),
        ("arrive", "1"),
        ("dispatch", "3"),
        ("arrive", "2"),
        ("dispatch", "1"),
        ("dispatch", "2"),
    ]
    assert notes == []


def test_dates_are_told_from_the_first_on() -> None:
    begin = 1_769_860_800 * SECOND
    found, notes = events([Row("log", 2, "A", begin + SECOND // 2, begin + 3 * SECOND, 1)])
    assert [record.time for record in found] == [0.5, 3]
    assert notes == ["times are seconds since 2026-01-31 12:00:00 UTC"]


def test_rows_that_do_not_fit_into_memory_are_sorted_all_the_same() -> None:
    rng = random.Random(1)
    times = [(rng.randrange(50), rng.randrange(50)) for _ in range(500)]
    some = [Row("log", at, "A", begin, begin + more, Fraction(1, 3)) for at, (begin, more) in enumerate(times)]
    assert events(some, together=37) == events(some)
    assert list(in_order(iter([]), 10)) == []
