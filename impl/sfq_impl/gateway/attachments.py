"""Pictures, sounds and files in the messages of a chat: what they are is many bytes, and not so many tokens.

A picture that is sent along is written in the text of the request, as megabytes of base64, and is some hundred tokens
to a model that sees. Counted by its bytes it would be dearer than a book, and larger than any server.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

WRITTEN = ("text", "refusal", "input_text", "output_text", "thinking")
"""The types of a part of a message that are text. One that has no type is text too."""


class _Message(msgspec.Struct):
    content: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct):
    type: str = "text"


_messages = msgspec.json.Decoder(list[_Message])
_parts = msgspec.json.Decoder(list[msgspec.Raw])
_part = msgspec.json.Decoder(_Part)


def apart(messages: bytes) -> tuple[bytes, int]:
    """The messages of a chat as JSON: what is text of them, and how many parts of them are something else.

    What cannot be read is text: it is charged by its bytes, and the server will say what is wrong with it.
    """
    text, end, count = [], 0, 0
    for part in _attachments(messages):
        begin = messages.index(part, end)
        text.append(messages[end:begin])
        end = begin + len(part)
        count += 1
    return (b"".join([*text, messages[end:]]) if count else messages), count


def _attachments(messages: bytes) -> Iterator[bytes]:
    if b'"type"' not in messages:
        return
    try:
        contents = [bytes(message.content) for message in _messages.decode(messages)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    for content in contents:
        if content.startswith(b"["):
            yield from (part for part in map(bytes, _parts.decode(content)) if _is_attached(part))


def _is_attached(part: bytes) -> bool:
    try:
        return _part.decode(part).type not in WRITTEN
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
