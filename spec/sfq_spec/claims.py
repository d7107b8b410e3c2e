"""The ledger: every claim, where it stands in the article, what it says, and how strong its evidence is.

Levels: P proved for any number of users and any horizon by two solvers; X every reachable state of small instances;
T tested by randomised runs; E the article's wording is refuted by a trace, and the repaired claim is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["P", "X", "T", "E"]
LEVELS: dict[Level, str] = {"P": "proved", "X": "exhausted", "T": "tested", "E": "erratum"}


@dataclass(frozen=True)
class Claim:
    """One checkable sentence."""

    id: str
    level: Level
    seed: str
    """Where it stands."""
    says: str
    formula: str
    """The same in plain mathematics. W is the sum of charges in the interval [t1, t2], δ = c/w, last the latest δ."""
    definition: str
    """The predicate that is proved and checked, `module.name` in `sfq_spec`."""


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "R-SELECT",
        "P",
        "article §2.3, §7.3",
        "The waiting user of least meter is dispatched; a tie goes to the least id, by code point.",
        "dispatch(u) ⇒ ∀o waiting: S_u < S_o ∨ (S_u = S_o ∧ u ≤ o)",
        "properties.select_least",
    ),
    Claim(
        "R-FINAL",
        "P",
        "article §2.6, §5.1",
        "Completion, failure and cancellation of dispatched work change nothing.",
        "complete: v' = v ∧ ∀u: S_u' = S_u",
        "properties.untouched",
    ),
    Claim(
        "R-WEIGHT",
        "P",
        "article §4.4",
        "A change of weight leaves the meters alone and counts from the next charge on.",
        "weight: v' = v ∧ ∀u: S_u' = S_u",
        "properties.untouched",
    ),
    Claim(
        "R-UPKEEP",
        "P",
        "article §7.2",
        "Housekeeping changes nothing in exact arithmetic.",
        "upkeep: v' = v ∧ ∀u: S_u' = S_u",
        "properties.untouched",
    ),
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
        "TAG-FOLD",
        "P",
        "article §2.1, §2.2",
        "One meter per user sends, request for request, what the tags of 1996 send.",
        "the machines simulate each other: v = v_tags; S_u = start tag of u's head, or u's last finish tag",
        "tags.TagScheduler",
    ),
    Claim(
        "DISP-BEFORE",
        "P",
        "article §2.3",
        "Just before the charge the selected meter is v; just after it is v + c/w.",
        "S_u = v, then S_u' = v + c/w_u",
        "properties.disp_before",
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
        "RESET-ALONE",
        "P",
        "article §3.4",
        "A reset happens only when nobody waits, so no interval in which somebody waits throughout contains one.",
        "v' ≠ start tag of the dispatch ⇒ nobody waits",
        "properties.reset_alone",
    ),
    Claim(
        "RESET-LEVEL",
        "P",
        "article §2.5",
        "While nobody waits no meter is above v: all joiners of the next congestion start level.",
        "nobody waits ⇒ ∀u: S_u ≤ v",
        "properties.reset_level",
    ),
    Claim(
        "RESET-OWN",
        "P",
        "article §3.4",
        "Emptying one's own queue while another waits resets nothing.",
        "u leaves, o waits ⇒ v' = v after the charge",
        "properties.reset_own",
    ),
    Claim(
        "IDLE-FLOOR",
        "P",
        "article §2.4",
        "Whoever returns does so at v or above: nothing is banked.",
        "join(u) ⇒ S_u' ≥ v",
        "properties.idle_floor",
    ),
    Claim(
        "IDLE-PROMPT",
        "P",
        "article §2.4",
        "Whoever returns without residue has a meter no greater than any that waits.",
        "join(u), S_u ≤ v ⇒ ∀o waiting: S_u' ≤ S_o",
        "properties.idle_prompt",
    ),
    Claim(
        "IDLE-RESIDUE",
        "P",
        "article §2.4",
        "What is remembered of a user is at most one charge, and nothing once v has caught up.",
        "S_u − v ≤ last_u, and v ≥ S_u ⇒ max(S_u, v) = v",
        "properties.idle_residue",
    ),
    Claim(
        "WEIGHT-ALL",
        "P",
        "article §2.1, §4.4",
        "All of the above with charges c/w, and across changes of weight.",
        "δ = c/w in every claim",
        "rules.charge",
    ),
)
"""Every claim that a command of this repository shows."""

BY_ID = {claim.id: claim for claim in CLAIMS}
