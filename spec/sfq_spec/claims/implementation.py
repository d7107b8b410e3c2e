"""The production scheduler does what the specification says."""

from __future__ import annotations

from sfq_spec.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "IMPL-REFINE",
        "X",
        "design IMPL-REFINE",
        "The heap scheduler answers every event as the machine does.",
        "heap stands for machine, the same event ⇒ the same answer, and heap' stands for machine'",
        "machine.step",
    ),
    Claim(
        "IMPL-ATOMIC",
        "X",
        "design IMPL-ATOMIC",
        "An exception at any point of any event leaves a state in which the machine could be.",
        "heap stands for machine, interrupted(e) ⇒ heap' stands for machine or for step(machine, e)",
        "machine.step",
    ),
    Claim(
        "IMPL-MEMORY",
        "T",
        "design IMPL-MEMORY",
        "Records are at most twice the users that have waited or been in debt at one time since upkeep, and 64.",
        "records ≤ 2 · max |{u: waiting(u) ∨ S_u > v}| + 64",
        "variants.forget",
    ),
    Claim(
        "IMPL-LOG",
        "T",
        "design IMPL-LOG",
        "An event compares no more entries of the heap than grows with the logarithm of the users who wait.",
        "T wait ⇒ comparisons ≤ 2 · log2(T) + 2, for a cancel on average",
        "competition.is_first",
    ),
)
