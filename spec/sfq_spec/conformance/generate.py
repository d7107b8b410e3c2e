"""The vectors, made from the specification and its mutants: the same bytes every time.

For each mutant the shortest run in which it answers otherwise than the machine; then runs that reach what short ones
do not: long ones, many users, large numbers, ids of all kinds. A case that is new names the mutants that it kills
first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain

import msgspec

from sfq_spec.conformance import flags, shorthand
from sfq_spec.conformance.case import SCHEMA, Case, Vectors, make
from sfq_spec.conformance.handwritten import WRITTEN
from sfq_spec.conformance.structures import FAMILIES
from sfq_spec.machine import Machine, answer
from sfq_spec.mutants import MUTANTS, Mutant
from sfq_spec.refusals import Refused
from sfq_spec.trace import (
    Answer,
    Arrive,
    Cancel,
    Complete,
    Dispatch,
    Event,
    Recost,
    SetWeight,
    Upkeep,
)

LONGEST = 9
"""Events of the longest run that is searched for."""


class Disagreement(AssertionError):
    """The machine does not answer what is written down: the specification or the vector is wrong."""


def vectors() -> Vectors:
    """All of them."""
    cases = [*written(), *_of_mutants(), *reaching()]
    ids = [case.id for case in cases]
    assert len(ids) == len(set(ids)), "an id is used twice"
    source = {"name": "sfq-spec", "schema": "https://json-schema.org/draft/2020-12/schema"}
    return Vectors(SCHEMA, source, flags.flags(), tuple(cases))


def encoded() -> bytes:
    """The file, byte for byte."""
    return msgspec.json.format(msgspec.json.encode(vectors()), indent=1) + b"\n"


def written() -> Iterator[Case]:
    """The cases that are written by hand. Raises `Disagreement` where the machine sends something else."""
    for written in WRITTEN:
        events = shorthand.read(written.run)
        order = [told.dispatched for told in played(events) if isinstance(told.dispatched, str)]
        if order != written.order.split():
            raise Disagreement(f"{written.id}: the machine sends {' '.join(order)}, and {written.order} is written")
        yield make(written.id, written.comment, events, claims=written.claims, flags=written.flags)


def _of_mutants() -> Iterator[Case]:
    for mutant in MUTANTS:
        events = shortest_difference(mutant)
        lag = events is None
        if events is None:
            events = shorthand.read("+A 3×2; +B 1×2; D; D")
        comment = f"The shortest run in which {mutant.name} answers otherwise. {mutant.mistake}"
        if lag:
            comment = f"{mutant.name} sends the same requests, and tells other lags. {mutant.mistake}"
        yield make(
            f"not-{mutant.name}", comment, events, claims=(mutant.breaks,), flags=(flags.name(mutant.name),), lag=lag
        )


def played(events: Sequence[Event]) -> list[Answer]:
    """The machine's answers."""
    state, answers = Machine(), []
    for event in events:
        state, told = answer(state, event)
        answers.append(told)
    return answers


def shortest_difference(mutant: Mutant) -> list[Event] | None:
    """The shortest run in small worlds at whose end a mutant answers otherwise; None where there is none."""
    level: list[tuple[Machine, Machine, tuple[Event, ...]]] = [(Machine(), Machine(), ())]
    seen: set[str] = set()
    for _ in range(LONGEST):
        following = []
        for right, wrong, events in level:
            for event in _choices(right, events, mutant.needs):
                after, told = answer(right, event)
                mutated, said = _answer(mutant, wrong, event)
                if (told.dispatched, told.refused) != (said.dispatched, said.refused):
                    return [*events, event]
                key = repr((after.competition, after.queues, sorted(after.live), mutated.competition, mutated.queues))
                if key not in seen:
                    seen.add(key)
                    following.append((after, mutated, (*events, event)))
        level = following
    return None


def _answer(mutant: Mutant, state: Machine, event: Event) -> tuple[Machine, Answer]:
    try:
        taken = mutant.take(state, event)
    except Refused as refusal:
        return state, Answer(refused=refusal.code)
    return taken.state, taken.answer


