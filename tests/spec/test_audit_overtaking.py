"""The audit follows a trace in which others overtake, as the rule of the specification says, and finds what is not."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import pytest

from sfq_proofs.searches.mistakes import overtake_and_close, overtake_in_secret, overtake_naively
from sfq_spec.competition import SFQ
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.overtaking import OvertakingOrder
from sfq_spec.conformance.audit.records import Record, Unreadable, batches
from sfq_spec.conformance.judge import Wrong
from sfq_spec.machine import Machine, take
from sfq_spec.placement import Dispatch as How
from sfq_spec.placement import overtake, placing
from sfq_spec.refusals import Refused
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Entry, Event, SetWeight, encode


class Told(Protocol):
    status: int
    out: str
    err: str


def history(seed: int, how: How = overtake, length: int = 80) -> tuple[list[Entry], list[Machine]]:
    """A trace in which some users are held now and then, and the states on the way."""
    rng, state = random.Random(seed), Machine()
    trace, states = list[Entry](), list[Machine]()
    for number in range(length):
        kind = rng.choices(["arrive", "dispatch", "cancel", "complete", "weight"], [9, 9, 1, 2, 1])[0]
        held = sorted(user for user in "ABCD" if rng.random() < 0.4) if kind == "dispatch" else []
        kinds: dict[str, Event] = {
            "arrive": Arrive(rng.choice("ABCD"), f"r{number}", Fraction(rng.choice(["1", "2", "7", "1/3"]))),
            "dispatch": Dispatch(),
            "cancel": Cancel(f"r{rng.randrange(length)}"),
            "complete": Complete(f"r{rng.randrange(length)}"),
            "weight": SetWeight(rng.choice("ABCD"), Fraction(rng.choice(["1", "2", "1/2"]))),
        }
        event = kinds[kind]
        rules = placing(how, lambda user, held=held: user not in held) if kind == "dispatch" else SFQ  # type: ignore[misc]
        try:
            taken = take(state, event, rules)
        except Refused as refusal:
            answer = Answer(refused=refusal.code)
        else:
            state, answer = taken.state, taken.answer
        trace.append(Entry(event, answer, {"held": held} if held else {}))
        states.append(state)
    return trace, states


def read(trace: list[Entry]) -> list[Record]:
    return [record for batch in batches("t", io.BytesIO(b"".join(map(encode, trace)))) for record in batch.records]


def audited(trace: list[Entry], *, any_tie: bool = False) -> Wrong | None:
    return OvertakingOrder(any_tie=any_tie).take(read(trace))


@pytest.mark.parametrize("any_tie", [False, True])
def test_what_the_rule_does_is_accepted_and_the_replay_has_its_state(any_tie: bool) -> None:
    told = 0
    for seed in range(100):
        trace, states = history(seed)
        order = OvertakingOrder(any_tie=any_tie)
        for number, record in enumerate(read(trace)):
            assert order.take([record]) is None, (seed, number)
            if record.event == "dispatch" and record.dispatched is not None:
                told += bool(record.held)
                assert order.machine() == states[number], (seed, number)
    assert told > 700


@pytest.mark.parametrize("how", [overtake_naively, overtake_in_secret, overtake_and_close])
def test_another_way_to_overtake_is_found(how: How) -> None:
    wrong = [found for seed in range(60) if (found := audited(history(seed, how)[0]))]
    assert len(wrong) > 5
    assert {claim for found in wrong for claim in found.claims} >= {"R-SELECT"}


def test_the_order_without_overtaking_does_not_accept_it() -> None:
    found = [Order().take(read(history(seed)[0])) for seed in range(20)]
    assert sum(wrong is not None for wrong in found) > 15


def arrivals() -> list[Entry]:
    return [Entry(Arrive(user, f"{user}1", Fraction(1))) for user in "ABC"]


def sent(request: str | None, *held: str) -> Entry:
    return Entry(Dispatch(), Answer(dispatched=request), {"held": list(held)} if held else {})


@pytest.mark.parametrize(
    ("entry", "sentence", "legal"),
    [
        (sent("A1", "A"), "A1 was sent, and its user 'A' is told to be held", ()),
        (sent("C1", "A"), "'B' and 'C' have the same meter 0, and the first id goes first", ("B1",)),
        (sent(None, "A"), "nothing was sent while B1 of B", ("B1",)),
    ],
)
def test_what_is_wrong_is_told_among_those_who_take_part(entry: Entry, sentence: str, legal: tuple[str, ...]) -> None:
    wrong = audited([*arrivals(), entry])
    assert wrong is not None
    assert sentence in wrong.sentence
    assert (wrong.legal, wrong.at) == (legal, 3)


def test_nothing_goes_where_all_are_held() -> None:
    assert audited([*arrivals(), sent(None, "A", "B", "C"), sent("A1")]) is None


def test_whoever_is_held_may_be_behind() -> None:
    lag = Answer(dispatched="B2", lag={"A": Fraction(-1), "B": Fraction(1), "C": Fraction(0)})
    trace = [*arrivals(), Entry(Arrive("B", "B2", Fraction(1))), sent("B1", "A"), sent("C1", "A")]
    right = Entry(Dispatch(), lag, {"held": ["A"]})
    assert audited([*trace, Entry(Arrive("C", "C2", Fraction(1))), right]) is None
    lags: dict[str, Fraction | float] = {"A": Fraction(-1), "B": Fraction(2)}
    assert audited([*trace, Entry(Dispatch(), Answer(dispatched="B2", lag=lags), {"held": ["A"]})]) is not None


def test_a_field_that_is_no_list_of_users() -> None:
    with pytest.raises(Unreadable, match="field `held`"):
        audited([*arrivals(), Entry(Dispatch(), Answer(dispatched="A1"), {"held": 7})])
    assert Order().take(read([*arrivals(), Entry(Dispatch(), Answer(dispatched="A1"), {"held": 7})])) is None


def test_the_command(command: Callable[..., Told], tmp_path: Path) -> None:
    trace = next(history(seed)[0] for seed in range(20) if Order().take(read(history(seed)[0])))
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(map(encode, trace)))
    assert command("audit", str(path), "--placement", "overtake").status == 0
    assert command("audit", str(path)).status == 1
