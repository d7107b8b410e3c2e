"""What is in flight: abandonment, completions that come twice, and sweeps between a pick and its dispatch."""

from __future__ import annotations

from random import Random
from typing import Any, get_args

import pytest

from sfq_impl.fleet.policy import Usage
from sfq_impl.policy.configuration import made
from sfq_impl.policy.interfaces import InferenceRequest, Response, Termination
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_proofs.related import las_hooks
from sfq_proofs.related.las_play import Clock, Play, program_aware

QUICK = {"evictionTtlSeconds": 10, "evictionSweepSeconds": 5}
COMPATIBLE = ("release-0.10", "development-2026-08")


def abandoned(**parameters: Any) -> Play:
    """A has attained 100 and has then left a request behind, before anything was told of it."""
    play = program_aware(**parameters)
    play.attain(A=100)
    play.arrive("A1", cost=40)
    play.send()
    play.complete("A1", tokens=None, outcome="cancelled")
    return play


@pytest.mark.parametrize("mode", COMPATIBLE)
def test_as_the_seed_says_an_abandoned_request_pins_its_program(mode: str) -> None:
    play = abandoned(compatibility=mode, **QUICK)
    play.clock.at(100_000)
    play.fairness.advance(play.clock.now)
    assert play.flying("A") == 1


def test_otherwise_it_is_in_flight_no_more_and_its_program_is_forgotten() -> None:
    play = abandoned(**QUICK)
    assert play.flying("A") == 0
    play.clock.at(20)
    play.fairness.advance(play.clock.now)
    assert play.fairness.programs == {}


@pytest.mark.parametrize(
    ("rule", "tokens", "charged"),
    [
        ("reported", None, 0),
        ("reported", (10, 3), 16),
        ("nothing", (10, 3), 0),
        ("estimate", None, 40),
        ("estimate", (10, 3), 40),
        ("estimate", (100, 3), 106),
    ],
)
def test_what_abandoned_work_is_charged(rule: str, tokens: tuple[int, int] | None, charged: int) -> None:
    for outcome in ("cancelled", "failed"):
        play = program_aware(chargeAbandoned=rule)
        play.arrive("A1", cost=40)
        play.send()
        play.complete("A1", tokens=tokens, outcome=outcome)
        assert play.service("A") == charged


@pytest.mark.parametrize(
    ("rule", "tokens", "charged"),
    [
        ("estimate", None, 40),
        ("estimate", (100, 3), 106),
        ("estimate", (10, 3), 40),
        ("reported", None, 0),
        ("reported", (10, 3), 16),
        ("nothing", (10, 3), 0),
        (None, None, 40),
    ],
)
def test_what_abandoned_work_is_charged_by_the_settled_policy(
    rule: str | None, tokens: tuple[int, int] | None, charged: int
) -> None:
    given = {"lasHalfLifeSeconds": 0} | ({"chargeAbandoned": rule} if rule else {})
    for outcome in ("cancelled", "failed"):
        clock = Clock()
        play = Play(made("program-aware-settled-fairness", parameters=given, clock=clock), clock)
        play.arrive("Z1", "A1", cost=40)
        play.send(2)
        assert play.service("A") == 40
        play.complete("A1", tokens=tokens, outcome=outcome)
        assert play.service("A") == charged


@pytest.mark.parametrize(("mode", "charged"), [("none", 40), ("release-0.10", 0), ("development-2026-08", 0)])
def test_a_server_that_tells_nothing_of_a_whole_answer(mode: str, charged: int) -> None:
    """The estimate stands for it; in the original it is free."""
    play = program_aware(compatibility=mode)
    play.arrive("A1", cost=40)
    play.send()
    play.complete("A1", tokens=None)
    assert play.service("A") == charged


def completed_twice(mode: str) -> ProgramAwareFairness:
    policy: ProgramAwareFairness = program_aware(compatibility=mode, **QUICK).fairness
    request = InferenceRequest("1", "A")
    policy.pre_request(request)
    for _ in range(2):
        policy.response_body(request, Response(True, Usage(5, 0)))
    return policy


@pytest.mark.parametrize("mode", COMPATIBLE)
def test_in_the_original_a_second_completion_counts_again(mode: str) -> None:
    program = completed_twice(mode).programs["A"]
    assert (program.in_flight, program.service) == (-1, 10)


