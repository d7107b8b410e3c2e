"""Requests: which ones wait, in which order, which are in flight, and what refuses an event (R-FIFO, R-REFUSE).

Who is next is not decided here. The machine has this in common with every other method of scheduling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, TypeVar

from sfq_spec.refusals import DuplicateRequest, InvalidCost, InvalidWeight, NotWaiting, UnknownRequest


@dataclass(frozen=True)
class Request:
    """One inference call: whose it is, its id, and the cost that will be charged when it is dispatched."""

    user: str
    request: str
    cost: Fraction


R = TypeVar("R", bound=Request)


@dataclass(frozen=True)
class Book(Generic[R]):
    """The requests that have not ended."""

    queues: Mapping[str, tuple[R, ...]] = field(default_factory=dict)
    """The waiting requests of each user, in order of arrival; users with none are left out."""
    live: Mapping[str, R] = field(default_factory=dict)
    """Requests that wait or are in flight, by id. An id is free again once its request has ended."""

    def is_waiting(self, request: R) -> bool:
        """Whether the request is in its user's queue."""
        return any(waiting is request for waiting in self.queues.get(request.user, ()))

    def is_last(self, request: R) -> bool:
        """Whether the request is the only one of its user that waits."""
        return self.queues.get(request.user) == (request,)


B = TypeVar("B", bound=Book)  # type: ignore[type-arg]


def admit(book: B, request: Request) -> B:
    """A request joins the end of its user's queue. Raises `DuplicateRequest` while its id is live."""
    if request.request in book.live:
        raise DuplicateRequest(request.request)
    queue = (*book.queues.get(request.user, ()), request)
    return _changed(book, request.user, queue, {**book.live, request.request: request})


def send(book: B, request: Request) -> B:
    """A waiting request leaves its queue, and is in flight from now on."""
    return _changed(book, request.user, _others(book, request), book.live)


def withdraw(book: B, request: Request) -> B:
    """A waiting request leaves its queue, and its id is free."""
    return _changed(book, request.user, _others(book, request), _without(book, request))


def end(book: B, request: Request) -> B:
    """A request in flight has ended: its id is free."""
    return replace(book, live=_without(book, request))


def reprice(book: B, old: R, new: R) -> B:
    """A waiting request is replaced by itself at another cost; it keeps its place."""
    queue = tuple(new if request is old else request for request in book.queues[old.user])
    return _changed(book, old.user, queue, {**book.live, old.request: new})


def waiting(book: Book[R], id: str) -> R:
    """The waiting request of an id. Raises `UnknownRequest`, or `NotWaiting` where it is in flight."""
    found = book.live.get(id)
    if found is None:
        raise UnknownRequest(id)
    if not book.is_waiting(found):
        raise NotWaiting(id)
    return found


def in_flight(book: Book[R], id: str) -> R | None:
    """The request of an id if it has been dispatched and has not ended."""
    found = book.live.get(id)
    return None if found is None or book.is_waiting(found) else found


def positive(number: Fraction | float, refusal: type[InvalidCost] | type[InvalidWeight]) -> Fraction:
    """A cost or weight as it stands. Raises the refusal where it is not above zero, infinite or not a number."""
    if isinstance(number, float) or number <= 0:
        raise refusal(number)
    return number


def _changed(book: B, user: str, queue: tuple[Request, ...], live: Mapping[str, Request]) -> B:
    queues = {**book.queues, user: queue}
    if not queue:
        del queues[user]
    return replace(book, queues=queues, live=live)


def _others(book: Book[R], request: Request) -> tuple[R, ...]:
    return tuple(other for other in book.queues[request.user] if other is not request)


def _without(book: Book[R], request: Request) -> dict[str, R]:
    return {id: other for id, other in book.live.items() if id != request.request}
