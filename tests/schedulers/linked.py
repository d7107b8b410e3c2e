"""Two schedulers that conform, with structures of their own: linked lists, and a heap that knows where each user is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schedulers.linear_scan import LinearScan
from schedulers.plain import LeastFirst


@dataclass(slots=True, eq=False)
class Link:
    request: str
    before: Link | None = None
    after: Link | None = None


class LinkedList:
    """A queue of requests, linked both ways, with a map from each request to its link."""

    def __init__(self) -> None:
        self.first: Link | None = None
        self.last: Link | None = None
        self.links: dict[str, Link] = {}

    def __bool__(self) -> bool:
        return self.first is not None

    def append(self, request: str) -> None:
        self.links[request] = link = self.new(request)
        link.before = self.last
        if self.last is None:
            self.first = link
        else:
            self.last.after = link
        self.last = link

    def popleft(self) -> str:
        link = self.first
        assert link is not None
        self.first = link.after
        self.beheaded()
        self.links.pop(link.request, None)
        return link.request

    def remove(self, request: str) -> None:
        link = self.links.pop(request)
        self.behind(link)
        self.ahead(link)

    def new(self, request: str) -> Link:
        return Link(request)

    def beheaded(self) -> None:
        """The first link has gone."""
        if self.first is None:
            self.last = None
        else:
            self.first.before = None

    def behind(self, link: Link) -> None:
        """What is before a link that goes is tied to what is after it."""
        if link.before is None:
            self.first = link.after
        else:
            link.before.after = link.after

    def ahead(self, link: Link) -> None:
        """What is after a link that goes is tied to what is before it."""
        if link.after is None:
            self.last = link.before
        else:
            link.after.before = link.before


class Linked(LinearScan):
    """A linked list for each user."""

    def new_queue(self) -> Any:
        return LinkedList()


class IndexedHeap(LeastFirst):
    """The waiting users in a heap, and a map from each of them to its place there."""

    children = 2

    def __init__(self) -> None:
        super().__init__()
        self.heap: list[str] = []
        self.place: dict[str, int] = {}

    def arrive(self, user: str, request: str, cost: Any) -> None:
        waits = bool(self.queues.get(user))
        super().arrive(user, request, cost)
        if not waits:
            self.enter(user)

    def dispatch(self) -> str | None:
        user = self.selected()
        sent = super().dispatch()
        if user is not None:
            if self.queues[user]:
                self.down(0)
            else:
                self.leave(user)
        return sent

    def cancel(self, request: str) -> None:
        user = self.owners.get(request, "")
        super().cancel(request)
        if not self.queues[user]:
            self.withdraw(user)

    def selected(self) -> str | None:
        return self.heap[0] if self.heap else None

    def enter(self, user: str) -> None:
        self.heap.append(user)
        self.place[user] = len(self.heap) - 1
        self.up(len(self.heap) - 1)

    def withdraw(self, user: str) -> None:
        """A user leaves by a cancel, from wherever it stands."""
        self.leave(user)

    def leave(self, user: str) -> None:
        at, last = self.place.pop(user), self.heap.pop()
        if at < len(self.heap):
            self.put(at, last)
            self.sift(at)

    def put(self, at: int, user: str) -> None:
        self.heap[at], self.place[user] = user, at

    def sift(self, at: int) -> None:
        """Move what has come to a place up or down."""
        self.up(at)
        self.down(at)

    def up(self, at: int) -> None:
        while at and self.less(at, above := (at - 1) // self.children):
            self.swap(at, above)
            at = above

    def down(self, at: int) -> None:
        while (least := self.least_below(at)) is not None and self.less(least, at):
            self.swap(least, at)
            at = least

    def least_below(self, at: int) -> int | None:
        first = self.children * at + 1
        below = range(first, min(first + self.children, len(self.heap)))
        return min(below, key=lambda place: self.key(self.heap[place]), default=None)

    def less(self, one: int, other: int) -> bool:
        return bool(self.key(self.heap[one]) < self.key(self.heap[other]))

    def swap(self, lower: int, upper: int) -> None:
        low, high = self.heap[lower], self.heap[upper]
        self.put(upper, low)
        self.put(lower, high)


class FourWayHeap(IndexedHeap):
    """The same with four children to each place."""

    children = 4
