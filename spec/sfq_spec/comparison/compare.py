"""The same workload through several methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

from sfq_spec import numbers
from sfq_spec.comparison.measures import Measures, find_return, measure
from sfq_spec.comparison.scenarios import SCENARIOS
from sfq_spec.comparison.simulate import Played, simulate
from sfq_spec.comparison.workload import BadWorkload, Workload
from sfq_spec.related import policies
from sfq_spec.related.method import Method
from sfq_spec.related.virtual_clock import VirtualClock
from sfq_spec.scheduler import Scheduler, SchedulerError


@dataclass(frozen=True)
class Result:
    """One method on the workload: the measures, and the run that they are of."""

    measures: Measures
    played: Played


@dataclass(frozen=True)
class Comparison:
    """All of them, in the order in which they were asked for."""

    workload: Workload
    results: tuple[Result, ...]

    @property
    def measures(self) -> tuple[Measures, ...]:
        """The measures alone."""
        return tuple(result.measures for result in self.results)

    @property
    def reference(self) -> Measures | None:
        """Those of SFQ, where it is among them."""
        return next((measured for measured in self.measures if measured.policy == policies.SFQ), None)


def scenario(name: str) -> Workload:
    """A workload that comes with the package. Raises `BadWorkload`."""
    if name not in SCENARIOS:
        raise BadWorkload(f"there is no scenario {name!r}: the scenarios are {', '.join(SCENARIOS)}")
    return SCENARIOS[name]()


def all_policies(workload: Workload) -> list[str]:
    """Every method, with the parameters that it needs."""
    return [completed(name, workload) for name in policies.NAMES]


def completed(policy: str, workload: Workload) -> str:
    """The policy with what the workload gives for parameters that nobody has."""
    name, _, given = policy.partition(":")
    kind = policies.METHODS.get(name)
    if kind is None:
        return policy
    has = {part.partition("=")[0].strip() for part in given.split(",")}
    more = [
        f"{field}={numbers.write(value(workload))}" for field, value in from_workload(kind).items() if field not in has
    ]
    told = ",".join([*filter(None, [given]), *more])
    return f"{name}:{told}" if told else name


def from_workload(kind: type[Method[Any]]) -> Mapping[str, Callable[[Workload], Fraction]]:
    """The parameters of a method that a workload gives, where nobody else does.

    A quantum that the method must have is the largest cost: then a user can send at least one request in its turn. A
    rate is what the servers do; where it is the rate of one user it is an equal share of that.
    """
    found: dict[str, Callable[[Workload], Fraction]] = {}
    for field in fields(kind):
        if field.name == "quantum" and field.default is MISSING:
            found[field.name] = lambda workload: workload.largest
        if field.name == "rate":
            found[field.name] = _share if issubclass(kind, VirtualClock) else lambda workload: workload.rate
    return found


def _share(workload: Workload) -> Fraction:
    weights = sum(Fraction(workload.weights.get(user, 1)) for user in workload.users)
    return Fraction(max(1, round(workload.rate / weights)))


def compare(
    workload: Workload,
    names: Sequence[str] | None = None,
    *,
    over_time: bool = False,
    show: Callable[[int], None] = lambda dispatched: None,
) -> Comparison:
    """Serve the workload once with each policy; all methods where none is named.

    `show` is told how many requests have been dispatched so far, of all runs together. Raises `BadPolicy`, or a
    `SchedulerError` where a method does not go on.
    """
    chosen = all_policies(workload) if names is None else [completed(name, workload) for name in names]
    made = [(policy, policies.policy(policy), policies.titled(policy)) for policy in chosen]
    return Comparison(workload, tuple(_results(workload, made, over_time, show)))


Made = tuple[str, Callable[[], Scheduler], str]


def _results(
    workload: Workload, made: Sequence[Made], over_time: bool, show: Callable[[int], None]
) -> Iterator[Result]:
    back: str | None = None
    done = 0
    for policy, factory, title in made:
        try:
            played = simulate(workload, factory(), over_time=over_time, show=partial(_add, show, done))
        except SchedulerError as error:
            raise SchedulerError(f"{policy} on {workload.name}: {error}") from None
        if not done:
            back = find_return(workload, played)
        done += len(played.order)
        yield Result(measure(workload, policy, title, played, back), played)


def _add(show: Callable[[int], None], before: int, dispatched: int) -> None:
    show(before + dispatched)
