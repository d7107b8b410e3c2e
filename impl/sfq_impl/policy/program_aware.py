"""`program-aware-fairness`, strategy `las`: the program that has attained least goes first (the second seed).

The score and its inputs are the original's. In the compatible modes so are the faults: a request that is abandoned
stays in flight, and with it its program's state and metrics; a completion that comes twice counts twice. Otherwise the
requests in flight are known by id, and each leaves once, however it ends.

What never happens in any mode: a service below zero, two readings of the clock in a pick, a tie left to chance.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from sfq_impl.policy.attained import Candidate, best, halved, waited, weighted_tokens
from sfq_impl.policy.identity import DEFAULT_ID
from sfq_impl.policy.interfaces import (
    MILLISECOND,
    SECOND,
    FlowKey,
    FlowQueueAccessor,
    InferenceRequest,
    PriorityBandAccessor,
    QueueItemAccessor,
    Response,
)
from sfq_impl.policy.parameters import PROGRAM_AWARE, Memory, ProgramAware
from sfq_impl.policy.picking import Picking
from sfq_impl.policy.program import Program, fairness_index

ENQUEUE_TIME = "enqueue-time/program-aware-fairness"
"""The attribute of a request in which a pick leaves when it was taken in."""


class Programs(Picking):
    """The programs, and what happens to them in any policy: waits, requests in flight, sweeps."""

    def __init__(self, memory: Memory, name: str, clock: Callable[[], int]) -> None:
        super().__init__(name, clock)
        self.memory = memory
        self.programs: dict[str, Program] = {}
        self.waiting = Counter[str]()
        """Requests that wait, by program, in all bands."""
        self._sweep = max(1, round(memory.eviction_sweep_seconds * SECOND))
        self._ttl = round(memory.eviction_ttl_seconds * SECOND)
        self._swept = clock() // self._sweep
        """The number of the latest sweep: they come at whole multiples of the interval."""

    def new_state(self) -> None:
        """Nothing is kept by band: a program has one account at all priorities."""

    def meet(self, id: str, now: int) -> Program:
        """A program; one that was not known counts as seen from now on."""
        program = self.programs.get(id)
        if program is None:
            program = self.programs[id] = Program(now)
        return program

    def is_idle(self, id: str) -> bool:
        """Whether it neither waits nor has a request in flight."""
        program = self.programs.get(id)
        return not self.waiting[id] and (program is None or not program.in_flight)

    def advance(self, now: int) -> None:
        """Sweep, where a sweep has become due."""
        if (number := now // self._sweep) > self._swept:
            self._swept = number
            self.sweep(number * self._sweep)

    def sweep(self, at: int) -> None:
        """Forget the programs without a request in flight whose last completion is longer ago than the ttl."""
        if self._ttl:
            gone = [
                id
                for id, program in self.programs.items()
                if not program.in_flight and at - program.last_completion > self._ttl
            ]
            for id in gone:
                del self.programs[id]

    def dump_state(self) -> dict[str, Any]:
        """Totals, and no ids: users choose them."""
        return {
            "totalPrograms": len(self.programs),
            "totalInFlight": sum(program.in_flight for program in self.programs.values()),
            "fairnessIndex": fairness_index(self.programs.values()),
        }


class ProgramAwareFairness(Programs):
    """The policy, with its hooks before a request and at the end of an answer."""

    def __init__(
        self,
        parameters: ProgramAware | None = None,
        *,
        name: str = PROGRAM_AWARE,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.parameters = parameters or ProgramAware()
        super().__init__(self.parameters, name, clock)
        self.is_compatible = self.parameters.compatibility != "none"
        """Whether faults of the original are reproduced."""
        self._visits = self.parameters.compatibility == "release-0.10"
        self._half_life, self._factor = self.parameters.half_life, self.parameters.factor
        self._counts_picks = self._factor < 1 and not self._visits
        """Whether picks take from the service of everybody who is idle, visited or not."""
        self._picks = 0
        self._flying: dict[str, str] = {}
        """The program of each request in flight, by the request's id."""

    def service(self, id: str, now: int) -> float:
        """What a program has attained, as it counts now."""
        program = self.programs.get(id)
        if program is None or program.anchor is None:
            return 0.0
        if self._visits:
            return program.service
        if self._counts_picks and self.is_idle(id):
            return float(program.service * self._factor ** (self._picks - program.picks))
        return halved(program.service, now - program.anchor, self._half_life)

    # The pick.

    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The same, where nothing changes by it."""
        rules = self.parameters
        return best(self._candidates(band, now), rules.las_weight_service, rules.las_weight_head_wait)

    def picked(self, band: PriorityBandAccessor, queue: FlowQueueAccessor | None, now: int) -> None:
        """Note when the head was taken in; count the pick; let the empty queues decay that it has come by."""
        if self.is_compatible:
            self._come_by(band, now)
        self._picks += 1
        head = None if queue is None else queue.peek()
        if head is not None and head.original_request is not None:
            head.original_request.attributes[ENQUEUE_TIME] = head.enqueue_time

    def _candidates(self, band: PriorityBandAccessor, now: int) -> Iterator[Candidate]:
        for queue in band.queues():
            if len(queue):
                yield Candidate(queue, self.service(queue.flow_key.id, now), waited(queue, now))

    def _come_by(self, band: PriorityBandAccessor, now: int) -> None:
        """Whoever waits is known from now on. The release comes by empty queues as well, and lets services decay."""
        for queue in band.queues():
            if not self._visits and not len(queue):
                continue
            program = self.meet(queue.flow_key.id, now)
            if not len(queue) and not program.in_flight and program.anchor is not None:
                if self._half_life:
                    program.service = halved(program.service, now - program.anchor, self._half_life)
                    program.anchor = now
                else:
                    program.service *= self._factor

    # What happens to requests.

    def enqueued(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey) -> None:
        """The program is idle no more: what picks have taken while it was is taken for good."""
        program = self.programs.get(key.id)
        if program is not None and self._counts_picks and self.is_idle(key.id):
            program.service *= self._factor ** (self._picks - program.picks)
        self.waiting[key.id] += 1

    def left(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey, dispatched: bool) -> None:
        """The program may be idle from now on."""
        self.waiting[key.id] -= 1
        if not self.waiting[key.id]:
            del self.waiting[key.id]
            if (program := self.programs.get(key.id)) is not None:
                program.picks = self._picks

    def pre_request(self, request: InferenceRequest | None) -> None:
        """One more is in flight; if a pick has noted since when it waited, that wait counts in the average."""
        if request is None:
            return
        now, id = self.clock(), request.fairness_id or DEFAULT_ID
        program = self.meet(id, now)
        if not self.is_compatible:
            if request.request_id in self._flying:
                return
            self._flying[request.request_id] = id
        program.in_flight += 1
        program.dispatched += 1
        enqueued = request.attributes.get(ENQUEUE_TIME)
        if isinstance(enqueued, int):
            program.record_wait(max(0, now - enqueued) // MILLISECOND)
        program.has_wait = True

    def response_body(self, request: InferenceRequest | None, response: Response | None) -> None:
        """At the end of the answer what was used is added, and the request is in flight no more."""
        if request is None or response is None or not response.end_of_stream:
            return
        if self.is_compatible:
            if response.termination == "client-disconnect":
                return
            id = request.fairness_id or DEFAULT_ID
        else:
            known = self._flying.pop(request.request_id, None)
            if known is None:
                return
            id = known
        now = self.clock()
        program = self.meet(id, now)
        self._add(id, program, self.charge(request, response), now)
        program.in_flight -= 1
        program.last_completion = now
        program.picks = self._picks

    def charge(self, request: InferenceRequest, response: Response) -> float:
        """What a request that has ended is charged."""
        told = 0.0 if response.usage is None else weighted_tokens(response.usage)
        if self.is_compatible:
            return told
        if response.termination == "natural":
            return told if response.usage is not None else float(request.cost)
        abandoned = self.parameters.charge_abandoned
        return max(told, float(request.cost)) if abandoned == "estimate" else told * (abandoned == "reported")

    def _add(self, id: str, program: Program, charge: float, now: int) -> None:
        """More service; what had decayed until now stays so, but in the release, where it is forfeited."""
        program.service = self.service(id, now) + charge
        program.anchor = now
        program.shown_service = program.service
