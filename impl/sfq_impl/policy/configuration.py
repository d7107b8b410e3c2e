"""The configuration of the seed, `plugins:` and `flowControl:`, made into a policy for the dispatcher.

    plugins:
      - type: program-aware-fairness
        parameters:
          lasHalfLifeSeconds: 60
    flowControl:
      defaultPriorityBand:
        fairnessPolicyRef: program-aware-fairness
      priorityBands:
        - priority: 10
          fairnessPolicyRef: round-robin-fairness

A plugin is referred to by its `name`, which is its type where none is given. Unknown keys are refused by name.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sfq_impl.policy.interfaces import FairnessPolicy
from sfq_impl.policy.others import GlobalStrictFairness, RoundRobinFairness, SfqFairness
from sfq_impl.policy.parameters import (
    GLOBAL_STRICT,
    PROGRAM_AWARE,
    ROUND_ROBIN,
    SETTLED,
    SFQ,
    BadParameter,
    Parameters,
    ProgramAware,
    Settled,
    read,
)
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.queue_policy import QueuePolicy
from sfq_impl.policy.settled import SettledFairness

ALIASES = {"round-robin-fairness-policy": ROUND_ROBIN, "global-strict-fairness-policy": GLOBAL_STRICT}
"""The names of the original for two of the types."""
TYPES = (PROGRAM_AWARE, SETTLED, SFQ, ROUND_ROBIN, GLOBAL_STRICT)
DEFAULT = GLOBAL_STRICT
"""The policy of a band for which none is configured, as in the original."""
AGENT_IDENTITY = "agent-identity"
"""No policy: with this plugin a program may also be named by the headers of agents (`sfq_impl.policy.identity`)."""


class BadConfiguration(ValueError):
    """A configuration that cannot be used. Names the place and what would be right."""


class Plugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `plugins`."""

    type: str
    name: str = ""
    parameters: dict[str, Any] | None = None

    @property
    def called(self) -> str:
        """By what it is referred to."""
        return self.name or self.type


class Band(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What holds for a priority."""

    priority: int | None = None
    fairness_policy_ref: str = ""


class FlowControl(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The part `flowControl`."""

    default_priority_band: Band = Band()
    priority_bands: tuple[Band, ...] = ()


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A whole configuration. What stands before the plugins in a file of llm-d's is read, and changes nothing."""

    plugins: tuple[Plugin, ...] = ()
    flow_control: FlowControl = FlowControl()
    api_version: str = ""
    kind: str = ""
    feature_gates: tuple[str, ...] = ()

    @property
    def reads_agents(self) -> bool:
        """Whether a program may be named by the headers of agents."""
        return any(plugin.type == AGENT_IDENTITY for plugin in self.plugins)


def parse(text: str | bytes) -> Configuration:
    """A configuration in YAML. Needs the package PyYAML. Raises `BadConfiguration`."""
    import yaml

    try:
        return check(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise BadConfiguration(f"is not YAML: {error}") from None


def check(data: Any) -> Configuration:
    """A configuration that has been read: mappings and lists. Raises `BadConfiguration`."""
    try:
        made = msgspec.convert({} if data is None else data, Configuration)
    except msgspec.ValidationError as error:
        raise BadConfiguration(_plainly(str(error))) from None
    for name, count in Counter(plugin.called for plugin in made.plugins).items():
        if count > 1:
            raise BadConfiguration(f'plugins: {count} are called "{name}": give each a `name` of its own')
    _check_bands(made.flow_control)
    return made


def policies(
    configuration: Configuration, *, clock: Callable[[], int] = time.monotonic_ns
) -> Mapping[str, FairnessPolicy]:
    """The policies that are configured, by name. Raises `BadConfiguration`, with all of `BadParameter`."""
    return {
        plugin.called: made(plugin.type, plugin.called, plugin.parameters, clock=clock)
        for plugin in configuration.plugins
        if plugin.type != AGENT_IDENTITY
    }


def made(
    type: str,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
    *,
    clock: Callable[[], int] = time.monotonic_ns,
) -> FairnessPolicy:
    """A policy by its type. Raises `BadConfiguration`."""
    kind, name = ALIASES.get(type, type), name or type
    try:
        if kind == PROGRAM_AWARE:
            return ProgramAwareFairness(read(ProgramAware, kind, name, parameters), name=name, clock=clock)
        if kind == SETTLED:
            return SettledFairness(read(Settled, kind, name, parameters), name=name, clock=clock)
        plain: Mapping[str, Callable[..., FairnessPolicy]] = {
            SFQ: SfqFairness,
            ROUND_ROBIN: RoundRobinFairness,
            GLOBAL_STRICT: GlobalStrictFairness,
        }
        if kind in plain:
            read(Parameters, kind, name, parameters)
            return plain[kind](name=name, clock=clock)
    except BadParameter as error:
        raise BadConfiguration(str(error)) from None
    raise BadConfiguration(f'plugin "{name}": there is no type "{type}": the types are {", ".join(TYPES)}')


def queue_policy(configuration: Configuration, *, clock: Callable[[], int] = time.monotonic_ns) -> QueuePolicy:
    """The policy for the dispatcher that a configuration describes. Raises `BadConfiguration`."""
    named = dict(policies(configuration, clock=clock))

    def referred(where: str, ref: str) -> FairnessPolicy:
        ref = ref or DEFAULT
        if ref not in named and ref not in (*TYPES, *ALIASES):
            there = ", ".join(named) or "none"
            raise BadConfiguration(f'{where}.fairnessPolicyRef: no plugin is called "{ref}": configured are {there}')
        if ref not in named:
            named[ref] = made(ref, clock=clock)
        return named[ref]

    flow = configuration.flow_control
    default = referred("flowControl.defaultPriorityBand", flow.default_priority_band.fairness_policy_ref)
    bands = {
        band.priority: referred(f"flowControl.priorityBands[{at}]", band.fairness_policy_ref)
        for at, band in enumerate(flow.priority_bands)
        if band.priority is not None
    }
    return QueuePolicy(default, bands, clock=clock)


def _check_bands(flow: FlowControl) -> None:
    if flow.default_priority_band.priority is not None:
        raise BadConfiguration("flowControl.defaultPriorityBand.priority: it is for all priorities without an entry")
    for at, band in enumerate(flow.priority_bands):
        if band.priority is None:
            raise BadConfiguration(f"flowControl.priorityBands[{at}].priority is missing: a whole number")
    for priority, count in Counter(band.priority for band in flow.priority_bands).items():
        if count > 1:
            raise BadConfiguration(f"flowControl.priorityBands: {count} entries are for priority {priority}")


_KNOWN: Mapping[str, type[msgspec.Struct]] = {
    "": Configuration,
    "plugins[...]": Plugin,
    "flowControl": FlowControl,
    "flowControl.defaultPriorityBand": Band,
    "flowControl.priorityBands[...]": Band,
}


def _plainly(error: str) -> str:
    reason, _, path = error.partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", reason, re.DOTALL):
        known = ", ".join(field.encode_name for field in msgspec.structs.fields(_KNOWN[re.sub(r"\d+", "...", path)]))
        return f"unknown field `{f'{path}.' if path else ''}{unknown[1]}`: the fields are {known}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return f"field `{f'{path}.' if path else ''}{missing[1]}` is missing"
    return f"field `{path}`: {reason[:1].lower()}{reason[1:]}" if path else f"{reason[:1].lower()}{reason[1:]}"
