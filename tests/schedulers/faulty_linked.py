"""Linked lists with a fault each, in what a cancel leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schedulers.linear_scan import LinearScan
from schedulers.linked import Link, LinkedList


class _EndKept(LinkedList):
    def ahead(self, link: Link) -> None:
        if link.after is not None or link.before is None:
            super().ahead(link)


class _EndKeptWhenEmpty(LinkedList):
    def ahead(self, link: Link) -> None:
        if link.after is not None or link.before is not None:
            super().ahead(link)


class _StaleBack(LinkedList):
    def ahead(self, link: Link) -> None:
        if link.after is None or link.before is None:
            super().ahead(link)


class _StaleBackOfTheFirst(LinkedList):
    def beheaded(self) -> None:
        if self.first is None:
            self.last = None


class _FirstKept(LinkedList):
    def behind(self, link: Link) -> None:
        if link.before is not None or link.after is None:
            super().behind(link)


class _RestCut(LinkedList):
    def remove(self, request: str) -> None:
        link = self.links.pop(request)
        if link.before is None:
            self.behind(link)
            self.ahead(link)
        else:
            link.before.after, self.last = None, link.before


class EndKept(LinearScan):
    """The list still ends at a request that was cancelled: the next one is tied to it, and lost."""

    def new_queue(self) -> Any:
        return _EndKept()


class EndKeptWhenEmpty(LinearScan):
    """A cancel empties the list, and its end stays: what comes next has no beginning."""

    def new_queue(self) -> Any:
        return _EndKeptWhenEmpty()


class StaleBack(LinearScan):
    """What is behind a cancelled request still points back to it, so that its own cancel changes nothing."""

    def new_queue(self) -> Any:
        return _StaleBack()


class StaleBackOfTheFirst(LinearScan):
    """The first request still points back to the one that was sent, so that its own cancel changes nothing."""

    def new_queue(self) -> Any:
        return _StaleBackOfTheFirst()


class FirstKept(LinearScan):
    """The list still begins at a first request that was cancelled."""

    def new_queue(self) -> Any:
        return _FirstKept()


class RestCut(LinearScan):
    """With a request that is not the first goes what is behind it."""

    def new_queue(self) -> Any:
        return _RestCut()


class FreedLinkIsTied(LinearScan):
    """A link is used again as it was left: what came after the old request comes after the new one."""

    def __init__(self) -> None:
        super().__init__()
        self.free: list[Link] = []

    def new_queue(self) -> Any:
        free = self.free

        class Reusing(LinkedList):
            def new(self, request: str) -> Link:
                if not free:
                    return super().new(request)
                link = free.pop()
                link.request = request
                return link

            def remove(self, request: str) -> None:
                free.append(self.links[request])
                super().remove(request)

        return Reusing()


class FreedInFlight(LinearScan):
    """The slot of a request is free once it is sent, and a cancel of its id withdraws what has the slot now."""

    def __init__(self) -> None:
        super().__init__()
        self.slots: dict[str, int] = {}
        self.held: list[str | None] = []

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, cost)
        free = next((slot for slot, held in enumerate(self.held) if held is None), len(self.held))
        self.held[free : free + 1] = [request]
        self.slots[request] = free

    def dispatch(self) -> str | None:
        sent = super().dispatch()
        if sent is not None:
            self.held[self.slots[sent]] = None
        return sent

    def cancel(self, request: str) -> None:
        slot = self.slots.get(request, 0)
        held = self.held[slot] if request in self.in_flight else None
        super().cancel(request if held is None else held)
        self.held[slot] = None


class CountDrifts(LinearScan):
    """How many wait is counted, and a cancel does not count: the reset never comes again."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def arrive(self, user: str, request: str, cost: Any) -> None:
        super().arrive(user, request, cost)
        self.count += 1

    def dispatch(self) -> str | None:
        self.count -= any(self.queues.values())
        return super().dispatch()

    def _reset(self) -> None:
        if not self.count:
            super()._reset()


FAULTY: tuple[Callable[[], Any], ...] = (
    EndKept,
    EndKeptWhenEmpty,
    StaleBack,
    StaleBackOfTheFirst,
    FirstKept,
    RestCut,
    FreedLinkIsTied,
    FreedInFlight,
    CountDrifts,
)
"""Every faulty scheduler here."""
