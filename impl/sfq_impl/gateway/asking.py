"""What the gateway reads of a request's body; the body itself goes on to the server as it came."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from sfq_impl.gateway.attachments import apart
from sfq_impl.gateway.errors import Refusal

Count = int | float | None
"""A whole number, as some clients write it: 16.0 is one too."""


class Body(msgspec.Struct):
    """The fields that matter here, of chat, completions and embeddings."""

    model: str | None = None
    user: str | None = None
    max_tokens: Count = None
    max_completion_tokens: Count = None
    n_predict: Count = None
    """What llama.cpp calls `max_tokens`, and prefers to it."""
    n: Count = None
    n_cmpl: Count = None
    """What llama.cpp calls `n` too."""
    messages: msgspec.Raw = msgspec.Raw(b"")
    prompt: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")


_body = msgspec.json.Decoder(Body)
_list = msgspec.json.Decoder(list[msgspec.Raw])
NOT_READ = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What comes of a text that is no JSON, or not of the form that is wanted, or nested too deeply to be read."""
LONGEST_MODEL = 256
"""Characters; what comes after them is not told apart, as the names of models are kept."""
MOST_CHOICES = 128
"""More are counted as so many; the server refuses them anyway."""
CAPS = ("max_tokens", "max_completion_tokens", "n_predict")
CHOICES = ("n", "n_cmpl")


@dataclass(frozen=True)
class Asked:
    """What is asked for, as far as order and place depend on it."""

    model: str
    user: str | None
    prompt: bytes
    """The input as JSON."""
    text: bytes
    """What is text of it."""
    cap: int | None
    """The most output of each choice that is asked for, in tokens; None where nothing is said."""
    choices: int = 1
    """How many answers there will be: of each prompt of a list, so many as are asked for."""
    attachments: int = 0
    """How many pictures, sounds and files come with the text."""


def read(path: str, body: bytes) -> Asked:
    """What a body asks for. Raises `Refusal` (400), which names the field.

    Servers differ in which of several names of a cap they look at: the largest that is told counts, so that nobody
    is charged for one and served by another.
    """
    try:
        read = _body.decode(body)
        prompts = _prompts(bytes(read.prompt))
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        field = where.rstrip("`") or None
        raise Refusal(400, "invalid_request", f"{field or 'the body'}: {what}", param=field) from None
    except NOT_READ as error:
        raise Refusal(400, "invalid_json", f"the body is not an object of JSON: {error}") from None
    caps, choices = _numbers(read, CAPS), _numbers(read, CHOICES)
    cap = None if min(caps, default=-1) < 0 else max(caps)  # -1 stands for "no limit" with llama.cpp
    messages, others = bytes(read.messages), bytes(read.prompt) + bytes(read.input) + bytes(read.tools)
    text, attachments = apart(messages)
    prompt = messages + others
    if path.endswith("/embeddings"):
        cap = 0
    model = (read.model or "")[:LONGEST_MODEL]
    answers = min(max([1, *choices]), MOST_CHOICES) * prompts
    return Asked(model, read.user, prompt, text + others if attachments else prompt, cap, answers, attachments)


def _numbers(read: Body, names: tuple[str, ...]) -> list[int]:
    """What is told under these names. Raises `Refusal` (400)."""
    told = {name: getattr(read, name) for name in names if getattr(read, name) is not None}
    for name, number in told.items():
        if number != number // 1:
            raise Refusal(400, "invalid_request", f"{name}: Expected a whole number, got {number}", param=name)
    return [int(number) for number in told.values()]


def _prompts(prompt: bytes) -> int:
    """How many prompts there are: a list of texts, or of lists of tokens, is one for each."""
    if not prompt.startswith(b"["):
        return 1
    each = _list.decode(prompt)
    return len(each) if each and bytes(each[0])[:1] in (b'"', b"[") else 1
