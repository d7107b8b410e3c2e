"""Notes that a process leaves in a folder, to be read when it does not answer any more: where it was."""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_PACKAGE = Path(__file__).resolve().parents[1]
_NUMBER = struct.Struct("<q")


class Place:
    """The number of the event that is being played, from 1; 0 before the first. Memory of both processes."""

    def __init__(self, folder: Path) -> None:
        path = folder / "place"
        if not path.exists():
            path.write_bytes(_NUMBER.pack(0))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _NUMBER.size)

    def write(self, number: int) -> None:
        """Note it."""
        _NUMBER.pack_into(self._shared, 0, number)

    def read(self) -> int:
        """What was noted last."""
        number: int = _NUMBER.unpack_from(self._shared)[0]
        return number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._shared.close()


def stack(folder: Path) -> Path:
    """The file for the stacks of all threads, as `faulthandler` writes them."""
    return folder / "stack"


def line(text: str) -> str:
    """Where the thread that plays events was: `(file.py, line 3, in dispatch)`; empty where that is not written."""
    for thread in re.split(r"\n\s*\n|(?=^(?:Current )?[Tt]hread 0x)", text, flags=re.MULTILINE):
        frames = [(Path(path), number, name) for path, number, name in _FRAME.findall(thread)]
        if any(path == _PACKAGE / "conformance" / "host.py" for path, _, _ in frames):
            own = [frame for frame in frames if _PACKAGE not in frame[0].parents]
            if own and own[0][1]:
                path, number, name = own[0]
                return f"({path.name}, line {number}, in {name})"
    return ""
