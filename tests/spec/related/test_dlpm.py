"""DLPM by hand, and against the refill that goes round by round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from playing import Playing, Wrong, names
from sfq_spec.related import dlpm as module
from sfq_spec.related import policies
from sfq_spec.related.dlpm import Client, Dlpm
from sfq_spec.related.policies import BadPolicy


def deficits(playing: Playing) -> dict[str, Any]:
    """Of every known client."""
    return {name: client.deficit for name, client in playing.state.known.items()}


# Deficits.


def test_deficits_by_hand() -> None:
    """Nobody has credit: 5 for all. A goes to −7 with its 12. B goes on while it has credit: 2, then −1.

    Then a round: A −2, B 4. B goes to 1, and to −2. A round: 3 and 3, and A is the older.
    """
    playing = Playing("dlpm:quantum=5")
    playing.arrive("A1", cost=12)
    playing.arrive("A2", cost=1)
    playing.arrive(*names("B", 9), cost=3)
    after = [(playing.send(), deficits(playing)) for _ in range(6)]
    assert after == [
        ("A1", {"A": -7, "B": 5}),
        ("B1", {"A": -7, "B": 2}),
        ("B2", {"A": -7, "B": -1}),
        ("B3", {"A": -2, "B": 1}),
        ("B4", {"A": -2, "B": -2}),
        ("A2", {"A": 2, "B": 3}),
    ]


def test_every_first_request_needs_a_refill() -> None:
    playing = Playing("dlpm:quantum=5")
    playing.arrive("A1", cost=4)
    assert (playing.send(), deficits(playing)) == ("A1", {"A": 1})
    playing.arrive("B1", "A2", cost=2)
    assert (playing.send(), deficits(playing)) == ("A2", {"A": -1, "B": 0}), "A has credit, and B does not yet"
    assert (playing.send(), deficits(playing)) == ("B1", {"A": 4, "B": 3})


def test_a_debt_of_a_million_takes_1954_rounds() -> None:
    """1954 · 512 is the first multiple above it, and 448 is left over; idle clients get each round that they need."""
    playing = Playing("dlpm")
    playing.arrive("B1", cost=600)
    assert (playing.send(), deficits(playing)) == ("B1", {"B": -88})
    playing.arrive("A1", cost=1_000_512)
    assert (playing.send(), deficits(playing)) == ("A1", {"B": 424, "A": -1_000_000})
    playing.arrive("A2", cost=1)
    assert (playing.send(), deficits(playing)) == ("A2", {"B": 424, "A": 447})


def test_credit_never_grows_beyond_a_quantum() -> None:
    playing = Playing("dlpm:quantum=5")
    playing.arrive("A1")
    playing.send()
    assert deficits(playing) == {"A": 4}
    playing.arrive(*names("B", 50), cost=5)
    playing.send(50)
    assert deficits(playing) == {"A": 4, "B": 0}


def test_who_is_idle_in_debt_is_forgiven_while_others_refill() -> None:
    """A owes 95. B needs a round for each of its requests but the first, which A gets too: after 20 it is even."""
    playing = Playing("dlpm:quantum=5")
    playing.arrive("A1", cost=100)
    playing.send()
    assert deficits(playing) == {"A": -95}
    playing.arrive(*names("B", 20), cost=5)
    playing.send(20)
    assert deficits(playing) == {"A": 5, "B": 0}


def after(idle: int) -> str:
    """A owes 950 and is idle for so long, while B has credit all the time and nobody is refilled. Both come back."""
    playing = Playing("dlpm:quantum=50")
    playing.arrive("A1", cost=1000)
    playing.arrive("B1", cost=20)
    assert playing.send(2) == "A1 B1"
    playing.arrive("B2", time=idle // 2)
    assert playing.send() == "B2"
    assert deficits(playing) == {"A": -950, "B": 29}
    playing.arrive("B3", time=idle, cost=29)
    playing.send()
    playing.arrive(*names("A", 3, 2), *names("B", 3, 4))
    return playing.send(2)


def test_after_an_hour_a_debt_is_forgotten() -> None:
    """With 950 to pay, A waits behind B for 19 rounds and more; forgotten, it is as new as anybody."""
    assert after(3600) == "B4 B5"
    assert after(3601) == "A2 A3"


def test_a_refill_counts_as_being_seen() -> None:
    """Who owes is never forgotten as long as others need refills."""
    playing = Playing("dlpm:quantum=5")
    playing.arrive("A1", cost=10_000)
    playing.send()
    for count, time in enumerate(range(0, 20_000, 1800)):
        playing.arrive(f"B{count}", cost=5, time=time)
        playing.send()
    assert deficits(playing)["A"] < -9000


def test_without_a_clock_nobody_is_forgotten() -> None:
    playing = Playing("dlpm:quantum=5,forget=0")
    playing.arrive("A1", cost=100)
    playing.arrive(*names("B", 9))
    playing.send(9)
    assert deficits(playing)["A"] < 0


# Prefixes.


def test_the_longest_cached_prefix_goes_first_and_only_the_rest_is_charged() -> None:
    """A1 leaves s and a in the cache. Of A2 two of three blocks of 100 are cached, of B1 none, of C1 one."""
    playing = Playing("dlpm:quantum=1000")
    playing.arrive("A1", input_tokens=200, prefix=("s", "a"))
    assert (playing.send(), deficits(playing)["A"]) == ("A1", 800)
    playing.arrive("B1", input_tokens=300, prefix=("x", "y", "a"))
    playing.arrive("C1", input_tokens=300, prefix=("s", "c", "a"))
    playing.arrive("A2", input_tokens=300, prefix=("s", "a", "d"))
    assert (playing.send(), deficits(playing)["A"]) == ("A2", 700)
    playing.arrive("D1", input_tokens=1, prefix=("q", "s"))
    assert playing.send(3) == "C1 B1 D1"
    assert deficits(playing) == {"A": 700, "B": 700, "C": 800, "D": 999}


def test_credit_comes_before_locality() -> None:
    playing = Playing("dlpm:quantum=10")
    playing.arrive("A1", "B1", cost=12, prefix=("s",))
    playing.arrive("A2", cost=12, prefix=("s", "t"))
    playing.arrive("B2", cost=1, prefix=("z",))
    assert playing.send() == "A1"
    assert deficits(playing) == {"A": -2, "B": 10}
    assert playing.send(2) == "B1 B2", "A2 has as much of its prefix cached as B1, and B2 nothing, but A has no credit"


def test_of_one_user_too_a_later_request_may_go_first() -> None:
    playing = Playing("dlpm")
    playing.arrive("A1", prefix=("s",))
    playing.send()
    playing.arrive("A2", prefix=("x",))
    playing.arrive("A3", prefix=("s", "y"))
    assert playing.send(2) == "A3 A2"


def test_the_order_is_made_afresh_for_each_request() -> None:
    playing = Playing("dlpm")
    playing.arrive("A1", prefix=("s",))
    playing.arrive("A2", prefix=("t",))
    playing.arrive("A3", prefix=("s", "u"))
    assert playing.send(3) == "A1 A3 A2"


def test_a_cache_with_room_for_two_blocks() -> None:
    """Of a, b, c the first two stay, and a is in use later than b: after x it is a and x."""
    playing = Playing("dlpm:blocks=2")
    playing.arrive("A1", prefix=("a", "b", "c"))
    playing.send()
    assert set(playing.state.cached) == {"a", "b"}
    playing.arrive("A2", prefix=("x",))
    playing.send()
    assert set(playing.state.cached) == {"a", "x"}
    playing.arrive("A3", cost=30, prefix=("a", "b", "c"))
    before = deficits(playing)["A"]
    playing.send()
    assert deficits(playing)["A"] == before - 20


# Output.


def test_output_is_charged_once() -> None:
    for tokens, charged in ((7, 7), (2, 4), (None, 4)):
        playing = Playing("dlpm:quantum=100,price=1/2")
        playing.arrive("A1", "A2", cost=10)
        playing.send()
        playing.tell(produced={"A1": 4, "A2": 9})
        playing.complete("A1", output_tokens=tokens)
        playing.complete("A1", output_tokens=50)
        assert deficits(playing) == {"A": 100 - 5 - charged}
        assert playing.state.produced == {}


# Against rounds that are gone through one by one.


def round_by_round(dlpm: Dlpm, at: Any, known: Mapping[str, Client]) -> dict[str, Client]:
    """As the public implementation refills."""
    clients = dict(known)
    while all(clients[name].deficit <= 0 for name in at.queues):
        for name, client in clients.items():
            if client.deficit <= 0:
                clients[name] = Client(client.deficit + dlpm.quantum, at.time)
    return clients


def the_same(quantum: int) -> bool:
    once, stepwise = Playing(Dlpm(Fraction(quantum))), Playing(RoundByRound(Fraction(quantum)))
    rng = Random(quantum)
    for number in range(200):
        if rng.random() < 0.6:
            request, cost = f"{rng.choice('ABC')}{number}", rng.choice([1, 3, 20, 90])
            prefix = tuple(rng.choice("xyz") for _ in range(rng.randint(0, 3)))
            time = number * 200
            once.arrive(request, cost=cost, prefix=prefix, time=time)
            stepwise.arrive(request, cost=cost, prefix=prefix, time=time)
        elif once.send() != stepwise.send() or once.state != stepwise.state:
            return False
    return True


class RoundByRound(Dlpm):
    _refilled = round_by_round


def test_refills_at_once_are_refills_round_by_round() -> None:
    assert all(map(the_same, (1, 2, 7, 50)))


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("dlpm:quantum=0", "quantum 0: must be above zero, or nobody would ever have credit"),
        ("dlpm:price=-1", "price -1: must be 0 or more"),
        ("dlpm:blocks=-2", "blocks -2: must be 0 or more"),
        ("dlpm:blocks=1.5", "blocks must be a whole number"),
    ],
)
def test_bad_parameters(policy: str, reason: str) -> None:
    with pytest.raises(BadPolicy, match=reason):
        policies.method(policy)


def refills_only_who_waits(dlpm: Dlpm, at: Any, known: Mapping[str, Client]) -> dict[str, Client]:
    refilled = REFILLED(dlpm, at, known)
    return {name: client if name in at.queues else known[name] for name, client in refilled.items()}


def refills_everybody(dlpm: Dlpm, at: Any, known: Mapping[str, Client]) -> dict[str, Client]:
    refilled = REFILLED(dlpm, at, known)
    rich = {name: replace(client, deficit=client.deficit + dlpm.quantum) for name, client in known.items()}
    return {name: client if known[name].deficit <= 0 else rich[name] for name, client in refilled.items()}


REFILLED = Dlpm._refilled
WRONG = {
    "nothing is ever cached": Wrong(
        module,
        "matched",
        lambda job, cached: 0,
        (
            test_the_longest_cached_prefix_goes_first_and_only_the_rest_is_charged,
            test_of_one_user_too_a_later_request_may_go_first,
            test_the_order_is_made_afresh_for_each_request,
        ),
    ),
    "a block counts wherever it is": Wrong(
        module,
        "matched",
        lambda job, cached: sum(block in cached for block in job.prefix),
        (test_the_longest_cached_prefix_goes_first_and_only_the_rest_is_charged,),
    ),
    "only who waits is refilled": Wrong(
        Dlpm,
        "_refilled",
        refills_only_who_waits,
        (test_who_is_idle_in_debt_is_forgiven_while_others_refill, test_refills_at_once_are_refills_round_by_round),
    ),
    "credit is refilled too": Wrong(
        Dlpm,
        "_refilled",
        refills_everybody,
        (test_credit_never_grows_beyond_a_quantum, test_refills_at_once_are_refills_round_by_round),
    ),
    "one round too many": Wrong(
        Dlpm,
        "_rounds",
        lambda dlpm, client: -client.deficit // dlpm.quantum + 2,
        (test_deficits_by_hand, test_refills_at_once_are_refills_round_by_round),
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_model_is_refuted(wrong: Wrong) -> None:
    assert wrong.is_refuted()
