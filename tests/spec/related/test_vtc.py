"""VTC by hand, in two versions, and its bound on a server that forms batches."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from playing import Playing, Wrong, names
from sfq_spec.related import policies
from sfq_spec.related.facts import Facts
from sfq_spec.related.method import Job
from sfq_spec.related.policies import BadPolicy
from sfq_spec.related.vtc import Counters, Vtc, VtcArtifact


def served(playing: Playing) -> dict[str, Fraction]:
    """The counters."""
    return dict(playing.state.served)


# Charges.


def test_tokens_by_hand() -> None:
    """A pays 4 and B 1 for input; each token of output costs 2."""
    playing = Playing("vtc")
    playing.arrive("A1", "A2", input_tokens=4)
    playing.arrive("B1", "B2", "B3", input_tokens=1)
    assert playing.send(2) == "A1 B1"
    assert served(playing) == {"A": 4, "B": 1}
    playing.tell(produced={"A1": 1, "B1": 1})
    assert served(playing) == {"A": 6, "B": 3}
    assert playing.send(produced={"A1": 1, "B1": 1}) == "B2"
    assert served(playing) == {"A": 8, "B": 6}, "what a line tells is charged before its dispatch is decided"
    playing.complete("A1", output_tokens=5)
    assert served(playing) == {"A": 14, "B": 6}
    playing.complete("B1", output_tokens=2)
    playing.complete("B2")
    assert served(playing) == {"A": 14, "B": 6}
    assert playing.send(2) == "B3 A2"


def test_each_token_is_charged_once_and_nothing_is_refunded() -> None:
    for tokens, charged in ((7, 7), (2, 4), (None, 4)):
        playing = Playing("vtc:input-price=1/2,output-price=3")
        playing.arrive("A1", "A2", cost=10)
        playing.send(produced={"A2": 9, "nobody": 9})
        playing.tell(produced={"A1": 4, "A2": 9})
        playing.complete("A1", output_tokens=tokens)
        playing.complete("A1", output_tokens=50)
        playing.tell(produced={"A1": 9})
        assert served(playing) == {"A": 5 + 3 * charged}


def test_a_charge_is_divided_by_the_weight_of_the_moment() -> None:
    playing = Playing("vtc")
    playing.weigh(A=2)
    playing.arrive("A1", "A2", input_tokens=6)
    playing.send()
    playing.weigh(A=4)
    playing.tell(produced={"A1": 2})
    assert served(playing) == {"A": 3 + 1}


def test_without_tokens_the_cost_is_charged_at_dispatch() -> None:
    playing = Playing("vtc")
    playing.arrive(*names("A", 4), cost=3)
    playing.arrive(*names("B", 6))
    assert playing.send(8) == "A1 B1 B2 B3 A2 B4 B5 B6", "the article's example (§2.7)"


# The lift.


def a_millionaire_and_a_newcomer(policy: str) -> Playing:
    """B has been served a million and left. A comes, then B: in that order, and nobody else waits."""
    playing = Playing(policy)
    playing.arrive("B0", cost=1_000_000)
    playing.serve(1)
    playing.arrive(*names("A", 3400), cost=300)
    playing.arrive(*names("B", 10), cost=300)
    return playing


def test_with_the_artifact_a_newcomer_to_an_empty_queue_wins_3334_in_a_row() -> None:
    playing = a_millionaire_and_a_newcomer("vtc-artifact")
    assert served(playing) == {"A": 0, "B": 1_000_000}
    assert playing.send(3335).split() == [*names("A", 3334), "B1"]


def test_with_the_paper_it_is_lifted_to_the_last_that_left() -> None:
    playing = a_millionaire_and_a_newcomer("vtc")
    assert served(playing) == {"A": 1_000_000, "B": 1_000_000}
    assert playing.send(4) == "A1 B1 A2 B2"


def test_a_newcomer_among_others_is_lifted_to_the_least_by_both() -> None:
    for policy in ("vtc", "vtc-artifact"):
        playing = Playing(policy)
        playing.arrive(*names("A", 3), cost=10)
        playing.arrive(*names("B", 3), cost=4)
        assert playing.send(3) == "A1 B1 B2"
        playing.arrive("C1", "C2")
        assert served(playing) == {"A": 10, "B": 8, "C": 8}
        assert playing.send(2) == "B3 C1"


def test_the_last_that_left_is_not_the_greatest_and_goes_on_being_charged() -> None:
    playing = Playing("vtc")
    playing.arrive("A1", cost=10)
    playing.arrive("B1", cost=3)
    assert playing.send(2) == "A1 B1"
    playing.tell(produced={"B1": 2})
    playing.arrive("C1")
    assert served(playing)["C"] == 7, "3 of input and 2 tokens at 2, though A stands at 10"
    playing.arrive("A2")
    assert playing.send(2) == "C1 A2"


def test_who_leaves_by_a_cancellation_has_left_too() -> None:
    playing = Playing("vtc")
    playing.arrive("A1", cost=10)
    playing.arrive("B1", "B2", cost=30)
    assert playing.send(2) == "A1 B1"
    playing.cancel("B2")
    playing.arrive("C1")
    assert served(playing)["C"] == 30


# What only the artifact has.


def test_of_equal_counters_the_first_inserted_wins() -> None:
    for policy, order in (("vtc-artifact", "B1 A1 B2 A2"), ("vtc", "A1 B1 A2 B2")):
        playing = Playing(policy)
        playing.arrive("B1", "A1", "B2", "A2")
        assert playing.send(4) == order
    playing = Playing("vtc-artifact")
    playing.arrive("B1")
    playing.serve(1)
    playing.arrive("A1", "A2", "B2")
    assert playing.send(2) == "A1 B2", "at 1 to 1: B has been inserted first, however long ago"


def test_a_request_alone_pays_for_its_tokens() -> None:
    playing = Playing("vtc-artifact:input-price=1/1000")
    playing.arrive("A1")
    playing.send()
    for _ in range(99):
        playing.tell(produced={"A1": 1})
    playing.complete("A1", output_tokens=100)
    assert served(playing)["A"] == 200 + Fraction(1, 1000)


def beside_neighbours_that_finish(vtc: Vtc) -> Fraction:
    """What A pays for 100 tokens of output, the first with its prompt, where at each of 99 steps a neighbour finishes.

    At the last step A finishes as well, and is told first.
    """
    playing = Playing(vtc)
    playing.arrive("A1", cost=3)
    playing.send()
    for step in range(1, 100):
        playing.arrive(f"B{step}")
        playing.send(produced={"A1": 1})
        if step == 99:
            playing.complete("A1", output_tokens=100)
        playing.complete(f"B{step}", output_tokens=1)
    return served(playing)["A"] - 3


def test_all_that_run_are_charged_twice_where_one_finishes() -> None:
    """Of 99 steps each charges 2, and each charges again 2: 396 and not 200."""
    assert beside_neighbours_that_finish(VtcArtifact()) == 396
    assert beside_neighbours_that_finish(Remembers()) == 200


def test_costs_alone_are_no_reason_to_charge_twice() -> None:
    playing = Playing("vtc-artifact")
    playing.arrive("A1", "B1")
    playing.send(2)
    playing.complete("A1")
    assert served(playing) == {"A": 1, "B": 1}


# The bound: two users that always wait, on a server that runs so many requests at once.

SLOTS, INPUT, OUTPUT = 4, 30, 20
MOST = max(INPUT, 2 * SLOTS * (INPUT + OUTPUT))
"""max(w_p · L_input, w_q · M), where M is the most tokens that a batch can have."""


def spread(method: Any, seed: int, steps: int = 300) -> Fraction:
    """The greatest |W_f − W_g| of any interval; service is counted here, whatever the method counts."""
    rng, playing = Random(seed), Playing(method)
    ahead = greatest = least = 0
    running: dict[str, list[int]] = {}
    count = 0
    lengths = {"F": (1, 3), "G": (OUTPUT - 5, OUTPUT)}
    inputs = {}
    for name in "FG":
        for _ in range(SLOTS + 1):
            count += 1
            inputs[f"{name}{count}"] = rng.randint(1, INPUT)
            playing.arrive(f"{name}{count}", input_tokens=inputs[f"{name}{count}"])
    for _ in range(steps):
        while len(running) < SLOTS:
            sent = playing.send()
            name, sign = sent[0], 1 if sent[0] == "F" else -1
            running[sent] = [rng.randint(*lengths[name]), 0]
            ahead += sign * inputs[sent]
            greatest, least = max(greatest, ahead), min(least, ahead)
            count += 1
            inputs[f"{name}{count}"] = rng.randint(1, INPUT)
            playing.arrive(f"{name}{count}", input_tokens=inputs[f"{name}{count}"])
        playing.tell(produced=dict.fromkeys(running, 1))
        for request, tokens in list(running.items()):
            tokens[1] += 1
            ahead += 2 if request[0] == "F" else -2
            if tokens[0] == tokens[1]:
                playing.complete(request, output_tokens=tokens[1])
                del running[request]
        greatest, least = max(greatest, ahead), min(least, ahead)
    return Fraction(greatest - least)


def test_the_bound_for_two_that_always_wait() -> None:
    assert max(spread("vtc", seed) for seed in range(12)) <= 2 * MOST


def test_there_is_no_such_bound_for_charges_at_dispatch_alone() -> None:
    """SFQ's fairness is that of what it charges: with inputs alone outputs of unlike length go far apart."""
    assert min(spread("vtc:output-price=1/1000000000", seed, 600) for seed in range(3)) > 2 * MOST


