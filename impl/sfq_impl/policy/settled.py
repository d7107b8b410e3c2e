"""`program-aware-settled-fairness`: what can be repaired of `las` with the same hooks, as a policy of its own.

Attained service is still input and twice output tokens, and still decays. But

    a request is charged its estimate when it is dispatched, and the difference when it has ended: what is in flight
    counts at once, and k free rooms do not all go to one program;
    a program that had nothing waiting begins at least where the program stood that was picked last: a long rest is
    worth no more than a turn;
    least service goes first, of equals who has waited longest, then the least id: a third program changes nothing
    between two others.

When nobody waits and nothing is in flight all accounts begin anew, as in the first seed (article §2.6). Where estimates
are right and nothing decays, the charges of two programs that wait all the time differ by at most the greatest charge
of each; a wrong estimate adds what its settlement moves. A fresh id is worth a turn as well, so whoever takes a new one
for each request still goes before all others, as under SFQ: that cannot be repaired without knowing who is who.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sfq_impl.policy.attained import halved, weighted_tokens
from sfq_impl.policy.identity import DEFAULT_ID
from sfq_impl.policy.interfaces import (
    MILLISECOND,
    FlowKey,
    FlowQueueAccessor,
    InferenceRequest,
    PriorityBandAccessor,
    QueueItemAccessor,
    Response,
)
from sfq_impl.policy.parameters import SETTLED, Settled
from sfq_impl.policy.program import Program
from sfq_impl.policy.program_aware import ENQUEUE_TIME, Programs


class SettledFairness(Programs):
    """The policy; it needs to be told who waits (`QueueWatcher`)."""

    def __init__(
        self, parameters: Settled | None = None, *, name: str = SETTLED, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.parameters = parameters or Settled()
        super().__init__(self.parameters, name, clock)
        self._half_life = self.parameters.las_half_life_seconds
        self._flying: dict[str, tuple[str, float, int]] = {}
        """Of each request in flight: the program, the charge, and when it was charged."""
        self._floor, self._floor_anchor = 0.0, clock()
        """The service of the program that was picked last, and as of when."""

    def service(self, id: str, now: int) -> float:
        """What a program has been charged, as it counts now."""
        program = self.programs.get(id)
        if program is None or program.anchor is None:
            return 0.0
        return halved(program.service, now - program.anchor, self._half_life)

    def floor(self, now: int) -> float:
        """Where a program begins that had nothing waiting, at least."""
        return halved(self._floor, now - self._floor_anchor, self._half_life)

    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The same, where nothing changes by it."""

        def rank(queue: FlowQueueAccessor) -> tuple[float, int, str]:
            head, id = queue.peek(), queue.flow_key.id
            return self.service(id, now), now if head is None else head.enqueue_time, id

        return min((queue for queue in band.queues() if len(queue)), key=rank, default=None)

    def picked(self, band: PriorityBandAccessor, queue: FlowQueueAccessor | None, now: int) -> None:
        """Whoever is picked is where others begin from now on, but never lower than before."""
        head = None if queue is None else queue.peek()
        if queue is not None and head is not None and head.original_request is not None:
            self._floor = max(self.floor(now), self.service(queue.flow_key.id, now))
            self._floor_anchor = now
            head.original_request.attributes[ENQUEUE_TIME] = head.enqueue_time

    def enqueued(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey) -> None:
        """A program that had nothing waiting begins at the floor, or where it was if that is higher."""
        if not self.waiting[key.id]:
            now = self.clock()
            self._set(self.meet(key.id, now), max(self.service(key.id, now), self.floor(now)), now)
        self.waiting[key.id] += 1

    def left(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey, dispatched: bool) -> None:
        """Where it was withdrawn, nobody may be left."""
        self.waiting[key.id] -= 1
        if not self.waiting[key.id]:
            del self.waiting[key.id]
        if not dispatched:
            self._begin_anew_if_idle()

    def pre_request(self, request: InferenceRequest | None) -> None:
        """It is charged its estimate."""
        if request is None or request.request_id in self._flying:
            return
        now, id = self.clock(), request.fairness_id or DEFAULT_ID
        program, charge = self.meet(id, now), max(0.0, float(request.cost))
        self._flying[request.request_id] = id, charge, now
        self._set(program, self.service(id, now) + charge, now)
        program.in_flight += 1
        program.dispatched += 1
        enqueued = request.attributes.get(ENQUEUE_TIME)
        if isinstance(enqueued, int):
            program.record_wait(max(0, now - enqueued) // MILLISECOND)
        program.has_wait = True

    def response_body(self, request: InferenceRequest | None, response: Response | None) -> None:
        """The charge becomes what was used: what is left of the estimate is taken back, and the use is added."""
        if request is None or response is None or not response.end_of_stream:
            return
        known = self._flying.pop(request.request_id, None)
        if known is None:
            return
        id, estimate, charged = known
        now = self.clock()
        program = self.meet(id, now)
        used = self.charge(estimate, response)
        difference = used - halved(estimate, now - charged, self._half_life) if used != estimate else 0.0
        self._set(program, max(0.0, self.service(id, now) + difference), now)
        program.in_flight -= 1
        program.last_completion = now
        program.shown_service = program.service
        self._begin_anew_if_idle()

    def charge(self, estimate: float, response: Response) -> float:
        """What a request that has ended is charged in all."""
        told = None if response.usage is None else weighted_tokens(response.usage)
        if response.termination == "natural":
            return estimate if told is None else told
        abandoned = self.parameters.charge_abandoned
        if abandoned == "estimate":
            return max(estimate, told or 0.0)
        return (told or 0.0) if abandoned == "reported" else 0.0

    def _set(self, program: Program, service: float, now: int) -> None:
        program.service, program.anchor = service, now

    def _begin_anew_if_idle(self) -> None:
        """Where nobody waits and nothing is in flight, nobody is ahead of anybody any more."""
        if not self.waiting and not self._flying:
            self._floor = 0.0
            for program in self.programs.values():
                program.service = 0.0
