"""Serves scenarios by the simulator in a folder that is given, which may be older or newer than the one installed.

Run as a process of its own: `serve.py FOLDER` reads a list of scenarios as JSON from standard input, and prints for
each the numbers of its packets in the order in which they were served. A byte is a unit of cost, and takes a second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from typing import Any

import simpy


class Sink:
    """Notes what has been served."""

    def __init__(self) -> None:
        self.order: list[int] = []

    def put(self, packet: Any) -> None:
        """A packet has been served."""
        self.order.append(packet.packet_id)


def serve(scenario: dict[str, Any]) -> list[int]:
    """One link with one scheduler of the simulator."""
    from ns.packet.packet import Packet
    from ns.scheduler.drr import DRRServer
    from ns.scheduler.virtual_clock import VirtualClockServer
    from ns.scheduler.wfq import WFQServer

    env, sink, weights = simpy.Environment(), Sink(), scenario["weights"]
    match scenario["method"]:
        case "drr":
            server: Any = DRRServer(env, 8.0, weights)
        case "wfq":
            server = WFQServer(env, 8.0, weights)
        case "virtual-clock":
            bits = 8 * scenario["rate"]
            server = VirtualClockServer(env, 8.0, {user: 1 / (bits * weight) for user, weight in weights.items()})
    server.out = sink

    def arrive() -> Generator[simpy.Event, Any, None]:
        for number, (time, user, cost) in enumerate(scenario["calls"]):
            if time > env.now:
                yield env.timeout(time - env.now)
            server.put(Packet(env.now, cost, number, flow_id=user))

    env.process(arrive())
    env.run()
    return sink.order


def main() -> None:
    """The simulator of the folder, and no other, is imported."""
    sys.path.insert(0, sys.argv[1])
    print(json.dumps([serve(scenario) for scenario in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
