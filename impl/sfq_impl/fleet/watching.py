"""Whoever wants to know what the dispatcher does: traces, metrics, logs, a shadow. None of them can change it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Outcome, Request, TurnedAway


class Observer(Protocol):
    """Called at once, in the order in which things happen. Must return soon and raise nothing.

    What it raises all the same is told to the event loop's handler of exceptions, and changes nothing.
    """

    def arrived(self, request: Request) -> None:
        """A request waits."""

    def refused(self, request: Request, reason: TurnedAway) -> None:
        """A request was turned away at the door: it never waited."""

    def dispatched(self, request: Request, server: Server) -> None:
        """A request has been charged, and is on a server."""

    def withdrawn(self, request: Request) -> None:
        """A request waited and does not any more; `ended` tells why."""

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """A dispatched request has ended."""


@runtime_checkable
class WeightObserver(Protocol):
    """An observer that has this method is told of weights as well."""

    def weighed(self, user: str, weight: float) -> None:
        """The share of a user has changed, from its next charge on."""
