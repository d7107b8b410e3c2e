"""What docs/program-aware.md shows is so: its configuration is read, its tables are those of the code."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from policy import figures, pick_time
from sfq_impl.fleet.policy import Usage
from sfq_impl.policy.configuration import BadConfiguration, made, parse, queue_policy
from sfq_impl.policy.others import SfqFairness
from sfq_impl.policy.parameters import FACTOR, HALF_LIFE, ProgramAware, Settled
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_spec.conformance.las.catalogue import FAULTS, told_of

TEXT = (Path(__file__).resolve().parents[2] / "docs/program-aware.md").read_text(encoding="utf-8")
NAME = "program-aware-fairness"


def rows(first: str) -> list[list[str]]:
    """The cells below a header that begins so."""
    table = TEXT[TEXT.index(f"| {first} |") :].partition("\n\n")[0]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()[2:]]


def test_the_configuration_is_read() -> None:
    pytest.importorskip("yaml", reason="needs PyYAML")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.M | re.S)
    policy = queue_policy(parse(block))
    assert isinstance(policy.fairness, ProgramAwareFairness)
    assert isinstance(policy.policy_of(10), SfqFairness)


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml", reason="needs PyYAML")
    (configuration,) = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.M | re.S)
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
    (tmp_path / "config.yaml").write_text(configuration, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    async def call(server: str) -> Usage:
        return Usage(100, 50)

    world: dict[str, Any] = {"call": call}
    exec(compile(code, "example", "exec"), world)
    asyncio.run(world["answer"]("A"))
    assert b'attained_service_tokens{program_id="A"} 1' in world["figures"].page(), "200, or a little less by now"


def test_every_parameter_is_told_with_its_default() -> None:
    told = {name.strip("`"): default.partition(";")[0].strip("`") for name, default, *_ in rows("parameter")}
    defaults = {field.encode_name: field.default for field in msgspec.structs.fields(ProgramAware)}
    defaults |= {"lasHalfLifeSeconds": int(HALF_LIFE), "lasDecayFactor": "none"}
    assert told == {name: str(default) for name, default in defaults.items()}
    sentence = TEXT[TEXT.rindex("`program-aware-settled-fairness` has") :].partition(". The others")[0]
    assert {field.encode_name for field in msgspec.structs.fields(Settled)} == set(re.findall(r"`(\w+)`", sentence)) - {
        "estimate"
    }


def test_the_refusal_is_the_one_that_is_made() -> None:
    with pytest.raises(BadConfiguration) as refused:
        made(NAME, parameters={"lasHalfLife": 60})
    assert f"```text\n{refused.value}\n```" in TEXT


def test_the_figures_in_the_text_are_those_of_the_table() -> None:
    table = {name: dict(zip(figures.COLUMNS, cells, strict=True)) for name, *cells in rows("policy")}
    assert list(table) == list(figures.POLICIES)
    short, usual = table["… half-life 10 s"], table[f"`{NAME}`"]
    assert (short["newcomer"], usual["newcomer"]) == ("7 s", "34 s")
    assert "(7 seconds instead of 34 with a half-life of 10 s)" in TEXT
    assert (short["large requests"], short["among nine"]) == ("56%", "27%")
    assert re.search(r"56 % of two, and to 27 % where 11 %\s+are even", TEXT)
    assert [row[0] for row in rows("column")] == list(figures.COLUMNS)
    assert (sum(figures.LARGE) + figures.LARGE[1], sum(figures.SMALL) + figures.SMALL[1]) == (3000, 140)


def test_what_a_pick_takes_grows_with_the_programs_and_under_sfq_does_not() -> None:
    """The figures themselves are of one machine; `python tests/policy/pick_time.py` makes them."""

    def taken(type: str) -> tuple[float, float]:
        few, many = (pick_time.milliseconds(type, programs, rounds=3, steps=10) for programs in (10, 1000))
        return few, many

    few, many = taken(NAME)
    assert many > 8 * few
    assert many > 8 * taken("sfq-fairness")[1]
    assert "`python tests/policy/pick_time.py`" in TEXT


def test_the_factor_halves_in_so_many_picks() -> None:
    assert "23,105 picks" in TEXT
    assert FACTOR**23104 > 0.5 > FACTOR**23105


def test_the_mistake_is_one_of_the_kit() -> None:
    mistake, _ = told_of("AddsWithoutDecay")
    text = " ".join(TEXT.split())
    assert f"`AddsWithoutDecay`: {mistake[0].lower()}{mistake[1:]}" in text
    assert set(re.findall(r"`([A-Z]\w+)`", TEXT)) <= set(FAULTS)
