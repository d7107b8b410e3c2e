"""Who is passed over because its next request fits nowhere, for the mode `overtake` (article §5.2)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from sfq_impl.fleet.request import Request

SLACK = 64
"""Entries that may be kept beyond two for each user who is held."""


class Held:
    """The users who are held, and the request of each that did not fit.

    Who may fit again is found by size, so those who are too large for the room that there is cost nothing.
    """

    def __init__(self) -> None:
        self.requests: dict[str, Request] = {}
        """By user."""
        self._by_size: list[tuple[int, str, str]] = []
        """Tokens, user and request, also of some who are not held any more."""
        self._users: tuple[str, ...] | None = None

    @property
    def users(self) -> tuple[str, ...]:
        """Those who are held, by id; sorted only when they have changed."""
        if self._users is None:
            self._users = tuple(sorted(self.requests))
        return self._users

    def hold(self, request: Request) -> None:
        """The user of a request is held for it."""
        self.requests[request.user], self._users = request, None
        heappush(self._by_size, (request.tokens, request.user, request.id))
        if len(self._by_size) > 2 * len(self.requests) + SLACK:
            self._by_size = [(held.tokens, user, held.id) for user, held in self.requests.items()]
            heapify(self._by_size)

    def drop(self, user: str) -> None:
        """The user is not held any more, if it was."""
        if self.requests.pop(user, None) is not None:
            self._users = None

    def release(self, room: float) -> list[str]:
        """Those whose request has no more than so many tokens; they are not held any more."""
        released = []
        while self._by_size and self._by_size[0][0] <= room:
            _, user, request = heappop(self._by_size)
            held = self.requests.get(user)
            if held is not None and held.id == request:
                self.drop(user)
                released.append(user)
        return released
