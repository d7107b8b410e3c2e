"""Who a request is from."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sfq_impl.gateway.errors import Refusal
from sfq_impl.gateway.identity import Identity, named_by_key
from sfq_impl.gateway.naming import IdentitySettings, JwtSettings
from sfq_impl.gateway.reading import Secret

SIGNED_BY = "a key that is long enough for this algorithm"
KNOWN, UNKNOWN = "sk-of-ann", "sk-of-nobody"
BY_TOKEN = JwtSettings(Secret(SIGNED_BY), ("HS256",), claim="team")


def token(signed_by: str = SIGNED_BY, **claims: Any) -> str:
    return jwt.encode(claims, signed_by, "HS256")


def caller(headers: dict[str, str], body: str | None = None, **settings: Any) -> tuple[str, str]:
    found = Identity(IdentitySettings(**({"keys": {"ann": Secret(KNOWN)}} | settings))).caller(headers, body)
    return found.user, found.source


def bearing(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    ("headers", "body", "user", "source"),
    [
        ({"x-llm-d-inference-fairness-id": "team"}, "x", "team", "header"),
        ({"x-gateway-inference-fairness-id": "old"}, "x", "old", "header"),
        ({"x-gateway-inference-fairness-id": "old", "x-llm-d-inference-fairness-id": "new"}, None, "new", "header"),
        (bearing(KNOWN), "x", "ann", "key"),
        ({"x-api-key": KNOWN}, "x", "ann", "key"),
        (bearing(UNKNOWN), "x", named_by_key(UNKNOWN), "key"),
        (bearing(token(team="red")), "x", "red", "jwt"),
        ({}, "x", "x", "body"),
        ({}, "", "anonymous", "default"),
        ({"authorization": "Basic abc"}, None, "anonymous", "default"),
    ],
)
def test_the_first_source_that_says_something_decides(
    headers: dict[str, str], body: str | None, user: str, source: str
) -> None:
    assert caller(headers, body, jwt=BY_TOKEN) == (user, source)


def test_the_order_can_be_set() -> None:
    headers = {"x-llm-d-inference-fairness-id": "team"} | bearing(KNOWN)
    assert caller(headers, "x", order=("body", "key")) == ("x", "body")
    assert caller(headers, None, order=("body", "key")) == ("ann", "key")
    assert caller(headers, None, order=(), default="all") == ("all", "default")


@pytest.mark.parametrize(
    "bad",
    [
        token("another key, which is long enough as well", team="red"),
        token(team="red", exp=1),
        token(other="red"),
        token(team=7),
        "a.b.c",
        jwt.encode({"team": "red"}, "", "none"),
    ],
)
def test_a_token_that_is_not_right_is_refused_whatever_else_is_said(bad: str) -> None:
    with pytest.raises(Refusal) as refusal:
        caller({"x-llm-d-inference-fairness-id": "team"} | bearing(bad), "x", jwt=BY_TOKEN)
    assert refusal.value.status == 401
    assert bad not in refusal.value.message


def test_a_key_can_be_required() -> None:
    for headers in ({}, bearing(UNKNOWN), {"x-llm-d-inference-fairness-id": "team"}):
        with pytest.raises(Refusal, match="no key or token"):
            caller(headers, "x", required=True)
    assert caller(bearing(KNOWN), required=True) == ("ann", "key")
    assert caller(bearing(token(team="red")), required=True, jwt=BY_TOKEN) == ("red", "jwt")


def test_who_must_show_a_key_is_nobody_else_unless_the_order_says_so() -> None:
    headers = {"x-llm-d-inference-fairness-id": "bob"}
    assert caller(headers | bearing(KNOWN), "carl", required=True) == ("ann", "key")
    assert caller(headers | bearing(token(team="red")), "carl", required=True, jwt=BY_TOKEN) == ("red", "jwt")
    assert caller(headers | bearing(KNOWN), "carl", required=True, order=("header", "key")) == ("bob", "header")
    assert caller(headers | bearing(KNOWN), "carl") == ("bob", "header")


def test_a_known_key_may_look_like_a_token() -> None:
    assert caller(bearing("a.b.c"), keys={"ann": Secret("a.b.c")}, required=True, jwt=BY_TOKEN) == ("ann", "key")


def test_clocks_may_differ_a_little() -> None:
    now = int(time.time())
    soon = token(team="red", iat=now + 5, nbf=now + 5, exp=now + 60)
    assert caller(bearing(soon), jwt=BY_TOKEN, order=("jwt",)) == ("red", "jwt")
    for late in (token(team="red", nbf=now + 60), token(team="red", exp=now - 60)):
        with pytest.raises(Refusal):
            caller(bearing(late), jwt=BY_TOKEN)


def test_a_public_key_signs_nothing() -> None:
    """The confusion of algorithms: a token that is signed by the text of the key that verifies."""
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    header, claims = (_base64(json.dumps(part)) for part in ({"alg": "HS256", "typ": "JWT"}, {"team": "red"}))
    signed = _base64(hmac.digest(pem, f"{header}.{claims}".encode(), "sha256"))
    for algorithms in (("ES256",), ("ES256", "HS256"), ("HS256",)):
        settings = JwtSettings(Secret(pem.decode()), algorithms, claim="team")
        with pytest.raises(Refusal, match="cannot be verified"):
            caller(bearing(f"{header}.{claims}.{signed}"), jwt=settings)


def _base64(part: str | bytes) -> str:
    return urlsafe_b64encode(part.encode() if isinstance(part, str) else part).rstrip(b"=").decode()


def test_a_key_is_called_by_a_hash() -> None:
    assert UNKNOWN not in named_by_key(UNKNOWN)
    assert named_by_key(UNKNOWN) == named_by_key(UNKNOWN) != named_by_key(KNOWN)


@pytest.mark.parametrize("user", ["x" * 257, "a\nb", "\ud800"])
def test_a_user_that_cannot_be_printed_is_refused(user: str) -> None:
    with pytest.raises(Refusal, match="named by the body"):
        caller({}, user)
