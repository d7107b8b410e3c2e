"""Every method by its name, and `name:parameter=value` read (`sfq-spec run --policy`, `sfq-spec compare`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sfq_spec import numbers
from sfq_spec.related.cfs import Cfs
from sfq_spec.related.dlpm import Dlpm
from sfq_spec.related.drr import Drr
from sfq_spec.related.fifo import Fifo
from sfq_spec.related.las import Las, LasV1
from sfq_spec.related.method import Method, MethodScheduler
from sfq_spec.related.round_robin import RoundRobin
from sfq_spec.related.scfq import Scfq
from sfq_spec.related.stride import StrideScheduling
from sfq_spec.related.two_counter import TwoCounter
from sfq_spec.related.virtual_clock import VirtualClock
from sfq_spec.related.vtc import Vtc, VtcArtifact
from sfq_spec.related.wf2q_plus import Wf2qPlus
from sfq_spec.related.wfq import Wfq
from sfq_spec.related.wfq_packet_active import WfqPacketActive
from sfq_spec.scheduler import MachineScheduler, Scheduler


class BadPolicy(ValueError):
    """A policy that cannot be made. The message names what is wrong, and what there is."""


METHODS: Mapping[str, type[Method[Any]]] = {
    "fifo": Fifo,
    "round-robin": RoundRobin,
    "drr": Drr,
    "wfq": Wfq,
    "wfq-packet-active": WfqPacketActive,
    "scfq": Scfq,
    "wf2q-plus": Wf2qPlus,
    "virtual-clock": VirtualClock,
    "stride": StrideScheduling,
    "cfs": Cfs,
    "vtc": Vtc,
    "vtc-artifact": VtcArtifact,
    "dlpm": Dlpm,
    "two-counter": TwoCounter,
    "las": Las,
    "las-v1": LasV1,
}
"""The methods beside SFQ, by name."""
SFQ = "sfq"
NAMES = (SFQ, *METHODS)


def titled(policy: str) -> str:
    """The name of a policy for people: its title, and its parameters as they were given."""
    name, colon, given = policy.partition(":")
    title = "SFQ" if name == SFQ else METHODS[name].title
    return f"{title} ({given})" if colon else title


def policy(text: str) -> Callable[[], Scheduler]:
    """What makes fresh schedulers of a policy. Raises `BadPolicy`."""
    name, _, given = text.partition(":")
    if name == SFQ:
        if given:
            raise BadPolicy(f"policy {text!r}: SFQ has no parameters")
        return MachineScheduler
    made = method(text)
    return lambda: MethodScheduler(made)


def method(text: str) -> Method[Any]:
    """The method that a text such as `drr:quantum=512` names. Raises `BadPolicy`."""
    name, _, given = text.partition(":")
    if name not in METHODS:
        raise BadPolicy(f"there is no policy {name!r}: the policies are {', '.join(NAMES)}")
    kind = METHODS[name]
    known = {field.name: field for field in fields(kind)}
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for part in filter(None, given.split(",")):
        parameter, equals, value = part.partition("=")
        key = parameter.strip().replace("-", "_")
        if not equals or key not in known:
            there = ", ".join(known) or "none"
            raise BadPolicy(f"policy {text!r}: no parameter {parameter!r}; {name} has: {there}")
        values[key] = _value(text, key, value.strip(), hints[key])
    missing = [key for key, field in known.items() if key not in values and field.default is MISSING]
    if missing:
        raise BadPolicy(f"policy {text!r}: {name} needs {missing[0]}: write {name}:{missing[0]}=VALUE")
    try:
        return kind(**values)
    except ValueError as error:
        raise BadPolicy(f"policy {text!r}: {error}") from None


def _value(text: str, name: str, value: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise BadPolicy(f"policy {text!r}: {name} must be one of {', '.join(get_args(kind))}")
        return value
    try:
        number = numbers.read(value)
    except numbers.NotANumber as error:
        raise BadPolicy(f"policy {text!r}: {name}: {error}") from None
    if isinstance(number, float):
        raise BadPolicy(f"policy {text!r}: {name} must be a finite number")
    if kind is int:
        if number.denominator != 1:
            raise BadPolicy(f"policy {text!r}: {name} must be a whole number")
        return int(number)
    assert kind is Fraction, f"no way to read a parameter of type {kind}"
    return number
