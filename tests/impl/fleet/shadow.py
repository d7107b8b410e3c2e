"""The machine of the specification beside the dispatcher: it is told the same, and must be in the same state.

`verdict` tells everything that is wrong with a simulated run, each with the claim that it breaks.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.policy import Sfq, Usage
from sfq_impl.fleet.request import Outcome, Request, TurnedAway
from sfq_impl.fleet.simulation.run import Result, simulate
from sfq_impl.fleet.simulation.scenario import Scenario
from sfq_spec.competition import SFQ
from sfq_spec.conformance.audit.findings import audit_order
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import batches
from sfq_spec.machine import Machine, Taken, take
from sfq_spec.placement import overtake, placing
from sfq_spec.refusals import Refused
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Entry, Event, SetWeight

WITHDRAWN = {
    "cancelled": {"cancelled"},
    "expired": {"Expired", "cancelled"},
    "refused": {"ShuttingDown", "NoServer", "cancelled"},
}
"""What a client can have seen of a request that was withdrawn; one that leaves at the moment is only cancelled."""
ENDED = {"completed": {"completed"}, "failed": {"failed", "NoServer"}, "cancelled": {"cancelled"}}
"""The same of a request that was dispatched."""
REFUSED = {"QueueFull", "ShuttingDown", "NoServer"}


@dataclass
class Shadow:
    """An observer that holds every step against the machine."""

    dispatcher: Dispatcher
    machine: Machine = field(default_factory=Machine)
    wrong: list[str] = field(default_factory=list)
    begun: Counter[str] = field(default_factory=Counter)
    over: Counter[str] = field(default_factory=Counter)
    how: dict[str, set[str]] = field(default_factory=dict)
    """What the client of a request may have seen of its end."""
    requests: dict[str, Request] = field(default_factory=dict)
    overtaken: int = 0
    """Dispatches at which somebody was passed over."""

    def arrived(self, request: Request) -> None:
        self.begun[request.id] += 1
        self.requests[request.id] = request
        self._take(Arrive(request.user, request.id, Fraction(request.cost)))

    def refused(self, request: Request, reason: TurnedAway) -> None:
        self.how[request.id] = {type(reason).__name__}

    def dispatched(self, request: Request, server: Server) -> None:
        rules = SFQ
        if self.dispatcher.mode == "overtake":
            rules = placing(overtake, lambda user: self._could_go(user, request))
            held = {user for user in self.machine.queues if not self._could_go(user, request)}
            self.overtaken += bool(request.overtook)
            if not set(request.overtook) <= held:
                self.wrong.append(f"FLEET-ORDER: {request.overtook} are held for {request.id}, and only {held} must be")
        taken = self._take(Dispatch(), rules)
        if taken and taken.answer.dispatched != request.id:
            self.wrong.append(f"FLEET-ORDER: {request.id} goes, and it is the turn of {taken.answer.dispatched}")

    def withdrawn(self, request: Request) -> None:
        self.over[request.id] += 1
        self.how[request.id] = WITHDRAWN[str(request.ended)]
        self._take(Cancel(request.id))

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        self.over[request.id] += 1
        self.how[request.id] = ENDED[outcome]
        self._take(Complete(request.id, outcome))

    def weighed(self, user: str, weight: float) -> None:
        self._take(SetWeight(user, Fraction(str(weight))))

    def idle(self) -> str | None:
        """Why somebody who waits ought to have been dispatched by now; None where there is no reason."""
        dispatcher = self.dispatcher
        first = dispatcher.policy.next()
        if first is None or dispatcher._turns[first.id][1].done():
            return None
        if dispatcher.mode == "stall" and dispatcher._moving:
            return None
        return f"ORDER-WORK: {first.id} is next and fits" if self._fits(first) else None

    def passed_over(self) -> str | None:
        """Who waits though it fits, where others may overtake; None where nobody does."""
        dispatcher = self.dispatcher
        if dispatcher.mode == "overtake":
            for request in (self.requests[queue[0].request] for queue in self.machine.queues.values()):
                if request.id not in dispatcher._turns:
                    return f"ORDER-WORK: {request.id} does not wait"
                if self._fits(request) and not dispatcher._turns[request.id][1].done():
                    return f"ORDER-WORK: {request.id} waits, and fits"
        return None

    def _fits(self, request: Request) -> bool:
        return any(server.has_room(request) for server in self.dispatcher.placement.servers.values())

    def _could_go(self, user: str, sent: Request) -> bool:
        """Whether the user's next request fitted before another one took its room."""
        queue = self.machine.queues.get(user)
        if not queue:
            return False
        request = self.requests[queue[0].request]
        for server in self.dispatcher.placement.servers.values():
            here = sent.id in server.held
            full = len(server.held) - here >= server.most_requests
            tokens = server.tokens - (sent.tokens if here else 0) + request.tokens
            if server.state == "up" and not full and (server.most_tokens is None or tokens <= server.most_tokens):
                return True
        return False

    def _take(self, event: Event, rules: object = SFQ) -> Taken | None:
        """The machine's step; both must then have the same virtual time and the same lags."""
        policy = self.dispatcher.policy
        if not isinstance(policy, Sfq):
            return None
        try:
            taken = take(self.machine, event, rules)  # type: ignore[arg-type]
        except Refused as refusal:
            self.wrong.append(f"FLEET-ORDER: {event} is refused: {refusal}")
            return None
        self.machine = taken.state
        lag = policy.scheduler.lag
        if policy.scheduler.virtual_time != self.machine.competition.v:
            self.wrong.append(f"FLEET-METER: after {event} v is {policy.scheduler.virtual_time}")
        if any(lag.get(user, 0) != behind for user, behind in self.machine.lag.items() if behind > 0):
            self.wrong.append(f"FLEET-METER: after {event} the lags are {lag}, not {self.machine.lag}")
        return taken


