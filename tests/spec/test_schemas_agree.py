"""The JSON Schemas and the readers agree, in both directions, on what is right and on what is nearly right."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfq_spec import numbers, schemas
from sfq_spec.conformance import messages, protocol
from sfq_spec.conformance.subjects import Errored, NoVerdict, ProcessSubject
from sfq_spec.trace import CODES, KINDS, BadLine, Dispatch, Event, Upkeep, decode

FEW = settings(max_examples=max(10, settings().max_examples // 3))
MANY = settings(max_examples=5 * settings().max_examples)
BY_NAME = {name: jsonschema.Draft202012Validator(json.loads(schemas.bundled(name))) for name in schemas.names()}


def valid(name: str, document: object) -> bool:
    return bool(BY_NAME[name].is_valid(document))


# Numbers

NUMBER = jsonschema.Draft202012Validator(schemas.NUMBER)
NUMBER_TEXTS = st.one_of(
    st.text("0123456789+-./eE", max_size=8),
    st.text("naifityNAIFTY+-ıſ", max_size=9),
    st.builds("{}{}{}".format, st.sampled_from(["1", "1.5", ".5", "5."]), st.just("e"), st.integers(-1100, 10100)),
    st.builds("{}/{}".format, st.integers(), st.integers(-2, 20)),
    st.builds("{}/0{}".format, st.integers(), st.integers(0, 3)),
    st.builds("{}.{}".format, st.integers(), st.integers(0)),
    st.builds(lambda text, end: text + end, st.sampled_from(["1", "1/3", "nan"]), st.text("\n\r 0٣\u2028", max_size=2)),
    st.text(max_size=6),
)


def is_number(value: object) -> bool:
    try:
        numbers.read(value)
    except numbers.NotANumber:
        return False
    return True


@MANY
@given(NUMBER_TEXTS)
@example("1\n")
@example("ınf")
@example("٣")
@example("1/00")
@example("1e1001")
@example("1e01000")
@example("1" * numbers.LONGEST)
@example("1" * (numbers.LONGEST + 1))
def test_a_text_is_a_number_where_the_pattern_says_so(text: str) -> None:
    assert NUMBER.is_valid(text) == is_number(text)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_value_is_a_number_where_the_schema_says_so(value: object) -> None:
    assert NUMBER.is_valid(value) == is_number(value)


def test_the_pattern_is_one_that_every_dialect_has() -> None:
    pattern = schemas.NUMBER["anyOf"][1]["pattern"]
    assert not any(part in pattern for part in ("(?", "\\d", "\\w", "\\s", "\\b", "*+", "++"))


# Messages, lines, and what is nearly one

WORDS = st.one_of(st.sampled_from(["A", "A1", "", "x\n", "é"]), st.text(max_size=4))
NUMBERS = st.one_of(st.integers(), st.floats(-1e9, 1e9).filter(lambda value: value % 1 != 0), NUMBER_TEXTS)
SCALARS = st.one_of(st.none(), st.booleans(), st.sampled_from([0, 1, 2, 0.5]), NUMBERS, WORDS, st.sampled_from(CODES))
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2))
RIGHT_NUMBERS = st.one_of(st.integers(), st.fractions().map(numbers.write), st.sampled_from(["nan", "inf", "0.5", 0.5]))
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "dispatched": st.none() | WORDS,
        "refused": st.sampled_from(CODES),
        "lag": st.dictionaries(WORDS, RIGHT_NUMBERS, max_size=2),
        "user": WORDS,
        "cost": RIGHT_NUMBERS,
    },
)
TOLD = st.one_of(
    st.fixed_dictionaries({"seq": st.integers(1, 9), "answers": st.lists(ANSWERS, max_size=3)}),
    st.fixed_dictionaries({"seq": st.integers(1, 9), "skipped": WORDS}, optional={"issue": WORDS}),
    st.fixed_dictionaries({"seq": st.integers(1, 9), "errored": WORDS}),
)
HELLO = st.fixed_dictionaries(
    {
        "protocol": st.just(protocol.VERSION),
        "implementation": st.fixed_dictionaries({"name": WORDS}, optional={"version": WORDS, "language": WORDS}),
    },
    optional={
        "capabilities": st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(("cancel", "weights", "recost", "lag"), st.booleans()),
                "ties": st.sampled_from(["user-id", "any"]),
                "numbers": st.sampled_from(["integer", "rational", "binary64"]),
            },
        )
    },
)
LINES = st.one_of(
    st.fixed_dictionaries({"event": st.just("arrive"), "user": WORDS, "request": WORDS, "cost": RIGHT_NUMBERS}),
    st.fixed_dictionaries({"event": st.sampled_from(["dispatch", "upkeep"])}),
    st.fixed_dictionaries({"event": st.just("cancel"), "request": WORDS}),
    st.fixed_dictionaries(
        {"event": st.just("complete"), "request": WORDS},
        optional={"outcome": st.sampled_from(["completed", "failed", "cancelled"])},
    ),
    st.fixed_dictionaries({"event": st.just("weight"), "user": WORDS, "weight": RIGHT_NUMBERS}),
    st.fixed_dictionaries({"event": st.just("cost"), "request": WORDS, "cost": RIGHT_NUMBERS}),
)
KEYS = [
    *("seq", "answers", "skipped", "errored", "issue", "dispatched", "refused", "lag", "user", "cost", "time"),
    *("request", "weight", "outcome", "event", "protocol", "implementation", "capabilities", "name", "version"),
    *("language", "cancel", "ties", "numbers", "Answers", "lags"),
]


@st.composite
def changed(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> Any:
    """A document with up to three changes somewhere in it: something is left out, added, renamed or replaced."""
    document = copy.deepcopy(draw(documents))
    for _ in range(draw(st.integers(0, 3))):
        places = list(containers(document))
        if not places:
            return draw(JSON)
        place = draw(st.sampled_from(places))
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        change = draw(st.sampled_from(["replace", "leave out", "add", "rename"]))
        if change == "add" and isinstance(place, dict):
            place[draw(st.sampled_from(KEYS))] = draw(JSON)
        elif change == "add":
            place.append(draw(ANSWERS | JSON))
        elif keys:
            key = draw(st.sampled_from(keys))
            value = place.pop(key)
            if change == "replace":
                new = draw(st.sampled_from(KINDS) | JSON)
                place.__setitem__(key, new) if isinstance(place, dict) else place.insert(key, new)
            elif change == "rename" and isinstance(place, dict):
                place[draw(st.sampled_from(KEYS))] = value
    return document


def once_changed(document: Any) -> Iterator[Any]:
    """All documents that differ in one place: by a value of each kind, a field too many or one too few."""
    for number, place in enumerate(containers(document)):
        for key in list(place) if isinstance(place, dict) else range(len(place)):
            value: Any
            for value in (None, True, -1, 0, 1, 1.5, "x", "1/0", [], {}, {"x": "x"}):
                changed = copy.deepcopy(document)
                list(containers(changed))[number][key] = value
                yield changed
            changed = copy.deepcopy(document)
            del list(containers(changed))[number][key]
            yield changed
        changed = copy.deepcopy(document)
        there = list(containers(changed))[number]
        there.update(extra=1) if isinstance(there, dict) else there.append(1)
        yield changed


def containers(document: object) -> Iterator[Any]:
    """The objects and arrays in a document, itself included."""
    if isinstance(document, dict | list):
        yield document
        for inner in document.values() if isinstance(document, dict) else document:
            yield from containers(inner)


class Canned(ProcessSubject):
    """A subject whose adapter says one thing, whatever it is asked."""

    def __init__(self, line: bytes, seq: object) -> None:
        super().__init__(["canned"])
        self._line = line
        self._child: Any = SimpleNamespace(ending=lambda: "", errors=lambda: "")
        if isinstance(seq, int) and not isinstance(seq, bool):
            self._seq = seq - 1

    def _reply(self, message: bytes, what: str) -> bytes:
        return self._line


def is_answer(message: Any) -> bool:
    """Whether `validate` takes it for the answer to a run of fitting events."""
    answers = message.get("answers") if isinstance(message, dict) else None
    events: Sequence[Event] = [Dispatch()]
    if isinstance(answers, list):
        events = [Dispatch() if isinstance(one, dict) and "dispatched" in one else Upkeep() for one in answers]
    subject = Canned(json.dumps(message).encode(), message.get("seq") if isinstance(message, dict) else None)
    try:
        subject.run("sample", events)
    except NoVerdict as broken:
        return isinstance(broken, Errored)  # an error that is told is an answer too
    return True


def is_hello(message: Any) -> bool:
    try:
        return messages.hello(json.dumps(message).encode()).protocol == protocol.VERSION
    except messages.BadMessage:
        return False


def is_line(line: Any) -> bool:
    try:
        decode(json.dumps(line).encode())
    except BadLine:
        return False
    return True


READERS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], bool]]] = {
    "told": (TOLD, is_answer),
    "hello": (HELLO, is_hello),
    "trace-read": (st.builds(lambda line, answer: answer | line, LINES, ANSWERS), is_line),
}


@pytest.mark.parametrize("name", READERS)
def test_what_is_right_is_valid_and_is_read(name: str) -> None:
    documents, read = READERS[name]

    @given(documents)
    def check(document: Any) -> None:
        assert valid(name, document)
        assert read(document)

    check()


@pytest.mark.parametrize("name", READERS)
def test_schema_and_reader_agree_where_one_thing_is_changed(name: str) -> None:
    documents, read = READERS[name]
    seen = {True: 0, False: 0}

    @FEW
    @given(documents)
    def check(document: Any) -> None:
        for changed in once_changed(document):
            taken = read(changed)
            seen[taken] += 1
            assert valid(name, changed) == taken, changed

    check()
    assert min(seen.values()) > 5 * FEW.max_examples, seen


@pytest.mark.integration
@pytest.mark.parametrize("name", READERS)
def test_schema_and_reader_agree_on_what_is_nearly_right(name: str) -> None:
    documents, read = READERS[name]
    seen = {True: 0, False: 0}

    @MANY
    @given(changed(documents))
    def check(document: Any) -> None:
        taken = read(document)
        seen[taken] += 1
        assert valid(name, document) == taken, document

    check()
    assert min(seen.values()) > MANY.max_examples / 10, seen


@given(changed(st.builds(lambda line, answer: answer | line, LINES, ANSWERS)))
def test_what_may_be_written_can_be_read(line: Any) -> None:
    if valid("trace", line):
        assert valid("trace-read", line)
        assert is_line(line)
