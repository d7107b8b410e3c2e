"""The configuration: ten lines are enough, and whatever is wrong is told with its line, its field and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfq_impl.gateway.config import Settings, load, parse
from sfq_impl.gateway.reading import ConfigError, Secret
from sfq_impl.gateway.serving import shadowed

HERE = Path(__file__).parent
SERVER = "servers:\n  - url: http://127.0.0.1:8001\n"


def read(text: str, **environ: str) -> Settings:
    return parse(text, "fleet.yaml", HERE, environ)


def complaints(text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        read(text, **environ)
    return error.value.complaints


def test_two_lines_are_enough() -> None:
    settings = read(SERVER)
    assert [server.called for server in settings.servers] == ["127.0.0.1:8001"]
    assert settings.policy.name == "sfq"
    assert settings.address == ("127.0.0.1", 8080)


def test_a_configuration_with_all_kinds_of_values() -> None:
    settings = read(
        SERVER + "    key: {env: UPSTREAM}\n    requests: 16\n    tokens: null\n"
        "weights: {ann: 2, bob: 0.5}\nlisten: '[::1]:9000'\nlimits:\n  wait: 5\n  cost: null\n"
        "identity:\n  order: [jwt, body]\n  jwt: {key: {env: JWT}, algorithms: [HS256]}\n",
        UPSTREAM="upstream-secret",
        JWT="jwt-secret",
    )
    assert settings.servers[0].key == Secret("upstream-secret")
    assert settings.servers[0].requests == 16
    assert settings.weights == {"ann": 2.0, "bob": 0.5}
    assert settings.address == ("::1", 9000)
    assert settings.limits.wait == 5.0
    assert settings.identity.order == ("jwt", "body")
    assert set(settings.secrets) == {Secret("upstream-secret"), Secret("jwt-secret")}
    assert "secret" not in repr(settings).replace("secrets", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "fleet.yaml:1: is empty; name at least one server below `servers:`"),
        ("servers: []", "fleet.yaml:1: servers: names no server; add `- url: http://host:port`"),
        ("policy: sfq\n", "fleet.yaml:1: servers: is missing: the servers, all of which serve the same models"),
        ("a: [1\nb: 2", "fleet.yaml:2: not YAML: expected ',' or ']', but got ':'"),
        ("- 1", "fleet.yaml:1: is not a mapping; write `name: value` lines, indented"),
        (SERVER + "polcy: sfq", "fleet.yaml:3: polcy: is no setting here; did you mean policy?"),
        (
            SERVER + "cost: {cached_weight: 0.1}",
            "fleet.yaml:3: cost: cached_weight: nobody knows what servers remember; "
            "set `placement: {strategy: prefix-affine}`",
        ),
        (SERVER + "secrets: []", "fleet.yaml:3: secrets: is no setting here; did you mean servers?"),
        (
            SERVER + "policy: fair",
            "fleet.yaml:3: policy: is 'fair'; there are: sfq, fifo, round-robin, ",
        ),
        (SERVER + "policy: sfq\npolicy: sfq", "fleet.yaml:4: policy: is here twice; keep one of them"),
        (SERVER + "    requests: 0", "fleet.yaml:3: servers[0].requests: is 0; it is at least 1"),
        (SERVER + "    requests: many", "fleet.yaml:3: servers[0].requests: is 'many', and not a whole number"),
        (SERVER + "    name: 7", "fleet.yaml:3: servers[0].name: is '7', and not a text; write '7', in quotes"),
        (SERVER + "weights: {ann: 0}", "fleet.yaml:3: weights.ann: is 0; it is above 0"),
        (SERVER + "weights:\n  ann: 1\n  bob: -2", "fleet.yaml:5: weights.bob: is -2; it is above 0"),
        (SERVER + "cost:\n  caps:\n    m: 0", "fleet.yaml:5: cost.caps.m: is 0; it is at least 1"),
        ("servers:\n- url: 'http://my host:1'", "fleet.yaml:2: servers[0].url: is 'http://my host:1'; write http://"),
        (
            SERVER + "identity: {keys: {a: {env: K}, b: {env: K}}}",
            "fleet.yaml:3: identity.keys: a and b have the same key; give each one of its own",
        ),
        (
            SERVER + "identity: {order: [body], keys: {a: {env: K}}}",
            "fleet.yaml:3: identity.keys: are not looked at; add `key` to `order`",
        ),
        (SERVER + "identity: {headers: ['x y']}", "fleet.yaml:3: identity.headers: 'x y' is no name of a header"),
        (SERVER + "weights:\n  [a]: -2", "fleet.yaml:4: weights: a name is a plain text"),
        (SERVER + "policy:\n", "fleet.yaml:3: policy: is None; write the name of a policy, `type` and"),
        (SERVER + "policy: {[]: 1}", "fleet.yaml:3: policy: found unhashable key"),
        ("servers: " + 3_000 * "[", "fleet.yaml:1: is nested too deeply; a few levels are enough"),
        (SERVER + "retries: " + 5_000 * "9", f"fleet.yaml:3: retries: is {20 * '9'}… and too long for a number"),
        (SERVER + "cost: {state: none/x.json}", f"fleet.yaml:3: cost.state: there is no folder {HERE / 'none'}; make"),
        (
            SERVER + "record: {path: test_config.py/own}",
            f"fleet.yaml:3: record.path: {HERE / 'test_config.py'} is no folder; name another one",
        ),
        (
            SERVER + "shadow: {path: test_config.py}",
            f"fleet.yaml:3: shadow.path: {HERE / 'test_config.py'} is no folder; name another one",
        ),
        (SERVER + "weights: {ann: .nan}", "fleet.yaml:3: weights.ann: is .nan; it is a finite number"),
        (SERVER + "limits: {wait: 0}", "fleet.yaml:3: limits.wait: is 0; it is above 0"),
        (SERVER + "watch: 1", "fleet.yaml:3: watch: is '1', and not true or false"),
        (
            SERVER + "identity: {order: header}",
            "fleet.yaml:3: identity.order: is not a list; begin each entry with `- `",
        ),
        (
            SERVER + "identity: {order: [cookie]}",
            "fleet.yaml:3: identity.order[0]: is 'cookie'; there are: body, header, jwt, key",
        ),
        (
            SERVER + "    key: sk-in-the-file",
            "fleet.yaml:3: servers[0].key: is a secret: write `{env: NAME}` or `{file: path}`, never the secret itself",
        ),
        (
            SERVER + "    key: {env: NOT_SET}",
            "fleet.yaml:3: servers[0].key: the environment variable NOT_SET is not set, or empty; export it",
        ),
        (
            SERVER + "    key: {file: no.txt}",
            "fleet.yaml:3: servers[0].key: the file no.txt cannot be read, or is empty",
        ),
        (
            "servers:\n- url: 127.0.0.1:8001",
            "fleet.yaml:2: servers[0].url: is '127.0.0.1:8001'; write http://host:port or https://host:port",
        ),
        (
            "servers:\n- url: http://h:1/v1",
            "fleet.yaml:2: servers[0].url: write it without /v1 and without what would follow it",
        ),
        (SERVER + "  - url: http://127.0.0.1:8001", "fleet.yaml:2: servers: 2 servers are called 127.0.0.1:8001; "),
        (SERVER + "listen: 8080", "fleet.yaml:3: listen: is '8080'; write host:port, for instance 127.0.0.1:8080"),
        (SERVER + "listen:", "fleet.yaml:3: listen: is empty; write host:port, for instance 127.0.0.1:8080"),
        (SERVER + "listen: [x]", "fleet.yaml:3: listen: is a collection; write host:port, for instance "),
        ("servers:\n- url: 8001", "fleet.yaml:2: servers[0].url: is '8001'; write http://host:port or https://"),
        ("servers:\n- url: [me:hush@h]", "fleet.yaml:2: servers[0].url: holds a password; give the server a `key`"),
        (SERVER + "    health: 200", "fleet.yaml:3: servers[0].health: is '200'; a path begins with /"),
        (SERVER + "identity: {order: []}", "fleet.yaml:3: identity.order: names no source, and all would be one user"),
        (SERVER + "listen: here", "fleet.yaml:3: listen: is 'here'; write host:port, for instance 127.0.0.1:8080"),
        (
            SERVER + "identity: {required: true}",
            "fleet.yaml:3: identity.required: nobody could get in; add `keys` or `jwt`",
        ),
        (
            SERVER + "identity: {jwt: {key: {env: K}, algorithms: [none]}}",
            "fleet.yaml:3: identity.jwt.algorithms: name at least one, and never `none`: anybody could sign",
        ),
        (SERVER + "tls: {certificate: a.pem, key: b.pem}", "fleet.yaml:3: tls.certificate: there is no file a.pem"),
        (SERVER + "cost: {ratio: 2}", "fleet.yaml:3: cost.ratio: is 2; it is at most 1, the whole cap"),
        (
            SERVER + "policy: fifo\nplacement: {mode: overtake}",
            "fleet.yaml:4: placement: others can overtake under the policy sfq only, not under fifo",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_the_fix(text: str, said: str) -> None:
    assert any(each.startswith(said) for each in complaints(text, K="k")), complaints(text, K="k")


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    [said] = complaints("servers:\n- url: http://me:hush@host:1")
    assert "hush" not in said
    assert "key" in said


@pytest.mark.parametrize(
    "url", ["http://me:hush@host:0", "ftp://me:hush@host", "http://me:hush@host:99999", "me:hush@x"]
)
def test_a_password_in_a_url_that_is_wrong_is_not_repeated_either(url: str) -> None:
    [said] = complaints(f"servers:\n- url: {url}")
    assert "hush" not in said


JWT = "identity: {jwt: {key: {env: K}, algorithms: "
KEY = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
PEM = f"-----BEGIN PUBLIC KEY-----\n{KEY}\n-----END PUBLIC KEY-----\n"


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (SERVER + "    ca: none.pem", "k", "fleet.yaml:3: servers[0].ca: cannot be used: No such file"),
        (SERVER + f"    ca: {Path(__file__).name}", "k", "fleet.yaml:3: servers[0].ca: cannot be used: "),
        (
            SERVER + f"tls: {{certificate: {Path(__file__).name}, key: {Path(__file__).name}}}",
            "k",
            "fleet.yaml:3: tls.certificate: cannot be used with its key: ",
        ),
        (SERVER + JWT + "[RS265]}}", "k", "fleet.yaml:3: identity.jwt.algorithms: 'RS265' is none; there are: ES256"),
        (SERVER + JWT + "[RS256]}}", "k", "fleet.yaml:3: identity.jwt.key: is no key for RS256: "),
        (SERVER + JWT + "[EdDSA, HS256]}}", PEM, "fleet.yaml:3: identity.jwt.key: is no key for HS256: "),
        (SERVER + JWT + "[HS256, EdDSA]}}", "k", "fleet.yaml:3: identity.jwt.key: is no key for EdDSA: "),
    ],
)
def test_what_would_fail_later_is_told_now(text: str, key: str, said: str) -> None:
    [told] = complaints(text, K=key)
    assert told.startswith(said)


def test_keys_that_fit_are_taken() -> None:
    assert read(SERVER + JWT + "[HS256, HS512]}}", K="k").identity.jwt
    assert read(SERVER + JWT + "[EdDSA]}}", K=PEM).identity.jwt


def test_all_that_is_wrong_is_told_at_once_in_order() -> None:
    text = SERVER + "    requests: 0\npolicy: fair\nweights: {ann: -1}\n"
    assert [each.split(":")[1] for each in complaints(text)] == ["3", "4", "5"]


def test_a_secret_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("from-a-file\n")
    (tmp_path / "fleet.yaml").write_text(SERVER + "    key: {file: key.txt}\n")
    assert load(tmp_path / "fleet.yaml").servers[0].key == Secret("from-a-file")


def test_a_folder_without_the_right_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    [said] = complaints(SERVER + "record: {path: own}")
    assert said == f"fleet.yaml:3: record.path: {HERE} is a folder without the right to write; name another one"


def test_the_folder_of_divergences_is_beside_the_file_also_where_nothing_is_said() -> None:
    settings = read(SERVER + "shadow: {}")
    assert settings.shadow is not None
    by_option = shadowed(read(SERVER)).shadow
    assert by_option is not None
    assert settings.shadow.path == by_option.path == HERE / "divergences"


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_bytes(b"a: 1\n\xff\xfe")
    for name, why in (("none.yaml", "cannot be read"), ("fleet.yaml", "fleet.yaml:2: is not UTF-8; save")):
        with pytest.raises(ConfigError, match=why):
            load(tmp_path / name)
