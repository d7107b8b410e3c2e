"""Who is next, as the configuration says it: the name of a policy, one with parameters, or a whole part of llm-d's.

policy: sfq

policy:
  type: program-aware-fairness
  parameters:
    lasHalfLifeSeconds: 60

policy:
  plugins: [...]
  flowControl: {...}

policy:
  file: llm-d.yaml
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sfq_impl.fleet.dispatcher import Mode
from sfq_impl.fleet.policy import Fifo, OvertakingSfq, Policy, RoundRobin, Sfq
from sfq_impl.policy.configuration import (
    ALIASES,
    TYPES,
    BadConfiguration,
    Band,
    Configuration,
    FlowControl,
    check,
    parse,
    queue_policy,
)
from sfq_impl.policy.queue_policy import QueuePolicy, Weighing

PLAIN = ("sfq", "fifo", "round-robin")
"""The policies that need nothing but arrivals and costs."""
ORDERS = (*PLAIN, *TYPES)
KEYS = (
    ("type", "one of these names", "the policy for all priorities, where it has parameters"),
    ("parameters", "a mapping", "those of the policy that `type` names, as in llm-d"),
    ("plugins", "a list", "the policies that `flowControl` may refer to, each with `type`, `name` and `parameters`"),
    ("flowControl", "a mapping", "which of them is for which priority, as in llm-d"),
    ("file", "the path of a file", "a YAML file with `plugins` and `flowControl`; it stands alone"),
)
"""What may stand in place of a name."""
FORMS = (
    "write the name of a policy, `type` and `parameters` of one, `plugins` and `flowControl` as in llm-d, or `file`; "
    f"the names are {', '.join(ORDERS)}"
)


@dataclass(frozen=True)
class Ordering:
    """A policy that was asked for."""

    name: str
    """What it is called in logs."""
    configuration: Configuration | None = None
    """Of a policy of queues (`sfq_impl.policy`); None for the plain ones."""

    def __str__(self) -> str:
        return self.name

    @property
    def has_queues(self) -> bool:
        """Whether it picks among queues, by priority."""
        return self.configuration is not None

    @property
    def weighs(self) -> bool:
        """Whether the weights of users count."""
        policy = self.policy()
        policies = policy.policies if isinstance(policy, QueuePolicy) else ()
        return isinstance(policy, Sfq) or any(isinstance(each, Weighing) for each in policies)

    @property
    def reads_agents(self) -> bool:
        """Whether a program may be named by the headers of agents."""
        return self.configuration is not None and self.configuration.reads_agents

    def policy(self, mode: Mode = "stall", clock: Callable[[], int] = time.monotonic_ns) -> Policy:
        """The policy itself, new; `clock` tells nanoseconds."""
        if self.configuration is not None:
            return queue_policy(self.configuration, clock=clock)
        if self.name == "sfq":
            return OvertakingSfq() if mode == "overtake" else Sfq()
        return Fifo() if self.name == "fifo" else RoundRobin()


def ordering(said: object, folder: Path = Path()) -> Ordering:
    """What a configuration says. Raises `ValueError`, which names the field and what would be right."""
    if isinstance(said, str):
        return _named(said)
    if not isinstance(said, dict):
        raise ValueError(f"is {said!r}; {FORMS}")
    if "file" in said:
        return _of_file(said, folder)
    if "type" in said:
        return _of_one(said)
    if not {"plugins", "flowControl"} & set(said):
        raise ValueError(f"has none of `type`, `plugins`, `flowControl` and `file`; {FORMS}")
    return _whole(check(said))


def _named(name: str) -> Ordering:
    if name in PLAIN:
        return Ordering(name)
    if name not in TYPES and name not in ALIASES:
        raise ValueError(f"is {name!r}; there are: {', '.join(ORDERS)}")
    return _of_one({"type": name})


def _of_one(said: dict[object, object]) -> Ordering:
    """One policy for all priorities."""
    [plugin] = check({"plugins": [said]}).plugins
    if plugin.type in PLAIN:
        if plugin.parameters:
            raise ValueError(f"parameters: {plugin.type} has none")
        return Ordering(plugin.type)
    return _whole(Configuration((plugin,), FlowControl(Band(fairness_policy_ref=plugin.called))))


def _of_file(said: dict[object, object], folder: Path) -> Ordering:
    if list(said) != ["file"] or not isinstance(said["file"], str):
        raise ValueError("file: is the path of a file, and stands alone")
    path = folder / said["file"]
    try:
        return _whole(parse(path.read_bytes()))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except BadConfiguration as error:
        raise ValueError(f"{path}: {error}") from None


def _whole(configuration: Configuration) -> Ordering:
    """A configuration of llm-d's; it is made once, so that whatever is wrong comes out."""
    queue_policy(configuration)
    band = configuration.flow_control.default_priority_band
    return Ordering(band.fairness_policy_ref or "global-strict-fairness", configuration)
