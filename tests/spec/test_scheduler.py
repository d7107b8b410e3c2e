"""The contract for schedulers in Python, and the loader of `module:factory`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import UNSET

from sfq_spec import machine
from sfq_spec.machine import Machine
from sfq_spec.refusals import InvalidCost
from sfq_spec.scheduler import (
    Broken,
    CannotLoad,
    MachineScheduler,
    Unsupported,
    lag,
    load,
    play,
)
from sfq_spec.trace import (
    CODES,
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

HALF = Fraction(1, 2)


class Recording:
    """Notes what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def arrive(self, *arguments: object) -> None:
        self.calls.append(("arrive", *arguments))

    def dispatch(self, *arguments: object) -> None:
        self.calls.append(("dispatch", *arguments))

    def cancel(self, *arguments: object) -> None:
        self.calls.append(("cancel", *arguments))

    def complete(self, *arguments: object) -> None:
        self.calls.append(("complete", *arguments))

    def weight(self, *arguments: object) -> None:
        self.calls.append(("weight", *arguments))

    def cost(self, *arguments: object) -> None:
        self.calls.append(("cost", *arguments))

    def upkeep(self, *arguments: object) -> None:
        self.calls.append(("upkeep", *arguments))


class Bare:
    """Only what every scheduler has; answers a dispatch with what it is given."""

    def __init__(self, said: object = None) -> None:
        self.said = said

    def arrive(self, user: str, request: str, cost: object) -> None:
        return None

    def dispatch(self) -> object:
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said


