"""Figures for Prometheus. Users beyond a number that is set share the name `other`, so that the page stays small."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.policy import Sfq, Usage
from sfq_impl.fleet.request import Ending, Outcome, QueueFull, Request, ShuttingDown, TurnedAway
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.prometheus import PolicyCollector
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_impl.policy.settled import SettledFairness

if TYPE_CHECKING:
    from sfq_impl.fleet.dispatcher import Dispatcher
    from sfq_impl.fleet.recording import Recording
    from sfq_impl.gateway.shadowing import Shadow

disable_created_metrics()  # type: ignore[no-untyped-call]
OTHER = "other"
WAITS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
WHY_REFUSED = {QueueFull: "queue_full", ShuttingDown: "shutting_down"}
NO_SERVER = "no_server"
RELOADS = ("done", "refused")


class Metrics:
    """Watches a dispatcher, and shows what it has seen."""

    def __init__(self, users: int = 100, named: Iterable[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self._most = users
        self._users = set[str]()
        make = self.registry
        self.requests = Counter("sfq_requests", "Requests that have ended, by how", ["user", "outcome"], registry=make)
        self.refusals = Counter("sfq_refusals", "Requests turned away, by why", ["user", "reason"], registry=make)
        self.dispatches = Counter("sfq_dispatches", "Requests dispatched", ["user"], registry=make)
        self.charged = Counter("sfq_charged_cost", "Cost that was charged", ["user"], registry=make)
        self.waits = Histogram("sfq_wait_seconds", "From arrival to dispatch", ["user"], buckets=WAITS, registry=make)
        self.tokens = Counter("sfq_tokens", "Tokens that servers told of", ["user", "direction"], registry=make)
        self.placed = Counter("sfq_server_dispatches", "Requests placed on a server", ["server"], registry=make)
        self.retries = Counter("sfq_server_retries", "Requests that had to leave a server", ["server"], registry=make)
        self.answers = Counter("sfq_answers", "Answers to clients, by status", ["path", "status"], registry=make)
        self.first_bytes = Histogram(
            "sfq_first_byte_seconds", "From dispatch to the first byte", buckets=WAITS, registry=make
        )
        self.reloads = Counter("sfq_config_reloads", "Configurations read again, by result", ["result"], registry=make)
        for result in RELOADS:
            self.reloads.labels(result)
        for user in islice(named, users):
            self._begin(user)
        self._dispatcher: Dispatcher | None = None

    def watch(self, dispatcher: Dispatcher, recording: Recording | None = None, shadow: Shadow | None = None) -> None:
        """Show what waits and what is in flight, as it is when somebody asks."""
        self._dispatcher = dispatcher
        self.registry.register(Now(dispatcher, self))
        if recording is not None:
            lost = Gauge("sfq_trace_lost_entries", "Entries that the trace lacks", registry=self.registry)
            lost.set_function(lambda: recording.lost)
        if shadow is not None:
            self.registry.register(Beside(shadow))
        if isinstance(dispatcher.policy, QueuePolicy):
            aware = (p for p in dispatcher.policy.policies if isinstance(p, ProgramAwareFairness | SettledFairness))
            for policy in islice(aware, 1):  # a second one would tell other figures under the same names
                self.registry.register(PolicyCollector(policy))

    def page(self) -> bytes:
        """All of it, in the text format."""
        for server in self._dispatcher.placement.servers if self._dispatcher else ():
            self.placed.labels(server)
            self.retries.labels(server)
        return generate_latest(self.registry)

    @property
    def labels(self) -> frozenset[str]:
        """What users are called here, so far."""
        return frozenset(self._users)

    def label(self, user: str) -> str:
        """What a user is called here: those seen first have names of their own."""
        if user in self._users:
            return user
        name = user if len(self._users) - (OTHER in self._users) < self._most else OTHER
        self._begin(name)
        return name

    def _begin(self, name: str) -> None:
        """Count from 0 on: what appears with its first event has not grown, to whoever asks how fast it does."""
        if name in self._users:
            return
        self._users.add(name)
        self.dispatches.labels(name)
        self.charged.labels(name)
        for end in get_args(Ending):
            self.requests.labels(name, end)
        for why in (*WHY_REFUSED.values(), NO_SERVER):
            self.refusals.labels(name, why)

    def arrived(self, request: Request) -> None:
        """A request waits."""
        self.label(request.user)

    def refused(self, request: Request, reason: TurnedAway) -> None:
        """A request was turned away at the door."""
        why = WHY_REFUSED.get(type(reason), NO_SERVER)
        self._ended(request)
        self.refusals.labels(self.label(request.user), why).inc()

    def dispatched(self, request: Request, server: Server) -> None:
        """A request has been charged."""
        user = self.label(request.user)
        self.dispatches.labels(user).inc()
        self.charged.labels(user).inc(request.cost)
        self.waits.labels(user).observe((request.dispatched or 0.0) - request.arrived)
        self.placed.labels(server.name).inc()

    def withdrawn(self, request: Request) -> None:
        """A request waited and does not any more."""
        self._ended(request)

    def ended(self, request: Request, outcome: Outcome, usage: Usage | None) -> None:
        """A dispatched request has ended."""
        self._ended(request)
        if usage is not None:
            user = self.label(request.user)
            self.tokens.labels(user, "input").inc(usage.input_tokens)
            self.tokens.labels(user, "output").inc(usage.output_tokens)

    def _ended(self, request: Request) -> None:
        self.requests.labels(self.label(request.user), request.ended or "completed").inc()


class Now(Collector):
    """What is true at the moment of asking."""

    def __init__(self, dispatcher: Dispatcher, metrics: Metrics) -> None:
        self.dispatcher, self.metrics = dispatcher, metrics

    def collect(self) -> Iterator[Metric]:
        """The gauges."""
        dispatcher, label = self.dispatcher, self.metrics.label
        in_flight = Tally(request.user for request in dispatcher.in_flight.values())
        yield self._users("sfq_waiting_requests", "Requests that wait", dispatcher.queue.requests_of)
        yield self._users("sfq_waiting_cost", "What these cost together", dispatcher.queue.cost_of)
        yield self._users("sfq_in_flight_requests", "Requests on a server", in_flight)
        if isinstance(dispatcher.policy, Sfq):
            lags = dict.fromkeys(self.metrics.labels, 0.0)
            for user, lag in dispatcher.policy.scheduler.lag.items():
                lags[label(user)] = max(float(lag), lags.get(label(user), 0.0))
            yield _gauge("sfq_lag", "Meter beyond virtual time; of several users the greatest", "user", lags)
            v = float(dispatcher.policy.scheduler.virtual_time)
            yield GaugeMetricFamily("sfq_virtual_time", "Virtual time", value=v)
        servers = dispatcher.placement.servers.values()
        yield _gauge(
            "sfq_server_up", "1 where it gets new requests", "server", {s.name: s.state == "up" for s in servers}
        )
        yield _gauge("sfq_server_in_flight", "Requests on it", "server", {s.name: len(s.held) for s in servers})
        yield _gauge(
            "sfq_server_room", "Requests that it may hold", "server", {s.name: s.most_requests for s in servers}
        )

    def _users(self, name: str, meaning: str, of: Tally[str]) -> GaugeMetricFamily:
        counts = Tally(dict.fromkeys(self.metrics.labels, 0))
        for user, count in of.items():
            counts[self.metrics.label(user)] += count
        return _gauge(name, meaning, "user", counts)


class Beside(Collector):
    """How the specification does that reads along."""

    def __init__(self, shadow: Shadow) -> None:
        self.shadow = shadow

    def collect(self) -> Iterator[Metric]:
        """Whether it runs, what it has found, and what it has not seen."""
        shadow = self.shadow
        yield GaugeMetricFamily("sfq_shadow_up", "1 where the specification reads along", value=float(shadow.is_up))
        told = "Decisions that the specification would have made otherwise"
        yield CounterMetricFamily("sfq_shadow_divergences", told, value=shadow.divergences)
        yield CounterMetricFamily("sfq_shadow_lost", "Events that it was not told of", value=shadow.lost)
        waiting = float(shadow.waiting_events)
        yield GaugeMetricFamily("sfq_shadow_waiting_events", "Events that it has yet to be told of", value=waiting)


def _gauge(name: str, meaning: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([key], float(value))
    return family
