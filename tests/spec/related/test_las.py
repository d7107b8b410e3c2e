"""LAS by hand: charges and scores, and what follows from the rule that the seed does not say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from playing import Playing, Wrong, names
from programs import NEVER, attain, service, timeless
from sfq_spec.logic import Exact
from sfq_spec.related import las as module
from sfq_spec.related.attained import Candidate, Weights, is_chosen
from sfq_spec.related.halving import ZERO, number
from sfq_spec.related.las import Las, LasV1, Programs
from sfq_spec.related.method import Job, Method
from sfq_spec.related.policies import BadPolicy, method

# What is charged, and when.


def test_the_cost_is_input_and_twice_output_at_completion() -> None:
    playing = timeless()
    playing.arrive("A1", "A2", cost=7)
    playing.arrive("A3", cost=7, input_tokens=11)
    playing.arrive("A4", "A5", cost=7)
    playing.send(5)
    assert service(playing, "A") == ZERO
    attained = []
    usage: dict[str, dict[str, Any]] = {
        "A1": {"input_tokens": 100, "output_tokens": 50},
        "A2": {"output_tokens": 3},
        "A3": {"output_tokens": 5},
        "A4": {},
    }
    for request, told in usage.items():
        playing.complete(request, **told)
        attained.append(service(playing, "A").terms[NEVER])
    assert attained == [200, 200 + 7 + 6, 213 + 11 + 10, 234 + 7]
    playing.complete("A5", outcome="cancelled")
    assert service(playing, "A").terms[NEVER] == 241, "of what was abandoned nothing was told, and nothing is charged"


def test_an_abandoned_request_is_charged_what_was_told_of_it() -> None:
    playing = timeless()
    playing.arrive("A1")
    playing.send()
    playing.complete("A1", outcome="failed", output_tokens=4)
    assert service(playing, "A").terms == {0: 8}


@pytest.mark.claims("LAS-FLIGHT")
def test_in_flight_is_dispatched_minus_ended() -> None:
    rng, playing = Random(5), Playing("las")
    waiting, flying = list[str](), list[str]()
    for number_ in range(400):
        match rng.randrange(4):
            case 0 | 1:
                waiting.append(f"{rng.choice('ABC')}{number_}")
                playing.arrive(waiting[-1])
            case 2 if waiting:
                flying.append(playing.send())
                waiting.remove(flying[-1])
            case 3 if flying:
                playing.complete(flying.pop(rng.randrange(len(flying))), outcome=rng.choice(["completed", "failed"]))
        counted = {name: sum(request[0] == name for request in flying) for name in "ABC"}
        assert playing.state.in_flight == {name: count for name, count in counted.items() if count}


# The score.

SEED = Weights(Fraction("0.8"), Fraction("0.2"))


def choice(candidates: dict[str, tuple[int, int]], las: Method[Any] | None = None) -> str:
    """Who is chosen of programs that have attained so many tokens, and wait so many milliseconds."""
    playing = Playing(las or Las(half_life=NEVER))
    attain(playing, {name: tokens for name, (tokens, _) in candidates.items()})
    longest = max(wait for _, wait in candidates.values())
    for name, (_, wait) in sorted(candidates.items(), key=lambda of: -of[1][1]):
        playing.arrive(f"{name}1", time=Fraction(longest - wait, 1000))
    return playing.send(time=Fraction(longest, 1000))[0]


@pytest.mark.claims("LAS-OTHERS", "LAS-LOWEST", "LAS-RANGE")
def test_it_is_not_independent_of_irrelevant_alternatives() -> None:
    """A scores 0.8 to B's 0.2. With C in the range, B is 100 of 10,000 behind: 0.992 to 0.8."""
    assert choice({"A": (0, 0), "B": (100, 1000)}) == "A"
    assert choice({"A": (0, 0), "B": (100, 1000), "C": (10_000, 0)}) == "B"
    assert choice({"A": (0, 0), "B": (2500, 1000), "C": (10_000, 0)}) == "A", "a quarter of the range is a tie: by id"
    assert choice({"A": (0, 0), "B": (2499, 1000), "C": (10_000, 0)}) == "B"
    assert choice({"A": (0, 0), "B": (2501, 1000), "C": (10_000, 0)}) == "A"


@pytest.mark.claims("LAS-PAIR", "LAS-HEAD")
def test_of_two_the_one_with_less_service_goes_whatever_the_waits() -> None:
    assert choice({"A": (10, 0), "B": (11, 1_000_000)}) == "A"
    assert choice({"A": (11, 1_000_000), "B": (10, 0)}) == "B"
    assert choice({"A": (1000, 500), "B": (10, 0)}) == "B"
    assert choice({"A": (5, 50), "B": (5, 500)}) == "B", "with equal service the longer wait decides"
    assert choice({"B": (5, 50), "A": (5, 50)}) == "A", "and the id where nothing does"


def test_waits_are_whole_milliseconds() -> None:
    for wait, chosen in ((Fraction(19, 10_000), "A"), (Fraction(20, 10_000), "B")):
        playing = timeless()
        playing.arrive("B1", time=0)
        playing.arrive("A1", time=wait - Fraction(1, 1000))
        assert playing.send(time=wait)[0] == chosen, "both have waited for 1 ms, or B for 2"


