"""`sfq-spec shadow`: the specification reads along while a scheduler works, and says at once where they part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sfq_spec.commands.auditing import Placement, Ties
from sfq_spec.commands.console import STANDARD, Failure, reading, say
from sfq_spec.conformance.audit.shadow import Divergence, Shadow
from sfq_spec.trace import LONGEST_LINE
from sfq_spec.words import counted

MOST_SAVED = 20
"""Reproductions that one run saves; later divergences are told without one."""


def shadow(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace as it is written, or - for standard input.")],
    placement: Annotated[
        Placement, typer.Option(help="May others overtake the users whom a dispatch names in `held`?")
    ] = Placement.STALL,
    ties: Annotated[Ties, typer.Option(help="Whom a tie between equal meters may go to.")] = Ties.USER_ID,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where a reproduction of each divergence is saved.")
    ] = None,
) -> None:
    """Follow a scheduler while it works, and tell each divergence at once.

    TRACE is JSON Lines, events with their answers, as they happen; plain, or compressed with gzip or zstd. Where an
    answer is not the machine's, a line of JSON is printed: the sentence why, what was legal, the claims that it breaks,
    the last events before, and the file with the shortest trace that shows it, for `sfq-spec audit`. After a
    divergence, or where something is missing or cannot be read, the rest is passed over until nobody waits; there all
    are level, and the following begins anew. The last line counts what was seen.

    Whoever leaves lines out says so by a line {"gap": N}, once nobody waits.

    \b
    Examples:
      tail -n +1 -f trace.jsonl | sfq-spec shadow -
      sfq-spec shadow trace.jsonl --placement overtake --save divergences

    \b
    Exit status:
      0  no divergence
      1  there was one
      2  usage, or nothing could be followed
    """
    following = Shadow(placement is Placement.OVERTAKE, ties is Ties.ANY)
    if save is not None:
        _make(save)
    say(f"following {'standard input' if trace == STANDARD else trace}")
    with reading(trace) as source:
        while line := source.readline(LONGEST_LINE + 1):
            if (found := following.take(line)) is not None:
                told = found.as_json()
                if isinstance(found, Divergence) and save is not None and following.divergences <= MOST_SAVED:
                    told["saved"] = _save(save, found)
                print(json.dumps(told, ensure_ascii=False), flush=True)
    seen = {"events": following.events, "passed_over": following.passed_over, "divergences": following.divergences}
    print(json.dumps(seen), flush=True)
    if following.divergences:
        raise typer.Exit(1)
    if not following.events:
        of = f" of {counted(following.passed_over, 'line')}" if following.passed_over else ", for there are no events"
        raise Failure(f"nothing could be followed{of}: TRACE is a trace of sfq-spec")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{folder}: cannot be made: {error.strerror}") from None


def _save(folder: Path, found: Divergence) -> str | None:
    """The file of a reproduction; None where it cannot be written, which ends nothing."""
    number = 1
    while True:
        path = folder / f"divergence-{number:04}.jsonl"
        try:
            with path.open("xb") as file:
                file.writelines(found.lines)
            return str(path)
        except FileExistsError:
            number += 1
        except OSError as error:
            say(f"{path}: cannot be written: {error.strerror}")
            return None
