"""The code of the heap scheduler itself, executed by CrossHair with numbers that may be any integers (IMPL-REFINE).

One contract per shape of the representation and operation. A shape says who stands where in the heap, who is gone, who
is remembered; v, every meter, the greatest meter and the cost are symbolic. The precondition is the representation
invariant, so every state of this shape is covered, reachable or not, and with it runs of any length. The postcondition:
the step is the specification's, and the invariant holds again.

Not covered: rebasing, whose fractions CrossHair does not follow, floats, and recovery from exceptions.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import sfq_impl
from sfq_impl.heap import HeapScheduler
from sfq_proofs.scheduler.faults import Fault, Make, plant, sources
from sfq_spec.competition import SFQ, Competition, Rules
from sfq_spec.logic import Exact
from sfq_spec.trace import Refused

NAMES = "ABCDE"
COUNTED: Rules = replace(SFQ, charge=lambda S, c, w: S + c * w)
"""The rules with meters counted in units of 1/scale: what stands for a weight is scale / weight (ORDER-SCALE)."""


@dataclass(frozen=True)
class Shape:
    """What is fixed of a state: all but its numbers."""

    users: int
    heap: tuple[int, ...]
    """The users in the heap, in the order of the list."""
    gone: tuple[int, ...] = ()
    idle: tuple[int, ...] = ()
    """Those who are remembered besides."""
    halves: bool = False
    """The first user has weight 2, so that a unit of cost is two units of everybody else's meter."""

    @property
    def name(self) -> str:
        """Heap, with those who are gone in small letters; then those who are idle."""
        heap = "".join(NAMES[u].lower() if u in self.gone else NAMES[u] for u in self.heap)
        return f"{heap or '0'}_{''.join(NAMES[u] for u in self.idle) or '0'}{'_2' if self.halves else ''}"

    @property
    def waiting(self) -> tuple[int, ...]:
        """The users who wait."""
        return tuple(u for u in self.heap if u not in self.gone)


@dataclass(frozen=True)
class Contract:
    """One operation on one shape."""

    shape: Shape
    operation: str
    user: int = 0
    """The user whom it is about."""
    queue: str = ""
    """The user's queue: a request that waits, w one that is withdrawn. Everybody else who waits has one request."""
    full: bool = False
    """There are as many records as there may be."""

    @property
    def name(self) -> str:
        """An identifier."""
        full = "_full" if self.full else ""
        return f"{self.operation}_{NAMES[self.user]}_{self.queue or '0'}{full}__{self.shape.name}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the numbers: v, the greatest, the cost, and a meter for every user."""
        return ("v", "greatest", "cost", *(f"meter_{NAMES[u].lower()}" for u in range(self.shape.users)))


def shapes(users: int) -> Iterator[Shape]:
    """Every shape of so many users: any order in the heap, at most half of it gone, the first never."""
    for size in range(users + 1):
        for heap in permutations(range(users), size):
            rest = [u for u in range(users) if u not in heap]
            for flags in product((False, True), repeat=max(size - 1, 0)):
                gone = tuple(u for u, flag in zip(heap[1:], flags, strict=True) if flag)
                if 2 * len(gone) > size:
                    continue
                for kept in product((False, True), repeat=len(rest)):
                    yield Shape(users, heap, gone, tuple(u for u, k in zip(rest, kept, strict=True) if k))


def contracts(users: int) -> Iterator[Contract]:
    """Every operation on every shape.

    Of three users on, a user of whom there is no record comes into it only where it is the one that arrives.
    """
    for shape in shapes(users):
        forgotten = sorted({*range(users)} - {*shape.heap, *shape.idle})
        if users < 3 or len(forgotten) <= 1:
            for user in forgotten if users > 2 and forgotten else range(users):
                yield Contract(shape, "arrive", user, "a" if user in shape.waiting else "")
                if user in forgotten:
                    yield Contract(shape, "arrive", user, full=True)
        if users < 3 or not forgotten:
            yield from _served(shape, complete=not forgotten)
    one = Shape(users, (0,))
    for operation in ("duplicate", "unknown", "complete", "recost", "weight"):
        yield Contract(one, operation, 0, "aa")
    yield Contract(replace(one, halves=True), "weight", 0, "a")
    if users > 1:
        yield Contract(Shape(users, (1,), halves=True), "arrive", 0)
        yield Contract(Shape(users, (1,), halves=True), "weight", 1, "a")


