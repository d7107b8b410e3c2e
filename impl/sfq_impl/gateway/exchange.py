"""One request and its answer, as the log tells of them."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from uuid import uuid4

from sfq_impl.fleet.policy import Usage
from sfq_impl.gateway.logs import tell


@dataclass
class Exchange:
    """What is told of a request when it has ended; never what is in it."""

    path: str
    id: str
    began: float = field(default_factory=time.monotonic)
    user: str | None = None
    source: str | None = None
    model: str | None = None
    cost: int | None = None
    server: str | None = None
    waited: float | None = None
    first_byte: float | None = None
    """Seconds from the dispatch."""
    status: int | None = None
    """As the client got it; None where it got nothing."""
    retries: int = 0
    """How often it had to leave a server."""
    again: bool = False
    """Whether it was sent to a server a second time, as an idle connection was closed just then."""
    between_events: bool = False
    """Whether a stream is at a point where an event of the gateway's own could follow."""
    usage: Usage | None = None
    error: str | None = None

    def tell(self) -> None:
        """A line in the log."""
        seconds = {"waited": self.waited, "first_byte": self.first_byte, "took": time.monotonic() - self.began}
        told = {name: round(value, 4) for name, value in seconds.items() if value is not None}
        tokens = {} if self.usage is None else {"input": self.usage.input_tokens, "output": self.usage.output_tokens}
        fields = {name: getattr(self, name) for name in ("path", "user", "source", "model", "cost", "server", "status")}
        tell(
            logging.INFO,
            "request",
            id=self.id,
            **fields,
            **told,
            **tokens,
            retries=self.retries or None,
            error=self.error,
        )


def fit_id(sent: str | None) -> str:
    """The id of a request in logs: the client's own where it is fit to be written there."""
    return sent if sent and len(sent) <= 128 and sent.isascii() and sent.isprintable() else uuid4().hex
