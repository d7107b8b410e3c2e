"""Makes build/vllm: the environment of a real vLLM on processors alone, about 3.5 GB.

    python tests/integrations/vllm/environment.py

Needs Python 3.11 on Linux with x86-64. The versions are those of requirements.txt; packages that vLLM names but does
not need to serve text (torchaudio, torchvision, torchcodec) are left out, so pip is not asked what depends on what.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
FOLDER = HERE.parents[2] / "build" / "vllm"
READY = FOLDER / "requirements.sha256"
PYTHON = FOLDER / "bin" / "python"


def main() -> None:
    """Make it anew, unless it is there and its requirements are the same."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if READY.exists() and READY.read_text() == wanted:
        return
    if sys.version_info[:2] != (3, 11) or sys.platform != "linux":
        sys.exit("The versions of vLLM here are for Python 3.11 on Linux: name it, make vllm PYTHON=python3.11")
    print(f"Preparing {FOLDER.relative_to(HERE.parents[2])}, once: about 3.5 GB, and three minutes.", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    pip = [str(PYTHON), "-m", "pip", "install", "-qq", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    READY.write_text(wanted)


if __name__ == "__main__":
    main()
