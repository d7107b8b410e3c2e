"""The scheduler of this project behind the same adapter: what is found in it must be nothing."""

from __future__ import annotations

from collections.abc import Sequence

from serve import Event, Number, Refused, serve

from sfq_spec.refusals import Refused as RefusedByMachine
from sfq_spec.scheduler import MachineScheduler
from sfq_spec.trace import Answer


class Scheduler:
    """The machine of the specification."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._machine = MachineScheduler()

    def arrive(self, user: str, request: str, cost: Number) -> None:
        _done(self._machine.arrive, user, request, cost)

    def dispatch(self) -> str | None:
        sent = self._machine.dispatch().dispatched
        return sent if isinstance(sent, str) else None

    def cancel(self, request: str) -> None:
        _done(self._machine.cancel, request)

    def complete(self, request: str) -> None:
        self._machine.complete(request)

    def close(self) -> None:
        pass


def _done(call: object, *arguments: object) -> Answer:
    assert callable(call)
    try:
        answer = call(*arguments)
    except RefusedByMachine as refusal:
        raise Refused(refusal.code) from None
    assert isinstance(answer, Answer)
    return answer


if __name__ == "__main__":
    serve("sfq-spec", {"cancel": True, "ties": "any", "numbers": "integer"}, Scheduler)
