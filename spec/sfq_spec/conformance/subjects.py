"""Schedulers under test: in this process, or as a process of their own behind the adapter protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from sfq_spec.conformance import protocol, shorthand
from sfq_spec.conformance.child import LONGEST_LINE, Child, Ended, Silent, TooLong
from sfq_spec.conformance.protocol import Capabilities, Hello, Implementation, Told
from sfq_spec.scheduler import METHODS, Scheduler, SchedulerError, lag, play
from sfq_spec.trace import CODES, Answer, Cancel, Dispatch, Event, Recost, SetWeight, fields_of

PATIENCE = 10.0
"""Seconds for one message of an adapter."""


class NoVerdict(Exception):
    """The scheduler cannot be judged: its adapter is broken. The message says how, and what to do."""


@dataclass(frozen=True)
class Skipped:
    """The scheduler does not take part in a case."""

    reason: str


class Subject(Protocol):
    """A scheduler under test; used as a context, and started by it."""

    hello: Hello

    def __enter__(self) -> Self:
        """Start it. Raises `NoVerdict`."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop it."""

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        """The answers of a fresh scheduler to a whole run. Raises `NoVerdict`."""


class PythonSubject:
    """A scheduler in Python, made anew for every run; its methods tell its capabilities."""

    def __init__(self, name: str, factory: Callable[[], Scheduler], *, any_tie: bool = False) -> None:
        self._factory = factory
        self._name = name
        self._any_tie = any_tie
        self.hello = Hello(protocol.VERSION, Implementation(name, language="python"))

    def __enter__(self) -> Self:
        made = self._made()
        able = {kind: any(callable(getattr(made, name, None)) for name in names) for kind, names in METHODS.items()}
        capabilities = Capabilities(
            cancel=able[Cancel],
            weights=able[SetWeight],
            recost=able[Recost],
            lag=getattr(made, "lag", None) is not None,
            ties="any" if self._any_tie else "user-id",
            numbers="rational",
        )
        self.hello = replace(self.hello, capabilities=capabilities)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        """See `Subject.run`."""
        scheduler = self._made()
        answers = []
        for place, event in enumerate(events):
            try:
                told = play(scheduler, event)
                if self.hello.capabilities.lag:
                    told = replace(told, lag=lag(scheduler))
            except SchedulerError as broken:
                run = shorthand.write(events[: place + 1])
                raise NoVerdict(f"case {id}, event {place + 1}: {broken}\nThe run: {run}") from broken
            answers.append(told)
        return answers

    def _made(self) -> Scheduler:
        try:
            return self._factory()
        except SchedulerError as broken:
            raise NoVerdict(str(broken)) from broken


class ProcessSubject:
    """A scheduler as a process. Every message has its time; what comes late, cut off, or wrong is told as it is."""

    def __init__(self, command: Sequence[str], *, patience: float = PATIENCE) -> None:
        self._command = list(command)
        self._patience = patience
        self._seq = 0
        self.hello = Hello(protocol.VERSION, Implementation(command[0]))

    def __enter__(self) -> Self:
        try:
            self._child = Child(self._command)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise NoVerdict(f"{self._command[0]} cannot be started: {why}") from None
        try:
            self.hello = self._ask(protocol.START, _hello, "start")
            if self.hello.protocol != protocol.VERSION:
                raise NoVerdict(f"the adapter speaks protocol {self.hello.protocol}, and this is {protocol.VERSION}")
        except BaseException:
            self._child.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.stop(b"" if error else _encoded(protocol.STOP))

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        """See `Subject.run`."""
        self._seq += 1
        what = f"case {id}"
        told: Told = self._ask(protocol.run(self._seq, id, [fields_of(event) for event in events]), _told, what)
        if told.seq != self._seq:
            raise self._broken(f"{what}: the answer is to message {told.seq}, and {self._seq} was asked")
        if sum(part is not UNSET for part in (told.answers, told.skipped, told.errored)) > 1:
            raise self._broken(f"{what}: there is more than one of `answers`, `skipped` and `errored`: which holds?")
        if told.errored is not UNSET:
            raise self._broken(f"{what}: the scheduler failed: {told.errored}")
        if told.skipped is not UNSET:
            where = f" ({told.issue})" if told.issue is not UNSET else ""
            return Skipped(f"{told.skipped}{where}")
        answers = () if told.answers is UNSET else told.answers
        if len(answers) != len(events):
            raise self._broken(f"{what}: {len(answers)} answers to {len(events)} events: give one for each")
        for place, (event, answer) in enumerate(zip(events, answers, strict=True), 1):
            if fault := _fault(event, answer):
                raise self._broken(f"{what}: answer {place} is to an event `{_kind(event)}`, and {fault}")
        return list(answers)

    def _ask(self, message: dict[str, Any], decode: Callable[[bytes], Any], what: str) -> Any:
        line = self._reply(_encoded(message), what)
        try:
            return decode(line)
        except (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError) as error:
            shown = line[:80].decode(errors="replace").rstrip()
            hint = "" if line.lstrip().startswith(b"{") else "; what is not an answer goes to standard error"
            raise self._broken(f"{what}: the answer {shown!r} is not what the protocol says: {error}{hint}") from None

    def _reply(self, message: bytes, what: str) -> bytes:
        try:
            self._child.send(message, self._patience)
        except Silent:
            raise self._broken(f"{what}: the adapter does not read what it is asked") from None
        except Ended:
            raise self._broken(f"{what}: the adapter has ended") from None
        try:
            return self._child.receive(self._patience)
        except Silent:
            late = f"no answer within {self._patience:g} s: is each line flushed? --patience gives more time"
            told = "the adapter has ended without an answer" if self._child.ending() else late
            raise self._broken(f"{what}: {told}") from None
        except Ended:
            raise self._broken(f"{what}: the adapter has ended without an answer") from None
        except TooLong:
            raise self._broken(f"{what}: the answer is a line of more than {LONGEST_LINE:,} bytes") from None

    def _broken(self, what: str) -> NoVerdict:
        ending, said = self._child.ending(), self._child.errors()
        told = f"\nIt said on standard error:\n{said}" if said else ""
        return NoVerdict(f"{what}{'; ' if ending else ''}{ending}{told}")


def _fault(event: Event, answer: Answer) -> str:
    """What keeps this from being an answer to such an event; empty where nothing does."""
    if answer.refused is not UNSET:
        codes = ", ".join(CODES)
        return "" if answer.refused in CODES else f"refuses with {answer.refused!r}: the codes are {codes}"
    if isinstance(event, Dispatch):
        return "does not say `dispatched`: a request, or null" if answer.dispatched is UNSET else ""
    return "" if answer.dispatched is UNSET else "says `dispatched`: are answers in the order of the events?"


def _kind(event: Event) -> str:
    return str(event.__struct_config__.tag)


def _encoded(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode(message) + b"\n"


_hello = msgspec.json.Decoder(Hello).decode
_told = msgspec.json.Decoder(Told, float_hook=Decimal).decode
