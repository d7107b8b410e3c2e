"""The figures of the policies for a registry of the package `prometheus-client`, which only this module needs."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sfq_impl.policy.observability import LABEL, Observability, Policy


class PolicyCollector(Collector):
    """`registry.register(PolicyCollector(policy))`: what `Observability` shows, at each scrape."""

    def __init__(self, policy: Policy) -> None:
        self._observability = Observability(policy)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The three gauges."""
        for family in self._observability.families():
            labels = [LABEL] if family.labelled else []
            gauge = GaugeMetricFamily(family.name, family.meaning, labels=labels)
            for id, value in family.values.items():
                gauge.add_metric([id] if family.labelled else [], value)
            yield gauge
