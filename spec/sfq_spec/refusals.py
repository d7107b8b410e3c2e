"""The ways in which an event is refused, each with the code of the protocol (R-REFUSE).

A refusal leaves the scheduler as it was.
"""

from __future__ import annotations

from typing import ClassVar


class Refused(ValueError):
    """An event that is not carried out."""

    code: ClassVar[str]


class InvalidCost(Refused):
    """A cost that is not a number above zero."""

    code = "invalid-cost"

    def __init__(self, cost: object) -> None:
        super().__init__(f"cost {_shown(cost)}: a cost is a finite number above zero")


class InvalidWeight(Refused):
    """A weight that is not a number above zero."""

    code = "invalid-weight"

    def __init__(self, weight: object) -> None:
        super().__init__(f"weight {_shown(weight)}: a weight is a finite number above zero")


class DuplicateRequest(Refused):
    """An arrival under the id of a request that is waiting or in flight."""

    code = "duplicate-request"

    def __init__(self, request: object) -> None:
        super().__init__(f"request {request!r} is already here: give each arrival an id of its own")


class UnknownRequest(Refused):
    """A request that has not arrived, or that has been cancelled or completed."""

    code = "unknown-request"

    def __init__(self, request: object) -> None:
        super().__init__(f"request {request!r} is not here: it has not arrived, or it has ended")


class NotWaiting(Refused):
    """A request that has already been dispatched, and charged for good."""

    code = "not-waiting"

    def __init__(self, request: object) -> None:
        super().__init__(f"request {request!r} has been dispatched: its charge is final")


CODES = tuple(kind.code for kind in (InvalidCost, InvalidWeight, DuplicateRequest, UnknownRequest, NotWaiting))


def _shown(value: object) -> str:
    """The value in short; a number of thousands of digits is not written out."""
    try:
        text = str(value)
    except ValueError:
        return "of too many digits"
    return text if len(text) <= 40 else f"{text[:37]}..."
