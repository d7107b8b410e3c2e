"""The command `sfq-spec`: each sub-command is a function in `sfq_spec.commands`, and a line here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from sfq_spec.commands.adapting import adapter
from sfq_spec.commands.auditing import audit
from sfq_spec.commands.claims import claims
from sfq_spec.commands.comparing import compare_
from sfq_spec.commands.console import Commands
from sfq_spec.commands.importing import import_, sample_
from sfq_spec.commands.running import run
from sfq_spec.commands.schemas import schema
from sfq_spec.commands.shadowing import shadow
from sfq_spec.commands.validating import validate_, vectors

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("import")(import_)
app.command("run")(run)
app.command("audit")(audit)
app.command("shadow")(shadow)
app.command("compare")(compare_)
app.command("claims")(claims)
app.command("sample")(sample_)
app.command("validate")(validate_)
app.command("adapter")(adapter)
app.command("vectors")(vectors)
app.command("schema")(schema)


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"sfq-spec {version('sfq-spec')}")
        except PackageNotFoundError:
            typer.echo("sfq-spec, not installed")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Start-time Fair Queueing as an executable specification.

    \b
    Try it:
      sfq-spec import sample | sfq-spec run - --table

    \b
    Exit status:
      0  done, or conforms
      1  does not conform
      2  no verdict: usage, bad input, or a scheduler that is broken
    """


def main() -> None:
    """The console entry."""
    app(prog_name="sfq-spec")