# What is remembered.


class Remembers(Vtc):
    """The same rule with every counter kept."""

    def relevant(self, at: Any, counters: Counters, waiting: Any) -> Counters:
        return counters


def test_counters_that_are_dropped_would_have_made_no_difference() -> None:
    rng, dropped = Random(9), 0
    for _ in range(150):
        short, long = Playing(Vtc()), Playing(Remembers())
        flying = list[str]()
        for number in range(50):
            told: dict[str, Any] = {"produced": {request: rng.randint(0, 3) for request in flying}}
            kind = rng.randrange(4)
            if kind == 0:
                request, cost = f"{rng.choice('ABC')}{number}", rng.randint(1, 9)
                short.arrive(request, cost=cost, **told)
                long.arrive(request, cost=cost, **told)
            elif kind == 1 and flying:
                ended = flying.pop(rng.randrange(len(flying)))
                short.complete(ended, output_tokens=5)
                long.complete(ended, output_tokens=5)
            else:
                sent = short.send(**told)
                assert sent == long.send(**told)
                flying += [sent] if sent != "None" else []
            dropped += len(served(long)) - len(served(short))
    assert dropped > 1000


def test_the_artifact_remembers_everybody() -> None:
    playing = Playing("vtc-artifact")
    playing.arrive("A1", "B1")
    playing.send(2)
    playing.complete("A1", "B1")
    assert playing.state == Counters({"A": Fraction(1), "B": Fraction(1)}, {}, None, ("A", "B"))
    forgets = Playing("vtc")
    forgets.arrive("A1", "B1")
    forgets.send(2)
    forgets.complete("A1", "B1")
    assert forgets.state == Counters({"B": Fraction(1)}, {}, "B")


