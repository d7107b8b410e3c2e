"""`sfq-spec vectors`, `schema` and `claims`, where what is asked for is missing, misspelt, too much or in the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfq_spec.claims import BY_ID
from sfq_spec.commands.listing import meant

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("vectors show", "which case? sfq-spec vectors list names them"),
        ("vectors show artcle-table", "there is no case 'artcle-table': did you mean article-table?"),
        ("vectors show 00", "there is no case '00': sfq-spec vectors list names them"),
        ("vectors list xx", "list takes nothing more: sfq-spec vectors show xx shows one"),
        ("vectors copy", "copy to which folder? sfq-spec vectors copy . takes the current one"),
        ("schema show", "which schema? the schemas are trace, trace-read, vectors"),
        ("schema show trce", "there is no schema 'trce': the schemas are trace, trace-read, vectors"),
        ("schema list told", "list takes nothing more: sfq-spec schema show told shows one"),
        ("schema copy", "copy to which folder? sfq-spec schema copy . takes the current one"),
        ("claims fair-lead", "there is no claim 'fair-lead': did you mean FAIR-LEAD?"),
        ("claims FAIR-LAED", "there is no claim 'FAIR-LAED': did you mean FAIR-LEAD?"),
        ("claims 00", "there is no claim '00': sfq-spec claims lists them"),
        ("claims --json --markdown", "--markdown is the page of all claims, and goes without --json"),
        ("claims FAIR-LEAD --markdown", "--markdown is the page of all claims, and goes without FAIR-LEAD"),
        ("validate --only IdsByByte -- x", "no case has this id, flag or claim: did you mean IdsByBytes?"),
        ("validate --only 00 -- x", "no case has this id, flag or claim: see sfq-spec vectors list"),
        (
            "validate --policy las --only AddsWithoutDeca -- x",
            "no case of las has this id, flag or mode: did you mean AddsWithoutDecay?",
        ),
    ],
)
def test_it_names_what_is_meant(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = command(*arguments.split())
    assert (told.status, told.out) == (2, "")
    assert reason in told.err
    assert len(told.err) < 200
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BY_ID)
def test_small_letters_are_enough_to_be_understood(name: str) -> None:
    assert meant(name.lower(), BY_ID) == f"did you mean {name}?"


@pytest.mark.parametrize(("kind", "name"), [("vectors", "vectors.json"), ("schema", "sfq-told.schema.json")])
def test_a_copy_tells_what_it_replaces(command: Command, tmp_path: Path, kind: str, name: str) -> None:
    first, again = command(kind, "copy", str(tmp_path)), command(kind, "copy", str(tmp_path))
    assert (first.status, first.err) == (again.status, again.err) == (0, "")
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_text("mine")
    told = command(kind, "copy", str(tmp_path))
    assert told.err == f"sfq-spec: {tmp_path / name}: was there with other contents, and is replaced\n"
    assert (tmp_path / name).read_bytes() == data
