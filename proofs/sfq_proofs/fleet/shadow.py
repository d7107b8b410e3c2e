"""The machine of the specification beside the dispatcher: it is told the same, and must be in the same state.

Whatever is wrong is noted as a sentence that begins with the claim that is broken.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Outcome, Request, TurnedAway
from sfq_impl.fleet.simulation.run import Result
from sfq_impl.heap import HeapScheduler
from sfq_spec.competition import SFQ, Rules
from sfq_spec.fleet import Room, once, same_meters, within
from sfq_spec.machine import Machine, Taken, take
from sfq_spec.placement import overtake, placing
from sfq_spec.refusals import Refused
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, SetWeight

WITHDRAWN = {
    "cancelled": {"cancelled"},
    "expired": {"Expired", "cancelled"},
    "refused": {"ShuttingDown", "NoServer", "cancelled"},
}
"""What a client can have seen of a request that was withdrawn; one that leaves at the moment is only cancelled."""
ENDED = {"completed": {"completed"}, "failed": {"failed", "NoServer"}, "cancelled": {"cancelled"}}
"""The same of a request that was dispatched."""
MOST = 5
"""Sentences of one claim that are kept; a run that is wrong tends to stay so."""


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
    full: int = 0
    """Looks at a server that had no room for one request more."""

    def note(self, claim: str, said: str) -> None:
        """Something is wrong."""
        if sum(known.startswith(claim) for known in self.wrong) < MOST:
            self.wrong.append(f"{claim}: {said}")

    def arrived(self, request: Request) -> None:
        """It has been accepted, and waits."""
        self.requests[request.id] = request
        self._count(self.begun, request)
        self._take(Arrive(request.user, request.id, Fraction(request.cost)))

    def refused(self, request: Request, reason: TurnedAway) -> None:
        """It has not been accepted."""
        self.how[request.id] = {type(reason).__name__}

    def dispatched(self, request: Request, server: Server) -> None:
        """It goes, and it must be its turn."""
        rules = SFQ
        if self.dispatcher.mode == "overtake":
            rules = placing(overtake, lambda user: self._could_go(user, request))
            held = {user for user in self.machine.queues if not self._could_go(user, request)}
            self.overtaken += bool(request.overtook)
            if not set(request.overtook) <= held:
                self.note("FLEET-ORDER", f"{request.overtook} are held for {request.id}, and only {held} must be")
        taken = self._take(Dispatch(), rules)
        if taken and taken.answer.dispatched != request.id:
            self.note("FLEET-ORDER", f"{request.id} goes, and it is the turn of {taken.answer.dispatched}")

    def withdrawn(self, request: Request) -> None:
        """It waits no more, and never had its turn."""
        self._count(self.over, request)
        self.how[request.id] = WITHDRAWN[str(request.ended)]
        self._take(Cancel(request.id))

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """It had its turn, and is over."""
        self._count(self.over, request)
        self.how[request.id] = ENDED[outcome]
        self._take(Complete(request.id, outcome))

    def weighed(self, user: str, weight: float) -> None:
        """A share has changed."""
        self._take(SetWeight(user, Fraction(str(weight))))

    def look(self, result: Result) -> None:
        """What must be so between any two steps."""
        self._look_at_servers(result)
        for said in (self._idle(), self._passed_over()):
            if said:
                self.note("ORDER-WORK", said)

    def _look_at_servers(self, result: Result) -> None:
        """By the dispatcher's account, and by that of the servers themselves."""
        for name, server in result.rooms.items():
            room = Room(server.most_requests, server.most_tokens)
            held = [request.tokens for request in server.held.values()]
            self.full += not within([*held, 1], room)
            served = [work.prompt + work.answer for work in result.engines[name].active.values()]
            for tokens in (held, served):
                if not within(tokens, room):
                    self.note("FLEET-CAP", f"{name} has {len(tokens)} requests of {sum(tokens)} tokens, beyond {room}")
            if sum(held) != server.tokens:
                self.note("FLEET-CAP", f"{name} counts {server.tokens} tokens, and has {sum(held)}")

    def _idle(self) -> str:
        """Why somebody who waits ought to have been dispatched by now; empty where there is no reason."""
        dispatcher = self.dispatcher
        first = dispatcher.policy.next()
        if first is None:
            return ""
        if first.id not in dispatcher._turns:
            return f"{first.id} is next, and does not wait"
        if dispatcher._turns[first.id][1].done():
            return ""
        if dispatcher.mode == "stall" and dispatcher._moving:
            return ""
        return f"{first.id} is next and fits" if self._fits(first) else ""

    def _passed_over(self) -> str:
        """Who waits though it fits, where others may overtake; empty where nobody does."""
        dispatcher = self.dispatcher
        if dispatcher.mode == "overtake":
            for request in (self.requests[queue[0].request] for queue in self.machine.queues.values()):
                if request.id not in dispatcher._turns:
                    return f"{request.id} does not wait"
                if self._fits(request) and not dispatcher._turns[request.id][1].done():
                    return f"{request.id} waits, and fits"
        return ""

    def _fits(self, request: Request) -> bool:
        return any(server.has_room(request) for server in self.dispatcher.placement.servers.values())

    def _could_go(self, user: str, sent: Request) -> bool:
        """Whether the user's next request fitted before another one took its room."""
        queue = self.machine.queues.get(user)
        if not queue:
            return False
        request = self.requests[queue[0].request]
        for server in self.dispatcher.placement.servers.values():
            held = [other.tokens for other in server.held.values() if other is not sent]
            room = Room(server.most_requests, server.most_tokens)
            if server.state == "up" and within([*held, request.tokens], room):
                return True
        return False

    def _count(self, counter: Counter[str], request: Request) -> None:
        counter[request.id] += 1
        begun, over = self.begun[request.id], self.over[request.id]
        if not once(begun, over):
            self.note("FLEET-ONCE", f"{request.id} has begun {begun} and ended {over} times")

    def _take(self, event: Event, rules: Rules = SFQ) -> Taken | None:
        """The machine's step; both must then have the same virtual time and the same lags."""
        scheduler = getattr(self.dispatcher.policy, "scheduler", None)
        if not isinstance(scheduler, HeapScheduler):
            return None
        try:
            taken = take(self.machine, event, rules)
        except Refused as refusal:
            self.note("FLEET-ORDER", f"{event} is refused: {refusal}")
            return None
        self.machine = taken.state
        v, lag = scheduler.virtual_time, scheduler.lag
        if not same_meters(v, lag, self.machine.competition):
            lags = {user: str(by) for user, by in self.machine.lag.items() if by > 0}
            found = {user: str(by) for user, by in lag.items() if by > 0}
            right = self.machine.competition.v
            self.note("FLEET-METER", f"after {event} v is {v} and the lags are {found}, not {right} and {lags}")
        return taken
