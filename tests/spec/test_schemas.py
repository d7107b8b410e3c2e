"""The JSON Schemas are those of the structs; what this project writes is valid, and what is wrong is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sfq_spec import schemas
from sfq_spec.commands.adapting import Language, skeleton
from sfq_spec.conformance import protocol
from sfq_spec.conformance.subjects import ProcessSubject
from sfq_spec.conformance.validate import bundled

SCHEMA: dict[str, Any] = {name: json.loads(schemas.bundled(name)) for name in schemas.names()}
BY_NAME = {name: jsonschema.Draft202012Validator(schema) for name, schema in SCHEMA.items()}


def valid(name: str, document: object) -> bool:
    return bool(BY_NAME[name].is_valid(document))


# They are made from the structs


def test_the_files_are_made_again_byte_for_byte() -> None:
    made = schemas.encoded()
    folder = resources.files("sfq_spec").joinpath("data", "schemas")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == made, "run make schemas"


@pytest.mark.parametrize("name", schemas.names())
def test_each_is_a_schema_that_describes_every_field(name: str) -> None:
    schema = SCHEMA[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == schemas.DIALECT
    assert schema["$id"] == f"urn:sfq-spec:1:{name}"
    assert schema["title"]
    assert schema["description"]
    fields = [
        (title, field, described.get("description"))
        for title, one in schema["$defs"].items()
        for field, described in one.get("properties", {}).items()
    ]
    assert [(title, field) for title, field, description in fields if not description] == []
    closed = {title: one.get("additionalProperties") for title, one in schema["$defs"].items() if "properties" in one}
    is_open = set(closed) if name == "trace-read" else set()
    assert {title for title, extra in closed.items() if extra is not False} == is_open


def test_a_field_without_a_description_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = schemas.encoded()
    monkeypatch.setattr(schemas, "_docstrings", lambda struct: {})
    assert schemas.encoded() != before


# What this project writes is valid


@pytest.mark.integration
def test_every_vector_is_valid_and_so_is_the_message_that_asks_for_it() -> None:
    held = json.loads(resources.files("sfq_spec").joinpath("data/vectors.json").read_bytes())
    BY_NAME["vectors"].validate(held)
    for seq, case in enumerate(bundled().cases[::4], 1):
        BY_NAME["run"].validate(protocol.run(seq, case.id, list(case.events)))


def test_first_and_last_message_are_valid() -> None:
    assert valid("start", protocol.START)
    assert valid("stop", protocol.STOP)
    assert not valid("start", protocol.STOP)
    assert not valid("start", protocol.START | {"protocol": 2})


@pytest.mark.parametrize("options", [(), ("--lag",)])
def test_the_sample_and_its_trace_are_valid(command: Callable[..., Any], options: tuple[str, ...]) -> None:
    script = command("import", "sample").out
    trace = command("run", "-", *options, stdin=script.encode()).out
    assert len(trace.splitlines()) > 3_000
    for line in [*script.splitlines()[::20], *trace.splitlines()[::20]]:
        assert valid("trace", json.loads(line)), line


def test_what_an_adapter_says_is_valid(tmp_path: Path) -> None:
    said: list[bytes] = []

    class Heard(ProcessSubject):
        def _reply(self, message: bytes, what: str) -> bytes:
            said.append(super()._reply(message, what))
            return said[-1]

    (tmp_path / "adapter.py").write_text(skeleton(Language.PYTHON))
    cases = [case for case in bundled().cases if not case.requires][:10]
    with Heard([sys.executable, "-S", str(tmp_path / "adapter.py")]) as subject:
        for case in cases:
            subject.run(case.id, case.played())
    BY_NAME["hello"].validate(json.loads(said[0]))
    for line in said[1:]:
        BY_NAME["told"].validate(json.loads(line))
    assert len(said) == 11


# What is wrong is not valid

SENT = {"event": "arrive", "user": "A", "request": "A1", "cost": 1}
CASE = {"id": "a-b", "comment": "", "claims": [], "flags": [], "requires": [], "events": [SENT], "expect": [{}]}
FILE = {"schema": 1, "source": {}, "flags": {}, "cases": [CASE]}


def file(**changes: object) -> dict[str, Any]:
    return FILE | {"cases": [CASE | changes]}


WRONG: list[tuple[str, Any]] = [
    ("trace", SENT | {"wieght": 2}),
    ("trace", SENT | {"cost": "abc"}),
    ("trace", SENT | {"cost": "1/0"}),
    ("trace", SENT | {"cost": "1e9999"}),
    ("trace", SENT | {"cost": None}),
    ("trace", SENT | {"user": 7}),
    ("trace", SENT | {"event": "fly"}),
    ("trace", SENT | {"dispatched": "A1"}),
    ("trace", SENT | {"refused": "no"}),
    ("trace", {"event": "arrive", "user": "A", "request": "A1"}),
    ("trace", {"event": "complete", "request": "A1", "outcome": "lost"}),
    ("trace", {"event": "dispatch", "dispatched": 5}),
    ("trace", {"event": "dispatch", "lag": {"A": "x"}}),
    ("trace", []),
    ("vectors", FILE | {"schema": 2}),
    ("vectors", FILE | {"extra": 1}),
    ("vectors", file(id="A b")),
    ("vectors", file(id=None)),
    ("vectors", file(claims="R-JOIN")),
    ("vectors", file(events=[SENT | {"time": 1}])),
    ("vectors", file(events=[SENT | {"cost": "x"}])),
    ("vectors", file(expect=[{"refused": "no"}])),
    ("vectors", file(expect=[{"lag": {"A": "x"}}])),
    ("vectors", file(expect=[{"cost": 1}])),
    ("vectors", {"schema": 1, "source": {}, "flags": {}}),
    ("run", {"cmd": "run", "seq": 1, "id": "x", "events": [SENT | {"time": 1}]}),
    ("run", {"cmd": "run", "seq": 1, "events": [SENT]}),
    ("stop", {"cmd": "stop", "seq": 1}),
]


@pytest.mark.parametrize(("name", "document"), WRONG, ids=lambda value: str(value)[:60])
def test_what_is_wrong_is_not_valid(name: str, document: Any) -> None:
    assert not valid(name, document)


def test_what_is_wrong_is_wrong_by_one_thing() -> None:
    assert valid("trace", SENT | {"time": "12.5", "cost": "1/3"})
    assert valid("trace", {"event": "dispatch", "dispatched": "A1", "user": "A", "cost": 1})
    assert valid("vectors", file())
    assert valid("run", {"cmd": "run", "seq": 1, "id": "x", "events": [SENT]})
    for cost in (0, -1, "nan", "-inf", "0/7", 0.0):
        assert valid("vectors", file(events=[SENT | {"cost": cost}])), "there to be refused"


# The command


def test_the_command_lists_shows_and_copies(command: Callable[..., Any], tmp_path: Path) -> None:
    listed = command("schema", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == list(schemas.names())
    shown = command("schema", "show", "told")
    assert (shown.status, shown.out.encode()) == (0, schemas.bundled("told"))
    assert command("schema", "copy", str(tmp_path)).status == 0
    copied = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert copied == {f"sfq-{name}.schema.json": schemas.bundled(name) for name in schemas.names()}


def test_the_command_names_what_is_there(command: Callable[..., Any], tmp_path: Path) -> None:
    told = command("schema", "show", "../vectors")
    assert (told.status, told.out) == (2, "")
    assert "there is no schema '../vectors': the schemas are trace, trace-read, vectors" in told.err
    assert "is not a folder" in command("schema", "copy", str(tmp_path / "gone")).err
    (tmp_path / "sfq-trace.schema.json").mkdir()
    assert "cannot be written" in command("schema", "copy", str(tmp_path)).err
