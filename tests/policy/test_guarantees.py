"""What the program-aware policy guarantees, exhausted in small worlds; what it does not, by the shortest run; and what
the settled policy repairs, by the same measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from policy import figures
from sfq_impl.policy.attained import halved
from sfq_impl.policy.configuration import made
from sfq_impl.policy.interfaces import SECOND
from sfq_proofs.related import las_runs, las_tables
from sfq_proofs.related.las_play import Clock, Play, program_aware
from sfq_spec.conformance.shorthand import read, write
from sfq_spec.related.attained import Candidate
from sfq_spec.related.las_questions import Rooms
from sfq_spec.related.model import model

LAS, SETTLED, SFQ = "program-aware-fairness", "program-aware-settled-fairness", "sfq-fairness"
PAGE = Path(__file__).resolve().parents[2] / "docs/program-aware.md"


def playing(type: str, **parameters: Any) -> Play:
    clock = Clock()
    return Play(made(type, parameters=parameters, clock=clock), clock)


# Guaranteed.


@pytest.mark.claims("LAS-HALVES")
def test_half_lives_compose() -> None:
    """Within rounding: 10,000 steps leave what one of their length leaves, to nine places."""
    for service, half_life in product((1.0, 100.0, 3e9), (0.5, 7, 60, 3600)):
        for a, b in product((0, 1, SECOND, 61 * SECOND, 4000 * SECOND), repeat=2):
            both = halved(halved(service, a, half_life), b, half_life)
            assert both == pytest.approx(halved(service, a + b, half_life), rel=1e-12)
    left = 100.0
    for _ in range(10_000):
        left = halved(left, SECOND // 100, 60)
    assert left == pytest.approx(halved(100, 100 * SECOND, 60), rel=1e-9)


@pytest.mark.claims("LAS-IDLE")
@pytest.mark.parametrize(
    "parameters", [{}, {"lasHalfLifeSeconds": 7}, {"lasDecayFactor": 0.9}, {"lasHalfLifeSeconds": 0}]
)
def test_decay_never_reorders_two_idle_programs(parameters: dict[str, Any]) -> None:
    """However long both are idle, whatever others do meanwhile, and whenever each has attained what it has."""
    for mine, others, late in product((1, 50, 51), (1, 50, 100), (0, 10, 60)):
        order = set()
        for idle, picks in product((0, 1, 60, 600), (0, 3)):
            play = program_aware(evictionTtlSeconds=0, **parameters)
            play.attain(A=mine)
            play.clock.at(late)
            play.attain(B=others)
            for number in range(picks):
                play.arrive(f"C{number + 1}")
                play.serve(1)
            play.clock.after(idle)
            order.add((play.service("A") > play.service("B")) - (play.service("A") < play.service("B")))
        assert len(order) == 1, (mine, others, late)


def test_in_the_release_it_does() -> None:
    """B's queue is registered no more, and A's is: A alone decays, and comes before B."""
    play = program_aware(compatibility="release-0.10", lasDecayFactor=0.5, evictionTtlSeconds=0)
    play.attain(B=60)
    play.clock.at(301)
    play.attain(A=100)
    assert play.service("A") > play.service("B")
    play.arrive("C1")
    play.serve(1)
    assert play.service("A") < play.service("B")


def after_an_eviction(mine: int, others: int, ttl: int, **parameters: Any) -> str:
    """Who goes of A, which has attained `mine` and was evicted or not, and B, which has attained `others` just now."""
    play = program_aware(evictionTtlSeconds=ttl, **parameters)
    play.attain(A=mine)
    play.clock.at(10_000)
    play.attain(B=others)
    play.arrive("B1", "A1")
    return play.send()[0]


@pytest.mark.claims("LAS-EVICT")
def test_when_an_eviction_can_be_seen() -> None:
    """Of two it is seen exactly where the other has attained less; once decayed to less than a token, beside nobody who
    has attained one.
    """
    for mine, others in product(range(1, 6), range(8)):
        kept, gone = (after_an_eviction(mine, others, ttl, lasHalfLifeSeconds=0) for ttl in (0, 3600))
        assert (kept, gone) == ("A" if mine <= others else "B", "A")
        decayed, forgotten = (after_an_eviction(mine, others, ttl) for ttl in (0, 3600))
        assert decayed == forgotten == "A" or others == 0
    assert after_an_eviction(5, 0, 0) == "B", "however little is left, it is more than nothing"


@pytest.mark.claims("LAS-CLOCK")
def test_a_pick_reads_the_clock_once() -> None:
    """Through the dispatcher's policy too: what is looked at is all of one moment."""
    play = playing(LAS)
    play.arrive("A1", "B1")
    play.clock.after(1)
    fairness, readings = play.fairness, list[int]()

    def clock() -> int:
        readings.append(play.clock.now)
        return play.clock.now

    fairness.clock = clock
    band = play.policy._bands[0]
    assert fairness.pick(band).flow_key.id == "A"
    assert len(readings) == 1


