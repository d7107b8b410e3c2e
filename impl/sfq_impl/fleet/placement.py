"""Where a request goes: servers with room, and which of them is taken. Order is decided elsewhere (article §5.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sfq_impl.fleet.request import Request
from sfq_impl.fleet.strategies import LeastLoaded

__all__ = ["LeastLoaded", "Placement", "Server", "State", "Strategy"]

State = Literal["up", "down", "draining"]


@dataclass(eq=False)
class Server:
    """One server, and what is on it. It never holds more than its room (FLEET-CAP)."""

    name: str
    most_requests: int
    """How many it serves at once."""
    most_tokens: int | None = None
    """How many tokens fit in its memory; None: they are not counted."""
    state: State = "up"
    """Only one that is up gets new requests; one that drains keeps those that it has."""
    held: dict[str, Request] = field(default_factory=dict)
    """The requests that it serves, by id."""
    tokens: int = 0
    """Of all of these."""

    def could_hold(self, request: Request) -> bool:
        """Whether the request would fit if the server were empty."""
        return self.most_requests >= 1 and (self.most_tokens is None or request.tokens <= self.most_tokens)

    def has_room(self, request: Request) -> bool:
        """Whether it can take the request now."""
        return request.tokens <= self.room

    @property
    def room(self) -> float:
        """The most tokens that a request may have for which there is room now; below 0 where there is for none."""
        if self.state != "up" or len(self.held) >= self.most_requests:
            return -1
        return math.inf if self.most_tokens is None else self.most_tokens - self.tokens

    @property
    def load(self) -> float:
        """The fuller of requests and tokens, as a part of its room."""
        requests = len(self.held) / self.most_requests if self.most_requests else 1.0
        return max(requests, self.tokens / self.most_tokens) if self.most_tokens else requests

    def take(self, request: Request) -> None:
        """The request is here from now on."""
        assert self.has_room(request), f"{self.name} has no room for {request.id}"
        self.held[request.id] = request
        self.tokens += request.tokens
        request.servers.append(self.name)

    def release(self, request: Request) -> None:
        """The request is here no more; once for each time that it was taken."""
        del self.held[request.id]
        self.tokens -= request.tokens


class Strategy(Protocol):
    """Which of the servers that have room."""

    def choose(self, request: Request, servers: Sequence[Server]) -> Server:
        """One of them; there is at least one."""


class Placement:
    """The servers, and how one of them is chosen."""

    def __init__(self, servers: Iterable[Server], strategy: Strategy | None = None) -> None:
        self.servers = {server.name: server for server in servers}
        self.strategy = strategy or LeastLoaded()

    def place(self, request: Request) -> Server | None:
        """The server for a request, which is not on it yet; None where none has room."""
        room = [server for server in self.servers.values() if server.has_room(request)]
        return self.strategy.choose(request, room) if room else None

    def room(self) -> float:
        """No request of more tokens has room anywhere now; below 0 where none has."""
        return max((server.room for server in self.servers.values()), default=-1)

    def could_place(self, request: Request) -> bool:
        """Whether any server would have room for it, were it empty and up."""
        return any(server.could_hold(request) for server in self.servers.values())
