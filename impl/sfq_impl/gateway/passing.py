"""Which headers are passed on, and which are not: those of a request to a server, and those of its answer back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

Raw = Iterable[tuple[bytes, bytes]]
Pairs = Sequence[tuple[str, str]]

OF_A_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer")
) | {"transfer-encoding", "upgrade"}
"""Headers that are about one connection, and not passed on."""
OURS = OF_A_CONNECTION | {"host", "content-length", "expect", "accept-encoding", "authorization", "x-api-key", "cookie"}
"""Headers of a request that the gateway answers for itself; keys of its clients are none of the servers' business."""
UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Bytes that no header may have."""


def pairs(raw: Raw) -> list[tuple[str, str]]:
    """The headers of a request, in order, with lower-case names."""
    return [(name.decode("latin-1").lower(), _text(value)) for name, value in raw]


def lookup(headers: Pairs) -> Mapping[str, str]:
    """The value of each name. Of several of one name the last counts: what a proxy before the gateway has added."""
    return dict(headers)


def onward(headers: Pairs, request_id: str) -> list[tuple[str, str]]:
    """What a server gets of a request's headers, all of several of one name included."""
    dropped = OURS | {"x-request-id"} | _named_by(value for name, value in headers if name == "connection")
    kept = [(name, value) for name, value in headers if name not in dropped]
    return [*kept, ("accept-encoding", "identity"), ("x-request-id", request_id)]


def back(raw: Raw, request_id: str) -> list[tuple[bytes, bytes]]:
    """What a client gets of an answer's headers. Raises `ValueError` where they could not be sent."""
    headers = [(name.decode("latin-1").lower(), value) for name, value in raw]
    if any(UNFIT.search(value) for _, value in headers):
        raise ValueError("a header with control characters")
    named = _named_by(value.decode("latin-1") for name, value in headers if name == "connection")
    dropped = OF_A_CONNECTION | {"x-request-id"} | named
    kept = [(name.encode("latin-1"), value) for name, value in headers if name not in dropped]
    return [*kept, (b"x-request-id", request_id.encode())]


def _named_by(connection: Iterable[str]) -> set[str]:
    return {name.strip().lower() for value in connection for name in value.split(",")}


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