def agrees(las: Method[Any]) -> bool:
    """Whether nobody had a greater score than who was chosen, nor an earlier id at the same one."""
    rng = Random(11)
    for _ in range(150):
        candidates = {
            name: (rng.choice([0, 1, 5, 100, 2500, 10_000]), rng.choice([0, 1, 250, 1000]))
            for name in "ABCDE"[: rng.randint(1, 5)]
        }
        table = {name: Candidate(*map(Fraction, of)) for name, of in candidates.items()}
        if not is_chosen(Exact(table), SEED, table, choice(candidates, las)):
            return False
    return True


@pytest.mark.claims("LAS-SELECT")
def test_the_score_is_that_of_the_source() -> None:
    assert agrees(Las(half_life=NEVER))
    assert agrees(LasV1(factor=Fraction(1)))
    assert not agrees(Las(half_life=NEVER, weight_wait=Fraction("0.21")))
    assert not agrees(Las(half_life=NEVER, weight_service=Fraction("0.79")))


def test_without_weights_nothing_counts_but_the_id() -> None:
    """Both at 0 are allowed, as in the source, and then every score is 0."""
    las = Las(half_life=NEVER, weight_service=NEVER, weight_wait=NEVER)
    assert choice({"A": (1000, 0), "B": (0, 5000)}, las) == "A"


# What follows from it.


@pytest.mark.claims("LAS-ROOMS")
def test_work_in_flight_is_invisible() -> None:
    """64 free slots, A has attained 0 and B 1: A gets all of them."""
    playing = timeless()
    attain(playing, {"B": 1})
    playing.arrive(*names("A", 100), *names("B", 100))
    assert playing.send(64) == " ".join(names("A", 64))
    fair = Playing("vtc")
    fair.arrive(*names("A", 100), *names("B", 100))
    assert fair.send(64).count("A") == 32


def test_a_newcomer_wins_3334_in_a_row() -> None:
    """It starts at 0 and pays 300 each time, where another has attained a million: 3333 · 300 < 1,000,000."""
    playing = timeless(ttl=NEVER)
    attain(playing, {"A": 1_000_000})
    playing.arrive(*names("B", 3340), "A1", cost=300)
    assert playing.serve(3336).split() == [*names("B", 3334), "A1", "B3335"]


def test_with_a_half_life_the_newcomer_wins_only_what_is_left() -> None:
    """After ten half-lives 1,000,000 is 976.5625: four requests of 300 bring the newcomer above it."""
    playing = Playing(Las(ttl=NEVER))
    attain(playing, {"A": 1_000_000})
    playing.tell(time=600)
    assert service(playing, "A").terms == {0: Fraction("976.5625")}
    playing.arrive(*names("B", 10), *names("A", 10), cost=300)
    assert playing.serve(5).split() == ["B1", "B2", "B3", "B4", "A1"]


def passed_over(ttl: int) -> int:
    """How many newcomers, one a minute, go before a program that has attained one token and waits; 300 at most."""
    playing = timeless(ttl=Fraction(ttl))
    attain(playing, {"A": 1})
    playing.arrive("A1")
    for minute in range(300):
        playing.arrive(f"{'x' * (minute + 1)}1", time=60 * minute)
        if playing.serve(1) == "A1":
            return minute
    return 300


@pytest.mark.claims("LAS-STARVE", "LAS-FRESH")
def test_there_is_no_bound_on_starvation_and_a_fresh_id_always_wins() -> None:
    """Who waits is not protected from being forgotten either, and that alone ends its wait, at the sweep of 3900."""
    assert passed_over(0) == 300
    assert passed_over(3600) == 3900 // 60


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("las:half_life=-1", "half_life -1: must be 0 or more"),
        ("las:weight_service=-0.1", "weight_service -1/10: must be 0 or more"),
        ("las:ttl=-1", "ttl -1: must be 0 or more"),
        ("las:sweep=0", "sweep 0: must be above zero"),
        ("las-v1:factor=1.5", "factor 3/2: must be above zero, and 1 at most"),
        ("las-v1:factor=0", "factor 0: must be above zero, and 1 at most"),
        ("las:factor=0.5", "factor: v2 has none"),
        ("las:version=v3", "version must be one of v1, v2"),
    ],
)
def test_bad_parameters(policy: str, reason: str) -> None:
    with pytest.raises(BadPolicy, match=reason):
        method(policy)


# Wrong models.


def charges_at_dispatch(las: Las, at: Any) -> tuple[Programs, Job]:
    programs, job = DISPATCH(las, at)
    program = las._added(at, job.user, number(job.cost))
    return replace(programs, known={**programs.known, job.user: program}), job


DISPATCH = Las.dispatch
WRONG = {
    "charges at dispatch": Wrong(Las, "dispatch", charges_at_dispatch, (test_work_in_flight_is_invisible,)),
    "output counts once": Wrong(
        module,
        "used",
        lambda job, outcome, told: (told.input_tokens or job.cost) + (told.output_tokens or 0),
        (test_the_cost_is_input_and_twice_output_at_completion,),
    ),
    "no range is no score": Wrong(
        module,
        "_normal",
        lambda values: dict.fromkeys(values, Fraction(1, 2)),
        (test_it_is_not_independent_of_irrelevant_alternatives, test_the_score_is_that_of_the_source),
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
