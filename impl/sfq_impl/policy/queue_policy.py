"""Any fairness policy as a policy of the dispatcher: queues by program, bands by strict priority.

The dispatcher asks who is next also while no server has room, and asking must change nothing. So a policy that decides
in two parts is asked for its choice, and told of the pick once the request goes. One that has nothing but `pick` is
picked from once, and that pick stands until something happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Outcome, Request
from sfq_impl.policy.identity import DEFAULT_ID
from sfq_impl.policy.interfaces import (
    Choosing,
    FairnessPolicy,
    FlowKey,
    FlowQueueAccessor,
    InferenceRequest,
    Periodic,
    PreRequest,
    QueueWatcher,
    Response,
    ResponseBodyProcessor,
    Termination,
)
from sfq_impl.policy.queues import KEPT, Item, PriorityBand

TERMINATIONS: Mapping[Outcome, Termination] = {
    "completed": "natural",
    "failed": "error",
    "cancelled": "client-disconnect",
}


@runtime_checkable
class Weighing(Protocol):
    """A fairness policy with shares."""

    def set_weight(self, id: str, weight: float) -> None:
        """The share of a program from now on. Raises `InvalidWeight`."""


@dataclass(frozen=True)
class Decision:
    """A pick that has not led to a dispatch yet."""

    now: int
    asked: tuple[int, ...]
    """The priorities that were asked, highest first; the last one gave the queue, if any did."""
    queue: FlowQueueAccessor | None

    @property
    def head(self) -> Item | None:
        """The request that goes next."""
        item = None if self.queue is None else self.queue.peek()
        assert item is None or isinstance(item, Item)
        return item


class Hooks:
    """A policy by what it is able to, looked up once."""

    def __init__(self, policy: FairnessPolicy) -> None:
        self.policy = policy
        self.choosing = policy if isinstance(policy, Choosing) else None
        self.watcher = policy if isinstance(policy, QueueWatcher) else None
        self.before = policy if isinstance(policy, PreRequest) else None
        self.after = policy if isinstance(policy, ResponseBodyProcessor) else None


class QueuePolicy:
    """A policy of the dispatcher, made of a fairness policy; some priorities may have another one."""

    def __init__(
        self,
        fairness: FairnessPolicy,
        bands: Mapping[int, FairnessPolicy] | None = None,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        kept: int = KEPT,
    ) -> None:
        """`clock` tells nanoseconds, and is that of the policies too; `kept` is how long an empty queue stays."""
        self.fairness = fairness
        self.clock = clock
        self._of_bands = {priority: Hooks(policy) for priority, policy in (bands or {}).items()}
        self._of_others = Hooks(fairness)
        self._periodic = [policy for policy in self.policies if isinstance(policy, Periodic)]
        self._kept = kept
        self._bands: dict[int, PriorityBand] = {}
        self._items: dict[str, tuple[Item, Request]] = {}
        """The requests that wait, by id."""
        self._in_flight: dict[str, Item] = {}
        self._decision: Decision | None = None
        """The latest one, as long as nothing has happened since."""
        self._is_free = all(isinstance(policy, Choosing) for policy in self.policies)
        """Whether deciding changes nothing."""

    @property
    def policies(self) -> list[FairnessPolicy]:
        """Every policy, once."""
        return list(dict.fromkeys([self.fairness, *(hooks.policy for hooks in self._of_bands.values())]))

    def policy_of(self, priority: int) -> FairnessPolicy:
        """The policy of a band."""
        return self._hooks(priority).policy

    def _hooks(self, priority: int) -> Hooks:
        return self._of_bands.get(priority, self._of_others)

    def arrive(self, request: Request) -> None:
        """The end of its flow's queue. What the policy raises, as `InvalidCost`, leaves everything as it was."""
        now = self._begin()
        key = FlowKey(request.user or DEFAULT_ID, request.priority)
        item = Item(InferenceRequest(request.id, key.id, request.cost), now, key)
        band = self._band(request.priority)
        self._watched(band, item, None)
        band.push(item)
        self._items[request.id] = item, request

    def next(self) -> Request | None:
        """The head of the queue that is picked, of the highest priority at which one is."""
        decision = self._decided()
        return None if decision.head is None else self._items[decision.head.original_request.request_id][1]

    def dispatch(self, request: Request) -> None:
        """The pick is made, and the request leaves its queue; then it is on its way to a server."""
        decision = self._decision or self._decided()
        head = decision.head
        assert head is not None, "nothing was picked"
        assert head.original_request.request_id == request.id, f"{request.id} is not the one that was picked"
        for priority in decision.asked:
            choosing, band = self._hooks(priority).choosing, self._bands[priority]
            if choosing is not None:
                choosing.picked(band, decision.queue if priority == head.key.priority else None, decision.now)
        self._leave(request, decision.now, dispatched=True)
        self._in_flight[request.id] = head
        before = self._hooks(request.priority).before
        if before is not None:
            before.pre_request(head.original_request)

    def cancel(self, request: Request) -> None:
        """It leaves its queue, from wherever it is."""
        self._leave(request, self._begin(), dispatched=False)

    def complete(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """The last piece of its answer has come, or its answer has been broken off."""
        self._begin()
        item = self._in_flight.pop(request.id, None)
        after = self._hooks(request.priority).after
        if item is not None and after is not None:
            response = Response(end_of_stream=True, usage=usage, termination=TERMINATIONS[outcome])
            after.response_body(item.original_request, response)

    def set_weight(self, user: str, weight: float) -> None:
        """For the policies that have shares; nothing else."""
        self._begin()
        for policy in self.policies:
            if isinstance(policy, Weighing):
                policy.set_weight(user, weight)

    def _begin(self) -> int:
        """Something happens: a pick that was made before stands no more, and what is due is done first."""
        self._decision = None
        now = self.clock()
        for policy in self._periodic:
            policy.advance(now)
        return now

    def _decided(self) -> Decision:
        """The decision as of now. One that stands is taken again only where deciding changes nothing."""
        standing = self._decision
        if standing is None or (self._is_free and standing.now != self.clock()):
            standing = self._decision = self._decide(self.clock())
        return standing

    def _decide(self, now: int) -> Decision:
        asked = list[int]()
        for policy in self._periodic:
            policy.advance(now)
        for priority in sorted(self._bands, reverse=True):
            hooks, band = self._hooks(priority), self._bands[priority]
            band.collect(now)
            asked.append(priority)
            queue = hooks.choosing.choose(band, now) if hooks.choosing else hooks.policy.pick(band)
            if queue is not None and len(queue):
                return Decision(now, tuple(asked), queue)
        return Decision(now, tuple(asked), None)

    def _band(self, priority: int) -> PriorityBand:
        band = self._bands.get(priority)
        if band is None:
            state = self.policy_of(priority).new_state()
            band = self._bands[priority] = PriorityBand(priority, state, self._kept)
        return band

    def _leave(self, request: Request, now: int, *, dispatched: bool) -> None:
        self._decision = None
        item, _ = self._items.pop(request.id)
        band = self._bands[request.priority]
        band.remove(item, now)
        self._watched(band, item, dispatched)

    def _watched(self, band: PriorityBand, item: Item, dispatched: bool | None) -> None:
        watcher = self._hooks(band.priority).watcher
        if watcher is None:
            return
        if dispatched is None:
            watcher.enqueued(band, item, item.key)
        else:
            watcher.left(band, item, item.key, dispatched)
