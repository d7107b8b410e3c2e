"""What commands that hold named things have in common: list them, show one, copy all; and a name that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from sfq_spec.commands.console import Failure, copy, say


class Action(StrEnum):
    """What to do with them."""

    LIST = "list"
    SHOW = "show"
    COPY = "copy"


def unknown(kind: str, name: str, known: Iterable[str], see: str) -> Failure:
    """There is none of this name: which may be meant, or where to see them all. An empty name is a missing one."""
    if not name:
        return Failure(f"which {kind}? {see}")
    return Failure(f"there is no {kind} {name!r}: {meant(name, known) or see}")


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that is like this one, as a question; empty where none is. Small and capital letters are alike."""
    names = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), names, 1)
    return f"did you mean {names[close[0]]}?" if close else ""


def refuse_more(what: str, command: str) -> None:
    """A list of all takes no name. Raises `Failure`."""
    if what:
        raise Failure(f"list takes nothing more: sfq-spec {command} show {what} shows one")


def copied(files: Mapping[str, bytes], to: str, command: str) -> None:
    """Copy into a folder that must be named, and tell which files there were others before. Raises `Failure`."""
    if not to:
        raise Failure(f"copy to which folder? sfq-spec {command} copy . takes the current one")
    paths = [Path(to) / name for name in files]
    replaced = [path for path in paths if path.is_file() and _differs(path, files[path.name])]
    copy(files, to)
    for path in replaced:
        say(f"{path}: was there with other contents, and is replaced")


def _differs(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() != data
    except OSError:
        return True
