"""Who a request is from: a header, an API key, a signed token, or the `user` in its body, in the order that is set.

A key is never shown: a user known by nothing but its key is called by a hash of it.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import jwt

from sfq_impl.gateway.errors import Refusal
from sfq_impl.gateway.naming import IdentitySettings
from sfq_impl.policy.identity import named

LONGEST = 256
LEEWAY = 10.0
"""Seconds by which the clock of whoever signs a token may differ from the one here."""
MOST_PRIORITY = 99
"""Each priority has queues of its own, so there are not to be many."""
PRIORITY = re.compile(r"[+-]?[0-9]{1,2}", re.ASCII)


@dataclass(frozen=True)
class Caller:
    """A user, and where its name comes from."""

    user: str
    source: str


def named_by_key(key: str) -> str:
    """What a user is called of whom only the key is known."""
    return f"key-{blake2b(key.encode(), digest_size=6, person=b'sfq-gateway').hexdigest()}"


def bearer(headers: Mapping[str, str]) -> str | None:
    """The key or token that a request carries."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "").strip() or None


class Identity:
    """Reads it from requests, by settings that can be changed."""

    def __init__(self, settings: IdentitySettings) -> None:
        self.settings = settings

    def caller(self, headers: Mapping[str, str], body_user: str | None) -> Caller:
        """Who it is. Headers have lower-case names. Raises `Refusal` (401, 400)."""
        settings, token = self.settings, bearer(headers)
        known, claimed = self.admit(token)
        unnamed = named_by_key(token) if token and claimed is None else None
        sources = {
            "header": named(headers, settings.headers),
            "key": known or unnamed,
            "jwt": claimed,
            "body": body_user,
        }
        for source in settings.sources:
            if user := sources[source]:
                if len(user) > LONGEST or not user.isprintable():
                    raise Refusal(
                        400,
                        "invalid_user",
                        f"the user named by the {source} is longer than {LONGEST} characters, or cannot be printed",
                        param="user",
                    )
                return Caller(user, source)
        return Caller(settings.default, "default")

    def priority(self, headers: Mapping[str, str]) -> int:
        """The priority that a request asks for, 0 where it says nothing. Raises `Refusal` (400)."""
        name = self.settings.priority
        told = headers.get(name.lower(), "").strip() if name else ""
        if not told:
            return 0
        if not PRIORITY.fullmatch(told):
            said = f"{name}: is no whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}"
            raise Refusal(400, "invalid_priority", said, param=name)
        return int(told)

    def admit(self, token: str | None) -> tuple[str | None, str | None]:
        """Whom a known key, and whom a valid token stands for. Raises `Refusal` (401) where one of them is required."""
        known = self._known_key(token)
        claimed = None if known is not None else self._claimed(token)
        if self.settings.required and known is None and claimed is None:
            raise Refusal(401, "invalid_api_key", "no key or token that is known here; send `Authorization: Bearer …`")
        return known, claimed

    def _known_key(self, token: str | None) -> str | None:
        if token is None:
            return None
        sent = token.encode()
        found = None
        for user, key in self.settings.keys.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(sent, key.reveal().encode()):
                found = user
        return found

    def _claimed(self, token: str | None) -> str | None:
        settings = self.settings.jwt
        if settings is None or token is None or token.count(".") != 2:
            return None
        try:
            claims = jwt.decode(
                token,
                settings.key.reveal(),
                algorithms=list(settings.algorithms),
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=LEEWAY,
                options={"verify_aud": settings.audience is not None},
            )
        except jwt.ExpiredSignatureError:
            raise Refusal(401, "invalid_token", "the token has expired") from None
        except jwt.PyJWTError:
            raise Refusal(401, "invalid_token", "the token cannot be verified") from None
        user = claims.get(settings.claim)
        if not isinstance(user, str) or not user:
            raise Refusal(401, "invalid_token", f"the token has no text in its claim {settings.claim!r}")
        return user
