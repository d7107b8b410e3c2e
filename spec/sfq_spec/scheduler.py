"""A scheduler in Python: the contract, the loader of `module:factory`, and one way to play an event.

The contract (protocol, version 1) is a class with these methods. The names in brackets are accepted in their
place, and preferred where both are there, because `weight` and `cost` may then be views.

    arrive(user, request, cost)        a request joins the end of its user's queue
    dispatch()                         there is room for one request: which?
    cancel(request)                    a waiting request is withdrawn
    complete(request, outcome)         a dispatched request has ended: completed, failed or cancelled
    weight(user, weight)               [set_weight] the user's share, from the next charge on
    cost(request, cost)                [recost] a new estimate for a waiting request
    upkeep()                           a good moment to rebase or to forget
    lag()                              optional, or an attribute: S − v of each user that is remembered
    given(fields)                      optional: what the line tells beside its event, such as time; called first

`arrive` and `dispatch` are needed. `complete` and `upkeep` do nothing where they are missing; the others are
capabilities, and `Unsupported` is raised where an event needs one that is missing.

Costs and weights are handed over as `int` where they are whole, else as `Fraction`; NaN and the infinities,
which are there to be refused, as `float`. `dispatch` returns None where nobody waits, else the id of a request, an
object with an attribute `request`, or a mapping with "request" or "dispatched". An event is refused by an
exception with an attribute `code`, or by returning `{"refused": code}`, with one of the codes of the protocol.
What else the other methods return is ignored. Any other exception means that the scheduler is broken.
"""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.machine import Machine, Taken, take
from sfq_spec.trace import (
    CODES,
    Answer,
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Outcome,
    Recost,
    SetWeight,
    Upkeep,
)

Cost = int | float | Fraction
"""What a scheduler is handed as a cost or weight."""


class Scheduler(Protocol):
    """The part of the contract that every scheduler has."""

    def arrive(self, user: str, request: str, cost: Any, /) -> object:
        """A request joins the end of its user's queue."""

    def dispatch(self) -> object:
        """The request that goes next."""


METHODS: Mapping[type[Event], tuple[str, ...]] = {
    Arrive: ("arrive",),
    Dispatch: ("dispatch",),
    Cancel: ("cancel",),
    Complete: ("complete",),
    SetWeight: ("set_weight", "weight"),
    Recost: ("recost", "cost"),
    Upkeep: ("upkeep",),
}
"""The method that carries out an event: the first of these names that the scheduler has."""


class SchedulerError(Exception):
    """A scheduler that gives no answer. The message is a sentence or two for its author."""


class CannotLoad(SchedulerError):
    """A `module:factory` that does not lead to a scheduler."""


class Unsupported(SchedulerError):
    """An event that needs a method the scheduler does not have."""


class Broken(SchedulerError):
    """A scheduler that raised what is not a refusal, or answered with what is not an answer."""


class MachineScheduler:
    """The machine of the specification, or a mutant of it, as a scheduler that keeps its own state.

    A refused event raises a `Refused`, and leaves the state as it was.
    """

    def __init__(self, take: Callable[[Machine, Event], Taken] = take) -> None:
        self.state = Machine()
        self._take = take

    def arrive(self, user: str, request: str, cost: Cost) -> Answer:
        """A request joins the end of its user's queue."""
        return self._step(Arrive(user, request, cost))

    def dispatch(self) -> Answer:
        """The request that goes next, with its user and its cost."""
        return self._step(Dispatch())

    def cancel(self, request: str) -> Answer:
        """A waiting request is withdrawn."""
        return self._step(Cancel(request))

    def complete(self, request: str, outcome: Outcome = "completed") -> Answer:
        """A dispatched request has ended."""
        return self._step(Complete(request, outcome))

    def weight(self, user: str, weight: Cost) -> Answer:
        """The user's share, from the next charge on."""
        return self._step(SetWeight(user, weight))

    def cost(self, request: str, cost: Cost) -> Answer:
        """A new estimate for a waiting request."""
        return self._step(Recost(request, cost))

    def upkeep(self) -> Answer:
        """Nothing, in exact arithmetic."""
        return self._step(Upkeep())

    def lag(self) -> dict[str, Fraction]:
        """S − v of every user that the machine has met."""
        return self.state.lag

    def _step(self, event: Event) -> Answer:
        taken = self._take(self.state, event)
        self.state = taken.state
        return taken.answer


