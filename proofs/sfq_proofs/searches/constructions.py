"""Constructions beside the rules, deliberately wrong: one named change each.

What `mutants` is for the rules, this is for what is built on them: upkeep, the late reset, placement, replicas, the
comparison with stride. Each must break down exactly the obligations that it names, and a run from the first state must
show what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import z3

from sfq_proofs.finding import Finding, Search
from sfq_proofs.searches.mistakes import (
    Run,
    allocated,
    apart,
    arrivals,
    arrivals_after,
    commit,
    committed,
    dearer,
    forget_who_is_idle,
    in_pairs,
    overtake_and_close,
    overtake_in_secret,
    overtake_naively,
    rebase_who_waits,
    replicas,
    reset_after_joining,
    sent,
)
from sfq_proofs.solver import logic as term
from sfq_proofs.solver.induction import Obligation, refuted
from sfq_proofs.solver.model import Model
from sfq_proofs.theorems import batch, placement, replica, stride
from sfq_proofs.theorems.keeping import bisimilar, pairs, scale
from sfq_proofs.theorems.order import quiet
from sfq_spec import placement as placing
from sfq_spec.competition import SFQ, Rules, Transition
from sfq_spec.trace import Dispatch, SetWeight, Upkeep


@dataclass(frozen=True)
class Wrong:
    """One wrong construction."""

    name: str
    claim: str
    mistake: str
    """What it does instead, and what comes of it."""
    obligations: Callable[[], Iterable[Obligation]]
    """What is put to the solvers of it."""
    breaks: tuple[str, ...]
    """Those of the obligations that break down, in order."""
    shows: Callable[[], str]
    """A run that tells it from the right one, and how; empty where there is no difference."""

    @property
    def dead(self) -> tuple[str, ...]:
        """The obligations that do break down."""
        return tuple(obligation.name for obligation in self.obligations() if refuted(obligation))

    @property
    def falls(self) -> bool:
        """Whether each of those that are to break down does; the others are not asked."""
        asked = [obligation for obligation in self.obligations() if obligation.name in self.breaks]
        return len(asked) == len(self.breaks) and all(map(refuted, asked))


D, BOTH = Dispatch(), frozenset("AB")
OVERTAKEN: Run = (*arrivals("A1", "A2", "A3", "B1", "B2"), frozenset("A"), frozenset("A"), BOTH, BOTH)
"""B is overtaken twice, and then can be placed."""


def _added() -> Iterable[Obligation]:
    """Of the pair with costs that are scaled, the one obligation that calculates with them."""
    wrong = replace(scale(SFQ), cost=lambda cost: cost + term.number("a"))
    return [obligation for obligation in bisimilar(wrong) if obligation.name == "scale, dispatch: the charge"]


def _pair(at: int, right: Callable[[Rules], Rules]) -> Callable[[], Iterable[Obligation]]:
    """The pair at a place in `keeping.pairs`, with other rules on the right."""
    return lambda: bisimilar(replace(pairs(SFQ)[at], right=right(SFQ)))


def _with_upkeep(upkeep: Transition) -> Callable[[Rules], Rules]:
    return lambda rules: replace(rules, upkeep=upkeep)


WRONG = (
    Wrong(
        "resets-after-joining",
        "RESET-EAGER",
        "The late reset is done when the newcomer has joined: it is below v, and is served before its turn.",
        _pair(2, reset_after_joining),
        ("late reset, arrive: stays",),
        lambda: apart(
            [*arrivals("A1"), D, *arrivals("B1", "A2"), D], sent, partial(sent, rules=reset_after_joining(SFQ))
        ),
    ),
    Wrong(
        "rebases-who-waits",
        "KEEP-SHIFT",
        "v is subtracted from the meters of those who wait alone: who is idle comes back with a debt of v.",
        _pair(0, _with_upkeep(rebase_who_waits)),
        ("shift, upkeep: stays",),
        lambda: apart(
            [*arrivals("A1"), D, *arrivals("B1"), Upkeep(), *arrivals("A2"), D],
            sent,
            partial(sent, rules=replace(SFQ, upkeep=rebase_who_waits)),
        ),
    ),
    Wrong(
        "forgets-who-is-idle",
        "KEEP-FORGET",
        "Whoever does not wait is forgotten, with its debt: reset-on-return by another name.",
        _pair(1, _with_upkeep(forget_who_is_idle)),
        ("forget, upkeep: stays",),
        lambda: apart(
            [*arrivals("A1", "B1"), D, Upkeep(), *arrivals("A2"), D],
            sent,
            partial(sent, rules=replace(SFQ, upkeep=forget_who_is_idle)),
        ),
    ),
    Wrong(
        "adds-to-every-cost",
        "ORDER-SCALE",
        "A constant is added to all costs instead of a factor: light requests become as dear as heavy ones.",
        _added,
        ("scale, dispatch: the charge",),
        lambda: apart([*arrivals("A1", "A2", "A3"), *arrivals("B1", "B2", cost=3), D, D, D, D], sent, dearer),
    ),
    Wrong(
        "looks-at-no-clock",
        "TAG-QUIET",
        "The tag is the previous finish tag also where the queue was empty: an idle user has banked.",
        lambda: [quiet(waits=False)],
        ("tags: quiet",),
        lambda: apart(
            [*arrivals("A1"), D, *arrivals("A2", "B1"), D],
            sent,
            partial(sent, rules=replace(SFQ, join=lambda S, v, maximum: S)),
        ),
    ),
    Wrong(
        "joins-after-the-dispatch",
        "BATCH-FRESH",
        "A wake-up dispatches first and then handles the arrivals of users that were not waiting.",
        lambda: batch.either_way(waits=False),
        ("batch: an arrival leaves the choice", "batch: an arrival before or after"),
        lambda: apart([*arrivals("B1", "A1"), D], sent, arrivals_after),
    ),
    Wrong(
        "picks-two-at-once",
        "BATCH-FRESH",
        "Two users are picked by the meters before the first is charged.",
        lambda: [batch.picked_at_once(always=True)],
        ("batch: the second pick",),
        lambda: apart([*arrivals("B1", "B2", cost=3), D, *arrivals("A1"), D, *arrivals("A2"), D], sent, in_pairs),
    ),
    Wrong(
        "stride-later",
        "WEIGHT-STRIDE",
        "A client starts one stride after the global pass, as in 1995: of unequal weights the heavier is first.",
        lambda: [stride.joining(at_a_stride=True)],
        ("stride: joining",),
        lambda: apart(
            [SetWeight("B", 2), *arrivals("A1", "B1"), D], sent, partial(allocated, joins="one stride later")
        ),
    ),
    Wrong(
        "stride-of-any-cost",
        "WEIGHT-STRIDE",
        "The stride is fixed and the costs are not: stride scheduling gives equal counts, not equal costs.",
        lambda: stride.dispatching(equal_costs=False),
        ("stride: dispatch",),
        lambda: apart([*arrivals("B1", "B2", cost=3), *arrivals("A1", "A2", "A3"), D, D, D, D], sent, allocated),
    ),
    Wrong(
        "stride-joined-midway",
        "WEIGHT-STRIDE",
        "A client joins after a dispatch: the global pass has moved by that dispatch, virtual time has not.",
        lambda: [stride.joining(gathered=False)],
        ("stride: joining",),
        lambda: apart([*arrivals("A1", "A2"), D, *arrivals("B1"), D], sent, allocated),
    ),
    Wrong(
        "replica-without-waiting",
        "REPLICA",
        "The other user waits on one scheduler and not on the next, where the first is served without bound.",
        lambda: [replica.one_more(Model(SFQ), z3.BoolVal(True))],
        ("replica: one more",),
        replicas,
    ),
    Wrong(
        "commits-to-the-head",
        "PLACE-STALL",
        "A request that was selected and did not fit is waited for, though another has come first since.",
        lambda: placement.stalling(stall=commit(term.user("held"))),
        ("stall: who is sent is first", "stall: nobody else is sent", "stall: no longer than need be"),
        lambda: apart([*arrivals("B1"), frozenset(), *arrivals("A1"), BOTH], sent, committed),
    ),
    Wrong(
        "overtakes-naively",
        "PLACE-OVERTAKE",
        "Who cannot be placed is passed over and keeps its meter: v passes it, and comes back with it.",
        lambda: placement.overtaken(overtake=overtake_naively),
        (
            "overtake, dispatch: bookkeeping",
            "overtake, dispatch: upper band",
            "overtake, dispatch: no gain by leaving",
            "overtake, dispatch: standing of the prompt",
            "overtake, dispatch: v never decreases",
            "overtake, dispatch: the first who can be placed",
            "overtake, dispatch: charge",
        ),
        lambda: apart(OVERTAKEN, partial(sent, how=placing.overtake), partial(sent, how=overtake_naively)),
    ),
    Wrong(
        "overtakes-in-secret",
        "PLACE-OVERTAKE",
        "Who overtakes does not move v: its meter runs away from v, and newcomers are far behind.",
        lambda: placement.overtaken(overtake=overtake_in_secret),
        (
            "overtake, dispatch: upper band",
            "overtake, dispatch: charge",
        ),
        lambda: apart(OVERTAKEN, partial(sent, how=placing.overtake), partial(sent, how=overtake_in_secret)),
    ),
    Wrong(
        "overtakes-and-closes",
        "PLACE-OVERTAKE",
        "The competition is closed when nobody is left who can be placed: debts are dropped while somebody waits.",
        lambda: placement.overtaken(overtake=overtake_and_close),
        ("overtake, dispatch: reset",),
        lambda: apart(
            [*arrivals("A1", "B1"), frozenset("A"), *arrivals("A2"), BOTH],
            partial(sent, how=placing.overtake),
            partial(sent, how=overtake_and_close),
        ),
    ),
)
"""Every wrong construction, by the claim that it breaks."""


def searches() -> list[Search]:
    """Every wrong construction, as a search that must find what is wrong with it."""
    return [Search(f"wrong construction {wrong.name}", (wrong.claim,), partial(_found, wrong)) for wrong in WRONG]


def _found(wrong: Wrong) -> list[Finding]:
    shown = wrong.shows()
    more = f" and {len(wrong.breaks) - 1} more" if wrong.breaks[1:] else ""
    says = f"refuted at “{wrong.breaks[0]}”{more}; {shown or 'no run shows it'}"
    return [Finding(wrong.name, (wrong.claim,), wrong.falls and bool(shown), says, (wrong.name,))]
