"""All wrong models, by the name of their flag."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from sfq_spec.conformance.las import endings, faults
from sfq_spec.conformance.las.faults import Fault

FAULTS: Mapping[str, type[Fault]] = {
    name: kind
    for module in (faults, endings)
    for name, kind in vars(module).items()
    if inspect.isclass(kind) and issubclass(kind, Fault) and kind is not Fault and kind.__module__ == module.__name__
}
"""In the order in which they stand in the modules."""


def told_of(fault: str) -> tuple[str, str]:
    """What a fault does instead, and what goes wrong for users."""
    mistake, _, effect = inspect.cleandoc(FAULTS[fault].__doc__ or "").partition("\n\n")
    return " ".join(mistake.split()), " ".join(effect.split())
