"""llama.cpp's own server for the tiny model, in this process or in one of its own.

    python -m sfq_impl.gateway.engine MODEL SLOTS

prints where it listens, and serves until its input is closed. It needs `xllamacpp`, from the extra `demo`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import xllamacpp

CONTEXT_OF_A_SLOT = 1024
"""Tokens."""


def start(model: Path, slots: int = 4, *, embeddings: bool = False) -> xllamacpp.Server:
    """A server with so many requests at once, on a free port; `listening_address` tells where."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_parallel = slots
    params.n_ctx = CONTEXT_OF_A_SLOT * slots
    params.cpuparams.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    if embeddings:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.verbosity = -1
    return xllamacpp.Server(params)


class DidNotStart(Exception):
    """A part of the demonstration that ended before it was of use."""


class Process:
    """A server in a process of its own, which can be killed."""

    def __init__(self, model: Path, slots: int = 4) -> None:
        """Raises `DidNotStart`."""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "sfq_impl.gateway.engine", str(model), str(slots)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._child.stdout is not None
        self.url = self._child.stdout.readline().strip()
        if not self.url:
            raise DidNotStart(f"the engine did not start: status {self._child.wait()}")

    def kill(self) -> None:
        """At once, with all that it holds."""
        self._child.kill()
        self._child.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


if __name__ == "__main__":
    server = start(Path(sys.argv[1]), int(sys.argv[2]))
    print(server.listening_address, flush=True)
    sys.stdin.read()