def play(scheduler: Scheduler, event: Event) -> Answer:
    """The scheduler's answer to one event; a refusal is an answer.

    Raises `Unsupported` where it lacks the method, and `Broken` where it raises or returns what it may not.
    """
    try:
        called = method(scheduler, type(event))
        if called is None:
            return _without(event)
        return _answer(event, called(*_arguments(event)))
    except SchedulerError:
        raise
    except (Exception, SystemExit) as error:
        return _refusal(METHODS[type(event)][-1], error)


def method(scheduler: Scheduler, kind: type[Event]) -> Callable[..., object] | None:
    """What carries out such events; None where the scheduler has nothing for them. Raises `Broken` where it raises."""
    for name in METHODS[kind]:
        try:
            found = getattr(scheduler, name, None)
        except (Exception, SystemExit) as error:
            raise Broken(f"to ask for its `{name}` raised {described(error)}") from error
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


def give(scheduler: Scheduler, fields: Mapping[str, Any]) -> None:
    """Hand over what a line tells beside its event, to a scheduler that asks for it. Raises a `SchedulerError`."""
    try:
        given = getattr(scheduler, "given", None)
        if callable(given):
            given(fields)
    except SchedulerError:
        raise
    except (Exception, SystemExit) as error:
        raise Broken(f"`given` raised {described(error)}") from error


def has_lag(scheduler: Scheduler) -> bool:
    """Whether there is something to ask for lags. Raises `Broken` where the scheduler raises."""
    try:
        return getattr(scheduler, "lag", None) is not None
    except (Exception, SystemExit) as error:
        raise Broken(f"`lag` raised {described(error)}") from error


def lag(scheduler: Scheduler) -> dict[str, Fraction | float]:
    """S − v of the users that the scheduler remembers. Raises `Unsupported` or `Broken`."""
    try:
        told: object = getattr(scheduler, "lag", None)
        told = told() if callable(told) else told
    except (Exception, SystemExit) as error:
        raise Broken(f"`lag` raised {described(error)}") from error
    if told is None:
        raise Unsupported("the scheduler has no `lag`: add a method lag() that returns {user: S - v}, or do not ask")
    if not isinstance(told, Mapping) or not all(isinstance(user, str) for user in told):
        raise Broken(f"`lag` is {_shown(told)}: it must map user ids to numbers")
    try:
        return {user: numbers.read(number) for user, number in told.items()}
    except numbers.NotANumber as error:
        raise Broken(f"`lag` holds what is not a number: {error}") from None


