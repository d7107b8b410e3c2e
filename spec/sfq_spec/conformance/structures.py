"""Vectors about how schedulers are built: linked lists, heaps, maps of ids, and what is noted beside them.

A scheduler may be right in every rule and wrong in a pointer. Each run is short and does to a structure what small
tests do not: it takes something out at one place, and then goes on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Runs in shorthand, by id, that are about one structure."""

    comment: str
    claims: tuple[str, ...]
    flags: tuple[str, ...]
    runs: dict[str, str]


FAMILIES = (
    Family(
        "A queue of one user goes on rightly after a cancel at its head, in its middle, or at its end.",
        ("R-FIFO",),
        ("QueueLinks",),
        {
            "cancel-end-and-more": "+A 1×2; +B 2×3; x A2; +A 1; D×5",
            "cancel-only-one-and-more": "+A,B 1; x A1; +A 1×2; +B 1; D×4",
            "cancel-head-and-more": "+A 1×3; +B 1×2; x A1; +A 1; D×5",
            "cancel-neighbours": "+A 1×5; +B 1×2; x A2; x A3; +A 1; D×5; x A6; +A 1; D×2",
            "cancel-neighbours-backwards": "+A 1×5; +B 1×2; x A4; x A3; x A5; +A 1; D×6",
            "cancel-head-after-dispatch": "+A 1×4; +B 1×2; D; x A2; D×2; x A3; +A 1; D×3",
            "cancel-two-heads-in-turn": "+A 1×4; +B 1×2; x A1; x A2; D×4",
            "cancel-end-again-and-again": "+A 1; +B 1×4; +A 1; x A2; +A 1; x A3; +A 1×2; x A5; D×7",
            "cancel-in-three-queues": ("+A,B,C 1×3; x A2; x B3; x C1; +C,B,A 1; D×4; x A4; x B4; x C4; +A,B,C 1; D×6"),
            "cancel-and-more-of-others": "+A 1×3; +B 1×2; x A2; +B 1; +A 1; x B1; +C 1×2; +B 1; D×9",
            "cancel-after-a-slot-is-free": "+A 1×2; D; +B 1; x A1; +C 1; D×3; x B1; +A 1; D×2",
            "cancel-and-idle-again": "+A 3×2; +B 1×2; x A2; D×3; +A 1×2; +B 1×2; D×4; +A 5; x A5; +A 1; +B 1×2; D×3",
        },
    ),
    Family(
        "Whoever leaves a heap by a cancel, at whatever place, leaves the others in order.",
        ("R-SELECT",),
        ("HeapPlaces", "WrongUserRemoved"),
        {
            "cancel-moves-up-in-the-heap": "+A 1; +E 1; +B 1; +F 1; +D 1; +C 1; x F1; +B 1; D×6",
            "cancel-in-a-heap-of-six-each-way": (
                "+A,D,B,E,F,C 1; x E1; +A 1; D×6; +A,B,C,D,E,F 1; x A3; D×5; +A,B,D,C,E,F 1; x B3; D×5; "
                "+A,B,C,D,E,F 1; x F4; D×5"
            ),
            "cancel-in-a-heap-of-seven-each-way": (
                "+A,D,B,E,F,G,C 1; x E1; D×6; +A,D,B,E,F,G,C 1; x F2; +A 1; D×7; +A,B,C,D,E,F,G 1; x A4; D×6; "
                "+A,B,C,D,E,F,G 1; x B4; D×6"
            ),
            "cancel-in-a-heap-of-eight-each-way": (
                "+A,B,D,E,C,F,H,G 1; x A1; D×7; +A,B,D,E,C,F,H,G 1; x B2; D×7; +A,E,B,F,H,C,D,G 1; x B3; D×7; "
                "+A,B,D,E,C,F,H,G 1; x G4; D×7"
            ),
            "cancel-in-a-heap-of-nine-each-way": (
                "+A,B,F,C,E,G,H,I,D 1; x G1; +A 1; D×9; +A,D,B,G,E,F,C,I,H 1; x A3; D×8; +A,D,B,G,E,F,C,I,H "
                "1; x D3; D×8; +A,D,B,G,E,F,C,I,H 1; x B4; D×8"
            ),
            "cancel-in-a-heap-of-four-children": "+A,E,B,F,H,J,L,G,K,I,D,C 1; x J1; D×11",
            "cancel-who-was-moved-in-the-heap": (
                "+A,D,B,E,F,G,C 1; x E1; x C1; D×5; +A,D,B,E,F,G,C 1×2; x A2; x A3; x G2; x G3; x C3; x C2; D×8"
            ),
            "cancel-the-last-place-and-come-back": "+A,B,C,D,E,F 1; x F1; +F 1; x F2; D×2; +F 1; D×4; +A,F 1; D×2",
            "cancel-and-come-back-in-the-heap": (
                "+A 7; +B 5; +C 3; +D 1; +E 6; +F 2×2; +G 4; D×7; +G,E,C,A,B 1×2; x C2; x C3; x A2; x A3; D×2; "
                "+A,C 1; D×8"
            ),
            "cancel-in-a-heap-with-weights": (
                "w A 1/2; w C 4; w F 1/4; +A,B,C,D,E,F,G 2×2; D×5; w B 8; w D 1/2; c E1 9; c B2 1; x F1; x F2; D; "
                "x G1; x G2; w A 2; D×4; +F,G 1; D×3"
            ),
            "new-weights-and-costs-in-the-heap": (
                "+G,F,E,D,C,B,A 4×2; D×3; w E 4; w D 1/2; c G1 1; c D1 8; D×4; c A2 1; w A 1/4; D×7"
            ),
        },
    ),
    Family(
        "An id that is free again is that of a new request, whatever was known of the old one.",
        ("R-REFUSE", "R-FIFO"),
        ("IdsUsedAgain",),
        {
            "id-again-after-cancel": "+A 1; +A:r 9; +A 1; +B 1×4; x r; +A:r 1; D×7",
            "id-again-with-another-cost": "+A:r 9; +B 1×2; x r; +A:r 1; +A 1; D×4",
            "id-again-of-another-user": "+A:r 1; +A 1; +B 1×2; x r; +B:r 1; D×4; x r; +A:r 1; +B 1; D×2",
            "id-again-after-completion": "+C 1; x C1; +A:r 1; +B 1; D×2; ✓ r; +B:r 2; +A:r 1; +A,B 1; D×3",
            "id-again-after-failure": (
                "+C 1; x C1; +A:r 1; +B:s 1; D×2; ✗ r; +B:r 1; ⊘ s; +A:s 1; D×2; ⊘ s; ✗ r; +A:s 1; +B:r 1; D×2"
            ),
            "id-not-again-while-it-waits": "+A:r 1; +B 2; ✓ r; +B:r 1; ✗ r; +A:r 1; ⊘ r; x r; +B:r 1; D×2",
        },
    ),
    Family(
        "The cost and the weight of the moment of dispatch count, and nothing that was noted before.",
        ("R-WEIGHT", "DISP-BEFORE"),
        ("NotedTooEarly",),
        {
            "new-cost-of-the-head": "+A 1×3; +B 3×3; c A1 9; D×2; c B2 1; D×4",
            "cancelled-head-takes-its-cost": "+A 9; +A 1×3; +B 2×3; x A1; D×6",
            "new-cost-moves-nobody": "+A 1×3; +B 1×3; c A1 9; c B1 5; c A1 1; D; c A2 7; c A2 2; D×5",
            "new-weight-of-who-waits": "+A,B 4×4; D×2; w A 4; D×2; w A 1/2; w B 2; D×4",
            "new-cost-keeps-its-place": "+A 2×4; +B 3×3; c A2 5; c A1 1; c B2 1; D×7",
        },
    ),
)
"""By structure."""
