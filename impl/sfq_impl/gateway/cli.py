"""The command `sfq-gateway`."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import sys
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from sfq_impl.fleet.simulation.engine import Pace
from sfq_impl.gateway import logs, simulating
from sfq_impl.gateway.config import NoFile, Settings, load
from sfq_impl.gateway.listening import CannotListen
from sfq_impl.gateway.reading import ConfigError, reference
from sfq_impl.gateway.serving import serve as serve_
from sfq_impl.gateway.serving import shadowed
from sfq_impl.gateway.shadowing import NoShadow, find

REFUSED = 2

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Config = Annotated[Path, typer.Option("--config", "-c", help="The YAML file with the servers.", show_default=True)]
FLEET = Path("fleet.yaml")
BEGIN = """Name the file with -c. It may begin with two lines:
  servers:
    - url: http://127.0.0.1:8000"""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"sfq-gateway {version('sfq-spec')}")
        raise typer.Exit


@app.callback()
def _about(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """A fair queue in front of OpenAI-compatible servers.

    \b
    Start with a file of two lines:
      servers:
        - url: http://127.0.0.1:8000

    \b
    Exit status:
      0    done, or stopped by a signal
      2    the configuration or the usage is wrong, the address is taken, or a file cannot be written
      130  interrupted (demo and simulate)
    """


@app.command(short_help="Serve until a signal says stop.")
def serve(
    config: Config = FLEET,
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Hold every decision against the specification, in a process beside.")
    ] = False,
) -> None:
    """Serve until a signal says stop: SIGTERM or Ctrl-C lets what waits be served, SIGHUP reads the file again.

    With --shadow a decision that the specification would have made otherwise is a line in the log, a metric, and a
    saved trace for `sfq-spec audit`.
    """
    settings = _load(config, shadow=shadow)
    formatter = logs.begin(settings.logging.level, settings.secrets)
    try:
        asyncio.run(serve_(settings, config, formatter))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
    except SystemExit:  # the HTTP server could not start, and has told why
        raise typer.Exit(REFUSED) from None
    except CannotListen as error:
        logs.tell(logging.ERROR, "cannot listen", listen=settings.listen, why=str(error))
        raise typer.Exit(REFUSED) from None
    except OSError as error:
        if error.filename is None:
            raise
        print(f"sfq-gateway: {error.filename}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(REFUSED) from None


@app.command(short_help="Say what is wrong with the file.")
def check(config: Config = FLEET) -> None:
    """Read the file and say what is wrong with it, or what it comes to."""
    settings = _load(config)
    names = ", ".join(server.called for server in settings.servers)
    room = sum(server.requests for server in settings.servers if not server.drain)
    servers, requests = counted(len(settings.servers), "server"), counted(room, "request")
    typer.echo(f"{config}: right. {servers} ({names}), {requests} at once, {settings.policy}.")
    if settings.weights and not settings.policy.weighs:
        typer.echo(f"`weights` do not count under {settings.policy}: they change nothing in who is next.")


@app.command("settings", short_help="All that may be set in the file.")
def settings_() -> None:
    """All that may be set in the file, as a table in Markdown."""
    for line in reference(Settings):
        typer.echo(line)


@app.command(short_help="What a stream of requests would come to.")
def simulate(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="The stream: a file, or - for standard input.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default="sfq, or that of --config", help="Who is next; more are compared."),
    ] = None,
    servers: Annotated[
        int | None,
        typer.Option(min=1, show_default="1, or those of --config", help="How many servers there are, all alike."),
    ] = None,
    requests: Annotated[
        int | None, typer.Option(min=1, show_default="8", help="Requests at once on each of these servers.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, show_default="not counted", help="Tokens that fit on each of these servers.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A fleet's YAML: its servers, limits, weights and policy.")
    ] = None,
    prefill: Annotated[float, typer.Option(min=0, help="Seconds for a token of input.")] = 0.0002,
    decode: Annotated[float, typer.Option(min=0, help="Seconds for a token of output.")] = 0.02,
    crowd: Annotated[float, typer.Option(min=0, help="What each other request on a server adds, as a part.")] = 0.1,
    speed: Annotated[float, typer.Option(min=0.001, help="How many times as fast as in the stream they come.")] = 1.0,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATTERN", show_default="heavy and light", help="Users to sum up, as paid='p-*'."),
    ] = None,
    users: Annotated[int, typer.Option(min=0, help="How many users are shown.")] = 10,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the trace, for `sfq-spec audit`; one policy only.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result for machines.")] = False,
) -> None:
    """What a stream of requests would come to: the real dispatcher on a virtual clock, before simulated servers.

    WORKLOAD is a script of `sfq-spec import` (ServeGen, Azure, Mooncake, VTC), a trace that a gateway has recorded, or
    a table: CSV with a header, or JSON Lines, of time (seconds), user, input_tokens and output_tokens, and where they
    are known cost and priority. The same stream comes to the same figures.

    Told are, for groups of users and for each, waits and shares; throughput; and the worst lead: how far one user got
    ahead of another that waited throughout, in units of cost. Without --group the `heavy` users are the fewest that
    ask for half of all.

    \b
    Examples:
      sfq-spec sample | sfq-gateway simulate - --policy fifo --policy sfq --requests 4
      sfq-spec import mooncake trace.jsonl | sfq-gateway simulate - --servers 8
      sfq-gateway simulate requests.csv --config fleet.yaml --speed 2 --group paid='p-*' --group free='f-*'
      sfq-gateway simulate requests.csv --record trace.jsonl && sfq-spec audit trace.jsonl

    \b
    Exit status:
      0  done
      2  the workload, the configuration or the usage is wrong
    """
    settings = _load(config) if config else None
    rooms = [(f"server-{number}", requests or 8, tokens) for number in range(1, (servers or 1) + 1)]
    prices = (1.0, 2.0)
    if settings is not None:
        prices = settings.cost.input_weight, settings.cost.output_weight
        if servers is None:
            rooms = [(each.called, each.requests, each.tokens) for each in settings.servers if not each.drain]
    wish = simulating.Wish(rooms, Pace(0.0, prefill, decode, crowd), *prices, speed, settings)
    found = []
    try:
        for name, number in (("prefill", prefill), ("decode", decode), ("crowd", crowd), ("speed", speed)):
            if not math.isfinite(number):
                raise ValueError(f"--{name}: is {number}; it is a finite number")
        if settings is not None and servers is None and (requests is not None or tokens is not None):
            raise ValueError("--requests and --tokens go with --servers; without it --config tells the servers")
        told = [simulating.group_of(each) for each in group or []]
        compared = simulating.policies(policy or [], settings)
        if record is not None and len(compared) > 1:
            raise ValueError("--record: the trace of one policy; name one --policy")
        if record is not None:
            simulating.writable(record)
        stream = simulating.load_workload(workload, wish.pace)
        for each in compared:
            with simulating.progress(each.name, len(stream.asked)) as show:
                figures = simulating.simulated(stream, wish, each, record, show)
            grouped = simulating.groups(figures, stream, wish, told)
            found.append(simulating.as_json(each.name, figures, grouped))
        for name in [name for name, users_ in grouped.items() if not users_]:
            print(f"sfq-gateway: --group {name}: no user of the stream matches", file=sys.stderr)
    except (ValueError, OSError) as error:
        told_of = getattr(error, "filename", None)
        said = f"{told_of}: cannot be written: {error.strerror}" if told_of and isinstance(error, OSError) else error
        print(f"sfq-gateway: {said}", file=sys.stderr)
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if stream.left_out:
        left_out = counted(stream.left_out, "request")
        print(f"sfq-gateway: {left_out} left out, as nothing tells what they took", file=sys.stderr)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for number, result in enumerate(found):
        print("\n" * (number > 0) + "\n".join(simulating.lines(result, users, simulating.columns())))


