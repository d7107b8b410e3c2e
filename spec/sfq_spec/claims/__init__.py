"""The ledger: every claim, where it stands in the article, what it says, and how strong its evidence is.

Levels: P proved for any number of users and any horizon by two solvers; X every reachable state of small instances;
T tested by randomised runs; E a wording is refuted by a trace, and it is told what holds instead: of the article's
wordings it is proved.
"""

from __future__ import annotations

from sfq_spec.claims import fairness, fleet, implementation, numbers, order, program_aware, rules
from sfq_spec.claims.claim import LEVELS, Claim, Level
from sfq_spec.errata import ERRATA

__all__ = ["BY_ID", "CLAIMS", "LEVELS", "Claim", "Level"]

CLAIMS: tuple[Claim, ...] = (
    *rules.CLAIMS,
    *fairness.CLAIMS,
    *order.CLAIMS,
    *numbers.CLAIMS,
    *implementation.CLAIMS,
    *fleet.CLAIMS,
    *program_aware.CLAIMS,
    *(
        Claim(
            erratum.id,
            "E",
            erratum.seed,
            f"Not as it stands: “{erratum.wording}”. {erratum.repaired}",
            f"not: {erratum.exactly}",
            erratum.definition,
        )
        for erratum in ERRATA
    ),
)
"""Every claim that a command of this repository shows."""

BY_ID = {claim.id: claim for claim in CLAIMS}
