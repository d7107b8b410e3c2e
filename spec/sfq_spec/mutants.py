"""The rules, deliberately wrong: one named change each.

A check that no mutant fails checks nothing. Each mutant names the claim that its shortest run breaks; the proofs
name the obligations that break down (`sfq_proofs.solver.kill_table`). Most change one rule of the competition; the last
ones change what the machine does with its queues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sfq_spec import competition, machine
from sfq_spec.competition import SFQ, Rules, Step
from sfq_spec.machine import Machine, Taken
from sfq_spec.refusals import Refused
from sfq_spec.trace import Answer, Arrive, Cancel, Dispatch, Event, Upkeep

Take = Callable[[Machine, Event], Taken]


@dataclass(frozen=True)
class Mutant:
    """One wrong scheduler."""

    name: str
    mistake: str
    """What it does instead, and what comes of it."""
    breaks: str
    """The claim that its shortest run breaks."""
    rules: Rules | None = None
    """The wrong rules; None where the competition is right and the queues are not."""
    wrap: Callable[[Take, Machine, Event], Taken] | None = None
    """What is done around the right machine instead."""
    needs: tuple[str, ...] = ()
    """The kinds of event, besides arrivals and dispatches, without which it cannot be told from the right one."""

    @property
    def take(self) -> Take:
        """The machine with this mistake."""
        take: Take = partial(machine.take, rules=self.rules or SFQ)
        return partial(self.wrap, take) if self.wrap else take


# Transitions with a mistake. As in `competition`: l is the logic, r the rules, s the state.


def _at(logic: Any, s: Any, user: Any, meter: Any) -> Any:
    return replace(s, meter=logic.put(s.meter, user, meter))


def _only(logic: Any, after: Any) -> Any:
    return Step(logic.true(), after, after)


def _behind_everyone(logic: Any, rules: Any, s: Any, user: Any, cost: Any) -> Any:
    step = competition.arrive(logic, rules, s, user, cost)
    meter = logic.choose(s.waiting[user], s.meter[user], logic.supremum(s.v, s.meter))
    return _only(logic, _at(logic, step.after, user, meter))


def _paid_on_arrival(logic: Any, rules: Any, s: Any, user: Any, cost: Any) -> Any:
    step = competition.arrive(logic, rules, s, user, cost)
    return _only(logic, _at(logic, step.after, user, step.after.meter[user] + cost / s.weight[user]))


def _paid_on_completion(logic: Any, rules: Any, s: Any, user: Any, cost: Any) -> Any:
    return _only(logic, _at(logic, s, user, s.meter[user] + cost / s.weight[user]))


def _refunded(logic: Any, rules: Any, s: Any, user: Any, cost: Any) -> Any:
    return _only(logic, _at(logic, s, user, s.meter[user] - cost / s.weight[user]))


def _rescaled(logic: Any, rules: Any, s: Any, user: Any, weight: Any) -> Any:
    step = competition.reweigh(logic, rules, s, user, weight)
    return _only(logic, _at(logic, step.after, user, s.meter[user] * s.weight[user] / weight))


def _clock_at_finish(logic: Any, rules: Any, s: Any, user: Any, head: Any, drains: Any) -> Any:
    step = competition.dispatch(logic, rules, s, user, head, drains)
    return replace(step, after=replace(step.after, v=logic.maximum(step.after.v, step.after.meter[user])))


def _whole_charge(logic: Any, rules: Any, s: Any, user: Any, head: Any, drains: Any) -> Any:
    charge = logic.whole(head[user] / s.weight[user])
    whole = replace(rules, charge=lambda S, c, w: S + charge)
    return competition.dispatch(logic, whole, s, user, head, drains)


def _forgiven_on_leaving(logic: Any, rules: Any, s: Any, user: Any, head: Any, drains: Any) -> Any:
    step = competition.dispatch(logic, rules, s, user, head, drains)
    meter = logic.choose(drains, step.after.v, step.after.meter[user])
    return replace(step, after=_at(logic, step.after, user, meter))


def _paid_on_cancel(logic: Any, rules: Any, s: Any, user: Any, cost: Any, drains: Any) -> Any:
    charged = _at(logic, s, user, rules.charge(s.meter[user], cost, s.weight[user]))
    return competition.cancel(logic, rules, charged, user, cost, drains)


def _forgiven_on_cancel(logic: Any, rules: Any, s: Any, user: Any, cost: Any, drains: Any) -> Any:
    step = competition.cancel(logic, rules, s, user, cost, drains)
    return replace(step, after=_at(logic, step.after, user, step.after.v))


def _not_over_by_cancel(logic: Any, rules: Any, s: Any, user: Any, cost: Any, drains: Any) -> Any:
    step = competition.cancel(logic, rules, s, user, cost, drains)
    return replace(step, after=step.charged)


def _clock_rewound(logic: Any, rules: Any, s: Any) -> Any:
    return _only(logic, replace(s, v=s.v - s.v))


# Selections with a mistake.


def _greatest_first(logic: Any, s: Any, user: Any, head: Any) -> Any:
    greatest = logic.for_all(lambda other: logic.implies(s.waiting[other], s.meter[user] >= s.meter[other]))
    return logic.both(s.waiting[user], greatest)


def _earliest_finish_first(logic: Any, s: Any, user: Any, head: Any) -> Any:
    def finish(u: Any) -> Any:
        return s.meter[u] + head[u] / s.weight[u]

    least = logic.for_all(lambda other: logic.implies(s.waiting[other], finish(user) <= finish(other)))
    return logic.both(s.waiting[user], least)


def _last_id_first(logic: Any, s: Any, user: Any, head: Any) -> Any:
    def not_before(other: Any) -> Any:
        tie = logic.both(logic.equal(s.meter[user], s.meter[other]), logic.no(logic.precedes(user, other)))
        return logic.implies(s.waiting[other], logic.either(s.meter[user] < s.meter[other], tie))

    return logic.both(s.waiting[user], logic.for_all(not_before))


def _on_time(logic: Any, s: Any, user: Any, head: Any) -> Any:
    return logic.both(competition.is_first(logic, s, user, head), s.meter[user] <= s.v)


# Queues with a mistake: the right machine, and something done around it.


def _newest_first(take: Take, state: Machine, event: Event) -> Taken:
    taken = take(state, event)
    if not isinstance(event, Arrive):
        return taken
    *rest, newest = taken.state.queues[event.user]
    queues = {**taken.state.queues, event.user: (newest, *rest)}
    return replace(taken, state=replace(taken.state, queues=queues))


def _cancels_the_head(take: Take, state: Machine, event: Event) -> Taken:
    if isinstance(event, Cancel) and (request := state.live.get(event.request)) and state.is_waiting(request):
        event = Cancel(state.queues[request.user][0].request)
    return take(state, event)


def _charges_a_refusal(take: Take, state: Machine, event: Event) -> Taken:
    try:
        return take(state, event)
    except Refused:
        s = state.competition
        if not isinstance(event, Arrive) or event.user not in s.meter:
            raise
        meter = {**s.meter, event.user: s.meter[event.user] + 1}
        return Taken(replace(state, competition=replace(s, meter=meter)), Answer(refused="duplicate-request"))


def _forgets_debtors(take: Take, state: Machine, event: Event) -> Taken:
    if not isinstance(event, Upkeep):
        return take(state, event)
    s = state.competition
    kept = {user: meter if s.waiting[user] else min(meter, s.v) for user, meter in s.meter.items()}
    return Taken(replace(state, competition=replace(s, meter=kept)))


def _holds_heavy_heads(take: Take, state: Machine, event: Event) -> Taken:
    taken = take(state, event)
    if isinstance(event, Dispatch) and taken.request and taken.request.cost > 2:
        return Taken(state, Answer(dispatched=None))
    return taken


MUTANTS = (
    Mutant(
        "reset-on-return",
        "A returning user starts at v whatever it owes: by draining its queue it gets ahead without bound.",
        "FAIR-UPPER",
        replace(SFQ, join=lambda S, v, maximum: v),
    ),
    Mutant(
        "bank-while-idle",
        "A returning user keeps an old meter below v: it has saved up priority while idle.",
        "IDLE-FLOOR",
        replace(SFQ, join=lambda S, v, maximum: S),
    ),
    Mutant(
        "rejoin-at-zero",
        "A joining user starts at zero: everybody else starves until it has caught up.",
        "INV-LOWER",
        replace(SFQ, join=lambda S, v, maximum: S - S),
    ),
    Mutant(
        "join-behind-everyone",
        "A joining user starts at the greatest meter: newcomers pay for what others have used.",
        "INV-UPPER",
        replace(SFQ, arrive=_behind_everyone),
    ),
    Mutant(
        "clock-at-finish",
        "Virtual time follows the finish tag of the latest dispatch: it passes users that wait.",
        "INV-LOWER",
        replace(SFQ, dispatch=_clock_at_finish),
    ),
    Mutant(
        "frozen-clock",
        "Virtual time stays where it was: newcomers are as far behind as the system is old.",
        "INV-UPPER",
        replace(SFQ, advance=lambda S, v: v),
    ),
    Mutant(
        "no-idle-reset",
        "Nothing happens when nobody waits: the last heavy user starts the next congestion with a handicap.",
        "RESET-LEVEL",
        replace(SFQ, reset=lambda v, greatest, maximum: v),
    ),
    Mutant(
        "reset-rewinds",
        "The idle reset sets virtual time to zero and leaves the meters: all are in debt.",
        "INV-MONO",
        replace(SFQ, reset=lambda v, greatest, maximum: v - v),
    ),
    Mutant(
        "reset-when-own-queue-empties",
        "The reset is triggered by one user's empty queue while others wait.",
        "RESET-ALONE",
        replace(SFQ, is_over=lambda logic, s, user: logic.no(s.waiting[user])),
    ),
    Mutant(
        "counts-requests",
        "Every request costs one: users of heavy requests get more.",
        "DISP-BEFORE",
        replace(SFQ, charge=lambda S, c, w: S + 1),
    ),
    Mutant(
        "ignores-weight",
        "The charge is c instead of c/w.",
        "DISP-BEFORE",
        replace(SFQ, charge=lambda S, c, w: S + c),
        needs=("weight",),
    ),
    Mutant(
        "multiplies-by-weight",
        "The charge is c·w: who should get more gets less.",
        "DISP-BEFORE",
        replace(SFQ, charge=lambda S, c, w: S + c * w),
        needs=("weight",),
    ),
    Mutant(
        "whole-charges",
        "c/w is rounded down: a small request of a user with a large weight is free, and it takes everything.",
        "DISP-BEFORE",
        replace(SFQ, dispatch=_whole_charge),
        needs=("weight",),
    ),
    Mutant(
        "charges-twice",
        "A request is charged twice at dispatch.",
        "DISP-BEFORE",
        replace(SFQ, charge=lambda S, c, w: S + c / w + c / w),
    ),
    Mutant(
        "charges-on-arrival",
        "The charge is made when a request arrives: a user with a queue pays for what it has not got.",
        "INV-UPPER",
        replace(SFQ, arrive=_paid_on_arrival, charge=lambda S, c, w: S),
    ),
    Mutant(
        "charges-on-completion",
        "The charge is made at completion: work in flight is invisible, one user takes every free slot.",
        "DISP-BEFORE",
        replace(SFQ, complete=_paid_on_completion, charge=lambda S, c, w: S),
    ),
    Mutant(
        "refunds-on-completion",
        "The estimate is given back at completion: the meter falls below v.",
        "R-FINAL",
        replace(SFQ, complete=_refunded),
        needs=("complete",),
    ),
    Mutant(
        "weight-rescales-history",
        "A new weight is applied to what was charged before.",
        "R-WEIGHT",
        replace(SFQ, reweigh=_rescaled),
        needs=("weight",),
    ),
    Mutant(
        "cancel-charges",
        "A request that is withdrawn while it waits is charged.",
        "INV-UPPER",
        replace(SFQ, cancel=_paid_on_cancel),
        needs=("cancel",),
    ),
    Mutant(
        "cancel-forgives",
        "Withdrawing a request sets the meter to v: a debtor gets rid of its debt.",
        "FAIR-UPPER",
        replace(SFQ, cancel=_forgiven_on_cancel),
        needs=("cancel",),
    ),
    Mutant(
        "cancel-skips-reset",
        "Withdrawing the last request anywhere does not close the competition.",
        "RESET-LEVEL",
        replace(SFQ, cancel=_not_over_by_cancel),
        needs=("cancel",),
    ),
    Mutant(
        "leaving-forgives",
        "A user whose queue empties is forgotten, debt and all.",
        "FAIR-UPPER",
        replace(SFQ, dispatch=_forgiven_on_leaving),
    ),
    Mutant(
        "greatest-first",
        "The user of the greatest meter is dispatched.",
        "R-SELECT",
        replace(SFQ, is_first=_greatest_first),
    ),
    Mutant(
        "earliest-finish-first",
        "The user of the least finish tag is dispatched: the choice depends on an estimate, heavy requests wait.",
        "R-SELECT",
        replace(SFQ, is_first=_earliest_finish_first),
    ),
    Mutant(
        "last-id-first",
        "A tie goes to the later user id.",
        "R-SELECT",
        replace(SFQ, is_first=_last_id_first),
    ),
    Mutant(
        "upkeep-rewinds-clock",
        "Rebasing sets virtual time to zero and leaves the meters.",
        "INV-MONO",
        replace(SFQ, upkeep=_clock_rewound),
        needs=("upkeep",),
    ),
    Mutant(
        "forgets-debtors",
        "Upkeep forgets users that do not wait, also those ahead of v.",
        "FAIR-UPPER",
        wrap=_forgets_debtors,
        needs=("upkeep",),
    ),
    Mutant("newest-first", "A user's newest request is sent first.", "R-FIFO", wrap=_newest_first),
    Mutant(
        "cancels-the-head",
        "A cancel removes the head of the user's queue, whichever request it names.",
        "R-FIFO",
        wrap=_cancels_the_head,
        needs=("cancel",),
    ),
    Mutant(
        "charges-a-refusal",
        "An arrival that is refused still moves the meter.",
        "R-REFUSE",
        wrap=_charges_a_refusal,
        needs=("duplicate",),
    ),
    Mutant(
        "holds-heavy-heads",
        "A heavy head is held back although it is its turn: room stays empty while somebody waits.",
        "ORDER-WORK",
        wrap=_holds_heavy_heads,
    ),
    Mutant(
        "waits-for-its-time",
        "Nobody is dispatched before v has reached its start tag: where all who wait are ahead of v, nothing moves.",
        "ORDER-WORK",
        replace(SFQ, is_first=_on_time),
    ),
)
"""Every mutant, by the rule that it changes."""

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
