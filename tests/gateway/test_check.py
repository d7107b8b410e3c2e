"""What `sfq-gateway check` tells: all that is wrong in one go, each of it once, and what is right but does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.test_config import SERVER, complaints
from sfq_impl.gateway.cli import app
from sfq_impl.gateway.ordering import ORDERS


def fields(text: str, **environ: str) -> list[str]:
    """The settings that are complained of, in order."""
    return [said.split(": ")[1] for said in complaints(text, K="k", **environ)]


def test_one_wrong_setting_hides_no_other() -> None:
    text = (
        "servers: [{url: 127.0.0.1:8002}]\n"
        "cost: {ratio: 2, cached_weight: 0.1, tokenizers: {m: nothere.json}, output_weight: -1, state: none/x}\n"
    )
    assert fields(text) == [
        "servers[0].url",
        "cost.output_weight",
        "cost.ratio",
        "cost.state",
        "cost.tokenizers",
        "cost",
    ]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (SERVER + "    tokens: 0\n    ca: none.pem\n    health: x", ["tokens", "ca", "health"]),
        (SERVER + "tls: {certificate: a.pem, key: b.pem}", ["certificate", "key"]),
        (SERVER + "tls: {certificate: 7, key: b.pem}", ["certificate", "key"]),
        (
            SERVER + "identity: {headers: [7, 'x y'], default: '', keys: {a: 7}}",
            ["default", "headers", "headers[0]", "keys.a"],
        ),
        (SERVER + "identity: {jwt: {key: 7, algorithms: [RS265, 7]}}", ["algorithms", "algorithms[1]", "key"]),
        (SERVER + "cost: {tokenizers: {m: 7, n: none.json}}", ["tokenizers", "tokenizers.m"]),
        (SERVER + "policy: fifo\nplacement: {mode: overtake, factor: 0}", ["placement", "placement.factor"]),
        (SERVER + "  - {url: http://127.0.0.1:8001}\n  - {url: 7}", ["servers", "url"]),
    ],
)
def test_beside_what_cannot_be_read_all_else_is_checked(text: str, wrong: list[str]) -> None:
    told = [field if "." not in field else field.rpartition(".")[2] for field in fields(text)]
    assert sorted(told) == sorted(each.rpartition(".")[2] for each in wrong)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (SERVER + "limits: {wait: .nan}", ["limits.wait"]),
        (SERVER + "limits: {wait: -.inf}", ["limits.wait"]),
        (SERVER + "weights: {ann: .nan}", ["weights.ann"]),
        (SERVER + "identity: {required: true, keys: 7}", ["identity.keys"]),
        (SERVER + "identity: {required: true, keyss: {a: {env: K}}}", ["identity.keyss"]),
        (SERVER + "identity: {order: [kye], keys: {a: {env: K}}}", ["identity.order[0]"]),
        (SERVER + "identity: {order: [], keys: {a: {env: K}}}", ["identity.order"]),
        (SERVER + "polcy: program-aware-fairness\nidentity: {priority: x}", ["polcy"]),
        (SERVER + "policy: fair\nidentity: {priority: x}", ["policy"]),
        (SERVER + "placemnt: {strategy: prefix-affine}\ncost: {cached_weight: 1}", ["placemnt"]),
        (SERVER + "cost: {input_weight: 0, output_weight: -1}", ["cost.output_weight"]),
        ("servers: 7", ["servers"]),
        ("servers: [7]", ["servers[0]"]),
    ],
)
def test_what_is_wrong_is_told_once_and_no_more_follows_from_it(text: str, wrong: list[str]) -> None:
    assert fields(text) == wrong


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("record: {path: /proc/nope/x}", "record.path: /proc is a folder in which nothing can be written"),
        ("shadow: {path: /proc/nope}", "shadow.path: /proc is a folder in which nothing can be written"),
        ("cost: {state: /proc/x.json}", "cost.state: /proc is a folder in which nothing can be written"),
    ],
)
def test_where_nothing_can_be_written_is_told_before_it_is_tried(text: str, said: str) -> None:
    [told] = complaints(SERVER + text)
    assert told.startswith(f"fleet.yaml:3: {said}")


@pytest.mark.parametrize("policy", ORDERS)
def test_weights_that_do_not_count_are_told(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(f"{SERVER}policy: {policy}\nweights: {{ann: 2}}\n")
    result = CliRunner().invoke(app, ["check", "--config", str(path)])
    note = f"`weights` do not count under {policy}: they change nothing in who is next.\n"
    assert result.exit_code == 0
    assert result.stdout.endswith(note) == (policy not in ("sfq", "sfq-fairness"))


def test_the_settings_of_a_policy_are_in_the_table() -> None:
    told = CliRunner().invoke(app, ["settings"]).output
    for name in ("type", "parameters", "plugins", "flowControl", "file"):
        assert f"| `policy.{name}` | " in told
