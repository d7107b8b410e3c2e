"""A policy under test, as a process behind the adapter protocol: the section `"policy": "las"`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sfq_spec.conformance import messages, protocol
from sfq_spec.conformance.las.case import LasCase, lines
from sfq_spec.conformance.las.model import MODES, Mode
from sfq_spec.conformance.protocol import Capabilities, Hello
from sfq_spec.conformance.subjects import NoVerdict, ProcessSubject, Skipped
from sfq_spec.trace import Answer

EXAMPLE = '{"protocol": 1, "policy": "las", "modes": ["release-0.10"], "implementation": {"name": "my-las"}}'


class LasStart(msgspec.Struct, frozen=True, tag_field="cmd", tag="start", forbid_unknown_fields=True):
    """The first message, which asks who is there."""

    protocol: int
    policy: Literal["las"] = "las"


class LasCapabilities(Capabilities, frozen=True, forbid_unknown_fields=True):
    """What a policy can do, of which `cancel`, `ties` and `priorities` count."""

    priorities: bool = False
    """Whether requests may wait at several priorities."""


class LasHello(Hello, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The answer to it."""

    capabilities: LasCapabilities = LasCapabilities()
    """What the policy can do."""
    policy: Literal["las"]
    """So that no scheduler is judged as what it is not."""
    modes: tuple[Mode, ...] = MODES
    """The versions that it can be; cases for others are skipped."""


class LasRun(msgspec.Struct, frozen=True, tag_field="cmd", tag="run", forbid_unknown_fields=True):
    """The message that asks for one case, to be played by a fresh policy."""

    seq: int
    id: str
    mode: Mode
    parameters: dict[str, float]
    events: tuple[dict[str, Any], ...]


_hello = msgspec.json.Decoder(LasHello).decode


class LasSubject(ProcessSubject):
    """The process."""

    start = msgspec.to_builtins(LasStart(protocol.VERSION))

    def _read_hello(self, line: bytes) -> Hello:
        return messages.read(_hello, LasHello, line, EXAMPLE)

    def lacks(self, case: LasCase) -> str:
        """Why it cannot take part in a case; empty where it can."""
        assert isinstance(self.hello, LasHello)
        able = self.hello.capabilities
        lacking = [name for name in case.requires if name == "ties" and able.ties != "user-id"]
        lacking += [name for name in case.requires if name == "cancel" and not able.cancel]
        lacking += [name for name in case.requires if name == "priorities" and not able.priorities]
        if case.mode not in self.hello.modes:
            lacking.insert(0, case.mode)
        return ", ".join(lacking)

    def play(self, case: LasCase) -> list[Answer] | Skipped:
        """What it answers in a case. Raises `NoVerdict`, and `Errored` of its kinds."""
        self._seq += 1
        message = msgspec.to_builtins(LasRun(self._seq, case.id, case.mode, case.parameters, case.events))
        return self._answers(case.id, message, [line.event for line in lines(case.events)])

    def smoke(self) -> None:
        """One request in, the same one out, then nothing. Raises `NoVerdict`: no policy gets this wrong."""
        assert isinstance(self.hello, LasHello)
        if not self.hello.modes:
            raise NoVerdict("the adapter has no mode: name those that the policy can be in `modes`")
        events: tuple[dict[str, Any], ...] = (
            {"event": "arrive", "user": "A", "request": "A1", "cost": 1, "time": 0},
            {"event": "dispatch", "time": 0},
            {"event": "dispatch", "time": 0},
        )
        told = self.play(LasCase("smoke", "", self.hello.modes[0], {}, (), (), events, ()))
        if isinstance(told, Skipped):
            raise NoVerdict(f"the smoke test was skipped ({told.reason}): there is nothing to judge")
        if [answer.dispatched for answer in told[1:]] != ["A1", None]:
            raise NoVerdict(
                "smoke test: one request of one program arrives, and two dispatches must give it and then null; "
                f"the answers were {[answer.dispatched for answer in told[1:]]}: look at the adapter first"
            )
