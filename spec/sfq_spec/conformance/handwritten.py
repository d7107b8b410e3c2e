"""Vectors from the article's text and from public reports: the order is written down here, not computed.

The machine must give the same order, or the specification is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """A run in shorthand, and the requests in the order in which they must go."""

    id: str
    comment: str
    run: str
    order: str
    claims: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


WRITTEN = (
    Written(
        "article-table",
        "The table of article §2.7: A's requests cost 3, B's cost 1.",
        "+A 3×9; +B 1×9; D×8",
        "A1 B1 B2 B3 A2 B4 B5 B6",
        ("R-SELECT", "DISP-BEFORE"),
        ("CountsRequests",),
    ),
    Written(
        "article-equal-sharing",
        "Article §7.5(1): with equal costs two users alternate.",
        "+A,B 5×4; D×8",
        "A1 B1 A2 B2 A3 B3 A4 B4",
        ("FAIR-PAIR",),
        ("LastIdFirst",),
    ),
    Written(
        "article-equal-sharing-from-a-join",
        "Erratum of article §7.5(1): since A joined it has two and B none; the tie at B's meter goes to A.",
        "+B 5×3; D; +A 5×4; D×2",
        "B1 A1 A2",
        ("E-COUNT",),
    ),
    Written(
        "article-cost-fairness",
        "Article §7.5(2): ten times the cost, one tenth of the dispatches.",
        "+A 10×3; +B 1×20; D×13",
        "A1 B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 A2 B11",
        ("FAIR-LEAD",),
        ("CountsRequests",),
    ),
    Written(
        "article-no-banking",
        "Article §7.5(3): A returns after B has had thirty, at virtual time, with no more than its turn.",
        "+A 1; +B 1×40; D×31; +A 1×4; D×6",
        "A1 " + " ".join(f"B{n}" for n in range(1, 31)) + " A2 A3 B31 A4 B32 A5",
        ("IDLE-FLOOR",),
        ("BankWhileIdle", "RejoinAtZero"),
    ),
    Written(
        "article-no-reset-abuse",
        "Article §7.5(4): A drains its queue after each request; its debt stays.",
        "+B 3×9; +A 3; D×2; +A 3; D×2; +A 3; D×2",
        "A1 B1 A2 B2 A3 B3",
        ("FAIR-UPPER", "FAIR-LEAD"),
        ("ResetOnReturn", "LeavingForgives"),
    ),
    Written(
        "article-global-idle",
        "Article §7.5(5): once nobody waits, the user of the heavy request starts level again.",
        "+A 100; +B 1; D×2; +B 1×2; +A 1×2; D×4",
        "A1 B1 A2 B2 A3 B3",
        ("RESET-LEVEL",),
        ("NoIdleReset",),
    ),
    Written(
        "idle-again-level-with-equal-costs",
        "Once nobody waits, who was served last starts level again: B gets one of two, whoever a tie goes to.",
        "+A 1; D; +B 1×2; +A 1; D×3",
        "A1 A2 B1 B2",
        ("RESET-LEVEL",),
        ("NoIdleReset",),
    ),
    Written(
        "priority-is-not-frozen-on-arrival",
        "A's second request does not keep the place that it would have had alone.",
        "+A 2×50; +B 2; D×2",
        "A1 B1",
        ("R-SELECT",),
        ("FrozenPriority",),
    ),
    Written(
        "timed-out-request-is-gone",
        "A request that is cancelled while it waits is neither sent nor in the way.",
        "+A 9×2; +B 1×12; x A1; D×3",
        "A2 B1 B2",
        ("R-FIFO",),
        ("CancelledStays", "CancelsTheHead"),
    ),
    Written(
        "no-refund-on-failure",
        "A failed request stays charged.",
        "+A 9×3; +B 1×30; D×2; ✗ A1; D×6",
        "A1 B1 B2 B3 B4 B5 B6 B7",
        ("R-FINAL",),
        ("RefundsOnCompletion",),
    ),
    Written(
        "idle-again-and-again-banks-nothing",
        "A user that comes back late alternates from then on.",
        "+A 1; +B 1×30; D×12; +A 1×8; D×8",
        "A1 B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 A2 A3 B12 A4 B13 A5 B14 A6",
        ("IDLE-FLOOR",),
        ("BankWhileIdle",),
    ),
    Written(
        "rebasing-below-zero",
        "Upkeep with an idle difference smaller than what is subtracted: nothing may wrap.",
        "+A 2×9; +B 3×9; D×3; upkeep; D×4",
        "A1 B1 A2 B2 A3 A4 B3",
        ("R-UPKEEP", "KEEP-SHIFT"),
        ("RebaseWraps",),
    ),
    Written(
        "forgetting-keeps-debts",
        "Upkeep while A is in debt: A still waits its turn when it comes back.",
        "+A 9; +B 1×9; D×2; upkeep; +A 1; D×4",
        "A1 B1 B2 B3 B4 B5",
        ("KEEP-DEBT",),
        ("ForgetsDebtors",),
    ),
    Written(
        "zero-shares-are-refused",
        "A weight of zero changes nothing.",
        "w A 0; +A 2×3; +B 2×3; D×4",
        "A1 B1 A2 B2",
        ("R-REFUSE",),
        ("ZeroWeight",),
    ),
    Written(
        "small-charges-are-not-free",
        "With a weight of 10, costs of 9 and 19 still differ: 0.9 and 1.9, not 0 and 1.",
        "w A 10; w B 10; +A 9×4; +B 19×4; D×6",
        "A1 B1 A2 A3 B2 A4",
        ("WEIGHT-ALL",),
        ("WholeCharges",),
    ),
    Written(
        "the-right-user-leaves",
        "A user in the middle withdraws its only request: it, and nobody else, is out.",
        "+A 1; +B 1×4; +C 1×4; D; +A 1; x A2; D×3",
        "A1 B1 C1 B2",
        ("R-SELECT",),
        ("WrongUserRemoved",),
    ),
    Written(
        "rejoin-at-zero-starves",
        "A newcomer does not get all that the others have had so far.",
        "+B 1×20; D×8; +A 1×8; D×6",
        "B1 B2 B3 B4 B5 B6 B7 B8 A1 A2 B9 A3 B10 A4",
        ("INV-LOWER",),
        ("RejoinAtZero",),
    ),
    Written(
        "newcomers-do-not-pay-for-who-runs",
        "C joins at the start tag of the latest dispatch, not at its finish tag.",
        "+A 10; +B 1×20; D×3; +C 1×5; D×6",
        "A1 B1 B2 C1 B3 C2 B4 C3 B5",
        ("INV-LOWER", "IDLE-PROMPT"),
        ("ClockAtFinish",),
    ),
    Written(
        "weight-leaves-history",
        "A new weight counts from the next charge on, not for what was charged before.",
        "+A 6×9; +B 6×9; D×4; w A 3; D×6",
        "A1 B1 A2 B2 A3 B3 A4 A5 A6 B4",
        ("R-WEIGHT",),
        ("WeightRescalesHistory",),
    ),
    Written(
        "one-queue-activated-once",
        "Two requests of one user make one entry among those who wait.",
        "+A 5×2; +B 1×3; D×4",
        "A1 B1 B2 B3",
        ("R-SELECT",),
        ("ActivatedTwice",),
    ),
    Written(
        "cancel-of-the-last-one-resets",
        "B withdraws all that waits: the next congestion starts level, A's 9 are forgotten.",
        "+A 9; +B 1×2; D; x B1; x B2; +A 1; +B 1×9; D×3",
        "A1 A2 B3 B4",
        ("RESET-LEVEL",),
        ("CancelSkipsReset",),
    ),
    Written(
        "heavy-heads-are-not-held",
        "A heavy request at the head goes when it is its user's turn.",
        "+A 1000; +B 1×3; D×4",
        "A1 B1 B2 B3",
        ("ORDER-WORK", "ORDER-BLIND"),
        ("HoldsHeavyHeads", "EarliestFinishFirst"),
    ),
    Written(
        "costs-are-not-floored",
        "A cost of zero or less is refused, not taken for one.",
        "+A 0; +A -1; +A 2×2; +B 1×4; D×5",
        "A3 B1 B2 A4 B3",
        ("R-REFUSE",),
        ("FloorsCosts",),
    ),
    Written(
        "small-costs-are-not-floored",
        "A cost of one half is one half.",
        "+A 1/2×4; +B 1×2; D×6",
        "A1 B1 A2 A3 B2 A4",
        ("DISP-BEFORE",),
        ("FloorsCosts", "WholeCharges"),
    ),
    Written(
        "dispatch-of-nothing-charges-nobody",
        "Room is offered while nobody waits: nobody pays for it.",
        "D×2; +A,B 1; D×2; D×5; +A,B 1×3; D×6",
        "A1 B1 A2 B2 A3 B3 A4 B4",
        ("ORDER-WORK", "DISP-BEFORE"),
        ("ChargesAnEmptyDispatch",),
    ),
    Written(
        "clock-moves-at-dispatch",
        "Nothing is completed yet, and C joins where those are who have been sent, not where the system was at first.",
        "+A,B 1×6; D×8; +C 1×4; D×6",
        "A1 B1 A2 B2 A3 B3 A4 B4 C1 A5 B5 C2 A6 B6",
        ("INV-UPPER", "IDLE-FLOOR"),
        ("ChargeAndClockApart", "FrozenClock", "ChargesOnCompletion"),
    ),
    Written(
        "ties-go-by-id-not-by-arrival",
        "All meters are equal, and who came last has the first id.",
        "+C 1×3; +B 1×3; +A 1×3; D×9",
        "A1 B1 C1 A2 B2 C2 A3 B3 C3",
        ("R-SELECT", "ORDER-TOTAL"),
        ("TiesByInsertion", "LastIdFirst"),
    ),
    Written(
        "released-once",
        "A request is cancelled twice, and completed although it was never sent; another is completed twice.",
        "+A 1×4; +B 1×4; x A1; x A1; ✓ A1; D; ✓ A2; ✗ A2; x A2; D×5",
        "A2 B1 A3 B2 A4 B3",
        ("R-REFUSE", "R-FINAL"),
        ("ReleasesTwice",),
    ),
    Written(
        "refused-cost-of-a-user-who-returns",
        "Z's bad requests are refused while it does not wait; then it joins at v, as if they had never come.",
        "+B 1×6; D×2; +Z 0; +Z -1; +Z nan; +Z inf; +Z 1×2; D×4",
        "B1 B2 Z5 B3 Z6 B4",
        ("R-REFUSE",),
        ("JoinsBeforeItRefuses", "ChargesARefusal"),
    ),
    Written(
        "upkeep-keeps-weights",
        "Upkeep while A and C, who have weights, do not wait: they have them still when they come back.",
        "w A 4; w C 2; +A 4; +B 1×12; D×4; upkeep; +A 4×3; +C 2×3; D×10",
        "A1 B1 B2 B3 A2 C1 A3 B4 C2 A4 B5 C3 B6 B7",
        ("R-UPKEEP", "R-WEIGHT"),
        ("ForgetsWeights",),
    ),
    Written(
        "stale-place-is-not-found-again",
        "B withdraws what waits and comes back before its turn: it has the new place, and not the old one besides.",
        "+A 1×12; +B 3×2; D×2; x B2; +B 1×4; D×8",
        "A1 B1 A2 A3 A4 B3 A5 B4 A6 B5",
        ("R-SELECT",),
        ("StalePlace", "CancelledStays"),
    ),
)
"""In the order of the article, then of the reports."""