def judge(scenario: Scenario, make: Callable[..., Dispatcher] = Dispatcher) -> tuple[list[str], Shadow, Result]:
    """Run a scenario beside the machine. Returns everything that is wrong as well."""
    shadows: list[Shadow] = []

    def watch(dispatcher: Dispatcher) -> list[Shadow]:
        shadows.append(Shadow(dispatcher))
        return shadows

    def between() -> None:
        if said := shadows[0].idle() or shadows[0].passed_over():
            shadows[0].wrong.append(said)

    result = simulate(scenario, make, watch, between)
    return verdict(result, shadows[0]), shadows[0], result


def verdict(result: Result, shadow: Shadow) -> list[str]:
    """Everything that is wrong with a run."""
    wrong = [f"FLEET-CAP: {said}" if " of " in said else said for said in result.faults]
    wrong += shadow.wrong[:5]
    wrong += _each_ended_once(result, shadow)
    wrong += _nothing_is_left(result, shadow)
    wrong += _trace_is_accepted(result)
    return wrong


def _each_ended_once(result: Result, shadow: Shadow) -> list[str]:
    wrong = []
    for request in shadow.begun | shadow.over:
        if (shadow.begun[request], shadow.over[request]) != (1, 1):
            wrong.append(f"FLEET-ONCE: {request} begins {shadow.begun[request]} and ends {shadow.over[request]} times")
    for request, fate in result.fates.items():
        if fate not in shadow.how.get(request, {"cancelled"}):
            wrong.append(f"FLEET-ONCE: the client of {request} saw {fate}, not {shadow.how.get(request)}")
    wrong += [f"FLEET-ONCE: {request} ended and its client never knew" for request in shadow.how.keys() - result.fates]
    for request in result.disconnected:
        if result.fates.get(request, "cancelled") != "cancelled":
            wrong.append(f"FLEET-ONCE: the client of {request} left, and saw {result.fates[request]}")
    return wrong


def _nothing_is_left(result: Result, shadow: Shadow) -> list[str]:
    dispatcher = result.dispatcher
    kept = [
        *dispatcher._turns, *dispatcher._moving, *dispatcher.in_flight, *dispatcher._held.requests,
        *(name for server in result.rooms.values() for name in server.held),
        *(engine.name for engine in result.engines.values() if engine.active),
        *shadow.machine.live,
    ]  # fmt: skip
    policy, queue = dispatcher.policy, dispatcher.queue
    if isinstance(policy, Sfq):
        kept += [f"{policy.scheduler.waiting_requests} wait"] * bool(policy.scheduler.waiting_requests)
        kept += [f"{policy.scheduler.requests_in_flight} in flight"] * bool(policy.scheduler.requests_in_flight)
    if policy.next() or queue.requests or queue.cost or queue.requests_of or queue.cost_of:
        kept.append("the queue")
    return [f"FLEET-ONCE: left at the end: {kept}"] if kept else []


def _trace_is_accepted(result: Result) -> list[str]:
    """FLEET-ORDER, by what the dispatcher has written down alone."""
    if result.scenario.policy != "sfq":
        return []
    if result.scenario.mode == "overtake":
        return follow(result.trace.entries)
    found = audit_order(batches("trace", io.BytesIO(result.trace.lines)), Order())
    return [f"FLEET-ORDER: {found.wrong.sentence}"] if found.wrong else []


def follow(entries: list[Entry]) -> list[str]:
    """What is wrong with a trace of the mode `overtake`, given who was held at each dispatch."""
    machine = Machine()
    for number, entry in enumerate(entries, start=1):
        held = entry.extra.get("held", ())
        rules = placing(overtake, lambda user, held=held: user not in held)  # type: ignore[misc]
        taken = take(machine, entry.event, rules if isinstance(entry.event, Dispatch) else SFQ)
        if isinstance(entry.event, Dispatch) and taken.answer != entry.answer:
            return [f"FLEET-ORDER: line {number} sends {entry.answer.dispatched}, not {taken.answer.dispatched}"]
        machine = taken.state
    return []
