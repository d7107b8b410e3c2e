"""docs/comparison.md says what the runs say; `make methods` holds all of it against them, this what is quick."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfq_proofs.cli import app
from sfq_proofs.related import page
from sfq_proofs.related.granularity import worst_lead
from sfq_proofs.related.search import search
from sfq_spec.related.axes import heavy, returning
from sfq_spec.related.policies import titled

PAGE = Path(__file__).parents[2] / "docs/comparison.md"
TEXT = PAGE.read_text(encoding="utf-8")


def block(name: str) -> str:
    found = re.search(rf"<!-- made: {name} -->\n(.*?)\n<!-- end -->", TEXT, re.DOTALL)
    assert found is not None, f"the page has no table {name}"
    return found[1]


@pytest.mark.integration
def test_the_quick_tables_are_as_they_are_made() -> None:
    for name, made in page.quick().items():
        assert made == block(name)


@pytest.mark.integration
def test_a_scenario_is_as_it_is_made() -> None:
    assert page.figures("weights") == block("weights")


@pytest.mark.parametrize(("policy", "question"), [("fifo", "LEAD"), ("wf2q-plus", "BLIND"), ("sfq", "PROMPT")])
def test_a_verdict_is_as_it_is_found(policy: str, question: str) -> None:
    found = search(policy, page.BY_ID[question])
    row = next(line for line in block("questions").splitlines() if line.startswith(f"| {titled(policy)} |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1 + list(page.BY_ID).index(question)] == page._verdict(found)


def test_a_page_that_says_something_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "blocks", lambda tell: {"asked": page.asked()})
    other = tmp_path / "page.md"
    other.write_text("<!-- made: asked -->\nnothing\n<!-- end -->\n", encoding="utf-8")
    told = CliRunner().invoke(app, ["methods", str(other)])
    assert told.exit_code == 1
    assert "-nothing" in told.stdout
    assert CliRunner().invoke(app, ["methods", str(other), "--write"]).exit_code == 0
    assert CliRunner().invoke(app, ["methods", str(other)]).exit_code == 0


def test_a_table_that_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "blocks", lambda tell: {"asked": page.asked()})
    other = tmp_path / "page.md"
    other.write_text("<!-- made: nothing -->\n<!-- end -->\n", encoding="utf-8")
    told = CliRunner().invoke(app, ["methods", str(other)])
    assert told.exit_code == 2
    assert "there is no table 'nothing': the tables are" in told.stderr


@pytest.mark.parametrize(
    ("policy", "before", "after"),
    [
        ("sfq", 0, 8),  # the tie goes to the heavy one's id; then the other catches up
        ("fifo", 24, 0),  # all 24 came first
        ("round-robin", 1, 1),
        ("drr:quantum=4", 8, 4),  # two visits without enough credit, four light ones in each; then four in the next
    ],
)
def test_a_heavy_request_by_hand(policy: str, before: int, after: int) -> None:
    found = heavy(policy, 8)
    assert (found.before, found.after) == (before, after)


def test_a_return_by_hand() -> None:
    assert (returning("sfq", 8).wait, returning("sfq", 8).banked) == (0, 2)  # level with one, behind nobody: two of one
    assert returning("round-robin", 8).wait == 2  # both others first
    assert returning("fifo", 8).never
    assert returning("las-v1", 8).banked == 8  # until it has had what each of the others had


@pytest.mark.integration
@pytest.mark.parametrize(
    ("policy", "lead"), [("sfq", 5), ("drr:quantum=1", 5), ("drr:quantum=3", 7), ("drr:quantum=6", 10)]
)
def test_the_worst_lead_for_all_time(policy: str, lead: int) -> None:
    """2 · 3 less the unit, and for DRR a quantum more: the known bounds, less what integers cannot reach."""
    found = worst_lead(policy)
    assert (int(found.lead), found.is_all) == (lead, True)


@pytest.mark.parametrize("policy", ["fifo", "round-robin", "stride"])
def test_a_lead_that_grows_is_told(policy: str) -> None:
    assert worst_lead(policy).grows
