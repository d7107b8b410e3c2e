"""Answers that take minutes: asked by `sfq-prove deep`, and kept with the package.

An answer is kept with the fingerprint of its question, so that a question which has changed since has none. Which
solvers gave it, of which version, and when, is kept as well.
"""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from sfq_proofs.solver.induction import Answer
from sfq_proofs.solver.smtlib import ask, fingerprint, versions

FILE = Path(__file__).with_name("data") / "deep.json"
PATIENCE_MS = 1_200_000
"""How long a solver may think about one question here."""


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer."""

    lemma: str
    format: str
    question: str
    """The fingerprint of the text that was asked."""
    solver: str
    answer: Answer
    seconds: float


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of `sfq-prove deep`."""

    on: str
    """The day."""
    python: str
    solvers: Mapping[str, str]
    """The version of each."""
    answers: tuple[Kept, ...]


@cache
def bundled() -> Record:
    """The record that comes with the package. Raises `msgspec.MsgspecError` where the file is not one."""
    return msgspec.json.decode(resources.files("sfq_proofs").joinpath("data/deep.json").read_bytes(), type=Record)


def recorded(question: str, record: Record) -> dict[str, Answer]:
    """What each solver said of exactly this question; nothing where it was not asked."""
    key = fingerprint(question)
    return {kept.solver: kept.answer for kept in record.answers if kept.question == key}


Question = tuple[str, str, str, tuple[str, ...]]
"""The lemma, the format, the text, and the solvers that are asked."""


def asked(questions: Iterable[Question], tell: Callable[[str], None], patience: int = PATIENCE_MS) -> Record:
    """Ask everything, and write down what is said."""
    return Record(
        datetime.date.today().isoformat(),
        platform.python_version(),
        versions(),
        tuple(_answers(questions, tell, patience)),
    )


def _answers(questions: Iterable[Question], tell: Callable[[str], None], patience: int) -> Iterator[Kept]:
    for lemma, format, text, solvers in questions:
        for solver in solvers:
            tell(f"{format}: {lemma}: {solver}")
            started = time.perf_counter()
            answer = ask(solver, text, patience)
            yield Kept(lemma, format, fingerprint(text), solver, answer, round(time.perf_counter() - started, 2))


def encode(record: Record) -> bytes:
    """The file for a record."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