def _choices(state: Machine, events: tuple[Event, ...], needs: tuple[str, ...]) -> Iterator[Event]:
    yield Dispatch()
    for user in "AB":
        count = 1 + sum(isinstance(event, Arrive) and event.user == user for event in events)
        for cost in (1, 3):
            yield Arrive(user, f"{user}{count}", Fraction(cost))
        if "weight" in needs and state.competition.weight.get(user) != 2:
            yield SetWeight(user, Fraction(2))
    for request in state.live.values():
        waits = state.is_waiting(request)
        if "cancel" in needs and waits:
            yield Cancel(request.request)
        if "complete" in needs and not waits:
            yield Complete(request.request)
        if "duplicate" in needs:
            yield Arrive(request.user, request.request, Fraction(1))
    if "upkeep" in needs:
        yield Upkeep()


def reaching() -> Iterator[Case]:
    """The cases that reach what short runs do not."""
    yield from _refusals()
    yield from _ids()
    yield from _weights()
    yield from _cancels()
    yield from _upkeeps()
    yield from _large_numbers()
    yield from _many_users()
    yield from _mixtures()
    yield from _structures()


def _structures() -> Iterator[Case]:
    for family in FAMILIES:
        for name, run in family.runs.items():
            yield make(name, family.comment, shorthand.read(run), claims=family.claims, flags=family.flags)


def _drained(events: Sequence[Event]) -> list[Event]:
    """The events, and dispatches until nothing waits, and once more."""
    waiting, state = 0, Machine()
    for event in events:
        state, _ = answer(state, event)
    waiting = sum(map(len, state.queues.values()))
    return [*events, *[Dispatch()] * (waiting + 1)]


def _refusals() -> Iterator[Case]:
    before = shorthand.read("+A 3×2; +B 1×2; D")
    bad: tuple[Fraction | float, ...] = (Fraction(0), Fraction(-1), float("nan"), float("inf"))
    kinds: dict[str, list[Event]] = {
        "cost": [Arrive("C", f"C{n}", cost) for n, cost in enumerate(bad)],
        "weight": [SetWeight("B", weight) for weight in bad],
        "new-cost": [Recost("B1", cost) for cost in bad],
        "duplicate-waiting": [Arrive("B", "B1", Fraction(1)), Arrive("C", "B1", Fraction(1))],
        "duplicate-in-flight": [Arrive("A", "A1", Fraction(1)), Arrive("C", "A1", Fraction(1))],
        "unknown": [Cancel("Z9"), Recost("Z9", Fraction(1)), Complete("Z9")],
        "not-waiting": [Cancel("A1"), Recost("A1", Fraction(1))],
        "cancelled-twice": [Cancel("B1"), Cancel("B1"), Arrive("B", "B1", Fraction(1))],
        "completed-twice": [Complete("A1"), Complete("A1"), Cancel("A1"), Arrive("A", "A1", Fraction(1))],
        "completed-while-it-waits": [Complete("B1"), Cancel("B1")],
    }
    for name, events in kinds.items():
        yield make(
            f"refused-{name}",
            "What is refused leaves everything as it was; what follows shows it.",
            _drained([*before, *events]),
            claims=("R-REFUSE", "R-FINAL") if "completed" in name else ("R-REFUSE",),
            flags=("ChargesARefusal", "ReleasesTwice") if "twice" in name else ("ChargesARefusal",),
        )


def _ids() -> Iterator[Case]:
    orders = {
        "code-points": ["\U0001f600", "\ufffd", "z", "Z", "é", "e\u0301", "a", "_", "1", "10", "9"],
        "utf-16": ["\U00010000", "\uffff", "\ue000", "\ud7ff"],
        "prefixes": ["a", "aa", "ab", "b", "", "a b"],
        "case-and-accents": ["b", "B", "ä", "a", "A", "ß", "ss", "ı", "i", "I"],
    }
    for name, users in orders.items():
        events: list[Event] = [Arrive(user, f"{n}-{m}", Fraction(2)) for m in (1, 2) for n, user in enumerate(users)]
        yield make(
            f"ties-{name}",
            "Equal meters go by user id, compared by code point.",
            _drained(events),
            claims=("R-SELECT", "ORDER-TOTAL"),
            flags=("IdsByBytes", "LastIdFirst"),
        )


