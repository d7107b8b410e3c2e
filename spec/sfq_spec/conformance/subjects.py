"""Schedulers under test: in this process, or as a process of their own behind the adapter protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from sfq_spec.conformance import messages, protocol, shorthand
from sfq_spec.conformance.child import LONGEST_LINE, Child, Ended, Silent, TooLong
from sfq_spec.conformance.protocol import Capabilities, Hello, Implementation, Told
from sfq_spec.scheduler import METHODS, Broken, Scheduler, SchedulerError, has_lag, lag, method, play
from sfq_spec.trace import CODES, Answer, Cancel, Dispatch, Event, Recost, SetWeight, fields_of

LONGEST_SENTENCE = 300
"""Letters of an error that are told in one line."""
PATIENCE = 10.0
"""Seconds for one message of an adapter."""


class NoVerdict(Exception):
    """The scheduler cannot be judged: its adapter is broken. The message says how, and what to do."""


class Errored(NoVerdict):
    """The scheduler failed in a run: it raised what is no refusal. `validate` makes that a case that fails.

    Whoever wants answers and nothing else may take it as what it is besides: there are none.
    """

    def __init__(self, message: str, what: str, place: int | None = None, *, speaker: str = "") -> None:
        super().__init__(message)
        self.what = what
        """What it said, without the case."""
        self.sentence = f"{speaker}{_in_one_line(what)}"
        """The line of it that tells most."""
        self.place = place
        """The place of the event in which it failed, from 0; None where that is not known."""

    @classmethod
    def at(cls, id: str, events: Sequence[Event], place: int, what: str) -> Self:
        """It failed in the event at this place."""
        run = shorthand.write(events[: place + 1])
        return cls(f"case {id}, event {place + 1}: {what}\nThe run: {run}", what, place)


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
        """The answers of a fresh scheduler to a whole run. Raises `NoVerdict`, and `Errored` of its kinds."""


class PythonSubject:
    """A scheduler in this process, made anew for every run; its methods tell its capabilities.

    It is trusted: where it hangs, so does this. `HostedSubject` trusts nobody.
    """

    def __init__(
        self,
        name: str,
        factory: Callable[[], Scheduler],
        *,
        any_tie: bool = False,
        note: Callable[[int], None] = lambda number: None,
    ) -> None:
        """`note` is told the number of each event, from 1, before it is played."""
        self._factory = factory
        self._name = name
        self._any_tie = any_tie
        self._note = note
        self.hello = Hello(protocol.VERSION, Implementation(name, language="python"))

    def __enter__(self) -> Self:
        made = self._made()
        try:
            able = {kind: method(made, kind) is not None for kind in METHODS}
            tells_lags = has_lag(made)
        except SchedulerError as broken:
            raise NoVerdict(str(broken)) from broken
        capabilities = Capabilities(
            cancel=able[Cancel],
            weights=able[SetWeight],
            recost=able[Recost],
            lag=tells_lags,
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
            self._note(place + 1)
            try:
                told = play(scheduler, event)
                if self.hello.capabilities.lag:
                    told = replace(told, lag=lag(scheduler))
            except SchedulerError as broken:
                error = Errored.at(id, events, place, str(broken))
                raise (error if _raised(broken) else NoVerdict(str(error))) from broken
            answers.append(told)
        return answers

    def _made(self) -> Scheduler:
        try:
            return self._factory()
        except SchedulerError as broken:
            raise NoVerdict(str(broken)) from broken


class ProcessSubject:
    """A scheduler as a process. Every message has its time; what comes late, cut off, or wrong is told as it is."""

    speaker = "the adapter"
    """Whom the reasons speak of."""
    late = "is each line flushed? --patience gives more time"
    """What to do where no answer comes."""
    failed = "the scheduler failed: "
    """What stands before an error that is told."""
    start = protocol.START
    """The first message."""

    def __init__(self, command: Sequence[str], *, patience: float = PATIENCE) -> None:
        self._command = list(command)
        self._patience = patience
        self._seq = 0
        self.hello = Hello(protocol.VERSION, Implementation(command[0]))

    def __enter__(self) -> Self:
        try:
            self._child = self._started()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise NoVerdict(f"{self._command[0]} cannot be started: {why}") from None
        try:
            self.hello = self._ask(self.start, self._read_hello, "start")
            if self.hello.protocol != protocol.VERSION:
                raise NoVerdict(f"{self.speaker} speaks protocol {self.hello.protocol}, and this is {protocol.VERSION}")
        except BaseException:
            self._child.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.stop(b"" if error else _encoded(protocol.STOP))

    def run(self, id: str, events: Sequence[Event]) -> list[Answer] | Skipped:
        """See `Subject.run`."""
        self._seq += 1
        return self._answers(id, protocol.run(self._seq, id, [fields_of(event) for event in events]), events)

    def _read_hello(self, line: bytes) -> Hello:
        return messages.hello(line)

    def _answers(self, id: str, message: dict[str, Any], events: Sequence[Event]) -> list[Answer] | Skipped:
        """What it answers to the message that asks for a case. Raises as `run`."""
        what = f"case {id}"
        told: Told = self._ask(message, messages.told, what)
        if told.seq != self._seq:
            raise self._broken(f"{what}: the answer is to message {told.seq}, and {self._seq} was asked")
        if sum(part is not UNSET for part in (told.answers, told.skipped, told.errored)) > 1:
            raise self._broken(f"{what}: there is more than one of `answers`, `skipped` and `errored`: which holds?")
        if told.errored is not UNSET:
            raise Errored(f"{what}: {self.failed}{told.errored}{self._said()}", told.errored, speaker=self.failed)
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

    def _started(self) -> Child:
        return Child(self._command)

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
            raise self._broken(f"{what}: {self.speaker} does not read what it is asked") from None
        except Ended:
            raise self._broken(f"{what}: {self.speaker} has ended") from None
        try:
            return self._child.receive(self._patience)
        except Silent:
            late = f"no answer within {self._patience:g} s: {self.late}"
            told = f"{self.speaker} has ended without an answer" if self._child.ending() else late
            raise self._broken(f"{what}: {told}") from None
        except Ended:
            raise self._broken(f"{what}: {self.speaker} has ended without an answer") from None
        except TooLong:
            raise self._broken(f"{what}: the answer is a line of more than {LONGEST_LINE:,} bytes") from None

    def _broken(self, what: str) -> NoVerdict:
        ending = self._child.ending()
        return NoVerdict(f"{what}{'; ' if ending else ''}{ending}{self._said()}")

    def _said(self) -> str:
        said = self._child.errors()
        return f"\nIt said on standard error:\n{said}" if said else ""


def _fault(event: Event, answer: Answer) -> str:
    """What keeps this from being an answer to such an event; empty where nothing does."""
    if answer.refused is not UNSET:
        codes = ", ".join(CODES)
        return "" if answer.refused in CODES else f"refuses with {answer.refused!r}: the codes are {codes}"
    if isinstance(event, Dispatch):
        return "does not say `dispatched`: a request, or null" if answer.dispatched is UNSET else ""
    return "" if answer.dispatched is UNSET else "says `dispatched`: are answers in the order of the events?"


def _raised(broken: SchedulerError) -> bool:
    """Whether it comes from an exception of the scheduler, and not from what it returned."""
    return isinstance(broken, Broken) and broken.__cause__ is not None


def _in_one_line(text: str) -> str:
    """Of Python's tracebacks the last line, of others the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it does not say how"]
    told = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    return told if len(told) <= LONGEST_SENTENCE else told[: LONGEST_SENTENCE - 3] + "..."


def _kind(event: Event) -> str:
    return str(event.__struct_config__.tag)


def _encoded(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode(message) + b"\n"
