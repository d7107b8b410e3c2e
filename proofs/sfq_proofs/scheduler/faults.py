"""Schedulers with a fault in them: a text in a copy of the source of `sfq_impl`, replaced by another.

Every way of showing that the heap scheduler is right is measured by how many of these it finds. A text that is no
longer in the source is an error, so the lists cannot go stale in silence.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import sfq_impl
from sfq_impl.heap import HeapScheduler

Make = type[HeapScheduler]
MODULES = ("quantities", "state", "heap")


@dataclass(frozen=True)
class Fault:
    """What is wrong, and the text of one module that is replaced."""

    name: str
    module: str
    right: str
    wrong: str


def sources(*faults: Fault) -> dict[str, str]:
    """The modules with these faults in them, by their names; they import each other as `planted_…`."""
    found = {name: (Path(sfq_impl.__path__[0]) / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}
    for fault in faults:
        if fault.right not in found[fault.module]:
            raise ValueError(f"{fault.name}: {fault.right!r} is no longer in {fault.module}.py")
        found[fault.module] = found[fault.module].replace(fault.right, fault.wrong, 1)
    for other in MODULES:
        for name in MODULES:
            found[name] = found[name].replace(f"from sfq_impl.{other} import", f"from planted_{other} import")
    return found


def plant(*faults: Fault) -> Make:
    """The scheduler, made from a copy of its source with these faults in it."""
    for name, source in sources(*faults).items():
        copy = sys.modules[f"planted_{name}"] = ModuleType(f"planted_{name}")
        exec(compile(source, f"planted_{name}.py", "exec"), copy.__dict__)
    return sys.modules["planted_heap"].HeapScheduler  # type: ignore[no-any-return]


def slack(records: int) -> Fault:
    """No fault, but a scheduler that keeps so few spare records that small runs come to the bound."""
    return Fault(f"slack {records}", "state", "SLACK = 64", f"SLACK = {records}")


SEEN = (
    Fault(
        "the user with the greatest weight first",
        "heap",
        "start, user, record = heap[0]",
        "start, user, record = max(heap)",
    ),
    Fault("v is not advanced", "heap", "self._virtual = start\n", "pass\n"),
    Fault("v is advanced to the finish", "heap", "self._virtual = start\n", "self._virtual = finish\n"),
    Fault("no charge", "heap", "(finish, user, record)", "(start, user, record)"),
    Fault("the charge is not remembered", "heap", "record.meter = finish", "record.meter = start"),
    Fault("weights are ignored", "heap", "start + cost * per_cost if", "start + cost * self._scale if"),
    Fault("last in, first out", "heap", "queue.append(new)", "queue.appendleft(new)"),
    Fault("returns where it left", "heap", "if record.meter < self._virtual:", "if False:"),
    Fault("returns at v", "heap", "if record.meter < self._virtual:", "if True:"),
    Fault("always rejoins", "heap", "if not queue:\n", "if True:\n"),
    Fault("one who is gone comes back twice", "heap", "if user in self._gone:", "if False:"),
    Fault("the last request is charged to nobody", "heap", "heappop(heap)", "heapreplace(heap, heap[0])"),
    Fault("a leaver does not count for the reset", "heap", "self._leave(finish)", "self._leave(start)"),
    Fault("withdrawn requests are sent", "heap", "if record.withdrawn:", "if False:"),
    Fault("one who is gone is selected", "heap", "if self._gone:\n", "if False:\n"),
    Fault("cancel of the last one does not reset", "heap", "self._leave(record.meter)", "pass"),
    Fault(
        "an id in flight may come again",
        "heap",
        "if request not in live:",
        "if request not in live or not live[request].waits:",
    ),
    Fault("a cancelled id may not come again", "heap", "del self._live[request]", "pass"),
    Fault("a request that waits can be completed", "heap", "and not live[request].waits", ""),
    Fault("a completed id may not come again", "heap", "            del live[request]", "            pass"),
    Fault("a weight counts from the next record on", "heap", "if user in self._users:", "if False:"),
    Fault("a weight is taken for its inverse", "heap", "rate(self._scale, exact)", "rate(self._scale, 1 / exact)"),
    Fault("a new cost is not read", "heap", "found.cost = cost", "pass"),
    Fault("a new cost for what is in flight", "heap", "if found is None or not found.waits:", "if found is None:"),
    Fault(
        "the reset goes too far",
        "state",
        "max(self._virtual, self._greatest)",
        "max(self._virtual, self._greatest) + 1",
    ),
    Fault("no reset", "state", "if not self._heap:\n", "if False:\n"),
    Fault("the greatest is the latest", "state", "if meter > self._greatest:", "if True:"),
    Fault("debts are forgotten", "state", "if user.queue or user.meter > v", "if user.queue"),
    Fault("those who wait are forgotten", "state", "if user.queue or user.meter > v", "if user.meter > v"),
    Fault(
        "v stays where it is when meters move",
        "state",
        "heap, virtual, origin, scale",
        "heap, self._virtual, origin, scale",
    ),
    Fault(
        "the origin stays when meters move",
        "state",
        "heap, virtual, origin, scale",
        "heap, virtual, self._origin, scale",
    ),
    Fault("the heap is left when meters move", "state", "= users, heap, virtual,", "= users, self._heap, virtual,"),
    Fault(
        "a new record forgets the weight", "state", "return scale if weight is None else", "return scale if True else"
    ),
    Fault(
        "no heap without those who are gone",
        "state",
        "heapify(heap)\n        self._heap, self._gone",
        "heap.reverse()\n        self._heap, self._gone",
    ),
    Fault("meters are rounded", "quantities", "*(_least_scale(meter, scale) for meter in set(less))", "1"),
    Fault("a dispatch leaves the heap out of order", "heap", "heapreplace(heap, (", "heap.__setitem__(0, ("),
    Fault("a user who leaves is merely struck out", "heap", "heappop(heap)\n", "heap.pop(0)\n"),
    Fault("a user who comes is merely put last", "heap", "heappush(self._heap, (", "self._heap.append(("),
    Fault("a new user begins at 0", "state", "User(name, self._virtual,", "User(name, 0,"),
    Fault("who withdraws all is not noted as gone", "heap", "self._gone.add(record.name)", "pass"),
    Fault("the greatest stays when meters move", "state", "self._greatest = greatest", "pass"),
    Fault(
        "no debt counts after forgetting",
        "state",
        "for user in self._users.values() if not user.queue)])",
        "for user in ())])",
    ),
)
"""What can be seen from outside: a dispatch, a refusal, v, a lag, or who waits is another."""

HIDDEN = (
    Fault("a scale that does not fit", "quantities", "math.lcm(*fits, *", "math.lcm(*"),
    Fault("withdrawn requests pile up", "state", "if 2 * user.withdrawn > len(queue):", "if False:"),
    Fault("those who are gone pile up", "state", "if 2 * len(gone) > len(heap):", "if False:"),
    Fault("a weight of 1 is kept", "heap", "if exact == 1:", "if False:"),
    Fault(
        "the scheduler stays busy", "heap", "        found.cost = cost", "        found.cost, self._busy = cost, True"
    ),
)
"""What only the representation invariant tells at once; from outside it is seen late, or as memory or time."""

COMMON = SEEN + HIDDEN
"""What every way of IMPL-REFINE is measured on."""

NOT_DESCRIBED = {
    "last in, first out": "queues",
    "withdrawn requests are sent": "queues",
    "withdrawn requests pile up": "queues",
    "a new cost is not read": "queues",
    "a new cost for what is in flight": "refusals",
    "an id in flight may come again": "refusals",
    "a cancelled id may not come again": "refusals",
    "a request that waits can be completed": "refusals",
    "a completed id may not come again": "refusals",
    "the scheduler stays busy": "refusals",
    "those who are gone pile up": "memory",
    "a weight of 1 is kept": "memory",
    "a scale that does not fit": "the form of a number, not its value",
}
"""What the description of `simulation` does not speak of, and so cannot find."""

NOT_EXECUTED = {
    "v stays where it is when meters move": "rebasing",
    "the origin stays when meters move": "rebasing",
    "the heap is left when meters move": "rebasing",
    "the greatest stays when meters move": "rebasing",
    "meters are rounded": "rebasing",
    "a scale that does not fit": "rebasing",
}
"""What CrossHair cannot execute, and so cannot find."""

WAYS: Mapping[str, Mapping[str, str]] = {
    "runs beside the machine": {},
    "every order of events": {},
    "symbolic execution": NOT_EXECUTED,
    "induction over a description": NOT_DESCRIBED,
}
"""The four ways of IMPL-REFINE, and which of the common faults each does not find, and why."""

ATOMIC = (
    Fault("arrive: the request stays", "heap", "live.pop(request, None)", "pass"),
    Fault("dispatch: the request is lost", "heap", "record.queue.appendleft(request)", "pass"),
    Fault("dispatch: it waits twice", "heap", "if not record.queue or record.queue[0] is not request:", "if True:"),
    Fault("dispatch: the charge stays", "heap", "virtual, start, True", "virtual, record.meter, True"),
    Fault("dispatch: v stays", "heap", "= virtual, start", "= self._virtual, start"),
    Fault("dispatch: it counts as sent", "heap", "virtual, start, True", "virtual, start, False"),
    Fault("dispatch: nothing is undone", "heap", "if request is not None:", "if False:"),
    Fault(
        "cancel: refused while busy",
        "heap",
        "if found is not None and",
        "if not found.waits: raise _refusal(request, found)\n            if",
    ),
    Fault(
        "cancel: gone before it is withdrawn",
        "heap",
        "del self._live[request]\n",
        "found.waits = False\n                del self._live[request]\n",
    ),
    Fault("recover: the heap", "state", "users, heap, set(), v", "users, self._heap, set(), v"),
    Fault("recover: the reset", "state", "v = self._virtual if heap else", "v = self._virtual if True else"),
    Fault("recover: the rates", "state", "self._rate(name, self._scale), queue)", "user.rate, queue)"),
    Fault("recover: the withdrawn", "state", "if live.get(request.request) is request", "if True"),
    Fault("recover: the scheduler stays busy", "state", "_forget()\n        self._busy = False", "_forget()"),
    Fault("move the meters one by one", "state", "= users, heap, virtual,", "= users, self._heap, virtual,"),
)
"""What goes wrong after an exception out of nowhere."""

MEMORY = (
    Fault("nobody is ever forgotten", "state", "if len(self._users) >= self._limit:", "if False:"),
    Fault("more are allowed", "state", "2 * len(self._users) + SLACK", "3 * len(self._users) + SLACK"),
    Fault("fewer are allowed, and it looks too often", "state", "2 * len(self._users) + SLACK", "len(self._users) + 1"),
    Fault("upkeep forgets nobody", "state", "        self._forget()\n        base", "        base"),
    Fault("the idle are kept", "state", "if user.queue or user.meter > v", "if user.queue or user.meter >= v"),
)
"""Records that are kept too long, or looked at too often."""

BY_NAME: Mapping[str, Fault] = {fault.name: fault for fault in (*COMMON, *ATOMIC, *MEMORY)}