def _weights() -> Iterator[Case]:
    runs = {
        "large-ratio": "w A 1000000; +A 1×40; +B 1×3; D×43",
        "fractions": "w A 1/3; w B 2/7; +A 1×6; +B 1×6; D×12",
        "thirds-add-up": "w A 3; +A 1×9; +B 1×4; D×13",
        "changed-while-waiting": "+A 6×6; +B 6×6; D×3; w A 3; D×4; w A 1/2; D×5",
        "changed-while-idle": "+A 4; +B 1×9; D×3; w A 4; D; +A 4×4; D×9",
        "changed-in-debt": "+A 9; +B 1×12; D×2; w A 9; +A 9×3; D×12",
        "changed-before-arrival": "w A 5; w B 5; +A 5×3; +B 1×3; D×6",
        "set-and-unset": "w A 7; w A 1; +A 3×3; +B 2×4; D×7",
        "many-primes": "w A 2; w B 3; w C 5; w D 7; w E 11; +A,B,C,D,E 1×5; D×25",
        "weight-of-nobody": "w Z 3; +A 1×2; D×2; +Z 3×2; +A 1×2; D×4",
    }
    for name, run in runs.items():
        yield make(
            f"weights-{name}",
            "Charges are c/w, with the weight that the user has at the dispatch.",
            shorthand.read(run),
            claims=("WEIGHT-ALL", "R-WEIGHT"),
            flags=("IgnoresWeight", "WholeCharges"),
        )


def _cancels() -> Iterator[Case]:
    runs = {
        "head": "+A 9; +A 1×2; +B 2×3; x A1; D×5",
        "middle": "+A 1×4; +B 2×3; x A3; D×6",
        "end": "+A 1×3; +B 2×3; x A3; D×5",
        "last-of-a-user": "+A 5; +B 1×3; D; +A 1; x A2; D×2; +A 1; D×3",
        "last-of-the-first-user": "+A 1; +B 1×2; +C 1×2; x A1; D×4",
        "all-of-one-in-turn": "+A 1×4; +B 1×2; x A2; x A1; x A4; x A3; D×3",
        "last-of-all": "+A 9; +B 1; D; x B1; +A 1; +B 1×2; D×3",
        "last-of-all-after-debts": "+A 9; +B 5; +C 1×3; D×3; x C2; x C3; +A,B,C 1×2; D×6",
        "in-a-heap-of-six": "+A,B,C,D,E,F,G 1×2; D×3; x E1; x E2; x C2; D×8",
        "come-back-after-cancel": "+A 3×2; +B 1×6; D×3; x A2; +A 1×2; D×6",
        "new-cost-then-sent": "+A 9×2; +B 1×4; c A1 1; c A2 2; D×6",
        "new-cost-behind-the-head": "+A 1×3; +B 1×3; c A2 7; D×6",
    }
    for name, run in runs.items():
        yield make(
            f"cancel-{name}",
            "What waits can be withdrawn or re-costed, anywhere in the queue, uncharged.",
            shorthand.read(run),
            claims=("R-FIFO", "RESET-LEVEL") if "last-of-all" in name else ("R-FIFO",),
            flags=("CancelledStays", "WrongUserRemoved"),
        )


def _upkeeps() -> Iterator[Case]:
    runs = {
        "in-debt": "+A 9; +B 1×12; D×3; upkeep; +A 1×2; D×11",
        "lagging-idle": "+A 1; +B 5×6; D×4; upkeep; +A 1×3; D×5",
        "nobody-waits": "+A 9; +B 1; D×2; upkeep; +A 1×2; +B 1×2; D×4",
        "at-the-start": "upkeep; +A 1; upkeep; D; upkeep; D",
        "after-every-event": "+A 3×3; upkeep; +B 1×5; upkeep; D; upkeep; D; upkeep; D; upkeep; D; upkeep; D×4",
        "with-weights": "w A 3; w B 1/7; +A 5×4; +B 5×4; D×3; upkeep; D×2; upkeep; D×3",
    }
    for name, run in runs.items():
        yield make(
            f"upkeep-{name}",
            "Upkeep is never seen in the order.",
            shorthand.read(run),
            claims=("R-UPKEEP", "KEEP-SHIFT", "KEEP-FORGET"),
            flags=("RebaseWraps", "ForgetsDebtors", "UpkeepRewindsClock"),
        )


