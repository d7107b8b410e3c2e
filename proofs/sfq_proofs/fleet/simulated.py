"""The dispatcher in any order of tasks, before servers that fail and clients that go (FLEET-…).

Some hundred seeds are run, each beside the machine, and dispatchers with a fault in them must be told from the right
one. What is said of the runs is what is true of any such seeds, and not what they came to: how many steps a task takes
is a matter of the version of Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sfq_impl.fleet.simulation.run import Result
from sfq_impl.fleet.simulation.scenario import draw
from sfq_proofs.finding import Finding
from sfq_proofs.fleet.faults import FAULTS, Fault, planted
from sfq_proofs.fleet.judge import judge
from sfq_proofs.fleet.shadow import Shadow

CLAIMS = ("FLEET-ONCE", "FLEET-METER", "FLEET-CAP", "FLEET-ORDER", "ORDER-WORK")
SEEDS = 400
LATE = (
    "sets the result of a turn that was cancelled",
    "loses the new room of who is cancelled",
    "waits for a server that is gone",
)
"""Faults that show in one run of hundreds; the tests plant them too."""
SAID = {
    "FLEET-ONCE": "each request ends once, and nothing is left of it; completed, failed, cancelled, expired, refused",
    "FLEET-METER": "after every event v and who is ahead of it are the machine's, while servers die and come back, and "
    "requests move",
    "FLEET-CAP": "between any two steps no server has more than its room, by the dispatcher's account and by its own, "
    "and some are full",
    "FLEET-ORDER": "the machine accepts every event, and what was written down, also where others overtake",
    "ORDER-WORK": "between any two steps whoever is next and fits is on its way",
}


@dataclass
class Seen:
    """What has happened in some runs, so that it is known that anything did."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, shadow: Shadow, result: Result) -> None:
        """One run more."""
        self.counts.update(result.fates.values())
        for entry in result.trace.entries:
            self.counts[str(entry.event.__struct_config__.tag)] += 1
            self.counts[f"ended as {entry.extra.get('ended')}"] += 1
            self.counts["moved"] += "moved" in entry.extra
        self.counts["overtaken"] += shadow.overtaken
        self.counts["full"] += shadow.full

    def lacking(self, least: int) -> list[str]:
        """What has happened less often than that."""
        return [name for name in OFTEN if self.counts[name] < least]


OFTEN = (
    "completed", "failed", "cancelled", "Expired", "QueueFull", "NoServer", "ShuttingDown",
    "arrive", "dispatch", "cancel", "complete", "weight",
    "ended as cancelled", "ended as expired", "ended as refused", "moved", "overtaken", "full",
)  # fmt: skip
"""Fates of requests as their clients see them, events, and what else there is to see."""


def findings() -> list[Finding]:
    """What the seeds show of each claim."""
    seen, wrong = Seen(), list[str]()
    for seed in range(SEEDS):
        found, shadow, result = judge(draw(seed))
        seen.add(shadow, result)
        wrong += [f"{said} (seed {seed})" for said in found]
    return [_finding(claim, wrong, seen) for claim in CLAIMS]


def _finding(claim: str, wrong: Sequence[str], seen: Seen) -> Finding:
    broken = [said for said in wrong if said.startswith(claim)]
    planned = [fault for fault in FAULTS if fault.claim == claim and fault.name not in LATE]
    refuted = tuple(fault.name for fault in planned if first_seed(fault, SEEDS) is not None)
    lacking = seen.lacking(least=10)
    holds = not broken and not lacking and len(refuted) == len(planned) > 0
    says = f"{SEEDS} runs in any order of tasks: {SAID[claim]}"
    lacks = f"too seldom: {', '.join(lacking)}" if lacking else ""
    return Finding("fleet, simulated", (claim,), holds, next(iter(broken), lacks or says), refuted)


def first_seed(fault: Fault, most: int) -> int | None:
    """The first seed whose run shows a fault; None where none of so many does."""
    with planted(fault) as make:
        return next((seed for seed in range(most) if fault.is_told(judge(draw(seed), make)[0])), None)


def wrong_seeds(seeds: range) -> Iterator[str]:
    """For each seed whose run is wrong: what is, and how to see it again."""
    for seed in seeds:
        found = judge(draw(seed))[0]
        if found:
            yield f"seed {seed}: {found[0]}\nreplay: python -m sfq_proofs.fleet.replay {seed}"
