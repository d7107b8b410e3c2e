"""The program-aware policy, least attained service: what it guarantees, what it does not, and what can be repaired.

Services are attained service, in weighted tokens; n is a place in the range of all that wait, from 0 to 1, and w_s and
w_w are the weights of service and wait in the score, 0.8 and 0.2 where nothing is said.
"""

from __future__ import annotations

from sfq_spec.claims.claim import Claim

WHAT = "program-aware seed, “What it does”"
USE = "program-aware seed, “Why choose this policy?”"
DESIGN = "design LAS-*"

HOLDS: tuple[Claim, ...] = (
    Claim(
        "LAS-SELECT",
        "X",
        WHAT,
        "The program of greatest score goes, of equal scores that of the least id: the choice is a function of "
        "services, waits and ids, and nothing is left to chance.",
        "goes(u) ⇒ ∀o waiting: score_o < score_u ∨ (score_o = score_u ∧ u ≤ o)",
        "related.attained.is_chosen",
    ),
    Claim(
        "LAS-CLOCK",
        "X",
        DESIGN,
        "A pick reads the clock once: all services and waits are compared as of one moment.",
        "all services and waits of a pick are those of one t",
        "related.method.Situation.time",
    ),
    Claim(
        "LAS-PAIR",
        "P",
        f"{WHAT}, repaired",
        "Of two that wait the one that has attained less goes, whatever the waits, if service counts more than the "
        "wait; the wait decides between equals.",
        "w_w < w_s, a_i < a_j ⇒ i goes",
        "related.attained.less_goes_first",
    ),
    Claim(
        "LAS-RANGE",
        "P",
        f"{WHAT}, repaired",
        "Whoever goes, of any number, is no further above the least service than that part of the range of services "
        "which the weights allow: a quarter of it.",
        "goes(u) ⇒ n(a_u) ≤ w_w / w_s",
        "related.attained.near_the_least",
    ),
    Claim(
        "LAS-POSITIVE",
        "P",
        DESIGN,
        "Attained service is never below zero.",
        "a ≥ 0, used ≥ 0 ⇒ decay(a, t) ≥ 0 ∧ a + used ≥ 0",
        "related.attained.stays_positive",
    ),
    Claim(
        "LAS-HALVES",
        "P",
        "program-aware seed, “Trade-offs”",
        "Half-lives compose: it makes no difference how often a service is looked at. So do the factors of picks.",
        "decay(decay(a, s), t) = decay(a, s + t)",
        "related.attained.composes",
    ),
    Claim(
        "LAS-IDLE",
        "P",
        WHAT,
        "Decay never changes the order of two idle programs.",
        "a < b ⇒ decay(a, t) < decay(b, t); a = b ⇒ decay(a, t) = decay(b, t)",
        "related.attained.keeps_order",
    ),
    Claim(
        "LAS-KEPT",
        "P",
        WHAT,
        "No decay is lost, whatever was visited or added meanwhile: service is the sum of all charges, each halved for "
        "its own time.",
        "a(t) = Σ charge · 2^−((t − its time) / half-life)",
        "related.attained.remembers",
    ),
    Claim(
        "LAS-EVICT",
        "P",
        WHAT,
        "Of two that wait it cannot be seen whether one was forgotten that had attained less than the other, and it is "
        "seen where it had attained more and the other something. Among three there is no such threshold.",
        "0 < a_i < a_j ⇒ the same goes with a_i := 0; 0 < a_j < a_i ⇒ another goes",
        "related.attained.seen_if_forgotten",
    ),
    Claim(
        "LAS-FLIGHT",
        "X",
        WHAT,
        "In flight is dispatched less ended, and never negative, in whatever order a request is sent, given up, ended, "
        "ended again or told of under another name, and sweeps come between.",
        "in flight_u = dispatched_u − ended_u ≥ 0",
        "related.las_questions.Counted",
    ),
    Claim(
        "LAS-PLUGIN",
        "T",
        DESIGN,
        "The policy that runs does what its exact model does, in every mode; so does the settled one.",
        "the same history with a clock ⇒ the same dispatches, services within rounding, the same in flight",
        "related.las.Las",
    ),
    Claim(
        "SETTLED-ROOMS",
        "X",
        USE,
        "Charged at dispatch, free rooms are shared before anything has completed, and while one waits no other is "
        "sent more than two requests of the same cost.",
        "i, j waiting from the start ⇒ n_i − n_j ≤ 1; u waiting, n_u = 0 ⇒ n_o ≤ 2",
        "related.las_questions.Rooms",
    ),
    Claim(
        "SETTLED-OTHERS",
        "X",
        DESIGN,
        "Chosen by service, then by the longest wait, then by id, two programs stand as they do without a third.",
        "goes(u) of P, o ≠ u ⇒ goes(u) of P without o",
        "related.behaviour.Irrelevant",
    ),
    Claim(
        "SETTLED-LEAD",
        "X",
        USE,
        "Where estimates are right and nothing decays, nobody gets ahead of a program that waits throughout by more "
        "than two requests, however often it rests and returns: FAIR-LEAD, with a floor on return.",
        "j waiting throughout ⇒ W_i − W_j ≤ last_i(t2) + last_j(t1)",
        "related.behaviour.Fair",
    ),
)


def _not(id: str, seed: str, wording: str, instead: str, exactly: str, definition: str) -> Claim:
    return Claim(id, "E", seed, f"Not so: “{wording}”. {instead}", f"not: {exactly}", definition)


ERRATA: tuple[Claim, ...] = (
    _not(
        "LAS-LOWEST",
        WHAT,
        "programs with the lowest accumulated service score highest",
        "True of two. Of three the wait counts for up to a quarter of the range of services.",
        "goes(u) ⇒ ∀o waiting: a_u ≤ a_o",
        "related.attained.lowest_goes",
    ),
    _not(
        "LAS-HEAD",
        "program-aware seed, “What it is”",
        "aggregated per-program metrics rather than per-request attributes",
        "The wait of each oldest request is a term of the score, and decides between equals.",
        "the same services ⇒ the same goes",
        "related.attained.without_heads",
    ),
    _not(
        "LAS-STARVE",
        DESIGN,
        "while one waits no other is sent more than so many requests",
        "There is no such number: what is in flight counts for nothing, and whoever has attained least goes for ever.",
        "u waiting, n_u = 0 ⇒ n_o ≤ 2, or any other number",
        "related.las_questions.Starved",
    ),
    _not(
        "LAS-OTHERS",
        DESIGN,
        "who is chosen stays chosen when another, who is not, is taken away",
        "A third program with much service makes two others look alike, and the older head goes.",
        "goes(u) of P, o ≠ u ⇒ goes(u) of P without o",
        "related.behaviour.Irrelevant",
    ),
    _not(
        "LAS-ROOMS",
        USE,
        "rooms that are free before anything has completed are shared",
        "Service is charged at completion, and until then one program may get all of them.",
        "i, j waiting from the start, nothing completed ⇒ n_i − n_j ≤ 1",
        "related.las_questions.Rooms",
    ),
    _not(
        "LAS-FRESH",
        "program-aware seed, “Trade-offs”",
        "to take a new id for each request gains nothing",
        "Whoever does always comes first. So it is under the settled policy, and under SFQ.",
        "A waiting throughout, n_A = 0 ⇒ of those that come later under new ids at most 2 are sent",
        "related.las_questions.Fresh",
    ),
)
"""What one might take for granted and two sentences of the seed, each refuted by a shortest run or a least table."""

CLAIMS = (*HOLDS, *ERRATA)
