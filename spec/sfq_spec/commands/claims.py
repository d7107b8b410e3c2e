"""`sfq-spec claims`: the ledger, as a list, for machines, or one claim in full."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from sfq_spec import ledger
from sfq_spec.claims import BY_ID
from sfq_spec.commands.console import Failure
from sfq_spec.commands.listing import unknown


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
        raise unknown("claim", claim, BY_ID, "sfq-spec claims lists them")
    if as_markdown and (claim or as_json):
        raise Failure(f"--markdown is the page of all claims, and goes without {claim or '--json'}")
    chosen = [ledger.find(claim)] if claim else ledger.rows()
    if as_json:
        print(json.dumps([row.as_json() for row in chosen], indent=2, ensure_ascii=False))
    elif as_markdown:
        print(ledger.markdown(), end="")
    elif claim:
        print(ledger.in_full(chosen[0]))
    else:
        for row in chosen:
            print(f"{row.claim.id:16} {row.claim.level}  {row.claim.seed:28} {row.claim.says}")
