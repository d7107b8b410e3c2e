"""Simulated runs, again: `python tests/impl/fleet/replay.py SEED` tells one in full, `… FIRST LAST` the wrong ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from impl.fleet.shadow import judge
from sfq_impl.fleet.simulation.scenario import Scenario, draw


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


def wrong(seed: int) -> str | None:
    """What is wrong with the run of a seed, and how to see it again; None where all is right."""
    found = judge(draw(seed))[0]
    return f"seed {seed}: {found[0]}\nreplay: python tests/impl/fleet/replay.py {seed}" if found else None


def main() -> int:
    """Returns 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int, metavar="SEED")
    parser.add_argument("last", type=int, nargs="?")
    chosen = parser.parse_args()
    if chosen.last is None:
        print(told(draw(chosen.first)))
        return 1 if wrong(chosen.first) else 0
    found = [said for seed in range(chosen.first, chosen.last + 1) if (said := wrong(seed))]
    print(*found, f"{len(found)} of {chosen.last + 1 - chosen.first} runs are wrong", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
