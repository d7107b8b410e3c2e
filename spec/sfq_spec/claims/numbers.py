"""Floats: what of the claims survives rounding (article §7.2)."""

from __future__ import annotations

from sfq_spec.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "FLOAT-BAND",
        "P",
        "article §3.1, §7.2",
        "In IEEE-754, rounded to nearest, v never decreases, no waiting meter is below v, and none is above fl(v + "
        "last): all that it takes is that rounded sums are monotone. That is shown in binary16, binary32 and "
        "binary64.",
        "v' ≥ v; u waiting ⇒ S_u ≥ v; ∀u: S_u ≤ fl(v + last_u)",
        "rounding.band",
    ),
    Claim(
        "FLOAT-EXACT",
        "P",
        "article §7.2",
        "With whole charges nothing is rounded while v + δ_max ≤ 2^53, in binary64; 2^11 in binary16, 2^24 in "
        "binary32.",
        "S, c whole, S + c ≤ 2^p ⇒ fl(S + c) = S + c",
        "rounding.is_exact",
    ),
    Claim(
        "FLOAT-STRICT",
        "P",
        "article §2.2, repaired",
        "Below 2^53 a charge of at least 1 raises a meter, in binary64; at 2^53 it need not.",
        "S < 2^p, c ≥ 1 ⇒ fl(S + c) > S",
        "rounding.strictly_grows",
    ),
    Claim(
        "REBASE-EXACT",
        "P",
        "article §7.2, repaired",
        "To subtract v from a meter is exact from v to 2v, where all meters in the band are once v has reached the "
        "largest charge. Elsewhere it reverses no order, but may make two meters the same.",
        "v ≤ S ≤ 2v ⇒ fl(S − v) = S − v; v ≤ S ≤ S' ⇒ fl(S − v) ≤ fl(S' − v)",
        "rounding.keeps_order",
    ),
    Claim(
        "FLOAT-STALL",
        "E",
        "article §2.2",
        "In binary64 a meter of 2^53 stands still under a charge of 1: its user is dispatched for ever, while "
        "another waits.",
        "fl(2^53 + 1) = 2^53, and dispatch(u): state' = state",
        "rounding.rounded",
    ),
)
