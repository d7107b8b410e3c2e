"""What a client is told when it is not served: OpenAI's form of an error, with the status that its clients know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True)
class Answer:
    """An answer that the gateway gives by itself."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: float | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        self.more = dict(more or {})

    @property
    def body(self) -> bytes:
        """The error as an object of JSON."""
        kind = "rate_limit_error" if self.status == 429 else "invalid_request_error"
        error = {
            "message": self.message,
            "type": kind if self.status < 500 else "server_error",
            "param": self.param,
            "code": self.code,
        }
        return msgspec.json.encode({"error": error | self.more})

    @property
    def answer(self) -> Answer:
        """The whole answer."""
        headers = {"content-type": "application/json"}
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return Answer(self.status, self.body, headers)

    @property
    def event(self) -> bytes:
        """The error within a stream, between two other events."""
        return b"data: " + self.body + b"\n\n"
