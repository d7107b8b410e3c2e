"""The bodies of requests: each has a limit, all of them together have one, and none may take for ever to come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from sfq_impl.gateway.config import LimitSettings
from sfq_impl.gateway.errors import Refusal

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

READ_ON = 4
"""How many times the limit of a body is read and thrown away, so that the client gets to read why it was refused."""
SECONDS = 60.0
UNREAD = frozenset({"body_timeout", "body_too_large", "bodies_full"})
"""Refusals after which more of the body may come, which nobody reads: the connection ends with them."""


class Bodies:
    """What has come of all bodies of requests that have not ended."""

    def __init__(self) -> None:
        self.held = 0
        """Bytes."""

    @asynccontextmanager
    async def of(self, headers: Mapping[str, str], receive: Receive, limits: LimitSettings) -> AsyncIterator[bytes]:
        """All of one, for as long as its request is here.

        Raises `Refusal` where it is too long or too slow, or there is no room for it beside the others, and
        `ConnectionError` where the client has gone.
        """
        pieces = list[bytes]()
        try:
            try:
                async with asyncio.timeout(SECONDS):
                    await self._read(pieces, headers, receive, limits)
            except TimeoutError:
                raise Refusal(408, "body_timeout", f"the body did not come within {SECONDS:.0f} s") from None
            pieces[:] = [b"".join(pieces)]
            yield pieces[0]
        finally:
            self._drop(pieces)

    async def _read(
        self, pieces: list[bytes], headers: Mapping[str, str], receive: Receive, limits: LimitSettings
    ) -> None:
        most = limits.body if limits.bodies is None else min(limits.body, limits.bodies)
        too_long = Refusal(413, "body_too_large", f"the body is larger than {most:,} bytes, the limit here")
        told, size = headers.get("content-length", "0"), 0
        refusal = too_long if told.isdecimal() and int(told) > most else None
        if refusal and "expect" in headers:  # the client has sent nothing of it yet
            raise refusal
        while size <= READ_ON * limits.body:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError
            piece = message.get("body", b"")
            size += len(piece)
            if size > most:
                refusal = too_long
            elif limits.bodies is not None and self.held + len(piece) > limits.bodies:
                refusal = refusal or _full(limits.bodies)
            if refusal:
                self._drop(pieces)
            else:
                pieces.append(piece)
                self.held += len(piece)
            if not message.get("more_body", False):
                break
        if refusal:
            raise refusal

    def _drop(self, pieces: list[bytes]) -> None:
        self.held -= sum(map(len, pieces))
        pieces.clear()


def _full(most: int) -> Refusal:
    said = f"the requests that are here have bodies of {most:,} bytes, the limit of all together; try again later"
    return Refusal(503, "bodies_full", said, retry_after=1)
