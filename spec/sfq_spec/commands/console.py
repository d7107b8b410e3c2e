"""How the commands speak: results on standard output, everything else on standard error, no traceback.

Exit status: 0 done, or conforms; 1 does not conform; 2 usage, bad input or a broken scheduler: no verdict.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TextIO

import typer
from rich.console import Console
from rich.progress import Progress
from typer.core import TyperGroup

from sfq_spec.conformance.audit.records import Unreadable
from sfq_spec.conformance.audit.sources import unpacked

NO_VERDICT = 2
PIPE_CLOSED = 141
"""As the shell reports a program that wrote to a pipe nobody reads."""

STANDARD = "-"
"""Standard input or output, in place of a file's name."""


class Failure(Exception):
    """What ends a command: one or two sentences that name the file, the line and the fix. Exit status 2."""


class Commands(TyperGroup):
    """A group of commands that end as the module says, whatever ends them."""

    program = "sfq-spec"
    """Under this name a `Failure` is told."""

    def make_context(self, *args: Any, **kwargs: Any) -> typer.Context:
        """What is written from here on can be written, the help as well."""
        spell_out(sys.stdout)
        return super().make_context(*args, **kwargs)  # type: ignore[return-value]

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the command. A `Failure` is told on standard error; a closed pipe ends it quietly."""
        try:
            try:
                return super().invoke(ctx)
            except Failure as failure:
                say(str(failure), self.program)
                raise typer.Exit(NO_VERDICT) from None
            except typer.BadParameter as bad:
                bad.message = plainly(bad.message)
                raise
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _write_no_more()
            raise typer.Exit(PIPE_CLOSED) from None
        except OSError as error:
            _write_no_more()
            say(f"the operating system does not go on: {error}", self.program)
            raise typer.Exit(NO_VERDICT) from None


def _write_no_more() -> None:
    """What is left for standard output goes nowhere, so that Python does not try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def spell_out(stream: TextIO) -> None:
    r"""From now on letters that a stream's encoding lacks are written as \u00fc, so that JSON stays JSON."""
    codecs.register_error("spelled out", _spelled_out)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="spelled out")


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def plainly(message: str) -> str:
    """What the library of the command line says of a value, without the words of the library under it."""
    message = message.removeprefix("Value error, ").partition(", unable to parse")[0]
    return message.replace("Input should be", "it should be", 1)


def say(text: str, program: str = Commands.program) -> None:
    """A line on standard error, under the name of the program."""
    print(f"{program}: {text}", file=sys.stderr, flush=True)


class Source:
    """A file that is being read, with a count of its lines. It may be compressed with gzip or zstd."""

    def __init__(self, name: str, stream: IO[bytes], size: int | None) -> None:
        self.name = name
        self.size = size
        """Bytes; None where it is not known beforehand."""
        self.line = 0
        """The number of the line read last, from 1."""
        self._stream = stream
        self._taken = self._given = 0
        """Bytes that were read of the file, and bytes of lines."""
        self._show: Callable[[int], None] = lambda done: None

    def watch(self, show: Callable[[int], None]) -> None:
        """From now on tell each time how many bytes have been read."""
        self._show = show

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line, cut at `limit` bytes; empty at the end. Raises `Failure` where it cannot be read."""
        try:
            line = self._lines.readline(limit)
        except OSError as error:
            raise Failure(f"{self.name}: cannot be read: {error.strerror}") from None
        except Unreadable as error:
            raise Failure(str(error)) from None
        self.line += 1 if line else 0
        self._given += len(line)
        self._show(min(self._given, self._taken))
        return line

    @cached_property
    def _lines(self) -> IO[bytes]:
        return unpacked(self.name, self._stream, self._take)

    def _take(self, done: int) -> None:
        self._taken = done


@contextmanager
def reading(name: str) -> Iterator[Source]:
    """A file, or standard input where the name is `-`. Raises `Failure` where it cannot be opened."""
    if name == STANDARD:
        yield Source("standard input", sys.stdin.buffer, None)
        return
    path = Path(name)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise Failure(f"{name}: cannot be read: {error.strerror}") from None
    with stream:
        yield Source(name, stream, path.stat().st_size if path.is_file() else None)


def must_be_writable(name: str) -> None:
    """Before a long run: a file can be written, and stays as it is. An empty name is none. Raises `Failure`.

    A pipe or a device is left alone, as its other end sees when it is opened.
    """
    if name in ("", STANDARD):
        return
    try:
        if not (path := Path(name)).exists():
            path = Path(os.path.realpath(name))
            path.open("xb").close()
            path.unlink()
        elif path.is_file() or path.is_dir():
            path.open("ab").close()
    except OSError as error:
        raise Failure(f"{name}: cannot be written: {error.strerror}") from None


@contextmanager
def writing(name: str) -> Iterator[IO[bytes]]:
    """A file, or standard output where the name is `-`. Raises `Failure` where it cannot be written."""
    if name == STANDARD:
        yield sys.stdout.buffer
        return
    try:
        with Path(name).open("wb") as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"{name}: cannot be written: {error.strerror}") from None


def copy(files: Mapping[str, bytes], to: str) -> None:
    """Write some files into a folder, the current one where `to` is empty, and print their paths. Raises `Failure`."""
    folder = Path(to or ".")
    if not folder.is_dir():
        raise Failure(f"{folder}: is not a folder that exists; make it first")
    for name, data in files.items():
        path = folder / name
        try:
            path.write_bytes(data)
        except OSError as error:
            raise Failure(f"{path}: cannot be written: {error.strerror}") from None
        print(path)


@contextmanager
def progress(what: str, total: int | None, *, printing: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, moved by a call with how much of the total is done.

    Only on a terminal, and not where results are being printed there.
    """
    if not total or not sys.stderr.isatty() or (printing and sys.stdout.isatty()):
        yield lambda done: None
        return
    console = Console(stderr=True)
    with Progress(console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=total)
        shown = 0

        def show(done: int) -> None:
            nonlocal shown
            if done - shown >= total / 200:
                shown = done
                bar.update(task, completed=done)

        yield show