def load(name: str) -> Callable[[], Scheduler]:
    """The factory that `module:factory` names. The current directory is searched first.

    It is called without arguments, and raises `CannotLoad` where what it makes is not a scheduler, or nothing at all.
    Raises `CannotLoad` where there is no such module or attribute, or the attribute cannot be called.
    """
    module_name, colon, path = name.partition(":")
    if not colon or not all(re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", part) for part in (module_name, path)):
        raise CannotLoad(f"{name!r} names no scheduler: write module:factory, such as my_scheduler:Scheduler")
    found: Any = _module(module_name)
    for attribute in path.split("."):
        if not hasattr(found, attribute):
            raise CannotLoad(f"`{name}`: {module_name!r} has no {path!r}{_nearby(found)}")
        found = getattr(found, attribute)
    if not callable(found):
        raise CannotLoad(
            f"`{name}` is {_shown(found)} and cannot be called: name a class, or a function without arguments"
        )
    factory: Callable[[], Any] = found
    return lambda: _make(name, factory)


def search_path() -> list[str]:
    """Where `load` looks for modules besides the current directory, for a process that shall find the same ones."""
    return list(sys.path)


def described(error: BaseException) -> str:
    """An exception in one line: its kind, its first line, and the innermost place in a file that is not ours.

    Where there is none, as with arguments that do not fit, it names no place.
    """
    try:
        text = str(error).strip().partition("\n")[0][:200]
    except Exception:
        text = ""
    frames = traceback.extract_tb(error.__traceback__)
    ours = {Path(__file__).parent, Path(importlib.__file__).parent}
    places = [at for at in frames if not at.filename.startswith("<") and ours.isdisjoint(Path(at.filename).parents)]
    at = places[-1] if places else None
    where = f" ({Path(at.filename).name}, line {at.lineno}, in {at.name})" if at else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def _without(event: Event) -> Answer:
    if isinstance(event, Complete | Upkeep):
        return Answer()
    names = " or ".join(f"`{name}`" for name in METHODS[type(event)])
    raise Unsupported(f"the scheduler has no method {names}, which this event needs")


def _arguments(event: Event) -> tuple[object, ...]:
    match event:
        case Arrive(user=user, request=request, cost=cost):
            return user, request, _handed(cost)
        case Cancel(request=request):
            return (request,)
        case Complete(request=request, outcome=outcome):
            return request, outcome
        case SetWeight(user=user, weight=weight):
            return user, _handed(weight)
        case Recost(request=request, cost=cost):
            return request, _handed(cost)
        case _:
            return ()


def _handed(number: Fraction | float) -> Cost:
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number


def _refusal(name: str, error: BaseException) -> Answer:
    code = getattr(error, "code", None)
    if isinstance(code, str) and code in CODES:
        return Answer(refused=code)
    known = "" if code is None else f"; its code {_shown(code)} is not one of {', '.join(CODES)}"
    raise Broken(f"`{name}` raised {described(error)}{known}") from error


def _answer(event: Event, said: object) -> Answer:
    refused = said.refused if isinstance(said, Answer) else _entry(said, "refused")
    if refused is not None and refused is not UNSET:
        if refused not in CODES:
            raise Broken(f"it refused with the code {_shown(refused)}, which is not one of {', '.join(CODES)}")
        return Answer(refused=refused)
    if not isinstance(event, Dispatch):
        return Answer()
    if isinstance(said, Answer) and said.dispatched is not UNSET:
        return said
    return Answer(dispatched=_dispatched(said))


def _dispatched(said: object) -> str | None:
    if isinstance(said, Mapping) and ("request" in said or "dispatched" in said):
        request = said["request"] if "request" in said else said["dispatched"]
    elif said is None or isinstance(said, str):
        request = said
    else:
        request = getattr(said, "request", UNSET)
        request = UNSET if request is None else request
    if request is None or isinstance(request, str):
        return request
    raise Broken(
        f"`dispatch` returned {_shown(said)}: return None, the id of a request, an object with an attribute "
        f'`request`, or a mapping with "request" or "dispatched"'
    )


def _entry(said: object, key: str) -> Any:
    return said.get(key) if isinstance(said, Mapping) else None


def _module(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            fix = "start in the folder that holds it, or set PYTHONPATH"
            if name.endswith(".py"):
                fix = f"write the module without `.py`: {name.removesuffix('.py')!r}"
            raise CannotLoad(f"there is no module {error.name!r}: {fix}") from None
        raise CannotLoad(f"importing {name!r} raised {described(error)}") from error
    except (Exception, SystemExit) as error:
        raise CannotLoad(f"importing {name!r} raised {described(error)}") from error


def _make(name: str, factory: Callable[[], Any]) -> Scheduler:
    try:
        scheduler: Any = factory()
    except (Exception, SystemExit) as error:
        raise CannotLoad(f"`{name}` is called without arguments, and raised {described(error)}") from error
    for kind in (Arrive, Dispatch):
        try:
            found = method(scheduler, kind)
        except Broken as error:
            raise CannotLoad(f"`{name}` made no scheduler: {error}") from error
        if found is None:
            raise CannotLoad(
                f"`{name}` made {_shown(scheduler)}, which has no method `{METHODS[kind][0]}`: a scheduler "
                "needs arrive(user, request, cost) and dispatch()"
            )
    return scheduler  # type: ignore[no-any-return]


def _nearby(module: Any) -> str:
    names = sorted(name for name, found in vars(module).items() if isinstance(found, type) and name[0] != "_")
    return f": its classes are {', '.join(names[:8])}" if names else ""


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
