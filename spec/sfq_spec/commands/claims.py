"""`sfq-spec claims`: the ledger, as a table, for machines, or one claim in full."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sfq_spec import ledger
from sfq_spec.claims import BY_ID
from sfq_spec.commands.console import Failure


def claims(
    claim: Annotated[str, typer.Argument(metavar="[CLAIM]", help="One claim in full, such as FAIR-LEAD.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="A list for machines.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="The page docs/claims.md.")] = False,
) -> None:
    """Print the claims: what each says, where it stands in the article, how strong its evidence is.

    Levels: P proved by two solvers for any number of users; X every reachable state of small instances; T tested by
    random runs; E the article's wording is refuted, and the repaired claim is proved. The evidence is what
    `sfq-prove ledger` found; `sfq-prove` finds it again.

    \b
    Examples:
      sfq-spec claims
      sfq-spec claims FAIR-LEAD
      sfq-spec claims --json | jq -r '.[] | select(.level == "E") | .claim'
    """
    if claim and claim not in BY_ID:
        raise Failure(f"there is no claim {claim}: the claims are {', '.join(BY_ID)}")
    chosen = [ledger.find(claim)] if claim else ledger.rows()
    if as_json:
        print(json.dumps([row.as_json() for row in chosen], indent=2, ensure_ascii=False))
    elif as_markdown:
        print(ledger.markdown(), end="")
    elif claim:
        print(ledger.in_full(chosen[0]))
    else:
        _print_table(chosen)


def _print_table(rows: list[ledger.Row]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            print(f"{row.claim.id:16} {row.claim.level}  {row.claim.seed:28} {row.claim.says}")
        return
    table = Table(header_style="bold")
    for name in ("claim", "level", "stands in", "says", "formula"):
        table.add_column(name)
    for row in rows:
        claim = row.claim
        table.add_row(claim.id, claim.level, claim.seed, claim.says, claim.formula)
    Console().print(table, markup=False)
