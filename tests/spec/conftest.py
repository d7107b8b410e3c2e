"""The command `sfq-spec`, as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from sfq_spec.cli import app


@dataclass(frozen=True)
class Told:
    """What a command said, and how it ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def command() -> Callable[..., Told]:
    """Run `sfq-spec` with these arguments and this standard input."""

    def run(*arguments: str, stdin: bytes = b"") -> Told:
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Told(result.exit_code, result.stdout, result.stderr)

    return run
