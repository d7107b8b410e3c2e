"""ORDER-SPEED, searched: leaving completions out changes nothing under the rules, and something under wrong ones."""

from __future__ import annotations

import pytest

from sfq_proofs.searches import speed
from sfq_spec.conformance import shorthand
from sfq_spec.machine import take
from sfq_spec.mutants import BY_NAME


@pytest.mark.integration
@pytest.mark.claims("ORDER-SPEED")
def test_the_search_holds_and_is_not_empty() -> None:
    (finding,) = speed.findings()
    assert finding.holds
    assert finding.refuted == speed.HEEDFUL


@pytest.mark.claims("ORDER-SPEED")
@pytest.mark.parametrize("name", speed.HEEDFUL)
def test_rules_that_heed_completions_are_told_apart(name: str) -> None:
    events = shorthand.read("+A 1×2; D; +B 1; ✓ A1; D; D")
    without = shorthand.read("+A 1×2; D; +B 1; D; D")
    assert speed.order(take, events) == speed.order(take, without) == ["A1", "B1", "A2"]
    assert speed.order(BY_NAME[name].take, events) != speed.order(BY_NAME[name].take, without)