def _served(shape: Shape, complete: bool) -> Iterator[Contract]:
    """Dispatch, cancel and forget, with the queues of the user in question."""
    if shape.heap:
        first, queues = shape.heap[0], ("a", "aa", "aw", "awa") if complete else ("a", "aa")
        yield from (Contract(shape, "dispatch", first, queue) for queue in queues)
        if complete:
            yield Contract(replace(shape, halves=True), "dispatch", first, "aa")
    else:
        yield Contract(shape, "dispatch")
    for user in shape.waiting:
        yield from (Contract(shape, "cancel", user, queue) for queue in ("a", "aa"))
        if complete:
            yield Contract(shape, "cancel", user, "awa")
            yield Contract(shape, "withdraw", user, "aaw")
    yield Contract(shape, "forget", 0, "a" if 0 in shape.waiting else "")


PLAIN = Fault(
    "plain requests",
    "state",
    "class Request(msgspec.Struct, gc=False, eq=False):",
    "import dataclasses\n\n\n@dataclasses.dataclass(eq=False)\nclass Request:",
)
"""No fault: CrossHair cannot make a `msgspec.Struct`, so a dataclass of the same fields stands in for it."""

SENTENCE = re.compile(r'yield f?".*"$', re.MULTILINE)


def _invariant() -> Callable[[HeapScheduler], bool]:
    """The representation invariant without its sentences: to write a number into one, CrossHair would choose it."""
    path = Path(sfq_impl.__path__[0]) / "representation.py"
    source, replaced = SENTENCE.subn("yield True", path.read_text(encoding="utf-8"))
    if replaced < 15:
        raise ValueError("the sentences of representation.py are not found")
    module = types.ModuleType("silent_representation")
    exec(compile(source, "silent_representation.py", "exec"), vars(module))
    return vars(module)["representation_holds"]  # type: ignore[no-any-return]


invariant_holds = _invariant()

under_test: Make = plant(PLAIN)
"""The scheduler that the contracts execute."""


def source(module: str) -> str:
    """The text that is executed."""
    return sources(PLAIN)[module]


def build(contract: Contract, numbers: Sequence[Any]) -> HeapScheduler:
    """A scheduler of this shape with these numbers; the invariant may not hold."""
    v, greatest, cost, *meters = numbers
    shape, kept = contract.shape, under_test._meet.__globals__
    scheduler = under_test()
    scale = 2 if shape.halves else 1
    for u in (*shape.heap, *shape.idle):
        name, queue = NAMES[u], deque[Any]()
        if u in shape.waiting:
            kinds = contract.queue if u == contract.user else "a"
            for place, kind in enumerate(kinds):
                price = cost if place == 0 else 1
                queue.append(kept["Request"](f"{name}{place}", name, price, kind == "a"))
                if kind == "a":
                    scheduler._live[f"{name}{place}"] = queue[-1]
        withdrawn = sum(not request.waits for request in queue)
        rate = 1 if shape.halves and u == 0 else scale
        scheduler._users[name] = kept["User"](name, meters[u], rate, queue, withdrawn)
    scheduler._live["flying"] = kept["Request"]("flying", "A", 1, False)
    scheduler._heap = [(meters[u], NAMES[u], scheduler._users[NAMES[u]]) for u in shape.heap]
    scheduler._gone = {NAMES[u] for u in shape.gone}
    scheduler._virtual, scheduler._greatest, scheduler._scale = v, greatest, scale
    if shape.halves:
        scheduler._weights["A"] = kept["Fraction"](2)
    if contract.full:
        scheduler._limit = len(scheduler._users)
    return scheduler


def meant(contract: Contract, numbers: Sequence[Any]) -> Competition[str, Any, bool]:
    """The competition that it stands for."""
    v, _, _, *meters = numbers
    shape = contract.shape
    users = range(shape.users)
    return Competition(
        v,
        {NAMES[u]: meters[u] for u in users},
        {NAMES[u]: u in shape.waiting for u in users},
        {NAMES[u]: 2 if shape.halves and u else 1 for u in users},
    )


def begins(contract: Contract, numbers: Sequence[Any]) -> bool:
    """The precondition: the invariant, a positive cost, and whoever is forgotten is not above v."""
    v, _, cost, *meters = numbers
    if cost <= 0:
        return False
    known = (*contract.shape.heap, *contract.shape.idle)
    if any(meters[u] > v for u in range(contract.shape.users) if u not in known):
        return False
    return invariant_holds(build(contract, numbers))


def steps(contract: Contract, numbers: Sequence[Any]) -> bool:
    """The postcondition: the answer is right, and the state stands for the competition that follows."""
    scheduler, s = build(contract, numbers), meant(contract, numbers)
    queues = {name: [r.request for r in user.queue if r.waits] for name, user in scheduler._users.items()}
    live = set(scheduler._live)
    after = _steps(contract, scheduler, s, queues, live, numbers[2])
    return after is not None and _stands(scheduler, after, queues, live)


