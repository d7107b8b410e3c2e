"""The dispatcher in front of servers, whatever they do and in whatever order tasks run (article §5, §7.4)."""

from __future__ import annotations

from sfq_spec.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "FLEET-ONCE",
        "T",
        "design FLEET-ONCE",
        "Every request that is accepted ends exactly once: completed, failed, cancelled, expired or refused. None is "
        "lost when servers fail, clients go, or the dispatcher is closed.",
        "at any moment: accepted(r) − ended(r) ∈ {0, 1}; when all is over: accepted(r) = ended(r)",
        "fleet.once",
    ),
    Claim(
        "FLEET-METER",
        "T",
        "design FLEET-METER, article §5.1, §5.3",
        "How many servers there are, how fast they are, failures, moves and completions never move a meter.",
        "v and ∀u: max(S_u − v, 0) = those of the machine, which is told of none of them",
        "fleet.same_meters",
    ),
    Claim(
        "FLEET-CAP",
        "T",
        "design FLEET-CAP",
        "No server ever holds more requests or tokens than it has room for.",
        "∀ server, at any moment: |held| ≤ requests ∧ Σ tokens(held) ≤ tokens",
        "fleet.within",
    ),
    Claim(
        "FLEET-ORDER",
        "T",
        "design FLEET-ORDER, article §5.2",
        "What the dispatcher does is a trace that the machine accepts, in whatever order tasks run; where others may "
        "overtake, with those who fit nowhere taken to have left.",
        "∀ schedule of tasks, ∀ event e: step(machine, e) is not refused, and a dispatch sends what step sends",
        "machine.step",
    ),
    Claim(
        "COST-OUTSIDE",
        "T",
        "article §7.4",
        "What is learnt of costs changes the estimates of requests to come, never the cost of one that has arrived: "
        "neither while it waits, nor once it is charged.",
        "cost(r) when estimated = when it arrives = when it is charged = when it ends; and no meter moves in between",
        "fleet.fixed",
    ),
)