# Not guaranteed. The shortest runs are searched for in the exact model, and played here on the policy.


ROOMS = "+A 1×2; +B 1; D×2"
STARVE = "+A 1×2; +B 1×2; D; ✓ A1; D; +B 1; D×2"
FRESH = "+A 1×2; D; +B 1; +C 1; +D 1; ✓ A1; D×3"


@pytest.mark.claims("LAS-ROOMS", "SETTLED-ROOMS")
def test_free_rooms_before_the_first_completion_go_to_one_program() -> None:
    run = read(ROOMS)
    assert write(las_runs.asked(Rooms(), model("las"), 1_000).run) == ROOMS
    assert [las_runs.by_policy(run, type)[-1][0] for type in (LAS, SETTLED, SFQ)] == ["A", "B", "B"]


@pytest.mark.claims("LAS-ROOMS", "SETTLED-ROOMS")
def test_64_rooms() -> None:
    for type, got in ((LAS, 64), (SETTLED, 32), (SFQ, 32)):
        play = playing(type)
        play.arrive(*(f"{user}{number}" for number in range(1, 101) for user in "AB"))
        assert play.send(64).count("A") == got


@pytest.mark.claims("LAS-FRESH")
def test_a_fresh_id_passes_whoever_waits() -> None:
    """Under the settled policy and under SFQ as well: there it takes no completion."""
    assert las_runs.by_policy(read(FRESH)) == ["A1", "B1", "C1", "D1"]
    for type in (SETTLED, SFQ):
        assert las_runs.by_policy(read(FRESH.replace("; ✓ A1", "")), type) == ["A1", "B1", "C1", "D1"]


@pytest.mark.claims("LAS-STARVE", "SETTLED-ROOMS")
def test_what_is_in_flight_starves_others_and_does_not_if_it_is_charged_at_once() -> None:
    """B's requests do not end, and B has attained nothing."""
    run = las_runs.goes_on(read(STARVE), 50)
    assert "A" not in "".join(las_runs.by_policy(run)[1:])
    assert las_runs.by_policy(run, SETTLED).index("A2") <= 3


def starved(type: str, rounds: int = 200, **parameters: Any) -> bool:
    """A has had one token, and waits; each second there comes an id that was never seen, and goes first."""
    play = playing(type, **parameters)
    play.arrive("A1")
    play.serve(1)
    play.arrive("A2", "z1")
    for number in range(rounds):
        play.clock.after(1)
        play.arrive(f"{'x' * (number + 1)}1")
        if play.serve(1) == "A2":
            return False
    return True


@pytest.mark.claims("LAS-STARVE", "LAS-FRESH")
def test_there_is_no_bound_on_starvation() -> None:
    assert starved(LAS, lasHalfLifeSeconds=0)
    assert starved(LAS), "with a half-life too: the services are small, and one is still the least"


def settled_picks(table: Mapping[str, Candidate]) -> str:
    play = playing(SETTLED, lasHalfLifeSeconds=0)
    play.arrive("Z1")
    play.send()
    for name, of in sorted(table.items(), key=lambda named: -named[1].wait):
        play.clock.at(Fraction(10 - of.wait, 1000))
        play.arrive(f"{name}1")
        play.fairness.programs[name].service = float(of.service)
    play.clock.at(Fraction(1, 100))
    return play.send()[0]


@pytest.mark.claims("LAS-OTHERS", "LAS-LOWEST", "SETTLED-OTHERS")
def test_a_third_program_changes_the_order_of_two() -> None:
    """B is one token behind A, and has waited 1 ms longer: it goes first once C has attained five."""
    table = {"A": Candidate(0, 0), "B": Candidate(1, 1), "C": Candidate(5, 0)}
    two = {user: table[user] for user in "AB"}
    assert (las_tables.by_policy(table), las_tables.by_policy(two)) == ("B", "A")
    assert (settled_picks(table), settled_picks(two)) == ("A", "A")
    play = playing(LAS, lasHalfLifeSeconds=0)
    play.attain(B=1, C=5)
    play.arrive("B1")
    play.clock.after(Fraction(1, 1000))
    play.arrive("A1", "C1")
    assert play.send() == "B1"


def in_a_row(type: str, **parameters: Any) -> int:
    """How many requests of 300 tokens a newcomer gets before a program that has attained 1,000,000 gets one."""
    play = playing(type, evictionTtlSeconds=0, **parameters)
    play.arrive("Z1", cost=1)
    play.send()
    play.arrive("A1", cost=1_000_000)
    play.send()
    play.complete("A1", tokens=(1_000_000, 0))
    play.arrive("A2", cost=300)
    for number in range(4000):
        play.arrive(f"B{number}", cost=300)
        if play.serve(1, tokens=(300, 0)) == "A2":
            return number
    return 4000


def test_a_newcomer_before_an_incumbent() -> None:
    assert in_a_row(LAS, lasHalfLifeSeconds=0) == 3334
    assert in_a_row(SETTLED, lasHalfLifeSeconds=0) == 3334, "A has just been sent that, and owes it"


