"""The methods of networks under all that may happen: withdrawals, new estimates and weights, with a clock or not."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from networks import USERS, runs
from sfq_spec.refusals import Refused
from sfq_spec.related import policies
from sfq_spec.related.facts import Facts
from sfq_spec.related.method import MethodScheduler
from sfq_spec.related.model import key
from sfq_spec.related.policies import BadPolicy
from sfq_spec.trace import Arrive, Cancel, Complete, Dispatch, Event, Recost, SetWeight

FORGET = ("drr:quantum=5", "scfq", "wf2q-plus", "wfq", "wfq-packet-active")
"""Where nobody waits, and no line tells the time, these begin again."""
POLICIES = (*FORGET, "drr:quantum=1/7", "virtual-clock:rate=1/3", "wfq:rate=2")


def events(chance: Random, count: int = 60) -> Iterator[Event]:
    """Mostly valid; ids are used again once their requests have ended."""
    for _ in range(count):
        request = str(chance.randint(0, 12))
        positive = Fraction(chance.randint(1, 40), chance.choice((1, 1, 3)))
        yield chance.choices(
            (
                Arrive(chance.choice(USERS), request, positive),
                Dispatch(),
                Complete(request),
                Cancel(request),
                Recost(request, positive),
                SetWeight(chance.choice(USERS), positive / 10),
            ),
            (40, 30, 30, 8, 8, 5),
        )[0]


def told(chance: Random, clock: bool) -> Iterator[Facts]:
    """Now and then some time has passed."""
    time = Fraction(1_000)
    while True:
        time += Fraction(chance.choice((0, 0, 1, 5, 70)), 3)
        yield Facts(time=time) if clock and chance.random() < 0.7 else Facts()


@pytest.mark.integration
@pytest.mark.parametrize("clock", [False, True], ids=["link", "clock"])
@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_happens_there_is_one_that_goes_next_and_of_its_user_the_oldest(policy: str, clock: bool) -> None:
    sent = refused = 0
    for chance in runs(1):
        scheduler: MethodScheduler[Any] = MethodScheduler(policies.method(policy))
        for event, facts in zip(events(chance), told(chance, clock), strict=False):
            before = scheduler.situation
            try:
                answer = scheduler.step(event, facts)
            except Refused:
                refused += 1
                assert (scheduler.situation.queues, scheduler.situation.state) == (before.queues, before.state)
                continue
            hash(key(scheduler.situation))
            if isinstance(event, Dispatch):
                assert (answer.dispatched is None) == (not before.queues)
                assert not before.queues or answer.dispatched in {queue[0].request for queue in before.queues.values()}
                sent += answer.dispatched is not None
            if policy in FORGET and not clock and not scheduler.situation.queues:
                assert scheduler.situation.state == scheduler.method.first()
    assert sent > 100
    assert refused > 100


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if "drr" not in policy])
def test_whoever_waits_has_a_tag(policy: str) -> None:
    for chance in runs(1):
        scheduler: MethodScheduler[Any] = MethodScheduler(policies.method(policy))
        for event in events(chance, 40):
            if isinstance(event, Arrive) and event.request in scheduler.situation.live:
                continue
            try:
                scheduler.step(event)
            except Refused:
                continue
            at, method = scheduler.situation, scheduler.method
            assert all(method.tag(at, at.head(user)) > 0 for user in at.queues)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("drr", "drr needs quantum: write drr:quantum=VALUE"),
        ("drr:quantum=0", "quantum is 0: give a credit above zero, about the largest cost"),
        ("drr:quantum=-1", "quantum is -1: give a credit above zero"),
        ("wfq:rate=0", "rate is 0: give units of cost a second, above zero"),
        ("wfq-packet-active:rate=-2", "rate is -2: give units of cost a second, above zero"),
        ("virtual-clock:rate=0", "rate is 0: give units of cost a second, above zero"),
        ("gps", "there is no policy 'gps'"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(policy: str, reason: str) -> None:
    with pytest.raises(BadPolicy, match=reason):
        policies.method(policy)
