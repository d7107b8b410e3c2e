"""The queues of the flows, by priority: what a fairness policy picks from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfq_impl.policy.interfaces import SECOND, FlowKey, InferenceRequest

KEPT = 300 * SECOND
"""For how long an empty queue stays registered, as in the original."""


@dataclass(eq=False)
class Item:
    """A request that waits."""

    original_request: InferenceRequest
    enqueue_time: int
    key: FlowKey


class FlowQueue:
    """The queue of one flow, first in first out."""

    def __init__(self, key: FlowKey) -> None:
        self.flow_key = key
        self.emptied: int | None = None
        """Since when it is empty."""
        self._items = OrderedDict[str, Item]()
        """By request; unlike a plain one it finds its first entry at once, however many went before."""

    def __len__(self) -> int:
        return len(self._items)

    def peek(self) -> Item | None:
        """The oldest request."""
        return next(iter(self._items.values()), None)

    def push(self, item: Item) -> None:
        """A request joins the end."""
        self._items[item.original_request.request_id] = item
        self.emptied = None

    def remove(self, item: Item, now: int) -> None:
        """A request leaves, from wherever it is."""
        del self._items[item.original_request.request_id]
        if not self._items:
            self.emptied = now


class PriorityBand:
    """The queues of one priority, and what the policy keeps for them."""

    def __init__(self, priority: int, policy_state: Any = None, kept: int = KEPT) -> None:
        self.priority = priority
        self.policy_state = policy_state
        self._kept = kept
        self._queues: dict[str, FlowQueue] = {}
        self._empty = OrderedDict[str, FlowQueue]()
        """Of these the empty ones, the one that has been so for longest first."""

    def queues(self) -> Iterable[FlowQueue]:
        """Every registered queue, the empty ones included."""
        return self._queues.values()

    def queue(self, id: str) -> FlowQueue | None:
        """The queue of a program, if it is registered."""
        return self._queues.get(id)

    def push(self, item: Item) -> None:
        """A request joins the end of its flow's queue."""
        queue = self._queues.get(item.key.id)
        if queue is None:
            queue = self._queues[item.key.id] = FlowQueue(item.key)
        self._empty.pop(item.key.id, None)
        queue.push(item)

    def remove(self, item: Item, now: int) -> None:
        """A request leaves its queue."""
        queue = self._queues[item.key.id]
        queue.remove(item, now)
        if not queue:
            self._empty[item.key.id] = queue

    def collect(self, now: int) -> None:
        """Queues that have been empty for longer than `kept` are registered no more."""
        while self._empty:
            id, queue = next(iter(self._empty.items()))
            if queue.emptied is None or now - queue.emptied <= self._kept:
                return
            del self._empty[id], self._queues[id]
