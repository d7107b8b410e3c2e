"""Importers: files of real requests, read as arrivals that a pool of servers turns into a script of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfq_spec.importers import azure, mooncake, servegen, vtc
from sfq_spec.importers.rows import Imported
from sfq_spec.trace import Readable

FORMATS: Mapping[str, Callable[[Readable], Imported]] = {
    "servegen": servegen.read,
    "azure": azure.read,
    "mooncake": mooncake.read,
    "vtc": vtc.read,
}
"""The reader of each format. Each raises `BadLine` at the first row that it cannot read."""
