"""What the gateway reads of a request's body; the body itself goes on to the server as it came."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from sfq_impl.gateway.errors import Refusal


class Body(msgspec.Struct):
    """The fields that matter here, of chat, completions and embeddings."""

    model: str | None = None
    user: str | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    messages: msgspec.Raw = msgspec.Raw(b"")
    prompt: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")


_body = msgspec.json.Decoder(Body)
MOST_CHOICES = 128
"""More are counted as so many; the server refuses them anyway."""


@dataclass(frozen=True)
class Asked:
    """What is asked for, as far as order and place depend on it."""

    model: str
    user: str | None
    prompt: bytes
    """The input as JSON."""
    cap: int | None
    """The most output of each choice that is asked for, in tokens; None where nothing is said."""
    choices: int = 1


def read(path: str, body: bytes) -> Asked:
    """What a body asks for. Raises `Refusal` (400), which names the field."""
    try:
        read = _body.decode(body)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        field = where.rstrip("`") or None
        raise Refusal(400, "invalid_request", f"{field or 'the body'}: {what}", param=field) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(400, "invalid_json", f"the body is not an object of JSON: {error}") from None
    cap = read.max_completion_tokens if read.max_completion_tokens is not None else read.max_tokens
    prompt = bytes(read.messages) + bytes(read.prompt) + bytes(read.input) + bytes(read.tools)
    if path.endswith("/embeddings"):
        cap = 0
    elif cap is not None:
        cap = None if cap < 0 else cap  # -1 stands for "no limit" with llama.cpp
    return Asked(read.model or "", read.user, prompt, cap, min(max(1, read.n or 1), MOST_CHOICES))
