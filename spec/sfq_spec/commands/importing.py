"""`sfq-spec import` and `sfq-spec sample`: files of real requests become scripts of events."""

from __future__ import annotations

import io
import sys
from enum import StrEnum
from fractions import Fraction
from typing import Annotated

import typer

from sfq_spec import numbers, sample
from sfq_spec.commands.console import STANDARD, Failure, Source, must_be_writable, progress, reading, say, writing
from sfq_spec.importers import FORMATS, azure
from sfq_spec.importers.pool import Pool, Prices, Service
from sfq_spec.importers.rows import SECOND, Imported
from sfq_spec.trace import BadLine, Dispatch, encode
from sfq_spec.words import counted

SAMPLE = "sample"


class Format(StrEnum):
    """The formats that are read, and the sample that needs no file."""

    SERVEGEN = "servegen"
    AZURE = "azure"
    MOONCAKE = "mooncake"
    VTC = "vtc"
    SAMPLE = "sample"


def seconds(text: str) -> Fraction:
    """An exact number of seconds, from 0 up."""
    try:
        number = numbers.read(text)
    except numbers.NotANumber as error:
        raise typer.BadParameter(str(error)) from None
    if not isinstance(number, Fraction) or number < 0:
        raise typer.BadParameter(f"{text} is not a number of seconds, from 0 up")
    return number


def import_(
    format: Annotated[Format, typer.Argument(metavar="FORMAT", help="What the file is.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, or - for standard input.")] = "",
    servers: Annotated[
        int | None,
        typer.Option(min=1, show_default="what the file keeps busy", help="Requests served at a time."),
    ] = None,
    input_seconds: Annotated[
        Fraction, typer.Option(parser=seconds, metavar="X", help="Seconds of a server per input token.")
    ] = "0.0002",  # type: ignore[assignment]
    output_seconds: Annotated[
        Fraction, typer.Option(parser=seconds, metavar="X", help="Seconds of a server per output token.")
    ] = "0.02",  # type: ignore[assignment]
    input_weight: Annotated[int, typer.Option(min=0, help="What an input token costs.")] = 1,
    output_weight: Annotated[int, typer.Option(min=0, help="What an output token costs.")] = 2,
    users: Annotated[
        int | None, typer.Option(min=1, show_default="1", help="azure only: deal the requests out.")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Where the script goes.")] = STANDARD,
) -> None:
    """Turn a file of real requests into a script of events.

    The script is JSON Lines, one event a line, for `sfq-spec run`. A request costs its weighted tokens, and at
    least 1. A pool of servers decides when a dispatch becomes possible: a request holds a server for input tokens
    times --input-seconds plus output tokens times --output-seconds. By default the pool is as large as the file
    keeps busy on average, rounded up. Each event has its time in seconds. Every request is served to the end.

    FILE may be compressed with gzip or zstd. The format `sample` takes none: it is a small file in the format servegen
    that comes with the package.

    \b
    Users:
      servegen   the client
      azure      the file knows none: all requests are of the user azure, or are dealt out by --users
      mooncake   the conversation: the first block of the prefix that not all requests of the file share
      vtc        the client; requests that the log reports as rejected are left out

    \b
    Examples:
      sfq-spec import sample | sfq-spec run - --table
      sfq-spec import servegen requests.csv --servers 64 -o script.jsonl
      sfq-spec import azure trace.csv --users 20 | sfq-spec run -
    """
    if users is not None and format is not Format.AZURE:
        raise typer.BadParameter(f"only azure takes it: {format} tells its users itself", param_hint="--users")
    must_be_writable(out)
    imported, name = _read(format, file)
    if users is not None:
        imported = azure.deal(imported, users)
    pool = Pool(servers, input_seconds, output_seconds)
    service = Service(imported.arrivals, pool, Prices(input_weight, output_weight))
    with writing(out) as stream, progress("serving", len(imported.arrivals), printing=out == STANDARD) as show:
        dispatched = 0
        for entry in service.script():
            stream.write(encode(entry))
            if isinstance(entry.event, Dispatch):
                dispatched += 1
                show(dispatched)
    _summarise(name, imported, service)


def sample_(
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = sample.SEED,
) -> None:
    """Print the sample that comes with the package.

    It is a file in the format servegen: ten minutes of a dozen customers, with heavy tails, bursts, a customer
    that goes idle and returns, and one that floods. It is generated, and the same for the same seed.

    \b
    Examples:
      sfq-spec sample > requests.csv
      sfq-spec sample --seed 7 | sfq-spec import servegen - | sfq-spec run -
    """
    sys.stdout.buffer.write(sample.generate(seed).encode())


def _read(format: Format, file: str) -> tuple[Imported, str]:
    if format is Format.SAMPLE:
        if file:
            raise Failure(f"import sample takes no FILE: to read {file}, say import servegen {file}")
        data = sample.bundled()
        return FORMATS[Format.SERVEGEN](Source("the sample", io.BytesIO(data), len(data))), "the sample"
    if not file:
        raise Failure(f"import {format} needs a FILE, or - for standard input; the format sample needs none")
    with reading(file) as source, progress("reading", source.size) as show:
        source.watch(show)
        try:
            return FORMATS[format](source), source.name
        except BadLine as bad:
            raise Failure(f"{source.name}: {bad}") from None


def _summarise(name: str, imported: Imported, service: Service) -> None:
    seen = service.congestion
    elapsed = max(seen.elapsed, 1)
    users = len({arrival.user for arrival in imported.arrivals})
    if imported.left_out:
        say(f"{name}: {counted(imported.left_out, 'rejected request')} left out")
    say(
        f"{name}: {counted(len(imported.arrivals), 'request')} of {counted(users, 'user')}, "
        f"{counted(service.servers, 'server')}, "
        f"{seen.elapsed / SECOND:,.0f} s; somebody waits {seen.congested / elapsed:.0%} of the time, "
        f"{seen.waited / elapsed:,.1f} requests on average, {seen.longest:,} at most"
    )
