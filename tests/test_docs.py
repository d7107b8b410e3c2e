"""The texts in docs/: they speak of claims that exist, of all of them, and of files that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sfq_proofs.solver import model
from sfq_proofs.solver.induction import refuted
from sfq_proofs.theorems import fairness
from sfq_spec import ledger
from sfq_spec.claims import BY_ID, CLAIMS, Level
from sfq_spec.machine import Machine, step
from sfq_spec.trace import Arrive, Cancel, Dispatch, Event

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / "docs"
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
FAMILIES = {name.partition("-")[0] for name in BY_ID}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def definitions(text: str) -> dict[str, str]:
    """The links that are defined by `[name]: target`."""
    return dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))


def without_definitions(text: str) -> str:
    return re.sub(r"^\[[^\]]+\]: \S+$", "", text, flags=re.MULTILINE)


def bracketed(text: str) -> set[str]:
    """The names in capitals that stand in brackets outside of code, and are meant as claims with a link."""
    prose = re.sub(r"`[^`\n]*`", "", without_definitions(text))
    return set(re.findall(r"\[([A-Z][A-Z0-9-]+)\](?!\()", prose))


def mentioned(text: str) -> set[str]:
    """The names of claims in a text: those in brackets, and every word of a family of claims."""
    words = re.findall(r"(?<![\w-])[A-Z]+(?:-[A-Z]+)+(?![\w-])", text)
    return bracketed(text) | {word for word in words if word.partition("-")[0] in FAMILIES}


def badly_linked(text: str) -> set[str]:
    """Names in brackets that lead anywhere but to the claims, and definitions that nothing uses."""
    defined = definitions(text)
    astray = {name for name in bracketed(text) if defined.get(name) != "claims.md"}
    return astray | {name for name in defined if f"[{name}]" not in without_definitions(text)}


def dead_links(page: Path) -> list[str]:
    """The links of a page to files, or to headings in them, that are not there."""
    text = page.read_text(encoding="utf-8")
    links = [*re.findall(r"\]\(([^)\s]+)\)", text), *definitions(text).values()]
    return [link for link in links if ":" not in link and not leads_somewhere(page, link)]


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not heading or heading in headings(target.read_text(encoding="utf-8")))


def headings(text: str) -> set[str]:
    """The headings of a page, as links name them."""
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def modules_that_are_not_there(text: str) -> list[str]:
    """The Python files that a text names in code, `spec/…/rules.py` or just `rules.py`, and that are missing."""
    named = re.findall(r"`([\w./]+\.py)`", text)
    return [name for name in named if not any(CHECKOUT.glob(f"[!.]*/**/{name}")) and not (CHECKOUT / name).exists()]


def counts_that_no_search_found(text: str) -> list[str]:
    """Numbers of states in a text that the ledger does not know."""
    found = "\n".join(search for evidence in ledger.bundled().values() for search in evidence.searches)
    return [count for count in re.findall(r"(\d[\d,]*)\s+states", text) if f"{count} states" not in found]


def left_out(index: str, pages: set[str]) -> set[str]:
    """The pages that an index, which need not name itself, has no link to."""
    return pages - set(re.findall(r"\]\(([^)#\s]+)", index)) - {"README.md"}


def section(text: str, number: int) -> str:
    return text.partition(f"\n## {number}. ")[2].partition("\n## ")[0]


def table(text: str, first: str) -> list[list[str]]:
    """The table of a text whose header begins with a word: its header, and its rows."""
    lines = text[text.index(f"| {first} |") :].partition("\n\n")[0].splitlines()
    header, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [header, *rows]


TOLD: dict[Level, str] = {"X": "Exhausted", "T": "Tested", "E": "Errata"}
"""Levels whose claims section 6 of the specification lists; all others are proved."""


def levels(text: str) -> dict[str, set[str]]:
    """The claims in each paragraph that begins with the name of a level."""
    paragraphs = re.findall(r"^\*(\w+)\*(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return {word: bracketed(rest) for word, rest in paragraphs if word in TOLD.values()}


# The run of section 2


def event(told: str) -> Event:
    """The event that a row tells, such as `arrive A1, cost 3`; its user is the first letter of the request."""
    kind, request, *cost = told.strip("`").replace(",", "").replace("cost ", "").split()
    if kind == "arrive":
        return Arrive(request[0], request, Fraction(cost[0]))
    return Cancel(request) if kind == "cancel" else Dispatch()


def rows_that_differ(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a run that the machine does not confirm."""
    header, *run = rows
    users = [column[-1] for column in header[2:-1]]
    state = Machine()
    for told, v, *meters, _ in run:
        state, answer = step(state, event(told))
        s = state.competition
        shown = [f"{s.meter[u]}" if s.waiting.get(u) else f"({s.meter[u]})" if u in s.meter else "" for u in users]
        sent = told.strip("`").removeprefix("dispatch ") == answer.dispatched or "dispatch" not in told
        if [v, *meters] != [f"{s.v}", *shown] or not sent:
            yield told


# The invariants of section 5


def lost_without(invariant: model.Invariant, patch: pytest.MonkeyPatch) -> set[str]:
    """The bounds of fairness that no longer follow where an invariant is not known."""
    with patch.context() as without:
        without.setattr(model, "INVARIANTS", tuple(one for one in model.INVARIANTS if one is not invariant))
        asked = [one for one in fairness.obligations(model.Model()) if one.name.startswith("bound of")]
        return {one.claims[0] for one in asked if refuted(one)}


