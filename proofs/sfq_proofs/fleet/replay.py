"""Simulated runs, again: `python -m sfq_proofs.fleet.replay SEED` tells one in full, `… FIRST LAST` the wrong ones."""

from __future__ import annotations

import argparse
import sys

from sfq_impl.fleet.simulation.scenario import Scenario, draw
from sfq_proofs.fleet.judge import judge
from sfq_proofs.fleet.simulated import wrong_seeds


def told(scenario: Scenario) -> str:
    """A run in full: what was to happen, what the dispatcher did, what each client saw, and what is wrong."""
    wrong, _, result = judge(scenario)
    parts = [
        *(f"client {client}" for client in scenario.clients),
        *(f"server {room}" for room in scenario.rooms),
        *(f"trouble {trouble}" for trouble in scenario.troubles),
        f"{scenario.limits}, {scenario.mode}, shuffle {scenario.shuffle}",
        result.trace.lines.decode().rstrip(),
        *(f"{request}: {fate}" for request, fate in result.fates.items()),
        *(f"WRONG {sentence}" for sentence in wrong),
    ]
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m sfq_proofs.fleet.replay", description=__doc__)
    parser.add_argument("first", type=int, metavar="SEED")
    parser.add_argument("last", type=int, nargs="?")
    chosen = parser.parse_args(arguments)
    last = chosen.first if chosen.last is None else chosen.last
    found = list(wrong_seeds(range(chosen.first, last + 1)))
    if chosen.last is None:
        print(told(draw(chosen.first)))
    else:
        print(*found, f"{len(found)} of {last + 1 - chosen.first} runs are wrong", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