def after_a_rest(type: str, **parameters: Any) -> int:
    """How many requests in a row a program gets that had 300 tokens long ago, where another had 3000 · 300 since."""
    play = playing(type, evictionTtlSeconds=0, lasHalfLifeSeconds=0, **parameters)
    play.arrive("B1", "A1", cost=300)
    play.serve(2, tokens=(300, 0))
    for number in range(2, 3002):
        play.arrive(f"A{number}", cost=300)
        play.arrive(f"A{number}00000", cost=300)
        play.serve(1, tokens=(300, 0))
    play.arrive(*(f"B{number}" for number in range(2, 4002)), cost=300)
    sent = play.serve(3500, tokens=(300, 0)).split()
    return next((place for place, id in enumerate(sent) if id[0] == "A"), len(sent))


@pytest.mark.claims("SETTLED-LEAD")
def test_back_from_a_rest() -> None:
    assert after_a_rest(LAS) == 3000
    assert after_a_rest(SETTLED) <= 1


@pytest.mark.claims("SETTLED-LEAD")
def test_the_settled_policy_is_fair_where_estimates_are_right() -> None:
    """Between two programs that wait all the time the charges differ by at most the greatest charge of each."""
    worst = 0
    for seed in range(60):
        rng, play = Random(seed), playing(SETTLED, lasHalfLifeSeconds=0)
        sizes = {"A": rng.choice([1, 10, 100]), "B": rng.choice([1, 7, 50]), "C": 5}
        charged = {"A": 0, "B": 0, "C": 0}
        play.arrive("A1", "A2", cost=sizes["A"])
        play.arrive("B1", "B2", cost=sizes["B"])
        lead = [0]
        for number in range(200):
            play.clock.after(rng.random())
            if rng.random() < 0.3:
                play.arrive(f"C{number}", cost=sizes["C"])
            if play.in_flight and rng.random() < 0.6:
                id = rng.choice(list(play.in_flight))
                play.complete(id, tokens=(sizes[id[0]], 0))
            else:
                name = play.send()[0]
                charged[name] += sizes[name]
                if name in "AB":
                    play.arrive(f"{name}{number + 10}", cost=sizes[name])
            lead.append(charged["A"] - charged["B"])
        spread = max(lead) - min(lead)
        assert spread <= sizes["A"] + sizes["B"]
        worst = max(worst, spread)
    assert worst > 100, "the bound is nearly reached"


def test_the_settled_policy_settles() -> None:
    """An estimate of 100 that was 10, and one that was 300; what was given up keeps its estimate."""
    play = playing(SETTLED, lasHalfLifeSeconds=0)
    play.arrive("Z1")
    play.send()
    for tokens, outcome, service in (
        ((10, 0), "completed", 10),
        ((300, 0), "completed", 310),
        (None, "cancelled", 410),
    ):
        play.arrive("A1", cost=100)
        play.send()
        assert play.service("A") == service - (tokens[0] if tokens else 100) + 100
        play.complete("A1", tokens=tokens, outcome=outcome)  # type: ignore[arg-type]
        assert play.service("A") == service


def test_where_the_settled_policy_lets_a_program_begin_decays_as_services_do() -> None:
    play = playing(SETTLED)
    play.arrive("A1", "A2", "A3", cost=100)
    assert (play.send(), play.fairness.floor(0)) == ("A1", 0)
    play.clock.at(60)
    assert (play.service("A"), play.send()) == (50, "A2")
    assert play.fairness.floor(play.clock.now) == 50
    play.clock.at(120)
    play.arrive("B1", cost=100)
    assert (play.service("B"), play.service("A")) == (25, 75)
    assert play.send() == "B1"
    play.clock.at(180)
    play.complete("B1", tokens=(20, 0))
    assert play.service("B") == 12.5 + 50 + (20 - 50), "what is left of the estimate is taken back"


def test_of_equals_the_settled_policy_sends_whoever_waits_longest() -> None:
    play = playing(SETTLED)
    play.arrive("B1", cost=5)
    play.clock.at(1)
    play.arrive("A1", "C1", cost=5)
    assert play.send(3) == "B1 A1 C1"
    assert (play.fairness.programs["B"].average_wait, play.fairness.programs["B"].dispatched) == (1000, 1)


def test_the_settled_policy_begins_anew_when_all_is_done() -> None:
    play = playing(SETTLED, lasHalfLifeSeconds=0)
    play.arrive("A1", "B1", cost=100)
    play.send(2)
    play.complete("A1", tokens=(500, 0))
    assert (play.service("A"), play.service("B")) == (500, 100)
    play.complete("B1", tokens=(100, 0))
    assert (play.service("A"), play.service("B"), play.fairness.floor(play.clock.now)) == (0, 0, 0)


@pytest.mark.integration
def test_the_figures_of_the_page() -> None:
    table = "\n".join(figures.table())
    assert table in PAGE.read_text(encoding="utf-8")
