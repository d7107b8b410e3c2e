"""The policies beside the program-aware one: SFQ, round robin, and strict order of arrival."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from sfq_impl.heap import HeapScheduler
from sfq_impl.policy.interfaces import (
    FlowKey,
    FlowQueueAccessor,
    InferenceRequest,
    PriorityBandAccessor,
    QueueItemAccessor,
    Response,
)
from sfq_impl.policy.parameters import GLOBAL_STRICT, ROUND_ROBIN, SFQ
from sfq_impl.policy.picking import Picking
from sfq_spec.trace import InvalidWeight


@dataclass
class Cursor:
    """Whose turn it was last in a band."""

    last: str | None = None


class RoundRobinFairness(Picking):
    """One request of each program in turn, in the order of their ids."""

    def __init__(self, *, name: str = ROUND_ROBIN, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(name, clock)

    def new_state(self) -> Cursor:
        """A band has a turn of its own."""
        return Cursor()

    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The first queue with a request after the one whose turn it was, around the ring of registered queues.

        Where that one is registered no more, the ring begins with the least id.
        """
        queues = sorted(band.queues(), key=lambda queue: queue.flow_key)
        ids = [queue.flow_key.id for queue in queues]
        last = band.policy_state.last
        after = bisect_right(ids, last) if last is not None and band.queue(last) is not None else 0
        return next((queue for queue in queues[after:] + queues[:after] if len(queue)), None)

    def picked(self, band: PriorityBandAccessor, queue: FlowQueueAccessor | None, now: int) -> None:
        """The turn goes on; where nobody waits it begins anew."""
        band.policy_state.last = None if queue is None else queue.flow_key.id

    def enqueued(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey) -> None:
        """Nothing is to be noted."""

    def left(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey, dispatched: bool) -> None:
        """Where nobody waits any more, the next pick would find that: the turn begins anew."""
        if not any(map(len, band.queues())):
            band.policy_state.last = None


class GlobalStrictFairness(Picking):
    """First come, first served, whoever it is; what llm-d does where nothing is configured."""

    def __init__(self, *, name: str = GLOBAL_STRICT, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(name, clock)

    def new_state(self) -> None:
        """Nothing is kept."""

    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The queue whose head was taken in first; of two at the same time that of the least id."""
        heads = ((queue.peek(), queue) for queue in band.queues())
        waiting = [(head.enqueue_time, queue.flow_key.id, queue) for head, queue in heads if head is not None]
        return min(waiting, key=lambda found: found[:2])[2] if waiting else None


class SfqFairness(Picking):
    """Start-time Fair Queueing, by the scheduler that is proved; each band has one of its own.

    It needs to be told who waits (`QueueWatcher`), and charges a request its cost when it leaves its queue for a
    server: a pick that leads to no dispatch is not charged.
    """

    def __init__(self, *, name: str = SFQ, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(name, clock)
        self._weights: dict[str, float] = {}
        self._schedulers: list[HeapScheduler] = []
        self._flying: dict[str, HeapScheduler] = {}

    def new_state(self) -> HeapScheduler:
        """A scheduler."""
        made = HeapScheduler()
        for id, weight in self._weights.items():
            made.set_weight(id, weight)
        self._schedulers.append(made)
        return made

    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The queue of the program of least (meter, id)."""
        first = band.policy_state.next_request
        return None if first is None else band.queue(first.user)

    def enqueued(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey) -> None:
        """The program joins, if it had nothing waiting."""
        request = item.original_request
        assert request is not None
        band.policy_state.arrive(key.id, request.request_id, request.cost)

    def left(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey, dispatched: bool) -> None:
        """It is charged, or withdrawn uncharged."""
        request = item.original_request
        assert request is not None
        if not dispatched:
            band.policy_state.cancel(request.request_id)
            return
        sent = band.policy_state.dispatch()
        assert sent is not None
        assert sent.request == request.request_id, f"{sent.request} is next, not {request.request_id}"
        self._flying[request.request_id] = band.policy_state

    def response_body(self, request: InferenceRequest | None, response: Response | None) -> None:
        """No meter moves; the id is free again."""
        if request is not None and response is not None and response.end_of_stream:
            scheduler = self._flying.pop(request.request_id, None)
            if scheduler is not None:
                scheduler.complete(request.request_id)

    def set_weight(self, id: str, weight: float) -> None:
        """Charges are divided by it from now on, in every band. Raises `InvalidWeight`."""
        if not 0 < weight < float("inf"):
            raise InvalidWeight(weight)
        self._weights[id] = weight
        for scheduler in self._schedulers:
            scheduler.set_weight(id, weight)
