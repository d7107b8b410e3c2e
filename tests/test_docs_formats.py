"""What docs/formats.md shows is so: its examples are valid, its trace is the machine's, its tables are the schemas'."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest
from typer.testing import CliRunner

from sfq_spec import numbers, schemas
from sfq_spec.cli import app
from sfq_spec.conformance import protocol
from sfq_spec.conformance.case import Vectors, make
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import CODES, KINDS, Answer, Event, Outcome, decode, encode

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")


def examples(text: str) -> Iterator[tuple[str, Any]]:
    """The documents that are shown, each with the name of its schema."""
    for name, block in re.findall(r"^```json (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        while block.strip():
            document, end = json.JSONDecoder().raw_decode(block.lstrip())
            block = block.lstrip()[end:]
            yield name, document


def shown(name: str) -> list[Any]:
    return [document for schema, document in examples(TEXT) if schema == name]


def rows(first: str) -> list[list[str]]:
    """The cells below a header that begins so."""
    table = TEXT[TEXT.index(f"| {first} |") :].partition("\n\n")[0]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w-]+)`", cell)


def invalid(text: str) -> list[str]:
    """The examples that their schemas do not allow."""
    by_name = {name: json.loads(schemas.bundled(name)) for name in schemas.names()}
    return [
        f"{name}: {error.message}"
        for name, document in examples(text)
        for error in jsonschema.Draft202012Validator(by_name[name]).iter_errors(document)
    ]


def lags(events: list[dict[str, Any]]) -> tuple[list[Event], list[dict[str, int | str]]]:
    """The events, and the lags after each."""
    played = [decode(json.dumps(event).encode()).event for event in events]
    state, told = Machine(), []
    for event in played:
        state, _ = answer(state, event)
        told.append({user: numbers.write(lag) for user, lag in state.lag.items()})
    return played, told


def test_every_schema_has_an_example_that_is_valid() -> None:
    assert {name for name, _ in examples(TEXT)} == set(schemas.names())
    assert invalid(TEXT) == []


def test_an_example_that_is_not_valid_is_found() -> None:
    assert len(invalid(TEXT.replace('"seq": 2, ', ""))) == 1
    assert len(invalid(TEXT.replace('"weight": 2', '"wieght": 2'))) == 1
    assert invalid(TEXT.replace('"cost": "1/3"', '"cost": "1/0"')) != []


def test_the_trace_is_the_machines() -> None:
    state = Machine()
    for line in shown("trace"):
        entry = decode(json.dumps(line).encode())
        state, told = answer(state, entry.event)
        assert (told.dispatched, told.refused) == (entry.answer.dispatched, entry.answer.refused)
        assert json.loads(encode(entry)) == line
    judged = CliRunner().invoke(app, ["audit", "-"], input="\n".join(map(json.dumps, shown("trace"))))
    assert (judged.exit_code, "conforms" in judged.stdout) == (0, True)


def test_the_case_is_what_the_machine_makes() -> None:
    (case,) = msgspec.json.decode(json.dumps(shown("vectors")[0]), type=Vectors).cases
    assert make(case.id, case.comment, case.played(), claims=case.claims, flags=case.flags, lag=True) == case


def test_the_conversation_is_one() -> None:
    (asked,), told, (hello,) = shown("run"), shown("told"), shown("hello")
    played, lag = lags(asked["events"])
    said = msgspec.json.decode(json.dumps(told[0]), type=protocol.Told)
    state = Machine()
    for event, own, expected in zip(played, said.answers, lag, strict=True):  # type: ignore[arg-type]
        state, wanted = answer(state, event)
        assert (own.dispatched, own.refused, own.lag) == (wanted.dispatched, wanted.refused, expected)
    assert [shown("start"), shown("stop")] == [[protocol.START], [protocol.STOP]]
    assert msgspec.json.decode(json.dumps(hello), type=protocol.Hello).protocol == protocol.VERSION


def test_the_answers_are_answers() -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    refused, sent, nobody, empty = (msgspec.json.decode(line, type=Answer) for line in block.splitlines())
    assert (refused.refused, sent.dispatched, nobody.dispatched, empty) == ("invalid-cost", "A1", None, Answer())
    told = {"seq": 1, "answers": [json.loads(line) for line in block.splitlines()]}
    jsonschema.validate(told, json.loads(schemas.bundled("told")), jsonschema.Draft202012Validator)


def test_the_tables_are_the_structs() -> None:
    events = {str(kind.__struct_config__.tag): list(kind.__struct_fields__) for kind in get_args(Event)}
    assert {names(kind)[0]: names(fields) for kind, fields, *_ in rows("`event`")} == events
    assert tuple(names(row[0])[0] for row in rows("`event`")) == KINDS
    assert tuple(names(row[0])[0] for row in rows("code")) == CODES
    assert set(get_args(Outcome)) <= set(names(TEXT))
    able = protocol.Capabilities()
    defaults = {names(row[0])[0]: row[2].strip("`") for row in rows("capability")}
    assert defaults == {name: str(getattr(able, name)).replace("False", "false") for name in able.__struct_fields__}
    assert [names(row[0])[0] for row in rows("schema")] == ["trace", "trace-read", "vectors", "start", "hello"]


def test_every_field_and_value_of_the_schemas_is_named() -> None:
    code = set(re.findall(r"`\"?([\w-]+)\"?`", TEXT)) | set(re.findall(r'"([\w-]+)":', TEXT))
    for name in schemas.names():
        for one in json.loads(schemas.bundled(name))["$defs"].values():
            for field, schema in one.get("properties", {}).items():
                assert {field, *schema.get("enum", ())} <= code, (name, field)


@pytest.mark.parametrize("text", ["3", "0.1", "1.5e-7", "1/3", "-7/2", "nan", "inf", "-inf", "Infinity"])
def test_the_numbers_are_numbers(text: str) -> None:
    assert numbers.write(numbers.read(text))
    assert jsonschema.Draft202012Validator(schemas.NUMBER).is_valid(text)


def test_the_commands_are_there() -> None:
    lines = re.findall(r"^\$ sfq-spec (schema .*)$", TEXT, re.MULTILINE)
    assert len(lines) == 3
    for line in lines[:2]:
        assert CliRunner().invoke(app, line.split()).exit_code == 0
