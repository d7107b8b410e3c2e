"""`sfq-spec adapter new`: an adapter to begin with, whole but for the scheduler."""

from __future__ import annotations

from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from sfq_spec.commands.console import STANDARD, Failure, say


class Language(StrEnum):
    """What the adapter is written in."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    GO = "go"
    RUST = "rust"
    C = "c"


NAMES = {
    Language.PYTHON: "adapter.py",
    Language.JAVASCRIPT: "adapter.mjs",
    Language.GO: "adapter.go",
    Language.RUST: "adapter.rs",
    Language.C: "adapter.c",
}
COMMANDS = {
    Language.PYTHON: "sfq-spec validate -- python3 {0}",
    Language.JAVASCRIPT: "sfq-spec validate -- node {0}",
    Language.GO: "go build -o adapter {0} && sfq-spec validate -- ./adapter",
    Language.RUST: "rustc -O -o adapter {0} && sfq-spec validate -- ./adapter",
    Language.C: "cc -O2 -o adapter {0} && sfq-spec validate -- ./adapter",
}


class Action(StrEnum):
    """What to do."""

    NEW = "new"


def skeleton(language: Language) -> str:
    """The text of the adapter that a language begins with."""
    return resources.files("sfq_spec").joinpath(f"data/adapters/{language}.txt").read_text(encoding="utf-8")


def adapter(
    action: Annotated[Action, typer.Argument(help="new: write an adapter to begin with.")],
    language: Annotated[Language, typer.Option("--language", "-l", help="What the scheduler is written in.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - for standard output."),
    ] = None,
) -> None:
    """Write an adapter for `sfq-spec validate`: whole but for the scheduler, which it has a marked place for.

    It passes the smoke test as it stands, and does not conform: it sends requests in the order of their arrival.
    A file that is there already is left as it is.

    \b
    Examples:
      sfq-spec adapter new --language python
      sfq-spec adapter new --language c -o tests/adapter.c
    """
    text = skeleton(language)
    if output == STANDARD:
        print(text, end="")
        return
    path = Path(output or NAMES[language])
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Failure(f"{path}: is there already: name another file with -o") from None
    except (FileNotFoundError, NotADirectoryError):
        raise Failure(f"{path.parent}: is not a folder that exists; make it first") from None
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None
    say(f"written: {path}; put your scheduler into it, then: {COMMANDS[language].format(path)}")
