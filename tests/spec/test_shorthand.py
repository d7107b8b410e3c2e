"""Runs in one line: what is written is read again, whatever the events; what stands for no event is named."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfq_spec.conformance import shorthand
from sfq_spec.conformance.handwritten import WRITTEN
from sfq_spec.conformance.shorthand import BadShorthand
from sfq_spec.conformance.validate import bundled
from sfq_spec.trace import (
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Recost,
    SetWeight,
    Upkeep,
    fields_of,
)

IDS = st.one_of(
    st.sampled_from(["A", "A1", "A2", "", "a b", "a;b", "a,b", "a:b", 'a"b', "+A", "×", "é", "\n"]), st.text()
)
NUMBERS = st.one_of(
    st.fractions(), st.integers(-3, 10**30).map(Fraction), st.sampled_from([float("nan"), float("inf"), float("-inf")])
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Arrive, IDS, IDS, NUMBERS),
    st.builds(lambda n: Arrive("A", f"A{n}", Fraction(1)), st.integers(0, 4)),
    st.just(Dispatch()),
    st.builds(Cancel, IDS),
    st.builds(Complete, IDS, st.sampled_from(["completed", "failed", "cancelled"])),
    st.builds(SetWeight, IDS, NUMBERS),
    st.builds(Recost, IDS, NUMBERS),
    st.just(Upkeep()),
)


def fields(events: list[Event]) -> list[dict[str, Any]]:
    """The events with numbers as they are written, so that NaN is itself."""
    return [fields_of(event) for event in events]


@given(st.lists(EVENTS, max_size=12))
@example([Arrive("A", "A1", Fraction(3)), Arrive("A1", "A11", Fraction(3)), Arrive("A", "A11", Fraction(3))])
@example([Arrive("A", "A2", Fraction(3)), Arrive("A", "A1", Fraction(3)), Arrive("A", "A2", Fraction(3))])
@example([Cancel("A1"), Cancel("A1"), Complete("A1", "cancelled")])
def test_what_is_written_is_read_again(events: list[Event]) -> None:
    line = shorthand.write(events)
    assert fields(shorthand.read(line)) == fields(events)
    assert line.isprintable()


def test_every_vector_is_read_again() -> None:
    for case in bundled().cases:
        assert fields(shorthand.read(shorthand.write(case.played()))) == list(case.events), case.id


def test_what_is_written_by_hand_is_what_the_vectors_hold() -> None:
    held = {case.id: case for case in bundled().cases}
    for written in WRITTEN:
        assert fields(shorthand.read(written.run)) == list(held[written.id].events)


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ([Arrive("A", "A1", Fraction(3)), Arrive("A", "A2", Fraction(3)), Dispatch(), Dispatch()], "+A 3×2; D×2"),
        ([Arrive("A", "r7", Fraction(1, 3))], "+A:r7 1/3"),
        ([Arrive("A", "A2", Fraction(1)), Arrive("A", "A1", Fraction(1))], "+A:A2 1; +A 1"),
        ([Arrive("a b", "a b1", Fraction(1)), Cancel("")], '+"a b" 1; x ""'),
        ([Complete("é", "failed"), Complete("\u202e", "cancelled")], '✗ é; ⊘ "\\u202e"'),
        ([], ""),
    ],
)
def test_it_is_short(events: list[Event], line: str) -> None:
    assert shorthand.write(events) == line


def test_several_users_arrive_in_turn() -> None:
    turns = [Arrive(user, f"{user}{n}", Fraction(1)) for n in (1, 2) for user in "AB"]
    assert shorthand.read(" +A,B 1×2 ") == turns


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("D; fly", "'fly' stands for no event: write"),
        ("+A", "'\\+A' stands for no event"),
        ("D×x", "'D×x' stands for no event"),
        ("⊘", "stands for no event"),
        ("+A:b,c 3", "stands for no event"),
        ("+A x", "'x' is not a number"),
        ("D;; D", "has an empty part"),
        ('D; x "A', "a quotation mark without its other one"),
        ('x "\\q"', "is not an id in quotes"),
    ],
)
def test_what_stands_for_no_event_is_named(line: str, named: str) -> None:
    with pytest.raises(BadShorthand, match=named):
        shorthand.read(line)
