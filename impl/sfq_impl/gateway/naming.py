"""What may be set about who a request is from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from jwt import PyJWTError
from jwt.algorithms import get_default_algorithms

from sfq_impl.gateway.reading import Complaints, Secret, setting
from sfq_impl.policy.identity import DEFAULT_ID

Source = Literal["header", "key", "jwt", "body"]
FAIRNESS_HEADERS = ("x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id")
"""The header that names the user, and its former name."""
ANONYMOUS = "anonymous"
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True)
class JwtSettings:
    """Users named by a signed token."""

    key: Secret = setting("the key that verifies the signature, as {env: NAME} or {file: path}")
    algorithms: tuple[str, ...] = setting("the algorithms of signature that are taken", ("RS256",))
    claim: str = setting("the claim that names the user", "sub")
    audience: str | None = setting("the audience that the token must have", None)
    issuer: str | None = setting("the issuer that the token must have", None)

    def check(self) -> Complaints:
        """What is wrong."""
        names = [name for name in self.algorithms if isinstance(name, str)]
        if not self.algorithms or "none" in {name.lower() for name in names}:
            yield "algorithms", "name at least one, and never `none`: anybody could sign"
            return
        known = get_default_algorithms()
        for name in names:
            if name not in known:
                yield "algorithms", f"{name!r} is none; there are: {', '.join(sorted(set(known) - {'none'}))}"

    def check_key(self) -> Complaints:
        """What is wrong; with `algorithms` that are known."""
        known = get_default_algorithms()
        try:
            for name in [name for name in self.algorithms if name in known and name.lower() != "none"]:
                known[name].prepare_key(self.key.reveal())
        except (PyJWTError, TypeError, ValueError, AttributeError):
            yield "key", f"is no key for {name}: HS256 and its like want the text that signs, others a public key (PEM)"


@dataclass(frozen=True)
class IdentitySettings:
    """Who a request is from: the first source that says something decides."""

    order: tuple[Source, ...] | None = setting(
        "the sources, first to last; a header or a body may name anybody; where nothing is said `[key, jwt]` if one is "
        "`required`, and else `[header, key, jwt, body]`",
        None,
    )
    headers: tuple[str, ...] = setting("the headers that name the user", FAIRNESS_HEADERS)
    keys: dict[str, Secret] = setting("API keys by the user that each stands for: {name: {env: NAME}}", dict)
    jwt: JwtSettings | None = setting("how tokens are verified; without it none is looked at", None)
    required: bool = setting("whether a request without a known key or a valid token is refused (401)", False)
    default: str = setting(
        f"the user where no source says anything; under a policy of queues `anonymous` is called `{DEFAULT_ID}`",
        ANONYMOUS,
    )
    priority: str | None = setting(
        "the header that tells the priority of a request, for a policy of queues; anybody may send it", None
    )

    def check(self) -> Complaints:
        """What is wrong."""
        if self.required and not self.keys and not self.jwt:
            yield "required", "nobody could get in; add `keys` or `jwt`"

    def check_default(self) -> Complaints:
        """What is wrong."""
        if not self.default:
            yield "default", "is empty; give it a name"

    def check_order(self) -> Complaints:
        """What is wrong."""
        if self.order == ():
            yield "order", "names no source, and all would be one user; name one, or leave it out"

    def check_looked_at(self) -> Complaints:
        """What is wrong."""
        readable = set(self.sources) <= set(get_args(Source))
        if self.keys and readable and self.sources and "key" not in self.sources and not self.required:
            yield "keys", "are not looked at; add `key` to `order`"

    def check_keys(self) -> Complaints:
        """What is wrong."""
        whose = dict[Secret, str]()
        for user, key in self.keys.items():
            if isinstance(key, Secret) and whose.setdefault(key, user) != user:
                yield "keys", f"{whose[key]} and {user} have the same key; give each one of its own"

    def check_headers(self) -> Complaints:
        """What is wrong."""
        for name in self.headers:
            if isinstance(name, str) and not HEADER.fullmatch(name):
                yield "headers", f"{name!r} is no name of a header"

    @property
    def sources(self) -> tuple[Source, ...]:
        """The order that counts: whoever must show who it is cannot say that it is somebody else."""
        if self.order is not None:
            return self.order
        return ("key", "jwt") if self.required else ("header", "key", "jwt", "body")
