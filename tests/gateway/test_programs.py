"""The policies of queues behind the gateway: by name, with parameters, and as llm-d's own file says it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.asking import FAIRNESS, aside, complete, get, post
from gateway.running import FaultServer, Running, running
from programs import SAMPLE
from prometheus import promtool
from sfq_impl.fleet.recording import Memory
from sfq_impl.gateway.config import RecordSettings, Settings, ShadowSettings, parse
from sfq_impl.gateway.naming import IdentitySettings
from sfq_impl.gateway.ordering import Ordering, ordering
from sfq_impl.gateway.reading import ConfigError
from sfq_impl.policy.others import GlobalStrictFairness, RoundRobinFairness, SfqFairness
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_spec.trace import Dispatch

SERVER = "servers:\n  - url: http://127.0.0.1:1\n"
BANDS = """
policy:
  plugins:
    - type: program-aware-fairness
  flowControl:
    defaultPriorityBand: {fairnessPolicyRef: program-aware-fairness}
    priorityBands:
      - {priority: 10, fairnessPolicyRef: round-robin-fairness}
"""
SLOW, FAST = {"model": "slow"}, {"model": "echo"}


def settings(text: str, folder: Path = Path()) -> Settings:
    return parse(SERVER + text, "fleet.yaml", folder, {})


def queues(policy: Ordering) -> QueuePolicy:
    made = policy.policy()
    assert isinstance(made, QueuePolicy)
    return made


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("program-aware-fairness", ProgramAwareFairness),
        ("round-robin-fairness", RoundRobinFairness),
        ("global-strict-fairness", GlobalStrictFairness),
        ("round-robin-fairness-policy", RoundRobinFairness),
        ("sfq-fairness", SfqFairness),
    ],
)
def test_a_policy_by_its_name(name: str, kind: type) -> None:
    read = settings(f"policy: {name}").policy
    assert (read.name, read.has_queues) == (name, True)
    assert type(queues(read).fairness) is kind


def test_a_policy_with_parameters() -> None:
    text = "policy:\n  type: program-aware-fairness\n  parameters: {lasHalfLifeSeconds: 7}"
    fairness = queues(settings(text).policy).fairness
    assert isinstance(fairness, ProgramAwareFairness)
    assert fairness.parameters.half_life == 7


@pytest.mark.parametrize("how", ["in a file", "as a part"])
def test_the_sample_of_llm_d_is_taken_as_it_is(how: str, tmp_path: Path) -> None:
    (tmp_path / "llm-d.yaml").write_text(SAMPLE)
    inside = "".join(f"  {line}\n" for line in SAMPLE.splitlines())
    read = settings("policy: {file: llm-d.yaml}" if how == "in a file" else "policy:\n" + inside, tmp_path).policy
    fairness = queues(read).fairness
    assert isinstance(fairness, ProgramAwareFairness)
    rules = fairness.parameters
    assert (rules.las_weight_service, rules.half_life, rules.eviction_ttl_seconds) == (0.8, 60, 3600)
    assert read.name == "program-aware-fairness"


def test_a_band_has_its_own_policy() -> None:
    policy = queues(settings(BANDS).policy)
    assert isinstance(policy.policy_of(10), RoundRobinFairness)
    assert isinstance(policy.policy_of(0), ProgramAwareFairness)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policy: [sfq]", "fleet.yaml:3: policy: is ['sfq']; write the name of a policy"),
        ("policy: {parameters: {}}", "fleet.yaml:3: policy: has none of `type`, `plugins`"),
        ("policy: {type: fair}", 'fleet.yaml:3: policy: plugin "fair": there is no type "fair"'),
        ("policy: {type: sfq, parameters: {a: 1}}", "fleet.yaml:3: policy: parameters: sfq has none"),
        ("policy: {file: none.yaml}", "fleet.yaml:3: policy: none.yaml: cannot be read"),
        ("policy: {file: a, type: b}", "fleet.yaml:3: policy: file: is the path of a file, and stands alone"),
        (
            "policy:\n  type: program-aware-fairness\n  parameters: {lasHalfLifeSeconds: -1}",
            "fleet.yaml:4: policy: program-aware-fairness plugin "
            '"program-aware-fairness": lasHalfLifeSeconds must be >= 0, got -1',
        ),
        ("policy: {plugins: [{type: sfq-fairness, color: red}]}", "fleet.yaml:3: policy: unknown field `plugins[0]"),
        (
            "policy: {flowControl: {defaultPriorityBand: {fairnessPolicyRef: mine}}}",
            "fleet.yaml:3: policy: flowControl.defaultPriorityBand.fairnessPolicyRef: no plugin is called",
        ),
        ("policy: sfq-fairness\nplacement: {mode: overtake}", "fleet.yaml:4: placement: others can overtake"),
        ("identity: {priority: x-priority}", "fleet.yaml:3: identity: priority: sfq knows no priorities"),
    ],
)
def test_what_is_wrong_with_a_policy_is_told(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(text)
    assert any(each.startswith(said) for each in error.value.complaints), error.value.complaints


def test_programs_are_named_as_in_llm_d() -> None:
    assert settings("policy: sfq").naming.default == "anonymous"
    assert settings("policy: program-aware-fairness").naming.default == "default-flow"
    named = settings("policy: program-aware-fairness\nidentity: {default: nobody}").naming
    assert named.default == "nobody"
    agents = settings("policy: {plugins: [{type: agent-identity}]}").naming
    assert agents.headers[-1] == "session_id"
    assert "session_id" not in named.headers


def test_a_higher_priority_goes_first(fault: FaultServer) -> None:
    with running(
        [fault.url], requests=1, policy=settings(BANDS).policy, identity=IdentitySettings(priority="X-Priority")
    ) as gateway:
        asked = [aside(post, gateway, SLOW)]
        gateway.eventually(lambda: gateway.in_flight == 1)
        for number, priority in enumerate(("", "-3", "10", "+1"), start=1):
            headers = {"x-priority": priority}
            asked.append(aside(post, gateway, FAST | {"prompt": priority}, headers=headers))
            gateway.eventually(lambda number=number: gateway.waiting == number)  # type: ignore[misc]
        assert [each.result(20)[0].status for each in asked] == [200] * 5
        assert [re.findall(rb'"prompt": "(.*?)"', body) for _, _, body in fault.got] == [
            [], [b"10"], [b"+1"], [b""], [b"-3"],
        ]  # fmt: skip
        for wrong in ("high", "1000", "1.5"):
            assert post(gateway, FAST, headers={"x-priority": wrong})[0].status == 400


def waited(gateway: Running) -> dict[str, float]:
    """What each program has attained, by the metrics."""
    page = get(gateway, "/metrics")[1].decode()
    return {
        sample.labels["program_id"]: sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "llm_d_epp_program_aware_attained_service_tokens"
    }


def test_what_streams_have_used_is_what_programs_have_attained(engine_url: str) -> None:
    sample = ordering({"type": "program-aware-fairness", "parameters": {"lasHalfLifeSeconds": 0}})
    with running([engine_url], requests=1, policy=sample) as gateway:
        answer = complete(gateway, "hello", "large", max_tokens=24)
        attained = waited(gateway)
        assert attained == {"large": answer.usage.prompt_tokens + 2 * answer.usage.completion_tokens}
        *_, last = list(
            complete(gateway, "hello", "small", max_tokens=5, stream=True, stream_options={"include_usage": True})
        )
        assert last.usage.completion_tokens == 5
        assert waited(gateway)["small"] == last.usage.prompt_tokens + 10


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["program-aware-fairness", "sfq", "sfq-fairness", "round-robin-fairness", "global-strict-fairness"]
)
def test_two_programs_of_different_sizes_one_of_which_was_idle(name: str, engine_url: str) -> None:
    """One program asks for much and often; the other one was idle, and comes with small requests after a backlog."""
    with running([engine_url], requests=1, policy=ordering(name)) as gateway:
        complete(gateway, "back soon", "small", max_tokens=2)
        trace = Memory()
        gateway.gateway.dispatcher.observers.append(trace)
        [server] = gateway.gateway.servers.servers.values()
        gateway.loop.call(lambda: setattr(server, "state", "draining"))
        asked = [aside(complete, gateway, "large asks", "large", max_tokens=40) for _ in range(6)]
        gateway.eventually(lambda: gateway.waiting == 6)
        asked += [aside(complete, gateway, "small asks", "small", max_tokens=2) for _ in range(3)]
        gateway.eventually(lambda: gateway.waiting == 9)
        gateway.loop.call(lambda: setattr(server, "state", "up"))
        gateway.loop.call(gateway.gateway.dispatcher.changed)
        for each in asked:
            each.result(30)
        order = [entry.answer.user for entry in trace.entries if isinstance(entry.event, Dispatch)]
        places = [place for place, program in enumerate(order) if program == "small"]
        assert len(order) == 9
        assert places == PLACES[name], order


PLACES = {
    "program-aware-fairness": [1, 2, 3],
    "sfq": [1, 2, 3],
    "sfq-fairness": [1, 2, 3],
    "round-robin-fairness": [1, 3, 5],
    "global-strict-fairness": [6, 7, 8],
}
"""Which dispatches are the small program's."""


