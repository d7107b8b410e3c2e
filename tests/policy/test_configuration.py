"""The seed's configuration, as it stands; every parameter; and what is said of a wrong one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from programs import SAMPLE
from sfq_impl.policy.configuration import BadConfiguration, Configuration, check, made, parse, policies, queue_policy
from sfq_impl.policy.identity import AGENT_HEADERS, DEFAULT_ID, DEPRECATED_HEADER, HEADER, fairness_id
from sfq_impl.policy.others import GlobalStrictFairness, RoundRobinFairness, SfqFairness
from sfq_impl.policy.parameters import SETTLED, ProgramAware, Settled
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.settled import SettledFairness
from sfq_spec.related import las, settled

NAME = "program-aware-fairness"
PLUGIN = f'{NAME} plugin "{NAME}"'


def plugin(**parameters: Any) -> ProgramAwareFairness:
    policy = made(NAME, parameters=parameters)
    assert isinstance(policy, ProgramAwareFairness)
    return policy


def test_the_configuration_of_the_seed() -> None:
    pytest.importorskip("yaml", reason="needs PyYAML")
    policy = queue_policy(parse(SAMPLE))
    assert isinstance(policy.fairness, ProgramAwareFairness)
    assert policy.fairness.parameters == ProgramAware(3600, 300, 0, "las", 0.8, 0.2, None, 60)


def test_defaults() -> None:
    policy = plugin()
    assert policy.parameters == ProgramAware()
    assert (policy.parameters.half_life, policy.parameters.factor) == (60, 1)
    release = plugin(compatibility="release-0.10").parameters
    assert (release.half_life, release.factor) == (0, 0.99997)
    later = plugin(compatibility="development-2026-08").parameters
    assert (later.half_life, later.factor) == (60, 1)
    by_picks = plugin(lasDecayFactor=0.9).parameters
    assert (by_picks.half_life, by_picks.factor) == (0, 0.9)
    assert plugin(lasHalfLifeSeconds=0).parameters.half_life == 0, "0 is none, and not the default"
    overridden = plugin(compatibility="release-0.10", lasHalfLifeSeconds=60, lasDecayFactor=0.5).parameters
    assert (overridden.half_life, overridden.factor) == (60, 1), "in the release a half-life overrides the factor"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"strategy": "wfq"}, f'{PLUGIN}: unknown scoring strategy "wfq": only "las" is supported'),
        ({"lasWeightService": -0.1}, f"{PLUGIN}: lasWeightService must be >= 0, got -0.1"),
        ({"lasWeightHeadWait": -1}, f"{PLUGIN}: lasWeightHeadWait must be >= 0, got -1"),
        ({"lasDecayFactor": 1.5}, f"{PLUGIN}: lasDecayFactor must be in (0, 1], got 1.5"),
        ({"lasDecayFactor": 0}, f"{PLUGIN}: lasDecayFactor must be in (0, 1], got 0"),
        ({"lasDecayFactor": 1.0000001}, f"{PLUGIN}: lasDecayFactor must be in (0, 1], got 1.0000001"),
        ({"lasWeightService": -0.123456789}, "lasWeightService must be >= 0, got -0.123456789"),
        ({"lasHalfLifeSeconds": -1}, f"{PLUGIN}: lasHalfLifeSeconds must be >= 0, got -1"),
        ({"evictionTtlSeconds": -1}, f"{PLUGIN}: evictionTtlSeconds must be >= 0, got -1"),
        ({"evictionSweepSeconds": 0}, f"{PLUGIN}: evictionSweepSeconds must be > 0, got 0"),
        ({"evictionTtlSeconds": 0, "evictionSweepSeconds": 0}, "evictionSweepSeconds must be > 0"),
        ({"metricsPrograms": -1}, "metricsPrograms must be >= 0, got -1"),
        ({"lasWeightService": float("nan")}, "lasWeightService must be >= 0, got nan"),
        ({"lasHalfLifeSeconds": float("inf")}, "lasHalfLifeSeconds must be >= 0 and finite, got inf"),
        ({"lasHalfLifeSeconds": "60s"}, "field `lasHalfLifeSeconds`: expected `float | null`, got `str`, got '60s'"),
        ({"lasWeightService": True}, "field `lasWeightService`: expected `float`, got `bool`"),
        ({"compatibility": "v1"}, "field `compatibility`: invalid enum value 'v1'"),
        ({"chargeAbandoned": "all"}, "field `chargeAbandoned`: invalid enum value 'all'"),
        (
            {"lasHalfLife": 60},
            f"invalid config for {PLUGIN}: unknown field `lasHalfLife`: did you mean lasHalfLifeSeconds?",
        ),
        ({"turn": 60}, "unknown field `turn`: the fields are: evictionTtlSeconds, evictionSweepSeconds,"),
        (
            {"lasDecayFactor": 0.5, "compatibility": "development-2026-08", "evictionTtlSeconds": -1},
            f"invalid config for {PLUGIN}: unknown field `lasDecayFactor`: development-2026-08 has none; "
            "use lasHalfLifeSeconds",
        ),
        ({"lasHalfLife": None}, f"invalid config for {PLUGIN}: unknown field `lasHalfLife`"),
        (
            {"lasDecayFactor": 0.5, "lasHalfLifeSeconds": 60},
            "lasDecayFactor counts only where lasHalfLifeSeconds is 0: leave one of them out",
        ),
        (
            {"chargeAbandoned": "nothing", "compatibility": "release-0.10"},
            'chargeAbandoned must be "reported" with compatibility release-0.10',
        ),
        ({"evictionTtlSeconds": -1, "strategy": "wfq"}, "evictionTtlSeconds"),
    ],
)
def test_a_wrong_parameter(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        made(NAME, parameters=parameters)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"evictionTtlSeconds": -1}, "evictionTtlSeconds must be >= 0, got -1"),
        ({"lasHalfLifeSeconds": -1}, "lasHalfLifeSeconds must be >= 0, got -1"),
        ({"lasWeightService": 1}, "unknown field `lasWeightService`"),
    ],
)
def test_a_wrong_parameter_of_the_settled_policy(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfiguration, match=f"{SETTLED} plugin .*{said}"):
        made(SETTLED, parameters=parameters)


def test_unless_told_otherwise_the_models_remember_as_the_policies_do() -> None:
    programs, accounts = ProgramAware(), Settled()
    assert programs.half_life == accounts.las_half_life_seconds == 60
    for model, policy in ((las.Las(), programs), (settled.Settled(), accounts)):
        assert model.half_life == 60
        assert model.ttl == policy.eviction_ttl_seconds == 3600
        assert model.sweep == policy.eviction_sweep_seconds == 300


def test_an_error_says_by_which_name_the_plugin_goes() -> None:
    with pytest.raises(BadConfiguration) as refused:
        policies(check({"plugins": [{"type": NAME, "name": "mine", "parameters": {"lasHalfLifeSeconds": -1}}]}))
    assert str(refused.value) == f'{NAME} plugin "mine": lasHalfLifeSeconds must be >= 0, got -1'


def test_of_several_wrong_parameters_the_first_in_the_order_of_the_original_is_told() -> None:
    """Time to live, sweep, the two weights, factor, half-life, strategy."""
    wrong: dict[str, Any] = {
        "evictionTtlSeconds": -1,
        "evictionSweepSeconds": 0,
        "lasWeightService": -1,
        "lasWeightHeadWait": -1,
        "lasDecayFactor": 2,
        "lasHalfLifeSeconds": -1,
        "strategy": "wfq",
    }
    while wrong:
        first = next(iter(wrong))
        with pytest.raises(BadConfiguration, match=f"{first} must be|unknown scoring {first}"):
            made(NAME, parameters={**wrong, "compatibility": "release-0.10"})
        del wrong[first]


def test_a_parameter_that_is_null_or_a_strategy_that_is_empty_is_the_default() -> None:
    """As in the original."""
    fields = [field.encode_name for field in msgspec.structs.fields(ProgramAware)]
    assert plugin(**dict.fromkeys(fields)).parameters == ProgramAware()
    assert plugin(strategy="").parameters.check() == ""


def test_every_parameter_of_the_program_aware_policy_is_tried_above() -> None:
    """A field without a test of what is wrong with it is found here."""
    text = " ".join(mark.args[1].__repr__() for mark in test_a_wrong_parameter.pytestmark)
    fields = [field.encode_name for field in msgspec.structs.fields(ProgramAware)]
    assert [field for field in fields if f"'{field}'" not in text] == []


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ({"plugin": []}, "unknown field `plugin`: the fields are plugins, flowControl, apiVersion, kind, featureGates"),
        ({"plugins": [{"name": "x"}]}, "field `plugins[0].type` is missing"),
        ({"plugins": [{"type": NAME, "config": {}}]}, "unknown field `plugins[0].config`: the fields are type, name"),
        ({"plugins": [{"type": "wfq"}]}, 'plugin "wfq": there is no type "wfq": the types are program-aware-fairness,'),
        ({"plugins": [{"type": NAME}, {"type": NAME}]}, f'plugins: 2 are called "{NAME}": give each a `name`'),
        ({"plugins": 3}, "field `plugins`: expected `array`, got `int`"),
        ({"flowControl": {"bands": []}}, "unknown field `flowControl.bands`: the fields are defaultPriorityBand, prio"),
        (
            {"flowControl": {"defaultPriorityBand": {"fairnessPolicyRef": "mine"}}},
            'flowControl.defaultPriorityBand.fairnessPolicyRef: no plugin is called "mine": configured are none',
        ),
        (
            {"flowControl": {"priorityBands": [{"priority": 1, "fairnessPolicyRef": "mine"}]}},
            'flowControl.priorityBands[0].fairnessPolicyRef: no plugin is called "mine"',
        ),
        ({"flowControl": {"priorityBands": [{}]}}, "flowControl.priorityBands[0].priority is missing"),
        (
            {"flowControl": {"priorityBands": [{"priority": 1}, {"priority": 1}]}},
            "flowControl.priorityBands: 2 entries are for priority 1",
        ),
        ({"flowControl": {"defaultPriorityBand": {"priority": 1}}}, "flowControl.defaultPriorityBand.priority: it is"),
        (
            {"plugins": [{"type": "round-robin-fairness", "parameters": {"x": 1}}]},
            'invalid config for round-robin-fairness plugin "round-robin-fairness": unknown field `x`',
        ),
    ],
)
def test_a_wrong_configuration(configuration: Any, said: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        queue_policy(check(configuration))
    assert said in str(refused.value)


def test_what_is_not_yaml() -> None:
    pytest.importorskip("yaml", reason="needs PyYAML")
    with pytest.raises(BadConfiguration, match="is not YAML"):
        parse("a: [")
    with pytest.raises(BadConfiguration, match="expected `object`, got `int`"):
        parse("3")
    assert parse("") == Configuration()


def test_each_type_by_name_also_by_the_originals() -> None:
    for type, kind in {
        NAME: ProgramAwareFairness,
        "program-aware-settled-fairness": SettledFairness,
        "sfq-fairness": SfqFairness,
        "round-robin-fairness": RoundRobinFairness,
        "round-robin-fairness-policy": RoundRobinFairness,
        "global-strict-fairness": GlobalStrictFairness,
        "global-strict-fairness-policy": GlobalStrictFairness,
    }.items():
        policy = made(type, "mine")
        assert isinstance(policy, kind)
        assert policy.name == "mine"
        assert isinstance(
            queue_policy(check({"flowControl": {"defaultPriorityBand": {"fairnessPolicyRef": type}}})).fairness, kind
        )


def test_bands_have_policies_of_their_own_and_one_policy_may_serve_several() -> None:
    policy = queue_policy(
        check(
            {
                "plugins": [{"type": NAME, "name": "mine"}, {"type": "agent-identity"}],
                "flowControl": {
                    "defaultPriorityBand": {"fairnessPolicyRef": "mine"},
                    "priorityBands": [
                        {"priority": 5, "fairnessPolicyRef": "mine"},
                        {"priority": 9, "fairnessPolicyRef": "sfq-fairness"},
                        {"priority": 7},
                    ],
                },
            }
        )
    )
    assert policy.policy_of(0) is policy.policy_of(5) is policy.fairness
    assert isinstance(policy.policy_of(9), SfqFairness)
    assert isinstance(policy.policy_of(7), GlobalStrictFairness), "llm-d's default"
    assert len(policy.policies) == 3


def test_agents_are_read_where_the_plugin_is_there() -> None:
    assert check({"plugins": [{"type": "agent-identity"}]}).reads_agents
    assert not check({}).reads_agents
    assert policies(check({"plugins": [{"type": "agent-identity"}]})) == {}


def test_the_parameters_of_the_settled_policy() -> None:
    policy = made("program-aware-settled-fairness", parameters={"lasHalfLifeSeconds": 7})
    assert isinstance(policy, SettledFairness)
    assert policy.parameters == Settled(las_half_life_seconds=7)
    with pytest.raises(BadConfiguration, match="unknown field `lasWeightService`"):
        made("program-aware-settled-fairness", parameters={"lasWeightService": 1})


PROGRAMS = pytest.mark.parametrize(
    ("headers", "agents", "id"),
    [
        ({HEADER: "A"}, False, "A"),
        ({DEPRECATED_HEADER: "A"}, False, "A"),
        ({HEADER: "A", DEPRECATED_HEADER: "B"}, False, "A"),
        ({HEADER: "", DEPRECATED_HEADER: "B"}, False, DEFAULT_ID),
        ({}, False, DEFAULT_ID),
        ({AGENT_HEADERS[0]: "S"}, False, DEFAULT_ID),
        ({AGENT_HEADERS[0]: "S"}, True, "S"),
        ({AGENT_HEADERS[1]: "T", AGENT_HEADERS[2]: "U"}, True, "T"),
        ({HEADER: "A", AGENT_HEADERS[0]: "S"}, True, "A"),
        ({HEADER: "", AGENT_HEADERS[0]: "S"}, True, "S"),
    ],
)


@PROGRAMS
def test_who_a_request_is_of(headers: dict[str, str], agents: bool, id: str) -> None:
    assert fairness_id(headers, agents=agents) == id


@PROGRAMS
def test_the_gateway_says_the_same(headers: dict[str, str], agents: bool, id: str) -> None:
    pytest.importorskip("jwt", reason="needs the extra gateway")
    from sfq_impl.gateway.config import Settings
    from sfq_impl.gateway.identity import Identity
    from sfq_impl.gateway.ordering import ordering

    plugins = [{"type": NAME}, *([{"type": "agent-identity"}] if agents else [])]
    policy = ordering({"plugins": plugins, "flowControl": {"defaultPriorityBand": {"fairnessPolicyRef": NAME}}})
    assert Identity(Settings(servers=(), policy=policy).naming).caller(headers, None).user == id
