"""The figures of the program-aware policies, under the names, types and labels of the original.

    llm_d_epp_program_aware_jains_fairness_index           gauge
    llm_d_epp_program_aware_avg_wait_time_milliseconds     gauge, by program_id
    llm_d_epp_program_aware_attained_service_tokens        gauge, by program_id

They are made from what the policy remembers at the moment of asking, so the series of a program that has been evicted
is gone. In the compatible modes the attained service is the one at the last completion, as there; otherwise it is the
one that counts now. Where `metricsPrograms` sets a bound, the programs beyond it are shown as one, `other`: the average
of all their waits, and the sum of what they have attained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sfq_impl.policy.program import Program, fairness_index
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.settled import SettledFairness

SUBSYSTEM = "llm_d_epp"
LABEL = "program_id"
OTHER = "other"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Policy = ProgramAwareFairness | SettledFairness


@dataclass(frozen=True)
class Family:
    """One collector, read: a gauge with a value for each program, or with one value."""

    name: str
    meaning: str
    values: Mapping[str, float]
    labelled: bool = True


@dataclass
class Labels:
    """Which programs have a name of their own: those that were shown first, as long as they are remembered."""

    most: int
    """How many; 0 for all."""
    named: dict[str, None] = field(default_factory=dict)

    def update(self, shown: Mapping[str, Program]) -> None:
        """Programs that are gone give their place to others."""
        for id in [id for id in self.named if id not in shown]:
            del self.named[id]
        for id in shown:
            if id not in self.named:
                if self.most and len(self.named) >= self.most:
                    return
                self.named[id] = None

    def of(self, id: str) -> str:
        """What a program is called."""
        return id if id in self.named or not self.most else OTHER


class Observability:
    """The collectors of one policy."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._labels = Labels(policy.memory.metrics_programs)

    def families(self) -> Iterator[Family]:
        """All of them, as of now. A sweep that is due comes first."""
        policy, now = self.policy, self.policy.clock()
        policy.advance(now)
        shown = {
            id: program
            for id, program in policy.programs.items()
            if program.has_wait or program.shown_service is not None
        }
        self._labels.update(shown)
        yield Family(
            f"{SUBSYSTEM}_program_aware_jains_fairness_index",
            "[ALPHA] How evenly programs wait: Jain's index of their average waits, 1 where all wait alike.",
            {"": fairness_index(policy.programs.values())},
            labelled=False,
        )
        yield Family(
            f"{SUBSYSTEM}_program_aware_avg_wait_time_milliseconds",
            "[ALPHA] How long the dispatched requests of a program have waited, on average, in milliseconds.",
            self._waits(shown),
        )
        yield Family(
            f"{SUBSYSTEM}_program_aware_attained_service_tokens",
            "[ALPHA] What a program has attained, in weighted tokens: input, and output twice.",
            self._services(shown, now),
        )

    def page(self) -> bytes:
        """The text format of Prometheus."""
        lines = []
        for family in self.families():
            lines += [f"# HELP {family.name} {family.meaning}", f"# TYPE {family.name} gauge"]
            for id, value in family.values.items():
                labels = f'{{{LABEL}="{_escaped(id)}"}}' if family.labelled else ""
                lines.append(f"{family.name}{labels} {value!r}")
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")

    def _waits(self, shown: Mapping[str, Program]) -> dict[str, float]:
        totals: dict[str, tuple[float, int]] = {}
        for id, program in shown.items():
            if program.has_wait:
                label = self._labels.of(id)
                wait, count = totals.get(label, (0.0, 0))
                totals[label] = wait + program.average_wait * program.waits, count + program.waits
        return {label: wait / count if count else 0.0 for label, (wait, count) in totals.items()}

    def _services(self, shown: Mapping[str, Program], now: int) -> dict[str, float]:
        as_it_was = isinstance(self.policy, ProgramAwareFairness) and self.policy.is_compatible
        totals = dict[str, float]()
        for id, program in shown.items():
            if program.shown_service is not None:
                value = program.shown_service if as_it_was else self.policy.service(id, now)
                label = self._labels.of(id)
                totals[label] = totals.get(label, 0.0) + value
        return totals


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