@app.command(short_help="See fair queueing at work, on this machine.")
def demo(
    seconds: Annotated[float, typer.Option(help="How long each of the two policies is shown.", min=8, max=300)] = 15,
) -> None:
    """Two real small engines on this machine, one user who floods and three who do not: FIFO, then fair queueing."""
    try:
        from sfq_impl.gateway import demo as demo_
        from sfq_impl.gateway.engine import DidNotStart
        from sfq_impl.gateway.showing import conclude, showing
    except ImportError as missing:
        needed = f"the demonstration needs the package {missing.name}"
        print(f"{needed}: pip install 'sfq-spec[gateway,demo]'", file=sys.stderr)
        raise typer.Exit(REFUSED) from None
    with TemporaryDirectory() as folder, showing(seconds) as show:
        try:
            found = asyncio.run(demo_.run(Path(folder), seconds, show))
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise typer.Exit(130) from None
        except DidNotStart as error:
            print(f"sfq-gateway: {error}", file=sys.stderr)
            raise typer.Exit(REFUSED) from None
    conclude(found)


def _load(config: Path, *, shadow: bool = False) -> Settings:
    try:
        settings = shadowed(load(config)) if shadow else load(config)
        if settings.shadow is not None:
            find()
        return settings
    except NoFile as error:
        print(f"sfq-gateway: {error}\n{BEGIN}", file=sys.stderr)
        raise typer.Exit(REFUSED) from None
    except NoShadow as error:
        print(f"sfq-gateway: {error}", file=sys.stderr)
        raise typer.Exit(REFUSED) from None
    except ConfigError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(REFUSED) from None


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}" + "s" * (number != 1)


def main() -> None:
    """The console entry."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of users where the terminal cannot write them
    try:
        try:
            app(prog_name="sfq-gateway")
        finally:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left can be written nowhere
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        print(f"sfq-gateway: the operating system does not go on: {error}", file=sys.stderr)
        sys.exit(REFUSED)
