"""Events with a clock, as they are written down for a case."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


class Script:
    """Events as they are written down. Requests are named after their users, as A1 or B12."""

    def __init__(self, sweep: Fraction = Fraction(300)) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = Fraction(0)
        self._sweep = sweep

    def at(self, seconds: str | Fraction) -> Script:
        """The clock is set; a sweep that falls due before is written down, of several the last."""
        then = Fraction(seconds)
        swept = then // self._sweep * self._sweep
        if swept > self.now:
            self.now = swept
            self._note("upkeep")
        self.now = then
        return self

    def arrive(self, *requests: str, priority: int | None = None) -> Script:
        """Requests wait."""
        fields = {} if priority is None else {"priority": priority}
        for request in requests:
            self._note("arrive", user=request.rstrip("0123456789"), request=request, cost=1, **fields)
        return self

    def send(self, times: int = 1) -> Script:
        """So many picks, each with its dispatch."""
        for _ in range(times):
            self._note("dispatch")
        return self

    def cancel(self, request: str) -> Script:
        """A waiting request is withdrawn."""
        self._note("cancel", request=request)
        return self

    def complete(self, request: str, read: int, made: int = 0, outcome: str = "completed") -> Script:
        """A request in flight ends, with input and output tokens."""
        self._note("complete", request=request, outcome=outcome, input_tokens=read, output_tokens=made)
        return self

    def attain(self, **services: int) -> Script:
        """Programs attain service, each by one request that is alone."""
        for name, service in services.items():
            self.serve(f"{name}0", service)
        return self

    def serve(self, request: str, read: int, made: int = 0, outcome: str = "completed") -> Script:
        """A request comes while nobody waits, and has ended at once."""
        return self.arrive(request).send().complete(request, read, made, outcome)

    def _note(self, event: str, **fields: Any) -> None:
        time = int(self.now) if self.now.denominator == 1 else float(self.now)
        self.events.append({"event": event, **fields, "time": time})