def test_bad_parameters() -> None:
    with pytest.raises(BadPolicy, match="input_price 0: must be above zero"):
        policies.method("vtc:input-price=0")


def charges_all_at_completion(vtc: Vtc, at: Any, job: Job, outcome: Any, told: Facts) -> Counters:
    return COMPLETE(
        vtc, replace(at, state=replace(at.state, produced={**at.state.produced, job.request: 0})), job, outcome, told
    )


def lifts_to_the_greatest(vtc: Vtc, at: Any, user: str) -> Fraction:
    return max((at.state.served[other] for other in at.queues if other != user), default=LEVEL(vtc, at, user))


COMPLETE, LEVEL = Vtc.complete, Vtc.level
WRONG = {
    "output is free": Wrong(Vtc, "produce", lambda vtc, at, job, tokens: at.state, (test_tokens_by_hand,)),
    "the greatest goes": Wrong(
        Vtc,
        "rank",
        lambda vtc, at, user: (-at.state.served[user], user),
        (test_tokens_by_hand, test_the_bound_for_two_that_always_wait),
    ),
    "output is charged twice": Wrong(
        Vtc,
        "complete",
        charges_all_at_completion,
        (test_tokens_by_hand, test_each_token_is_charged_once_and_nothing_is_refunded),
    ),
    "no lift": Wrong(
        Vtc,
        "level",
        lambda vtc, at, user: Fraction(0),
        (
            test_with_the_paper_it_is_lifted_to_the_last_that_left,
            test_a_newcomer_among_others_is_lifted_to_the_least_by_both,
            test_counters_that_are_dropped_would_have_made_no_difference,
        ),
    ),
    "lift to the greatest": Wrong(
        Vtc,
        "level",
        lifts_to_the_greatest,
        (test_a_newcomer_among_others_is_lifted_to_the_least_by_both,),
    ),
    "the artifact lifts as the paper does": Wrong(
        VtcArtifact,
        "left",
        Vtc.left,
        (test_with_the_artifact_a_newcomer_to_an_empty_queue_wins_3334_in_a_row,),
    ),
    "the artifact charges once": Wrong(
        VtcArtifact,
        "complete",
        COMPLETE,
        (test_all_that_run_are_charged_twice_where_one_finishes,),
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
