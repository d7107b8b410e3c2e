"""The interfaces of llm-d's flow control, in Python terms (seed, "Interfaces", "Inputs consumed").

A *flow* is a program at a priority. Each flow has a queue; the queues of one priority make a *band*. A fairness policy
picks a queue of a band. Other hooks lie along a request's way: before it is sent to a server, and as its answer comes.

Times are whole nanoseconds of one clock that never goes back, as in the original; a pick reads the clock once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from sfq_impl.fleet.policy import Usage

SECOND = 1_000_000_000
"""Nanoseconds."""
MILLISECOND = 1_000_000
"""Nanoseconds."""

Termination = Literal["natural", "client-disconnect", "evicted", "error"]
"""How the answer to a request has ended."""


@dataclass(frozen=True, order=True)
class FlowKey:
    """Which flow: the program's id, and the priority."""

    id: str
    priority: int = 0


@dataclass(eq=False)
class InferenceRequest:
    """A request, as far as hooks look at it."""

    request_id: str
    fairness_id: str
    """The program; empty where nobody is named."""
    cost: float = 0
    """What it is expected to take, in weighted tokens."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """What hooks leave for each other."""


@dataclass(frozen=True)
class Response:
    """A piece of an answer."""

    end_of_stream: bool = False
    """Whether it is the last piece; there is one also where the answer was broken off."""
    usage: Usage | None = None
    """What the server told, up to this piece."""
    termination: Termination = "natural"
    """How the answer has ended; of the last piece."""


class QueueItemAccessor(Protocol):
    """A request that waits."""

    @property
    def original_request(self) -> InferenceRequest | None:
        """The request."""

    @property
    def enqueue_time(self) -> int:
        """When it was taken in, in nanoseconds."""


class FlowQueueAccessor(Protocol):
    """The queue of a flow: its length, and its head with the time since when that waits."""

    @property
    def flow_key(self) -> FlowKey:
        """Whose queue it is."""

    def __len__(self) -> int:
        """How many requests wait in it."""

    def peek(self) -> QueueItemAccessor | None:
        """The request that goes next; None where none waits."""


class PriorityBandAccessor(Protocol):
    """The queues of one priority."""

    @property
    def priority(self) -> int:
        """Which priority; of higher ones everything goes first."""

    @property
    def policy_state(self) -> Any:
        """What the policy keeps for this band: what `new_state` has made."""

    def queues(self) -> Iterable[FlowQueueAccessor]:
        """Every registered queue. Empty ones are among them for a while."""

    def queue(self, id: str) -> FlowQueueAccessor | None:
        """The queue of a program, if it is registered."""


class FairnessPolicy(Protocol):
    """Which queue of a band goes next."""

    @property
    def name(self) -> str:
        """The name by which a configuration refers to it."""

    def new_state(self) -> Any:
        """What it keeps for one band; None where it keeps nothing there."""

    def pick(self, band: PriorityBandAccessor | None) -> FlowQueueAccessor | None:
        """The queue whose head is to go; None where none can. It decides, and dispatches nothing."""


@runtime_checkable
class Choosing(Protocol):
    """A pick in two parts, for a dispatcher that may ask before it has room: `pick` is `choose`, then `picked`."""

    def choose(self, band: PriorityBandAccessor, now: int) -> FlowQueueAccessor | None:
        """The queue that would be picked. Nothing changes by it."""

    def picked(self, band: PriorityBandAccessor, queue: FlowQueueAccessor | None, now: int) -> None:
        """The pick has been made, and has led to this queue."""


@runtime_checkable
class PreRequest(Protocol):
    """A hook before a request is sent to its server."""

    def pre_request(self, request: InferenceRequest | None) -> None:
        """The request is on its way."""


@runtime_checkable
class ResponseBodyProcessor(Protocol):
    """A hook for each piece of an answer."""

    def response_body(self, request: InferenceRequest | None, response: Response | None) -> None:
        """A piece has come; the policies here act on the last one."""


@runtime_checkable
class QueueWatcher(Protocol):
    """Told of every request that begins or ceases to wait. The original has no such hook, and needs none."""

    def enqueued(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey) -> None:
        """A request is about to join the end of its flow's queue."""

    def left(self, band: PriorityBandAccessor, item: QueueItemAccessor, key: FlowKey, dispatched: bool) -> None:
        """A request waits no more: it goes to a server, or was withdrawn."""


@runtime_checkable
class Periodic(Protocol):
    """A policy that has something to do from time to time, as a sweep."""

    def advance(self, now: int) -> None:
        """Do what is due. It may be called at any time, and before anything else that happens then."""
