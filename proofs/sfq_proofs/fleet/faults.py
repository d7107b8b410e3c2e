"""Dispatchers with a fault in them: a text of one module, replaced by another, and who must notice it.

A text that is no longer in the source is an error, so the list cannot go stale in silence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest import mock

import sfq_impl
from sfq_impl.fleet.dispatcher import Dispatcher


@dataclass(frozen=True)
class Fault:
    """What is wrong, and how it is told when it shows."""

    name: str
    module: str
    right: str
    wrong: str
    claim: str
    """The claim that it breaks, with which one of the sentences about a run must begin."""
    shows: str = ""
    """What that sentence must hold besides."""

    def is_told(self, wrong: Iterable[str]) -> bool:
        """Whether one of the sentences about a run is about it."""
        return any(said.startswith(self.claim) and self.shows in said for said in wrong)


WHERE = {
    "fleet/placement": ("sfq_impl.fleet.simulation.run", "Server"),
    "fleet/recording": ("sfq_impl.fleet.simulation.run", "Memory"),
    "fleet/policy": ("sfq_impl.fleet.simulation.run", "Sfq"),
    "overtaking": ("sfq_impl.fleet.policy", "OvertakingScheduler"),
}
"""Of each module but that of the dispatcher: who uses it in a simulation, and what of it."""


@contextmanager
def planted(fault: Fault) -> Iterator[Callable[..., Dispatcher]]:
    """The dispatcher of a world with the fault in it."""
    path = Path(sfq_impl.__path__[0]) / f"{fault.module}.py"
    source = path.read_text(encoding="utf-8")
    if source.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: {fault.right!r} is {source.count(fault.right)} times in {fault.module}.py")
    name = "faulty_" + fault.module.rpartition("/")[2]
    copy = ModuleType(name)
    with mock.patch.dict(sys.modules, {name: copy}):
        exec(compile(source.replace(fault.right, fault.wrong), f"{name}.py", "exec"), copy.__dict__)
        if fault.module == "fleet/dispatcher":
            yield copy.Dispatcher
        else:
            module, used = WHERE[fault.module]
            with mock.patch(f"{module}.{used}", getattr(copy, used)):
                yield Dispatcher


def _in(module: str, *faults: tuple[str, ...]) -> tuple[Fault, ...]:
    return tuple(Fault(name, module, *rest) for name, *rest in faults)


FAULTS = (
    *_in(
        "fleet/dispatcher",
        (
            "forgets the room of who is cancelled at its turn",
            'self._finish(request, turn.result(), "cancelled", None)',
            "pass",
            "FLEET-ONCE",
        ),
        (
            "charges again for a move",
            "        self._free(slot.server, request)\n",
            "        self._free(slot.server, request)\n"
            "        self.policy.complete(request, 'failed', None)\n"
            "        self.policy.arrive(request)\n"
            "        while self.policy.next() is not request:\n"
            "            self.policy.dispatch(self.policy.next())\n"
            "        self.policy.dispatch(request)\n",
            "FLEET-METER",
        ),
        (
            "keeps the old room on a move",
            "        self._free(slot.server, request)\n",
            "",
            "FLEET-ONCE",
        ),
        (
            "sets the result of a turn that was cancelled",
            "if self._turns[first.id][1].cancelled():",
            "if False:",
            "FLEET-ONCE",
            "InvalidStateError",
        ),
        (
            "dispatches what was dispatched",
            "turn = self._turns.pop(request.id)[1]",
            "turn = self._turns[request.id][1]",
            "FLEET-ONCE",
        ),
        (
            "overtakes by accident",
            "            else:\n                return\n\n    def _move_those",
            "            elif not (fit := [r for r, t in self._turns.values()"
            " if self.placement.place(r) and not t.done()]):\n"
            "                return\n"
            "            else:\n"
            "                r = fit[0]\n"
            "                self.policy.cancel(r)\n"
            "                self.policy.dispatch = lambda request: None\n"
            "                self._dispatch(r, self.placement.place(r))\n"
            "                del self.policy.dispatch\n\n    def _move_those",
            "FLEET-ORDER",
        ),
        (
            "charges who has waited too long",
            "        self.policy.cancel(request)\n",
            "        if ending == 'expired' and self.policy.next() is request:\n"
            "            self.policy.dispatch(request)\n"
            "            self.policy.complete(request, 'failed', None)\n"
            "        else:\n"
            "            self.policy.cancel(request)\n",
            "FLEET-METER",
        ),
        (
            "gives the charge of a failure back",
            "        self.policy.complete(request, outcome, usage)\n",
            "        self.policy.complete(request, outcome, usage)\n"
            "        record = self.policy.scheduler._users.get(request.user)\n"
            "        if outcome == 'failed' and record and not record.queue:\n"
            "            record.meter -= request.cost * record.rate\n",
            "FLEET-METER",
        ),
        (
            "lets nobody go when a room is free",
            '        """Somebody has left: others may go."""\n        self._pump()\n',
            "",
            "ORDER-WORK",
        ),
        (
            "is never idle again",
            "            self._idle.set()\n\n    def _tell",
            "            pass\n\n    def _tell",
            "FLEET-ONCE",
            "wake",
        ),
        (
            "swallows a cancellation",
            "                turn.exception()\n            raise",
            "                turn.result()\n            raise",
            "FLEET-ONCE",
            "left, and saw",
        ),
        (
            "expires what was dispatched",
            "if request.dispatched is None and request.ended is None:\n            waited",
            "if request.ended is None:\n            waited",
            "FLEET-ONCE",
        ),
        ("loses the new room of who is cancelled", "slot.server = found.result()", "pass", "FLEET-ONCE"),
        (
            "counts the withdrawn as waiting",
            "        self._held.drop(request.user)\n        self.queue.leave(request)\n",
            "        self._held.drop(request.user)\n",
            "FLEET-ONCE",
            "the queue",
        ),
        (
            "waits for a server that is gone",
            "if not self.placement.could_place(request) and not turn.done():",
            "if False:",
            "FLEET-ONCE",
            "wake",
        ),
        (
            "lets who has lost its server wait for ever",
            "        self._moving = left\n",
            "        self._moving = left if len(left) < 2 else deque([left[0]])\n",
            "FLEET-ONCE",
        ),
        (
            "does not see that there is more room",
            "            server.release(request)\n            self._has_more_room = True\n",
            "            server.release(request)\n",
            "ORDER-WORK",
        ),
        (
            "remembers as held who has gone",
            "        self._held.drop(request.user)\n",
            "",
            "FLEET-ONCE",
        ),
        (
            "ends a request that ended",
            "        self._tell(lambda observer: observer.ended(request, outcome, usage))\n",
            "        self._tell(lambda observer: observer.ended(request, outcome, usage))\n"
            "        if outcome == 'cancelled':\n"
            "            self._tell(lambda observer: observer.ended(request, outcome, usage))\n",
            "FLEET-ONCE",
        ),
        (
            "says nothing of who is turned away",
            "        if not turn.done():\n            turn.set_exception(reason)\n\n    def _pump",
            "        pass\n\n    def _pump",
            "FLEET-ONCE",
            "wake",
        ),
        (
            "leaves a timer's task behind",
            "        if not self._turns and not self.in_flight:\n            self._idle.set()\n\n",
            "        if not self._turns and not self.in_flight:\n            self._idle.set()\n"
            "            asyncio.ensure_future(asyncio.sleep(9))\n\n",
            "FLEET-ONCE",
            "tasks are left",
        ),
        (
            "fails in silence",
            "        self._last_dispatch = request.dispatched = now\n",
            "        self._last_dispatch = request.dispatched = now\n"
            "        lost = asyncio.get_running_loop().create_future()\n"
            "        lost.set_exception(ValueError('nobody looks'))\n",
            "FLEET-ONCE",
            "nobody looks",
        ),
    ),
    *_in(
        "fleet/placement",
        (
            "has room for one more",
            "len(self.held) >= self.most_requests:",
            "len(self.held) > self.most_requests:",
            "FLEET-CAP",
        ),
        (
            "does not count tokens",
            "math.inf if self.most_tokens is None else self.most_tokens - self.tokens",
            "math.inf if self.most_tokens is None else self.most_tokens",
            "FLEET-CAP",
        ),
        ("keeps the tokens", "        self.tokens -= request.tokens\n", "", "FLEET-CAP", "counts"),
    ),
    *_in(
        "fleet/recording",
        (
            "does not write down who expired",
            "        self._note(Cancel(_text(request.id)), ended=request.ended)\n",
            "        if request.ended != 'expired':\n"
            "            self._note(Cancel(_text(request.id)), ended=request.ended)\n",
            "FLEET-ORDER",
        ),
        (
            "does not write down who was held",
            "held=[_text(user) for user in request.overtook])",
            "held=[])",
            "FLEET-ORDER",
        ),
        (
            "does not write down weights",
            "        self._note(SetWeight(_text(user), weight))\n",
            "        pass\n",
            "FLEET-ORDER",
        ),
    ),
    *_in(
        "overtaking",
        (
            "does not rejoin",
            "                record.meter = self._virtual\n            heappush",
            "                pass\n            heappush",
            "FLEET-METER",
        ),
        (
            "resets while somebody is held",
            "        if not self._held:\n            super()._leave(meter)",
            "        if True:\n            super()._leave(meter)",
            "FLEET-METER",
        ),
    ),
)
