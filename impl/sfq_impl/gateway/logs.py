"""Logs: one JSON object a line on standard error, without prompts, and without anything that is secret."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import IO

import msgspec

from sfq_impl.gateway.reading import Secret

log = logging.getLogger("sfq_gateway")
SHORTEST_SECRET = 4
"""What is shorter is not looked for in texts: it would be found everywhere."""


def tell(level: int, event: str, **fields: object) -> None:
    """A line about something that happened; fields that are None are left out."""
    if log.isEnabledFor(level):
        log.log(level, event, extra={"fields": {name: value for name, value in fields.items() if value is not None}})


class Format(logging.Formatter):
    """A record as JSON. Secrets that are known are struck out wherever they come up, tracebacks included."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        super().__init__()
        self.secrets: tuple[str, ...] = ()
        """As they are, and as JSON writes them; the longest first, as one may be a part of another."""
        self.hide(secrets)

    def hide(self, secrets: Iterable[Secret]) -> None:
        """Strike these out too, from now on."""
        texts = {text for secret in secrets if len(text := secret.reveal()) >= SHORTEST_SECRET}
        written = {msgspec.json.encode(text).decode()[1:-1] for text in texts}
        self.secrets = tuple(sorted({*self.secrets, *texts, *written}, key=len, reverse=True))

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = msgspec.json.encode(line, enc_hook=str).decode()
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _foreseen(record: logging.LogRecord) -> bool:
    """Whether a record of the HTTP server tells anything: a broken answer is closed on purpose, and told elsewhere.

    An end that does not wait is not told as a fault either.
    """
    said = record.getMessage().strip()
    return not said.startswith("ASGI callable returned without completing") and not said.endswith("CancelledError")


def begin(level: str, secrets: Iterable[Secret], stream: IO[str] | None = None) -> Format:
    """Write logs from now on, those of the HTTP server included."""
    formatter = Format(secrets)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    for name in ("sfq_gateway", "uvicorn.error", "asyncio", "aiohttp"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.filters[:] = [_foreseen]
        logger.setLevel(level.upper() if name == "sfq_gateway" else "WARNING")
    return formatter