def test_otherwise_it_does_nothing() -> None:
    policy = completed_twice("none")
    assert (policy.programs["A"].in_flight, policy.programs["A"].service) == (0, 5)
    policy.pre_request(InferenceRequest("1", "A"))
    assert policy.programs["A"].in_flight == 1, "its id is free again"


def test_a_completion_of_what_was_never_sent_does_nothing() -> None:
    policy = ProgramAwareFairness()
    policy.response_body(InferenceRequest("1", "A"), Response(True, Usage(5, 0)))
    assert policy.programs == {}


@pytest.mark.claims("LAS-FLIGHT")
def test_a_sweep_between_a_dispatch_and_its_hook_loses_nothing() -> None:
    """The program is met before, and swept just when its request leaves: the hook meets it anew."""
    play = program_aware(**QUICK)
    play.attain(A=100)
    play.clock.at(60)
    policy: ProgramAwareFairness = play.fairness
    orphan = policy.meet("A", play.clock.now)
    policy.sweep(play.clock.now)
    assert "A" not in policy.programs
    request = InferenceRequest("1", "A")
    policy.pre_request(request)
    policy.sweep(play.clock.now + 10**12)
    assert policy.programs["A"].in_flight == 1, "in flight, so it is kept"
    policy.response_body(request, Response(True, Usage(5, 0)))
    assert policy.programs["A"].in_flight == 0
    assert orphan.in_flight == 0


def test_a_header_that_changes_on_the_way_moves_no_count() -> None:
    policy = ProgramAwareFairness()
    request = InferenceRequest("1", "A")
    policy.pre_request(request)
    request.fairness_id = "B"
    policy.response_body(request, Response(True, Usage(5, 0)))
    assert policy.programs["A"].in_flight == 0
    assert "B" not in policy.programs


@pytest.mark.claims("LAS-FLIGHT", "LAS-POSITIVE")
@pytest.mark.parametrize("type", ["program-aware-fairness", "program-aware-settled-fairness"])
def test_in_flight_is_dispatched_minus_ended_whatever_comes(type: str) -> None:
    """Hooks in any order, twice or for nothing, with sweeps at any time."""
    for seed in range(150):
        rng, clock = Random(seed), Clock()
        policy: Any = made(type, parameters=QUICK, clock=clock)
        flying: dict[str, str] = {}
        for _ in range(60):
            clock.after(rng.choice([0, 1, 6, 60]))
            request = InferenceRequest(str(rng.randrange(6)), rng.choice("AB"), 3)
            match rng.randrange(4):
                case 0:
                    policy.pre_request(request)
                    flying.setdefault(request.request_id, request.fairness_id)
                case 1 | 2:
                    termination = rng.choice(get_args(Termination))
                    usage = rng.choice([None, Usage(1, 1)])
                    policy.response_body(request, Response(rng.random() < 0.8, usage, termination))
                    if request.request_id not in policy._flying:
                        flying.pop(request.request_id, None)
                case 3:
                    policy.advance(clock.now)
            for id in "AB":
                program = policy.programs.get(id)
                assert (program.in_flight if program else 0) == list(flying.values()).count(id)
                assert program is None or program.service >= 0


@pytest.mark.claims("LAS-FLIGHT", "LAS-POSITIVE")
@pytest.mark.parametrize("make", [las_hooks.program_aware(), las_hooks.settled], ids=["program-aware", "settled"])
def test_every_order_of_hooks(make: las_hooks.Make) -> None:
    """Two requests of one program, met, sent, ended and given up in every order, as often as may be, with sweeps."""
    states, wrong = las_hooks.every_order(make)
    assert not wrong
    assert states > 5


@pytest.mark.claims("LAS-FLIGHT")
@pytest.mark.parametrize(
    ("fault", "order"),
    [
        ("release 0.10: what is given up stays in flight", "1 in flight, 1 dispatched, 1 ended"),
        ("release 0.10: a second end counts", "-1 in flight, 1 dispatched, 1 ended"),
        (
            "a sweep comes between the look and the count",
            "met, later, sent 1: 0 in flight, 1 dispatched, 0 ended",
        ),
        (
            "the sweep does not look at what is in flight",
            "sent 1, later, sweep: 0 in flight, 1 dispatched, 0 ended",
        ),
    ],
)
def test_a_policy_that_miscounts_is_found(fault: str, order: str) -> None:
    assert las_hooks.shown(fault) == order