def _large_numbers() -> Iterator[Case]:
    for bits in (24, 31, 53, 63):
        height = 2**bits
        lift: list[Event] = [Arrive("Z", "lift", Fraction(height - 4)), Dispatch()]
        run = shorthand.read("+A 1×8; +B 1×8; +C 3×4; D×20")
        yield make(
            f"meters-near-2-to-{bits}",
            f"The meters pass 2^{bits} while users wait; a charge of 1 still counts.",
            [*lift, *run],
            claims=("DISP-BEFORE", "FLOAT-STALL"),
            flags=("LargeNumbers",),
        )
    yield make(
        "costs-of-many-magnitudes",
        "Costs from 1 to a billion side by side.",
        shorthand.read("+A 1000000000×2; +B 1000000×3; +C 1000×3; +D 1×12; D×20"),
        claims=("FAIR-LEAD",),
        flags=("LargeNumbers",),
    )


def _many_users() -> Iterator[Case]:
    users = [f"u{n:03}" for n in range(1_000)]
    rng = random.Random("a thousand users")
    events: list[Event] = [Arrive(user, f"{user}-1", Fraction(rng.randint(1, 9))) for user in users]
    events += [Arrive(user, f"{user}-2", Fraction(1)) for user in rng.sample(users, 100)]
    yield make(
        "a-thousand-users",
        "A thousand users wait; the first sixty dispatches.",
        [*events, *[Dispatch()] * 60],
        claims=("R-SELECT",),
        flags=("ManyUsers",),
    )
    once: list[Event] = list(
        chain.from_iterable(
            (Arrive(f"once{n}", f"o{n}", Fraction(1)), Arrive("busy", f"b{n}", Fraction(1)), Dispatch(), Dispatch())
            for n in range(200)
        )
    )
    yield make(
        "one-shot-users",
        "Two hundred users come once each, beside one that is always there.",
        once,
        claims=("KEEP-FORGET",),
        flags=("ManyUsers", "RejoinAtZero", "KeepsEveryUser"),
    )


DYADIC = (Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 4), Fraction(4))
"""Weights whose reciprocals need few binary digits, so that any scheduler with binary floats is exact."""
ALL = ("arrive",) * 6 + ("dispatch",) * 5 + ("cancel", "complete", "cost", "weight", "upkeep")
"""Kinds of event, as often as a mixture has them."""
UNWEIGHTED = tuple(kind for kind in ALL if kind != "weight")
PLAIN = tuple(kind for kind in UNWEIGHTED if kind not in ("cancel", "cost"))


def _thirds(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(1, 4), rng.randint(1, 3))


def _dyadic(rng: random.Random) -> Fraction:
    return rng.choice(DYADIC)


def _mixtures() -> Iterator[Case]:
    for name, count, what, kinds, weight in (
        ("mixture", 12, "Everything at once", ALL, _thirds),
        ("mixture-of-binary-fractions", 4, "Everything at once, in numbers of few binary digits", ALL, _dyadic),
        ("mixture-of-integers", 4, "Everything but weights at once", UNWEIGHTED, _dyadic),
        ("mixture-of-what-all-can", 4, "Everything at once that is asked of all", PLAIN, _dyadic),
    ):
        for seed in range(count):
            yield make(
                f"{name}-{seed + 1}",
                f"{what}, in an order drawn at random.",
                _mixture(random.Random(f"{name} {seed}"), 60, kinds, weight),
                claims=("R-SELECT", "FAIR-LEAD"),
                flags=(),
            )


def _mixture(
    rng: random.Random, length: int, kinds: Sequence[str], weight: Callable[[random.Random], Fraction]
) -> list[Event]:
    events: list[Event] = []
    state = Machine()
    for n in range(length):
        waiting = [request.request for queue in state.queues.values() for request in queue]
        flying = sorted(state.live.keys() - set(waiting))
        event: Event = Dispatch()
        kind = rng.choice(kinds)
        if kind == "arrive":
            event = Arrive(rng.choice("ABCDE"), f"r{n}", Fraction(rng.choice([1, 1, 2, 3, 8, 100])))
        elif kind == "cancel" and waiting:
            event = Cancel(rng.choice(waiting))
        elif kind == "cost" and waiting:
            event = Recost(rng.choice(waiting), Fraction(rng.randint(1, 20)))
        elif kind == "complete" and flying:
            event = Complete(rng.choice(flying))
        elif kind == "weight":
            event = SetWeight(rng.choice("ABCDE"), weight(rng))
        elif kind == "upkeep":
            event = Upkeep()
        events.append(event)
        state, _ = answer(state, event)
    return _drained(events)