def test_the_strict_policy_lets_nobody_pass(fault: FaultServer) -> None:
    with running([fault.url], requests=1, policy=ordering("global-strict-fairness")) as gateway:
        asked = [aside(post, gateway, SLOW)]
        gateway.eventually(lambda: gateway.in_flight == 1)
        for number, program in enumerate(("a", "a", "a", "b"), start=1):
            asked.append(aside(post, gateway, FAST | {"user": program}, headers={FAIRNESS: program}))
            gateway.eventually(lambda number=number: gateway.waiting == number)  # type: ignore[misc]
        for each in asked:
            each.result(20)
        assert [re.findall(rb'"user": "(.)"', body) for _, _, body in fault.got[1:]] == [[b"a"]] * 3 + [[b"b"]]


def test_weights_count_for_a_policy_with_shares(fault: FaultServer) -> None:
    with running([fault.url], policy=ordering("sfq-fairness"), weights={"ann": 4.0}) as gateway:
        policy = gateway.gateway.dispatcher.policy
        assert isinstance(policy, QueuePolicy)
        assert post(gateway, FAST, headers={FAIRNESS: "ann"})[0].status == 200
        assert isinstance(policy.fairness, SfqFairness)
        [scheduler] = policy.fairness._schedulers
        assert scheduler.weight("ann") == 4
        changed = replace(gateway.gateway.settings, weights={"ann": 2.0})
        gateway.loop.call(lambda: gateway.gateway.apply(changed))
        assert scheduler.weight("ann") == 2


AS_IN_LLM_D = "llm_d_epp_program_aware_"
"""Names that promtool would have otherwise, without abbreviations; they are those of the original."""


@pytest.mark.integration
@pytest.mark.parametrize("name", ["sfq", "program-aware-fairness"])
def test_promtool_accepts_the_metrics(name: str, fault: FaultServer, tmp_path: Path) -> None:
    more: dict[str, Any] = {}
    if name == "sfq":
        more = {"record": RecordSettings(tmp_path / "trace"), "shadow": ShadowSettings(tmp_path)}
    with running([fault.url], policy=ordering(name), **more) as gateway:
        for program in ("ann", 'b"o\\b', "cé"):
            post(gateway, FAST, headers={FAIRNESS: program})
        page = get(gateway, "/metrics")[1].decode()
        checked = promtool("check", "metrics", given=page)
        said = [line for line in checked.stderr.splitlines() if not line.startswith(AS_IN_LLM_D)]
        assert (said, checked.stdout) == ([], "")
        assert checked.returncode == (0 if name == "sfq" else 3)
        assert promtool("check", "metrics", given=page + "x{ 1\n").returncode != 0
