"""Costs before dispatch: the formula, what is learnt and from how much, bounds, bad input, and what never changes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_impl import cost as described
from sfq_impl.cost import BadField, Estimator, Settings
from sfq_proofs.fleet import costs
from sfq_proofs.fleet.costs import Parts
from sfq_spec.importers import azure, servegen

WHOLE = st.integers(0, 200_000)
WEIGHTS = st.fractions(0, 10, max_denominator=1_000)


def learnt(requests: Sequence[tuple[str, str, int, int]], settings: Settings | None = None) -> Estimator:
    estimator = Estimator(settings)
    for request in requests:
        estimator.learn(*request)
    return estimator


def test_a_cost_is_the_weighted_sum_and_says_so() -> None:
    estimator = learnt([("m", "A", 100, 50)] * 5, Settings(cached_weight=Fraction(1, 10)))
    cost = estimator.cost("m", "A", 1_000, cap=400, cached_tokens=200)
    ratio = (5 * Fraction(1, 2) + 5 * (5 * Fraction(1, 2) + 5 * Fraction(1, 4)) / 10) / 10
    assert cost.ratio == ratio == Fraction(7, 16)
    assert (cost.output_tokens, cost.tokens) == (175, 1_175)
    assert cost.units == 800 + 20 + 2 * 175 == 1_170
    assert cost.explain() == (
        "cost 1,170 = 1 × 1,000 input tokens (200 of them remembered, at 0.1) + 2 × 175 output tokens expected "
        "(cap 400 × ratio 0.438, learnt from 5 requests of 'A', 5 of 'm')"
    )
    said = estimator.cost("m", "B", 1).explain()
    assert "default cap 1,024 × ratio 0.375, learnt from 0 requests of 'B', 5 of 'm'" in said


@given(
    weights=st.tuples(WEIGHTS, WEIGHTS.filter(bool), WEIGHTS),
    history=st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 5_000))),
    asked=st.tuples(WHOLE, WHOLE, WHOLE, st.integers(1, 8)),
)
def test_any_cost_is_the_sum_rounded_up_and_at_least_one(
    weights: tuple[Fraction, Fraction, Fraction], history: list[tuple[int, int]], asked: tuple[int, int, int, int]
) -> None:
    estimator = learnt([("m", "A", *seen) for seen in history], Settings(*weights))
    input_tokens, cached, cap, choices = asked
    cost = estimator.cost("m", "A", input_tokens, cap=cap, choices=choices, cached_tokens=cached)
    assert type(cost.units) is type(cost.output_tokens) is int
    assert cost.cap == min(cap, 131_072) * choices
    assert cost.cap * cost.ratio <= cost.output_tokens < cost.cap * cost.ratio + 1
    assert Fraction(1, 100) <= cost.ratio <= 1
    cached = min(cached, input_tokens)
    exact = weights[0] * (input_tokens - cached) + weights[2] * cached + weights[1] * cost.output_tokens
    assert cost.units == max(1, -(-exact.numerator // exact.denominator))
    more = estimator.cost("m", "A", input_tokens + 1, cap=cap + 1, choices=choices, cached_tokens=cached)
    assert more.units >= cost.units, "more is never cheaper"


@given(
    history=st.lists(st.tuples(st.sampled_from("mn"), st.sampled_from("AB"), st.integers(1, 99), st.integers(0, 99)))
)
def test_a_ratio_of_few_requests_leans_on_the_level_above(history: list[tuple[str, str, int, int]]) -> None:
    estimator = learnt(history)
    for model in "mn":
        of_model = [(cap, output) for m, _, cap, output in history if m == model]
        above = lean(of_model, Fraction(1, 4))
        for user in "AB":
            of_user = [(cap, output) for m, u, cap, output in history if (m, u) == (model, user)]
            expected = min(max(lean(of_user, above), Fraction(1, 100)), Fraction(1))
            assert estimator.ratio(model, user) == expected
            cost = estimator.cost(model, user, 1)
            assert (cost.requests_of_user, cost.requests_of_model) == (len(of_user), len(of_model))


def lean(seen: Sequence[tuple[int, int]], above: Fraction) -> Fraction:
    """The rule, written once more."""
    if not seen:
        return above
    own = Fraction(sum(output for _, output in seen), sum(cap for cap, _ in seen))
    return (len(seen) * own + 5 * above) / (len(seen) + 5)


def test_a_ratio_stays_within_its_bounds_whatever_is_learnt() -> None:
    settings = Settings(least_ratio=Fraction(1, 50), greatest_ratio=Fraction(3, 4))
    nothing, more_than_all = (learnt([("m", "A", 100, output)] * 2_000, settings) for output in (0, 150))
    assert nothing.ratio("m", "A") == nothing.ratio("m", "B") == Fraction(1, 50)
    assert more_than_all.ratio("m", "A") == more_than_all.ratio("m", "B") == Fraction(3, 4)


def test_without_ratios_of_users_only_the_model_counts() -> None:
    estimator = learnt([("m", "A", 100, 100)] * 10, Settings(per_user=False))
    assert estimator.ratio("m", "A") == estimator.ratio("m", "B") == lean([(100, 100)] * 10, Fraction(1, 4))
    assert len(estimator) == 1


def test_old_requests_fade() -> None:
    estimator = learnt([("m", "A", 100, 100)] * 5_000, Settings(memory=100))
    assert estimator.ratio("m", "A") > Fraction(9, 10)
    assert estimator.cost("m", "A", 1).requests_of_model < 100
    for _ in range(300):
        estimator.learn("m", "A", 100, 0)
    assert estimator.ratio("m", "A") < Fraction(1, 10)


def test_the_cap_is_as_given_or_that_of_the_model() -> None:
    estimator = Estimator(Settings(default_cap=100, default_caps={"long": 5_000}, greatest_cap=1_000))

    def cap(model: str, given: int | None, choices: int = 1) -> tuple[int, bool]:
        cost = estimator.cost(model, "A", 1, cap=given, choices=choices)
        return cost.cap, cost.cap_is_default

    assert cap("m", None) == (100, True)
    assert cap("m", 7, choices=3) == (21, False)
    assert cap("long", None) == (1_000, True)
    assert cap("long", 10**30) == (1_000, False)


def test_what_has_no_output_costs_its_input_and_teaches_nothing() -> None:
    estimator = Estimator()
    embedding = estimator.cost("e", "A", 321, cap=0)
    assert (embedding.units, embedding.output_tokens) == (321, 0)
    assert embedding.explain() == "cost 321 = 1 × 321 input tokens, no output"
    estimator.learn("e", "A", embedding.cap, 0)
    assert estimator.learnt == len(estimator) == 0
    assert estimator.cost("e", "A", 0, cap=0).units == 1


def test_no_cap_makes_the_others_of_its_model_cheap_without_end() -> None:
    estimator = learnt([("m", "A", 1_000, 500)] * 1_000)
    before = estimator.cost("m", "B", 0, cap=1_000).units
    huge = estimator.cost("m", "C", 0, cap=10**18)
    estimator.learn("m", "C", huge.cap, 1)
    assert estimator.cost("m", "B", 0, cap=1_000).units > before * 8 // 10


def test_models_and_users_are_forgotten_the_longest_unused_first() -> None:
    estimator = Estimator(Settings(most_totals=4))
    for user in "ABCA":
        estimator.learn("m", user, 10, 10)
    estimator.learn("m", "D", 10, 10)
    assert len(estimator) == 4
    known = {user for user in "ABCD" if estimator.cost("m", user, 1).requests_of_user}
    assert known == {"A", "C", "D"}
    assert estimator.cost("m", "A", 1).requests_of_model == 5
    for number in range(1_000):
        estimator.learn(f"m{number}", "A", 10, 10)
    assert len(estimator) == 4


def test_settings_may_change_with_all_that_was_learnt() -> None:
    estimator = learnt([("m", "A", 100, 100)] * 10)
    before, kept = estimator.cost("m", "A", 10, cap=10), estimator.dump()
    estimator.settings = Settings(input_weight=Fraction(1, 3), output_weight=Fraction(7), greatest_ratio=Fraction(1, 2))
    after = estimator.cost("m", "A", 10, cap=10)
    assert (before.units, after.units) == (10 + 2 * 10, 4 + 7 * 5)
    assert "cost 39 = 0.333333 × 10 input tokens + 7 × 5" in after.explain()
    assert "cost 30 = 1 × 10 input tokens + 2 × 10" in before.explain()
    assert estimator.dump() == kept


def test_numbers_are_read_as_they_are_written() -> None:
    settings: Any = {"input_weight": 0.1, "output_weight": 3, "first_ratio": Fraction(1, 3)}
    assert Settings(**settings).input_weight == Fraction(1, 10)
    assert Estimator(Settings(**settings)).cost("m", "A", 10, cap=3).units == 1 + 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input_weight", -1),
        ("output_weight", math.nan),
        ("output_weight", "2"),
        ("cached_weight", math.inf),
        ("first_ratio", True),
        ("least_ratio", 0),
        ("least_ratio", 1.5),
        ("shrink", -1),
        ("shrink", 1.5),
        ("default_cap", 0),
        ("greatest_cap", None),
        ("memory", 1),
        ("most_totals", 0),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(field: str, value: object) -> None:
    settings: Any = {field: value}
    with pytest.raises(BadField, match=f"^field `{field}`: .* is not ") as raised:
        Settings(**settings)
    assert raised.value.field == field


def test_settings_of_models_and_weights_that_charge_nothing_are_named() -> None:
    with pytest.raises(BadField, match=r"field `default_caps.m`: -1 is not a whole number of at least 1"):
        Settings(default_caps={"m": -1})
    with pytest.raises(BadField, match="field `output_weight`: 0 is not above 0, as `input_weight` is 0 too"):
        Settings(input_weight=Fraction(0), output_weight=Fraction(0))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", None),
        ("model", "\ud800"),
        ("user", 7),
        ("user", b"A"),
        ("input_tokens", -1),
        ("input_tokens", 1.0),
        ("cached_tokens", -1),
        ("cap", -1),
        ("cap", True),
        ("cap", "9" * 99),
        ("choices", 0),
    ],
)
def test_a_quantity_that_cannot_be_used_is_named(field: str, value: object) -> None:
    given: dict[str, Any] = {"model": "m", "user": "A", "input_tokens": 1, field: value}
    with pytest.raises(BadField, match=f"^field `{field}`: .{{1,70}} is not a "):
        Estimator().cost(**given)


@pytest.mark.parametrize(("field", "value"), [("user", "\udfff"), ("cap", -1), ("actual", -1), ("actual", None)])
def test_what_cannot_be_learnt_changes_nothing(field: str, value: object) -> None:
    estimator = learnt([("m", "A", 10, 5)])
    before = estimator.dump()
    given: dict[str, Any] = {"model": "m", "user": "A", "cap": 10, "actual": 5, field: value}
    with pytest.raises(BadField, match=f"^field `{field}`"):
        estimator.learn(**given)
    assert estimator.dump() == before
    assert estimator.learnt == 1


@pytest.mark.claims("COST-OUTSIDE")
@pytest.mark.parametrize("seed", range(20))
def test_what_is_learnt_never_changes_the_cost_of_a_request_that_has_arrived(seed: int) -> None:
    found, seen = costs.moved(Parts(), seed)
    assert found == []
    assert min(seen["while it waited"], seen["in flight"]) > 10, "the estimates did not move"


@pytest.mark.claims("COST-OUTSIDE")
@pytest.mark.parametrize("parts", costs.WRONG, ids=lambda parts: parts.name)
def test_what_goes_back_over_a_cost_is_found(parts: Parts) -> None:
    assert costs.is_seen(parts)


def test_what_the_proofs_show_of_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = costs.findings()
    assert found.holds
    assert found.refuted == tuple(parts.name for parts in costs.WRONG)
    monkeypatch.setattr(costs, "WRONG", (*costs.WRONG, Parts("none at all")))
    assert not costs.findings()[0].holds
    monkeypatch.setattr(costs, "WRONG", costs.WRONG[:1])
    monkeypatch.setattr(costs, "moved", lambda parts, seed: (["COST-OUTSIDE: so"], Counter()))
    assert (costs.findings()[0].holds, costs.findings()[0].says) == (False, "COST-OUTSIDE: so")
    monkeypatch.setattr(costs, "moved", lambda parts, seed: (["x"] if parts.name else [], Counter()))
    assert not costs.findings()[0].holds
    assert costs.findings()[0].says.startswith("too seldom: while it waited")


CALIBRATED: dict[str, tuple[Callable[..., Any], str]] = {
    "Azure 2023, code": (azure.read, "azure2023/AzureLLMInferenceTrace_code.csv"),
    "Azure 2023, conversation": (azure.read, "azure2023/AzureLLMInferenceTrace_conv.csv"),
    "ServeGen, hour 0": (servegen.read, "servegen/r1_sample_t0_x0.1_seed1.csv"),
    "ServeGen, hour 10": (servegen.read, "servegen/r1_sample_t36000_x0.1_seed1.csv"),
    "ServeGen, hour 20": (servegen.read, "servegen/r1_sample_t72000_x0.1_seed1.csv"),
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_estimates_of_real_requests_are_as_far_off_as_is_told(shared_data: Path, name: str) -> None:
    read, path = CALIBRATED[name]
    with (shared_data / path).open("rb") as stream:
        arrivals = read(stream).arrivals
    total, error, misallocated = calibrated(arrivals, per_user=True)
    row = [name, f"{total:.2f}", f"{100 * error:.0f} %"]
    if len({arrival.user for arrival in arrivals}) > 1:
        row += [f"{100 * calibrated(arrivals, per_user=False)[2]:.0f} %", f"{100 * misallocated:.0f} %"]
    else:
        row += ["(one user)"]
    assert row in [re.split(r"  +", line.strip()) for line in (described.__doc__ or "").splitlines()]


def calibrated(arrivals: Sequence[Any], per_user: bool) -> tuple[float, float, float]:
    """Charged ÷ true, the median error of a request, and the part of the charges that is another user's."""
    estimator, errors = Estimator(Settings(per_user=per_user, default_cap=4_096)), list[float]()
    charged, true = dict[str, int](), dict[str, int]()
    for arrival in arrivals:
        cost = estimator.cost("m", arrival.user, arrival.input_tokens)
        really = arrival.input_tokens + 2 * arrival.output_tokens
        errors.append(abs(cost.units - really) / really)
        charged[arrival.user] = charged.get(arrival.user, 0) + cost.units
        true[arrival.user] = true.get(arrival.user, 0) + really
        estimator.learn("m", arrival.user, cost.cap, arrival.output_tokens)
    wrong = sum(abs(charged[user] - true[user]) for user in true)
    return sum(charged.values()) / sum(true.values()), median(errors), wrong / sum(true.values())