class TestPlay:
    @pytest.mark.parametrize(
        ("event", "call"),
        [
            (Arrive("A", "A1", Fraction(3)), ("arrive", "A", "A1", 3)),
            (Arrive("A", "A1", HALF), ("arrive", "A", "A1", HALF)),
            (Dispatch(), ("dispatch",)),
            (Cancel("A1"), ("cancel", "A1")),
            (Complete("A1", "failed"), ("complete", "A1", "failed")),
            (SetWeight("A", Fraction(2)), ("weight", "A", 2)),
            (Recost("A1", HALF), ("cost", "A1", HALF)),
            (Upkeep(), ("upkeep",)),
        ],
    )
    def test_an_event_is_a_call(self, event: Event, call: tuple[object, ...]) -> None:
        scheduler = Recording()
        play(scheduler, event)
        assert scheduler.calls == [call]
        assert list(map(type, scheduler.calls[0])) == list(map(type, call))

    @pytest.mark.parametrize("cost", [float("nan"), float("inf"), float("-inf")])
    def test_what_is_not_finite_is_handed_over_as_a_float(self, cost: float) -> None:
        scheduler = Recording()
        play(scheduler, Arrive("A", "A1", cost))
        handed = scheduler.calls[0][-1]
        assert type(handed) is float
        assert repr(handed) == repr(cost)

    def test_verbs_are_preferred_because_the_nouns_may_be_views(self) -> None:
        calls: list[tuple[object, ...]] = []

        class Verbs(Bare):
            cost = 5

            def weight(self, user: str) -> int:
                raise AssertionError("a view")

            def set_weight(self, *arguments: object) -> None:
                calls.append(arguments)

            def recost(self, *arguments: object) -> None:
                calls.append(arguments)

        scheduler = Verbs()
        assert play(scheduler, SetWeight("A", Fraction(2))) == Answer()
        assert play(scheduler, Recost("A1", Fraction(4))) == Answer()
        assert calls == [("A", 2), ("A1", 4)]

    @pytest.mark.parametrize(
        "said",
        [
            "A1",
            SimpleNamespace(request="A1"),
            {"request": "A1"},
            {"dispatched": "A1"},
            {"dispatched": "A1", "refused": None},
            Answer(dispatched="A1"),
        ],
    )
    def test_a_dispatch_is_named_in_several_ways(self, said: object) -> None:
        assert play(Bare(said), Dispatch()) == Answer(dispatched="A1")

    @pytest.mark.parametrize("said", [None, {"request": None}, {"dispatched": None}, Answer(dispatched=None)])
    def test_nobody_waits(self, said: object) -> None:
        assert play(Bare(said), Dispatch()) == Answer(dispatched=None)

    @pytest.mark.parametrize(
        "said", [5, True, ("A", "A1"), {}, {"id": "A1"}, {"request": 5}, SimpleNamespace(request=None), object()]
    )
    def test_what_does_not_name_a_request_is_no_answer(self, said: object) -> None:
        with pytest.raises(Broken, match=r"`dispatch` returned .*: return None, the id of a request"):
            play(Bare(said), Dispatch())

    def test_what_the_other_methods_return_is_ignored(self) -> None:
        class Chatty(Bare):
            def upkeep(self) -> str:
                return "done"

        assert play(Chatty(), Upkeep()) == Answer()

    @pytest.mark.parametrize("code", CODES)
    def test_a_refusal_is_a_code_on_an_exception_or_in_a_mapping(self, code: str) -> None:
        error = ValueError("no")
        error.code = code  # type: ignore[attr-defined]
        for said in (error, {"refused": code}, Answer(refused=code)):
            assert play(Bare(said), Dispatch()) == Answer(refused=code)

    def test_an_unknown_code_is_no_refusal(self) -> None:
        error = ValueError("no")
        error.code = "busy"  # type: ignore[attr-defined]
        with pytest.raises(Broken, match="its code 'busy' is not one of invalid-cost"):
            play(Bare(error), Dispatch())
        with pytest.raises(Broken, match="refused with the code 'busy', which is not one of"):
            play(Bare({"refused": "busy"}), Dispatch())

    @pytest.mark.parametrize("error", [ZeroDivisionError("a\nb"), SystemExit(3), RecursionError(), KeyError("A")])
    def test_any_other_exception_means_broken(self, error: BaseException) -> None:
        with pytest.raises(Broken, match=rf"`dispatch` raised {type(error).__name__}") as caught:
            play(Bare(error), Dispatch())
        assert "(test_scheduler.py, line " in str(caught.value)
        assert "in dispatch)" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_what_cannot_even_be_read_means_broken(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise ValueError

        class Trap:
            @property
            def request(self) -> str:
                raise Mute

        for said in (Trap(), Mute()):
            with pytest.raises(Broken, match="`dispatch` raised Mute"):
                play(Bare(said), Dispatch())

    def test_an_interrupt_is_not_the_schedulers(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            play(Bare(KeyboardInterrupt()), Dispatch())

    @pytest.mark.parametrize(
        ("event", "names"),
        [
            (Cancel("A1"), "`cancel`"),
            (SetWeight("A", Fraction(2)), "`set_weight` or `weight`"),
            (Recost("A1", Fraction(2)), "`recost` or `cost`"),
        ],
    )
    def test_a_capability_may_be_missing(self, event: Event, names: str) -> None:
        with pytest.raises(Unsupported, match=f"has no method {names}"):
            play(Bare(), event)

    @pytest.mark.parametrize("event", [Complete("A1"), Upkeep()])
    def test_completion_and_upkeep_may_be_missing(self, event: Event) -> None:
        assert play(Bare(), event) == Answer()


class TestLag:
    def test_a_method_or_an_attribute(self) -> None:
        told = {"A": 1, "B": Fraction(1, 3), "C": 0.1, "D": Decimal("2.5"), "E": "1/7"}
        exact = {"A": 1, "B": Fraction(1, 3), "C": Fraction(1, 10), "D": Fraction(5, 2), "E": Fraction(1, 7)}
        method, attribute = Bare(), Bare()
        method.lag = lambda: told  # type: ignore[attr-defined]
        attribute.lag = told  # type: ignore[attr-defined]
        assert lag(method) == lag(attribute) == exact

    def test_it_may_be_missing(self) -> None:
        with pytest.raises(Unsupported, match="has no `lag`: add a method lag"):
            lag(Bare())

    @pytest.mark.parametrize("told", [5, "A", {1: 2}, {"A": "x"}, {"A": None}, {"A": True}])
    def test_it_maps_users_to_numbers(self, told: object) -> None:
        scheduler = Bare()
        scheduler.lag = lambda: told  # type: ignore[attr-defined]
        with pytest.raises(Broken, match="`lag`"):
            lag(scheduler)

    def test_it_may_break(self) -> None:
        scheduler = Bare()
        scheduler.lag = lambda user: 0  # type: ignore[attr-defined]
        with pytest.raises(Broken, match="`lag` raised TypeError"):
            lag(scheduler)


def some_events(seed: int) -> Iterator[Event]:
    """Events of a few users, many of them to be refused."""
    draw = random.Random(seed)
    numbers: list[Fraction | float] = [Fraction(n) for n in (-1, 0, 1, 1, 2, 3, 50)]
    numbers += [HALF, float("nan"), float("inf")]
    ids = [f"r{number}" for number in range(12)]
    for _ in range(120):
        user, request, number = draw.choice("ABC"), draw.choice(ids), draw.choice(numbers)
        choices: list[Event] = [
            Arrive(user, request, number),
            Arrive(user, request, number),
            Dispatch(),
            Dispatch(),
            Cancel(request),
            Complete(request),
            SetWeight(user, number),
            Recost(request, number),
            Upkeep(),
        ]
        yield draw.choice(choices)


class TestMachineScheduler:
    @pytest.mark.parametrize("seed", range(20))
    def test_it_answers_as_the_machine_does(self, seed: int) -> None:
        state, scheduler = Machine(), MachineScheduler()
        refused = set()
        for event in some_events(seed):
            state, answer = machine.answer(state, event)
            assert play(scheduler, event) == answer
            assert scheduler.state == state
            assert lag(scheduler) == state.lag
            refused.add(answer.refused)
        assert refused >= {UNSET, "invalid-cost", "duplicate-request", "unknown-request", "not-waiting"}

    @pytest.mark.parametrize("seed", range(20))
    def test_another_scheduler_agrees_event_by_event(self, seed: int) -> None:
        ours, theirs = MachineScheduler(), load("schedulers.linear_scan:LinearScan")()
        for event in some_events(seed):
            expected, told = play(ours, event), play(theirs, event)
            assert (told.dispatched, told.refused) == (expected.dispatched, expected.refused)

    def test_a_refusal_raises_and_changes_nothing(self) -> None:
        scheduler = MachineScheduler()
        scheduler.arrive("A", "A1", 3)
        before = scheduler.state
        with pytest.raises(InvalidCost):
            scheduler.arrive("A", "A2", 0)
        assert scheduler.state is before


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory of one's own, searched for modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


class TestLoad:
    def test_a_class_a_function_and_something_inside(self, folder: Path) -> None:
        (folder / "loads_well.py").write_text(
            "class Outer:\n"
            "    class Scheduler:\n"
            "        def arrive(self, user, request, cost): pass\n"
            "        def dispatch(self): return 'A1'\n"
            "Scheduler = Outer.Scheduler\n"
            "def make(): return Scheduler()\n"
        )
        for factory in ("Scheduler", "make", "Outer.Scheduler"):
            make = load(f"loads_well:{factory}")
            assert play(make(), Dispatch()) == Answer(dispatched="A1")
            assert make() is not make()

    @pytest.mark.parametrize("name", ["", "json", "json:", ":loads", "a b:c", "json:loads:x", "../json:x", "json:1"])
    def test_the_form_of_the_name(self, name: str) -> None:
        with pytest.raises(CannotLoad, match="write module:factory"):
            load(name)

    @pytest.mark.parametrize("name", ["not_here_at_all:Scheduler", "json.not_here:Scheduler"])
    def test_no_such_module(self, name: str) -> None:
        with pytest.raises(CannotLoad, match=r"there is no module .*: start in the folder that holds it"):
            load(name)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("import not_here_either\n", r"raised ModuleNotFoundError.*not_here_either.*line 1"),
            ("1 / 0\n", r"raised ZeroDivisionError: division by zero \(raises.*\.py, line 1"),
            ("def f(:\n", r"raised SyntaxError"),
            ("raise SystemExit(0)\n", r"raised SystemExit"),
        ],
    )
    def test_a_module_that_cannot_be_imported(self, folder: Path, text: str, reason: str) -> None:
        name = f"raises_{text.split()[0].strip('1') or 'one'}"
        (folder / f"{name}.py").write_text(text)
        with pytest.raises(CannotLoad, match=rf"importing '{name}' {reason}"):
            load(f"{name}:Scheduler")

    def test_no_such_attribute(self) -> None:
        with pytest.raises(CannotLoad, match=r"'json' has no 'Scheduler': its classes are JSONDecode"):
            load("json:Scheduler")

    def test_not_callable(self) -> None:
        with pytest.raises(CannotLoad, match="cannot be called: name a class, or a function without arguments"):
            load("json:__name__")

    @pytest.mark.parametrize("factory", ["json:loads", "fractions:Fraction.from_float"])
    def test_the_factory_raises(self, factory: str) -> None:
        with pytest.raises(CannotLoad, match=f"`{factory}` is called without arguments, and raised TypeError"):
            load(factory)()

    def test_what_it_makes_is_no_scheduler(self) -> None:
        with pytest.raises(CannotLoad, match="has no method `arrive`: a scheduler needs"):
            load("collections:OrderedDict")()
