"""The ledger is gathered from the evidence and from the marks of the tests, and a difference is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfq_proofs import ledger
from sfq_spec import ledger as written
from sfq_spec.claims import BY_ID
from sfq_spec.ledger import Evidence


def test_the_marks_of_tests_name_claims_that_exist() -> None:
    assert set(ledger.by_claim(ledger.TESTS)) <= set(BY_ID)


def test_the_written_tests_are_those_that_are_marked() -> None:
    marked = ledger.by_claim(ledger.TESTS)
    assert {name: list(row.tests) for name, row in written.bundled().items() if row.tests} == marked


def test_marks_are_read_from_functions_and_classes(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.claims('A', 'B')\ndef test_one(): ...\n"
        "@pytest.mark.claims('B')\n@pytest.mark.deep\nclass TestTwo: ...\n"
        "@pytest.mark.other('C')\ndef test_three(): ...\n"
    )
    assert ledger.by_claim(folder) == {
        "A": ["tests/test_some.py::test_one"],
        "B": ["tests/test_some.py::test_one", "tests/test_some.py::TestTwo"],
    }


def test_no_difference_where_there_is_none() -> None:
    assert list(ledger.differences(written.bundled())) == []


@pytest.mark.parametrize("change", [{"FAIR-LEAD": Evidence(witness="another")}, {"FAIR-PLAY": Evidence()}])
def test_a_difference_names_the_claim_and_the_fix(change: dict[str, Evidence]) -> None:
    (text,) = ledger.differences(written.bundled() | change)
    assert text.startswith(next(iter(change)))
    assert "sfq-prove ledger" in text
