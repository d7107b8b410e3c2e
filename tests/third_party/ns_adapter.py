"""The schedulers of ns.py behind the adapter protocol: one link that is simulated, and sends one packet at a time.

A flow is a user, a packet a request, and its size in bytes the cost; the link sends one byte a second. A dispatch lets
the packet on the link leave it, and is answered with the one that the server puts there next; so the next arrivals come
while that one is being sent. Weights are told when a server is made, a packet cannot be withdrawn, and its id is its
sender's: runs in which an id or a cost is to be refused are skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import simpy
from ns.packet.packet import Packet
from ns.scheduler.virtual_clock import VirtualClockServer
from ns.scheduler.wfq import WFQServer
from serve import Event, Number, Skipped, number, serve

BYTE_A_SECOND = 8.0
EXACT = 2**53
"""The simulator keeps time in binary floats; up to here they are exact."""


class Link:
    """A link with one server of the library."""

    def __init__(self, events: Sequence[Event], kind: str) -> None:
        arrivals = [event for event in events if event["event"] == "arrive"]
        costs = [number(event["cost"]) for event in arrivals]
        if len({event["request"] for event in arrivals}) < len(arrivals) or not all(
            0 < c < float("inf") for c in costs
        ):
            raise Skipped("ids and sizes of packets are their sender's")
        if sum(costs) > EXACT:
            raise Skipped("the time is a binary float")
        users = list(dict.fromkeys(event["user"] for event in arrivals))
        self._env = simpy.Environment()
        if kind == "wfq":
            self._server = WFQServer(self._env, BYTE_A_SECOND, dict.fromkeys(users, 1))
        else:
            self._server = VirtualClockServer(
                self._env, BYTE_A_SECOND, dict.fromkeys(users, len(users) / BYTE_A_SECOND)
            )
        self._server.out = self
        self._sent = 0
        self._told: Packet | None = None
        self._settle()

    def put(self, packet: Packet) -> None:
        """A packet has left the link."""
        self._sent += 1

    def arrive(self, user: str, request: str, cost: Number) -> None:
        self._server.put(Packet(self._env.now, cost, request, flow_id=user))
        self._settle()

    def dispatch(self) -> str | None:
        if self._told is not None:
            before = self._sent
            while self._sent == before:
                self._env.step()
            self._settle()
        self._told = self._server.packet_in_service()
        return None if self._told is None else self._told.packet_id

    def cancel(self, request: str) -> None:
        raise NotImplementedError

    def complete(self, request: str) -> None:
        pass

    def close(self) -> None:
        pass

    def _settle(self) -> None:
        while self._env.peek() <= self._env.now:
            self._env.step()


if __name__ == "__main__":
    which = sys.argv[1]
    serve("ns.py", {"ties": "any", "numbers": "integer"}, lambda events: Link(events, which))