@every_page
def test_every_claim_that_is_mentioned_is_in_the_ledger(page: Path) -> None:
    assert mentioned(page.read_text(encoding="utf-8")) <= set(BY_ID)


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@every_page
def test_every_module_that_is_named_is_there(page: Path) -> None:
    assert modules_that_are_not_there(page.read_text(encoding="utf-8")) == []


@every_page
def test_every_number_of_states_was_found(page: Path) -> None:
    assert counts_that_no_search_found(page.read_text(encoding="utf-8")) == []


def test_the_specification_states_every_claim_with_a_link() -> None:
    text = read("specification.md")
    assert set(BY_ID) - bracketed(text) == set()
    assert badly_linked(text) == set()


def test_the_page_of_claims_is_the_ledger() -> None:
    assert read("claims.md") == ledger.markdown(), "run sfq-prove ledger"


def test_every_page_is_in_the_index() -> None:
    assert left_out(read("README.md"), {page.name for page in DOCS.glob("*.md")}) == set()


def test_the_run_is_one_of_the_machine() -> None:
    run = table(section(read("specification.md"), 2), "event")
    assert len(run) > 10
    assert list(rows_that_differ(run)) == []


def test_each_invariant_supports_the_bounds_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _, *rows = table(section(read("specification.md"), 5), "invariant")
    told = {name: bracketed(lost) & {claim for claim in BY_ID if claim.startswith("FAIR")} for name, _, lost in rows}
    assert told == {invariant.name: lost_without(invariant, monkeypatch) for invariant in model.INVARIANTS}


def test_the_levels_are_those_of_the_ledger() -> None:
    told = levels(section(read("specification.md"), 6))
    assert told == {word: {claim.id for claim in CLAIMS if claim.level == level} for level, word in TOLD.items()}


# Each check fails where it should


def test_a_claim_that_does_not_exist_is_found() -> None:
    text = (
        "No [[FAIR-PLAY]] without FAIR-LEAD, in SMT-LIB and UTF-8, and no [[GOOD-FAITH]].\n\n[GOOD-FAITH]: claims.md\n"
    )
    assert mentioned(text) == {"FAIR-PLAY", "FAIR-LEAD", "GOOD-FAITH"}
    assert not mentioned(text) <= set(BY_ID)
    assert bracketed(text) == {"FAIR-PLAY", "GOOD-FAITH"}


def test_a_claim_without_its_link_is_found() -> None:
    assert badly_linked("So it is [[INV-MONO]].") == {"INV-MONO"}
    assert badly_linked("So it is [[INV-MONO]].\n\n[INV-MONO]: readme.md") == {"INV-MONO"}
    assert badly_linked("So it is.\n\n[INV-MONO]: claims.md") == {"INV-MONO"}
    assert badly_linked("So it is [[INV-MONO]].\n\n[INV-MONO]: claims.md") == set()
    assert bracketed("[INV-MONO]: claims.md") == set()
    assert bracketed("The mark `[DONE]` is none, and [[INV-MONO]] is one.") == {"INV-MONO"}


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page: 1\n[a](gone.md) [b](https://example.org) [c](#a-page-1) [d](page.md#b) [e]\n\n[e]: x.md\n"
    )
    assert dead_links(page) == ["gone.md", "page.md#b", "x.md"]


def test_a_missing_module_and_a_wrong_count_are_found() -> None:
    assert modules_that_are_not_there("`rules.py`, `spec/sfq_spec/rules.py`, `ruled.py`") == ["ruled.py"]
    assert counts_that_no_search_found("449 states, states, and 4,500 states") == ["4,500"]


def test_a_page_without_the_latest_claim_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ledger.markdown()
    monkeypatch.setattr(ledger, "CLAIMS", (*CLAIMS, replace(CLAIMS[0], id="R-NEW")))
    assert page != ledger.markdown()


def test_a_page_that_is_not_in_the_index_is_found() -> None:
    assert left_out("See [a](a.md) and [b](b.md#part), and c.md.", {"a.md", "b.md", "c.md", "README.md"}) == {"c.md"}


def test_an_invariant_that_supports_another_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {invariant.name: lost_without(invariant, monkeypatch) for invariant in model.INVARIANTS}
    assert lost["level when idle"] == set()
    assert "FAIR-LOWER" in lost["lower band"] - lost["upper band"]


def test_a_level_that_is_not_the_ledgers_is_found() -> None:
    text = "*Tested*: [[R-FIFO]], and\n[[R-JOIN]].\n\n*Errata*: none, and\n\n*Proved*: [[INV-MONO]]."
    assert levels(text) == {"Tested": {"R-FIFO", "R-JOIN"}, "Errata": set()}


def test_a_run_that_is_none_is_found() -> None:
    header = ["event", "v", "S of A", ""]
    assert (
        list(rows_that_differ([header, ["`arrive A1, cost 2`", "0", "0", ""], ["`dispatch A1`", "2", "(2)", ""]])) == []
    )
    assert list(rows_that_differ([header, ["`arrive A1, cost 2`", "0", "(0)", ""]])) == ["`arrive A1, cost 2`"]
    assert list(
        rows_that_differ([header, ["`arrive A1, cost 2`", "0", "0", ""], ["`dispatch A2`", "2", "(2)", ""]])
    ) == ["`dispatch A2`"]
