"""The rules, written differently and still right.

Each variant sends what the rules send, request for request (RESET-EAGER, KEEP-SHIFT, KEEP-FORGET); the relation that
holds between the two at every moment stands in `sameness`. A kit that refuses one of these refuses too much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfq_spec.competition import SFQ, Competition, Rules, Step, nobody_waits
from sfq_spec.logic import Logic, N, T, U


def reset_now(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T]) -> Competition[U, N, T]:
    """The reset that is due where nobody waits; anywhere else nothing (article §2.5)."""
    level = rules.reset(s.v, logic.supremum(s.v, s.meter), logic.maximum)
    return replace(s, v=logic.choose(nobody_waits(logic, s), level, s.v))


def lazily(rules: Rules = SFQ) -> Rules:
    """RESET-EAGER. The reset is left until somebody arrives who finds nobody waiting."""

    def arrive(logic: Any, lazy: Rules, s: Any, user: Any, cost: Any) -> Any:
        return rules.arrive(logic, rules, reset_now(logic, rules, s), user, cost)

    return replace(rules, arrive=arrive, is_over=lambda logic, s, user: logic.no(logic.true()))


def rebase(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T]) -> Step[U, N, T]:
    """KEEP-SHIFT. Upkeep that subtracts v from every meter and begins again at 0 (article §7.2).

    A new user's meter of 0 is then still not above v; a shift that makes v negative would have to begin it at v.
    """
    meter = logic.put_each(s.meter, lambda user: s.meter[user] - s.v)
    after = replace(s, v=s.v - s.v, meter=meter)
    return Step(logic.true(), after, after)


def forget(logic: Logic[U, N, T], rules: Rules, s: Competition[U, N, T]) -> Step[U, N, T]:
    """KEEP-FORGET. Upkeep after which whoever does not wait and is not ahead of v is as good as new (article §7.2)."""

    def kept(user: U) -> N:
        settled = logic.both(logic.no(s.waiting[user]), s.meter[user] <= s.v)
        return logic.choose(settled, s.v, s.meter[user])

    after = replace(s, meter=logic.put_each(s.meter, kept))
    return Step(logic.true(), after, after)


def rebasing(rules: Rules = SFQ) -> Rules:
    """The rules with an upkeep that rebases."""
    return replace(rules, upkeep=rebase)


def forgetting(rules: Rules = SFQ) -> Rules:
    """The rules with an upkeep that forgets."""
    return replace(rules, upkeep=forget)
