"""The band and fairness over every interval (article §3)."""

from __future__ import annotations

from sfq_spec.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "INV-MONO",
        "P",
        "article §3.1(1)",
        "Virtual time never decreases.",
        "v' ≥ v",
        "properties.inv_mono",
    ),
    Claim(
        "INV-UPPER",
        "P",
        "article §3.1(2), sharper",
        "No meter is further ahead of v than its user's latest charge.",
        "∀u: S_u ≤ v + last_u",
        "properties.inv_upper",
    ),
    Claim(
        "INV-LOWER",
        "P",
        "article §3.1(3)",
        "A waiting user's meter is not below v.",
        "∀u waiting: S_u ≥ v",
        "properties.inv_lower",
    ),
    Claim(
        "INV-SPREAD",
        "P",
        "article §3.1, sharper",
        "Two waiting users are apart by at most the latest charge of the one ahead.",
        "∀i, j waiting: S_i − S_j ≤ last_i",
        "properties.inv_spread",
    ),
    Claim(
        "FAIR-UPPER",
        "P",
        "article §3.3",
        "A user, however often it leaves and rejoins, is charged at most what v advances, and its last charge.",
        "W_i ≤ v(t2) − v(t1) + last_i(t2)",
        "properties.fair_upper",
    ),
    Claim(
        "FAIR-LOWER",
        "P",
        "article §3.3",
        "A user that waits throughout is charged at least what v advances, less its charge before.",
        "j waiting throughout ⇒ W_j ≥ v(t2) − v(t1) − last_j(t1)",
        "properties.fair_lower",
    ),
    Claim(
        "FAIR-LEAD",
        "P",
        "article §3.3",
        "Nobody gets ahead of a user that waits throughout by more than two requests: its own last one, and the "
        "other's last one before the interval.",
        "j waiting throughout ⇒ W_i − W_j ≤ last_i(t2) + last_j(t1)",
        "properties.fair_lead",
    ),
    Claim(
        "FAIR-PAIR",
        "P",
        "article §3.2",
        "Two users that wait throughout differ by at most two of the largest charges, the ones before included.",
        "i, j waiting throughout ⇒ |W_i − W_j| ≤ 2 c_max",
        "properties.fair_pair",
    ),
    Claim(
        "FAIR-TIGHT",
        "X",
        "article §3.2",
        "The bound of FAIR-LEAD is attained exactly: no smaller one is true.",
        "∃ run: W_i − W_j = last_i(t2) + last_j(t1) = 2 c_max",
        "properties.fair_lead",
    ),
    Claim(
        "FAIR-STARVE",
        "P",
        "article §3.3",
        "While a user waits and is not dispatched, any other gets at most two requests' worth: nobody starves.",
        "u waiting throughout, W_u = 0 ⇒ W_j ≤ last_j(t2) + last_u(t1)",
        "properties.fair_starve",
    ),
    Claim(
        "FAIR-PROMPT",
        "P",
        "article §2.4, §4.3",
        "Whoever joins without residue is dispatched before anybody else is dispatched twice.",
        "u joins with S_u ≤ v ⇒ until u is dispatched every other user is dispatched at most once",
        "properties.fair_prompt",
    ),
    Claim(
        "WEIGHT-ALL",
        "P",
        "article §2.1, §4.4",
        "All of the above with charges c/w, and across changes of weight.",
        "δ = c/w in every claim",
        "rules.charge",
    ),
    Claim(
        "FAIR-LEVEL",
        "P",
        "article §7.5(1), repaired",
        "From a common start two users that wait throughout differ by at most the latest charge of the one ahead: "
        "with equal costs, by one dispatch.",
        "i, j waiting throughout, S_i(t1) = S_j(t1) ⇒ W_i − W_j ≤ last_i(t2)",
        "repaired.fair_level",
    ),
    Claim(
        "DRAIN-SAME",
        "P",
        "article §7.5(4), repaired",
        "A user whose queue empties and fills again before the next dispatch is where it would be with the queue "
        "never empty, while somebody else waits.",
        "dispatch last(u), arrive(u) = dispatch(u), if o ≠ u waits",
        "repaired.drain_same",
    ),
    Claim(
        "FAIR-ABUSE",
        "P",
        "article §2.4, §3.3",
        "If every return were to v, a lead over a user that waits throughout would have no bound: a turn of two "
        "events gains a fixed amount and leads back.",
        "∀n ∃ run: W_i − W_j > n, where join is S := v",
        "properties.fair_lead",
    ),
    Claim(
        "FAIR-BANK",
        "P",
        "article §2.4",
        "If a return were to the old meter even below v, an idle user would save up a lead that has no bound.",
        "∀n ∃ run: W_i − W_j > n, where join is S := S",
        "properties.fair_lead",
    ),
    Claim(
        "GRAN-FLOOR",
        "X",
        "article §3.5",
        "Right after one dispatch its user is ahead by that charge, over the interval that holds it alone; so no "
        "rule that sends whole requests keeps every lead below the larger of two charges.",
        "δ_i, δ_j, any order of dispatches ⇒ ∃ interval: |W_i − W_j| ≥ max(δ_i, δ_j)",
        "repaired.one_ahead",
    ),
)
