"""What the order depends on, and what may be done without changing it (article §5, §7)."""

from __future__ import annotations

from sfq_spec.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "ORDER-SPEED",
        "T",
        "article §5.3",
        "The choice does not depend on clock times, the number of servers, or how long anything ran.",
        "the same arrivals and dispatches, completions at any moments ⇒ the same order",
        "machine.step",
    ),
    Claim(
        "RESET-EAGER",
        "P",
        "article §2.5",
        "Resetting at once, or at any moment before the next arrival, gives the same dispatches.",
        "eager ~ lazy: the same who waits, S and w; the same v while somebody waits, else v_lazy ≤ v = max S",
        "sameness.late",
    ),
    Claim(
        "ORDER-TOTAL",
        "P",
        "article §7.3",
        "One user is first, and an event has one outcome: the dispatches are a function of the events.",
        "first(i) ∧ first(j) ⇒ i = j; s → s', s → s'' by one event ⇒ s' = s''",
        "properties.order_total",
    ),
    Claim(
        "ORDER-BLIND",
        "P",
        "article §5.1",
        "The choice depends on who waits, on meters and ids: on no cost that waits, on no weight, and not on v.",
        "the same S and who waits ⇒ (first(u) ⇔ first'(u))",
        "properties.order_blind",
    ),
    Claim(
        "ORDER-SCALE",
        "P",
        "article §1.2, §4.4",
        "All costs times one number, and all weights times another: the dispatches stay the same.",
        "c → a c, w → b w, k = a/b: v → k v, ∀u: S_u → k S_u",
        "sameness.scaled",
    ),
    Claim(
        "ORDER-WORK",
        "P",
        "article §5.2",
        "A dispatch is possible exactly when somebody waits, of finitely many users.",
        "first(u) ⇒ u waits; {x} has a first; u first of P ⇒ u or x first of P ∪ {x}",
        "properties.order_work",
    ),
    Claim(
        "KEEP-SHIFT",
        "P",
        "article §7.2",
        "In exact arithmetic v and all meters may be shifted by one number at any time: the dispatches stay the same.",
        "s ~ t: the same who waits and w, ∀u: S_u − v is the same",
        "sameness.shifted",
    ),
    Claim(
        "KEEP-FORGET",
        "P",
        "article §7.2, at any time and not only after a reset",
        "Whoever does not wait and has S ≤ v can be forgotten at any time: the dispatches stay the same.",
        "s ~ t: the same who waits, w and v, ∀u: S_u is the same, or u does not wait and both are ≤ v",
        "sameness.forgotten",
    ),
    Claim(
        "BATCH-FRESH",
        "P",
        "article §1.2, §7.1",
        "Several dispatches in one wake-up, each selected afresh, are single ones: the reset may wait for the end, and "
        "an arrival of who waits may come before or after. Two picked at once are right exactly if the first, once "
        "charged, is not before the second.",
        "the second pick is first ⇔ the first one has left, or (S_1 + δ, 1) > (S_2, 2)",
        "properties.batch_second",
    ),
    Claim(
        "WEIGHT-STRIDE",
        "P",
        "article §6.1",
        "With equal costs, from a level start and while nobody joins or leaves, SFQ is stride scheduling, dispatch for "
        "dispatch. After a later join it is not.",
        "c the same for all ⇒ ∀u waiting: S_u = pass_u + constant, and the same is first",
        "sameness.striding",
    ),
    Claim(
        "REPLICA",
        "P",
        "article §8",
        "Over R independent schedulers nobody gets further ahead of a user that waits throughout on each of them than "
        "R times two of the largest charges.",
        "j waiting throughout on each ⇒ Σ (W_i − W_j) ≤ Σ (last_i(t2) + last_j(t1)) ≤ 2 R c_max",
        "replica.within",
    ),
    Claim(
        "PLACE-STALL",
        "P",
        "article §5.2",
        "If nothing is sent while the first one's request fits nowhere, and the choice is made again each time, the "
        "dispatches are those without placement, later.",
        "stalled(u) ⇔ first(u) ∧ placeable(u), with the same outcome",
        "placement.stall",
    ),
    Claim(
        "PLACE-OVERTAKE",
        "P",
        "article §5.2",
        "If who cannot be placed is taken to have left, and to rejoin when it can be, the band, the bounds and the "
        "resets hold as before for all who can be placed throughout.",
        "S_u := max(S_u, v) of all waiting and placeable, then dispatch among them; reset if nobody waits",
        "placement.overtake",
    ),
    Claim(
        "KEEP-DEBT",
        "X",
        "article §2.4, §7.2",
        "To forget a user with S > v can be seen, in every reachable state: sooner or later another request is sent.",
        "u does not wait, S_u > v ⇒ some run tells s from s with S_u := v",
        "sameness.forgotten",
    ),
)
