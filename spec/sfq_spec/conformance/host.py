"""The far side of `hosted`: a scheduler in Python, in a process of its own that speaks the adapter protocol.

Started by `HostedSubject` and by nobody else. In the place of an answer it says `{"broken": why}` where there can be
no verdict. Before each event it notes which one it is, so that the near side knows where a hang or a crash was.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.conformance.notes import Place, stack
from sfq_spec.conformance.subjects import Errored, NoVerdict, PythonSubject, Skipped
from sfq_spec.scheduler import SchedulerError, load
from sfq_spec.trace import Answer, decode

EARLY = 0.95
"""When the stack is written down, as a part of the patience: before the near side has lost it."""


def main() -> None:
    """Answer message after message. The arguments: module:factory, a folder for notes, the patience, how ties go."""
    name, folder, patience, ties = sys.argv[1:]
    asked, answered = _own_streams()
    place, frames = Place(Path(folder)), stack(Path(folder)).open("w", encoding="utf-8")
    faulthandler.enable(frames)
    subject: PythonSubject | None = None
    for line in asked:
        message = msgspec.json.decode(line)
        if message["cmd"] == "stop":
            break
        faulthandler.dump_traceback_later(float(patience) * EARLY, file=frames)
        try:
            if subject is None:
                subject = PythonSubject(name, load(name), any_tie=ties == "any", note=place.write).__enter__()
                said = msgspec.json.encode(subject.hello)
            else:
                said = _played(subject, message)
        except (NoVerdict, SchedulerError) as broken:
            said = msgspec.json.encode({"broken": str(broken).encode(errors="replace").decode()})
        faulthandler.cancel_dump_traceback_later()
        answered.write(said + b"\n")
        answered.flush()


def _played(subject: PythonSubject, message: Mapping[str, Any]) -> bytes:
    events = [decode(msgspec.json.encode(event)).event for event in message["events"]]
    try:
        answers = subject.run(message["id"], events)
    except Errored as error:
        return msgspec.json.encode({"seq": message["seq"], "errored": error.what.encode(errors="replace").decode()})
    assert not isinstance(answers, Skipped)
    try:
        return msgspec.json.encode({"seq": message["seq"], "answers": [_plain(answer) for answer in answers]})
    except UnicodeEncodeError:
        raise NoVerdict(f"case {message['id']}: an id among the answers is not Unicode") from None


def _plain(answer: Answer) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if answer.dispatched is not UNSET:
        said["dispatched"] = answer.dispatched
    if answer.refused is not UNSET:
        said["refused"] = answer.refused
    if answer.lag is not UNSET:
        said["lag"] = {user: _number(lag) for user, lag in answer.lag.items()}
    return said


def _number(number: Fraction | float) -> int | str:
    """As JSON holds it; as a text where the encoder has no room for it."""
    written = numbers.write(number)
    return written if isinstance(written, str) or written.bit_length() < 64 else str(written)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The streams of the protocol. The scheduler gets others: it reads nothing, and prints on standard error."""
    asked, answered = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return asked, answered


if __name__ == "__main__":
    main()
