"""The model, played as a framework plays a policy: every pick is made, and every end of an answer is told."""

from __future__ import annotations

from dataclasses import replace

from sfq_spec.conformance.las.model import Following
from sfq_spec.related.facts import NOTHING, Facts
from sfq_spec.related.las import Programs
from sfq_spec.related.method import Job, MethodScheduler, observe
from sfq_spec.trace import Answer, Arrive, Complete, Dispatch, Event


class Player(MethodScheduler[Programs]):
    """As the scheduler of any method, with three things besides.

    A request that names no program is of the default one. A pick is also made where nobody waits. And in the
    compatible modes a completion that comes again is taken again.
    """

    def __init__(self, las: Following) -> None:
        super().__init__(las)
        self.las = las
        self._ended = dict[str, Job]()

    def step(self, event: Event, told: Facts | None = None) -> Answer:
        """Carry out one event."""
        if isinstance(event, Arrive):
            self._ended.pop(event.request, None)
            event = Arrive(event.user or self.las.nobody, event.request, event.cost)
        elif isinstance(event, Complete):
            live, before = self.situation.live.get(event.request), self._ended.get(event.request)
            if live is not None:
                self._ended[event.request] = live
            elif before is not None and not self.las.once:
                at = observe(self.method, self.situation, told or NOTHING)
                self.situation = replace(at, state=self.las.complete(at, before, event.outcome, told or NOTHING))
        elif isinstance(event, Dispatch) and not self.situation.queues:
            at = observe(self.method, self.situation, told or NOTHING)
            self.situation = replace(at, state=self.las.empty_pick(at))
        return super().step(event, told)