def _steps(
    contract: Contract,
    scheduler: HeapScheduler,
    s: Competition[str, Any, bool],
    queues: dict[str, list[str]],
    live: set[str],
    cost: Any,
) -> Competition[str, Any, bool] | None:
    """Play the operation on both; None where the answer is wrong. `queues` and `live` become what they should."""
    logic, name = Exact(s.meter.keys()), NAMES[contract.user]
    own = queues.setdefault(name, [])
    match contract.operation:
        case "arrive":
            scheduler.arrive(name, "new", cost)
            own.append("new")
            live.add("new")
            return COUNTED.arrive(logic, COUNTED, s, name, cost).after
        case "dispatch" if not own:
            return s if scheduler.dispatch() is None else None
        case "dispatch":
            sent = scheduler.dispatch()
            request = own.pop(0)
            step = COUNTED.dispatch(logic, COUNTED, s, name, {name: cost}, not own)
            right = sent is not None and (sent.request, sent.user) == (request, name) and sent.cost == cost
            return step.after if right and step.enabled else None
        case "cancel":
            scheduler.cancel(request := own.pop(0))
            live.remove(request)
            return COUNTED.cancel(logic, COUNTED, s, name, cost, not own).after
        case "withdraw":
            scheduler.cancel(request := own.pop())
            live.remove(request)
            return COUNTED.cancel(logic, COUNTED, s, name, cost, False).after
        case "forget":
            scheduler._forget()
            return s if set(scheduler._users) == {u for u in s.meter if s.waiting[u] or s.meter[u] > s.v} else None
        case "duplicate":
            right = _refused(lambda: scheduler.arrive(name, own[-1], cost), "duplicate-request")
            return (
                s if right and _refused(lambda: scheduler.arrive(name, "flying", cost), "duplicate-request") else None
            )
        case "unknown":
            right = _refused(lambda: scheduler.cancel("nobody"), "unknown-request")
            right = right and _refused(lambda: scheduler.cancel("flying"), "not-waiting")
            right = right and _refused(lambda: scheduler.recost("nobody", cost), "unknown-request")
            return s if right and _refused(lambda: scheduler.recost("flying", cost), "not-waiting") else None
        case "complete":
            scheduler.complete(own[0])
            scheduler.complete("flying")
            live.remove("flying")
            return s
        case "recost":
            scheduler.recost(own[-1], cost)
            return s if scheduler._live[own[-1]].cost == cost else None
        case _:
            weight = 2 if scheduler._scale == 2 and name != "A" else 1
            scheduler.set_weight(name, weight)
            return replace(s, weight={**s.weight, name: scheduler._scale // weight})


def _refused(call: Any, code: str) -> bool:
    try:
        call()
    except Refused as refusal:
        return refusal.code == code
    return False


def _stands(
    scheduler: HeapScheduler, s: Competition[str, Any, bool], queues: dict[str, list[str]], live: set[str]
) -> bool:
    if scheduler._virtual != s.v or not invariant_holds(scheduler) or set(scheduler._live) != live:
        return False
    for name, meter in s.meter.items():
        user = scheduler._users.get(name)
        held = [r.request for r in user.queue if r.waits] if user else []
        if held != queues.get(name, []) or bool(held) != s.waiting[name]:
            return False
        if user is None:
            if meter > s.v:
                return False
        elif ((held or meter > s.v or user.meter > s.v) and user.meter != meter) or user.rate != s.weight[name]:
            return False
    return True


MODULE, FILE = "sfq_contracts", "sfq_contracts.py"


def functions(chosen: Sequence[Contract]) -> list[Any]:
    """The contracts as functions that CrossHair reads: PEP 316, and nothing but integers as arguments."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    vars(module).update(CONTRACTS=list(chosen), begins=begins, steps=steps)
    text = "\n".join(_function(at, contract) for at, contract in enumerate(chosen))
    linecache.cache[FILE] = len(text), None, text.splitlines(keepends=True), FILE  # where CrossHair looks for it
    exec(compile(text, FILE, "exec"), vars(module))
    return [vars(module)[contract.name] for contract in chosen]


def _function(at: int, contract: Contract) -> str:
    arguments = contract.arguments
    given = f"CONTRACTS[{at}], ({', '.join(arguments)})"
    return (
        f"def {contract.name}({', '.join(f'{argument}: int' for argument in arguments)}) -> bool:\n"
        f'    """\n    pre: begins({given})\n    post: _\n    """\n'
        f"    return steps({given})\n"
    )
