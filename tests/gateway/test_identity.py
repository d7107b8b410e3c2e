"""Who a request is from."""

from __future__ import annotations

from typing import Any

import jwt
import pytest

from sfq_impl.gateway.config import IdentitySettings, JwtSettings
from sfq_impl.gateway.errors import Refusal
from sfq_impl.gateway.identity import Identity, named_by_key
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


def test_a_key_is_called_by_a_hash() -> None:
    assert UNKNOWN not in named_by_key(UNKNOWN)
    assert named_by_key(UNKNOWN) == named_by_key(UNKNOWN) != named_by_key(KNOWN)


@pytest.mark.parametrize("user", ["x" * 257, "a\nb", "\ud800"])
def test_a_user_that_cannot_be_printed_is_refused(user: str) -> None:
    with pytest.raises(Refusal, match="named by the body"):
        caller({}, user)
