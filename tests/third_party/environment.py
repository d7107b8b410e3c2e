"""Makes build/third-party: the environment of the libraries that need a newer Python than the project.

    python tests/third_party/environment.py

It looks for Python 3.12 or newer under the usual names, and in what pyenv has installed; SFQ_THIRD_PARTY_PYTHON names
another one. Everything is installed by the hashes in requirements.txt, and nothing is built.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
FOLDER = HERE.parents[1] / "build" / "third-party"
READY = FOLDER / "requirements.sha256"
NEWEST_FIRST = ("python3.14", "python3.13", "python3.12", "python3", "python")
ENOUGH = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))"


def candidates() -> Iterator[str]:
    """What might be a Python that is new enough."""
    if named := os.environ.get("SFQ_THIRD_PARTY_PYTHON"):
        yield named
        return
    yield sys.executable
    yield from NEWEST_FIRST
    try:
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return
    yield from (str(path) for path in sorted(Path(root).glob("versions/3.*/bin/python3")))


def is_enough(python: str) -> bool:
    """Whether it is there, and new enough, and can make an environment."""
    try:
        return subprocess.run([python, "-c", ENOUGH], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main() -> None:
    """Make it anew, unless it is there and its requirements are the same."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if READY.exists() and READY.read_text() == wanted:
        return
    python = next(filter(is_enough, candidates()), None)
    if python is None:
        sys.exit(
            "These libraries need Python 3.12 or newer, with its venv module, and none is here: install one, "
            "or name it with SFQ_THIRD_PARTY_PYTHON=/path/to/python3"
        )
    print(f"Preparing {FOLDER.relative_to(HERE.parents[1])}, once.")
    subprocess.run([python, "-m", "venv", "--clear", str(FOLDER)], check=True)
    pip = [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "-qq", "--require-hashes", "--only-binary", ":all:"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    READY.write_text(wanted)


if __name__ == "__main__":
    main()
