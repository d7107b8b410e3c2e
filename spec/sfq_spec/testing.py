"""For the test suite of a scheduler: a class with one test per vector, per claim, and for random histories.

    from sfq_spec.testing import SFQConformance

    class TestMine(SFQConformance):
        scheduler = MyScheduler

`pytest --sfq module:factory` adds the same tests without any code: see `sfq_spec.pytest_plugin`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from sfq_spec.conformance import report as reports
from sfq_spec.conformance.piecemeal import Piecemeal, Told
from sfq_spec.conformance.subjects import PATIENCE, NoVerdict, ProcessSubject, PythonSubject, Subject
from sfq_spec.conformance.validate import Report, bundled, chosen, validate
from sfq_spec.scheduler import CannotLoad, load

CASES = bundled().cases
"""The vectors."""
CLAIMS = tuple(sorted({claim for case in CASES for claim in case.claims}))
"""The claims that vectors name."""
BUDGET = 200
"""Random histories, where nothing else is said."""
_HELD = pytest.StashKey[Piecemeal]()


class SFQConformance:
    """Tests of one scheduler; to be inherited from.

    Either `scheduler` or `command` is needed. `scheduler` is a class, a function without arguments, a text
    `module:factory`, or a method that returns a new scheduler; `command` holds the words that start an adapter.
    """

    __test__ = False

    scheduler: Any = None
    command: ClassVar[Sequence[str]] = ()
    any_tie: ClassVar[bool] = False
    """A tie may go to anybody. An adapter says so itself."""
    known_faults: ClassVar[Collection[str]] = ()
    """Ids of vectors that are known to fail: they are expected to."""
    budget: ClassVar[int] = BUDGET
    """Random histories, where `--sfq-budget` says nothing."""
    seed: ClassVar[int] = 0
    """What they are drawn from, where `--sfq-seed` says nothing."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    @pytest.fixture
    def sfq_told(self, request: pytest.FixtureRequest) -> Told:
        """What became of what a test asks about. It is found out before the test, so that no verdict is an error."""
        params: dict[str, str] = request.node.callspec.params if hasattr(request.node, "callspec") else {}
        with no_verdict():
            held = _of_class(self, request)
        with no_verdict(held.told):
            if "vector" in params:
                return held.vector(params["vector"])
            if "claim" in params:
                return held.claim(params["claim"])
            return held.histories()

    @pytest.mark.parametrize("vector", [case.id for case in CASES])
    def test_vector(self, vector: str, sfq_told: Told) -> None:
        """The scheduler answers as the vector says."""
        end(sfq_told)

    def test_random_histories(self, sfq_told: Told) -> None:
        """The scheduler answers random histories as the specification does."""
        end(sfq_told)

    @pytest.mark.parametrize("claim", CLAIMS)
    def test_claim(self, claim: str, sfq_told: Told) -> None:
        """No vector and no random history contradicts the claim."""
        end(sfq_told)


def judge(
    scheduler: Any,
    *,
    only: Sequence[str] = (),
    any_tie: bool = False,
    known_faults: Collection[str] = (),
    budget: int = BUDGET,
    seed: int = 0,
) -> Report:
    """Judge a scheduler inside a test, which fails with the report where it does not conform.

    `scheduler` is a class, a function without arguments, a text `module:factory`, or the words that start an adapter;
    `only` chooses vectors by id, flag or claim. Raises `NoVerdict` where the adapter is broken, and `ValueError`
    where a name is not known.
    """
    try:
        cases = chosen(bundled(), only)
    except KeyError as unknown:
        raise ValueError(f"no vector has this id, flag or claim: {unknown.args[0]!r}") from None
    with _subject(scheduler, any_tie) as subject:
        report = validate(subject, cases, excused=_known(known_faults), budget=budget, seed=seed)
    if not report.conforms:
        pytest.fail(_worded("\n".join(reports.lines(report))), pytrace=False)
    return report


def end(told: Told) -> None:
    """End a test: return where it has passed."""
    text = _worded(told.text)
    match told.status:
        case "skipped":
            pytest.skip(text)
        case "known":
            pytest.xfail(text)
            pytest.fail(text, pytrace=False)  # xfail does nothing under --runxfail
        case "failed":
            pytest.fail(text, pytrace=False)


@contextmanager
def no_verdict(told: set[str] | None = None) -> Iterator[None]:
    """Where there is no verdict, tell it without a traceback: in short, where `told` has the reason already."""
    try:
        yield
    except NoVerdict as broken:
        if told is not None:
            if str(broken) in told:
                short = _worded(str(broken).partition("\n")[0])
                raise pytest.fail.Exception(f"no verdict: {short} (the same as above)", pytrace=False) from None
            told.add(str(broken))
        reason, heard, said = str(broken).partition("\nIt said on standard error:\n")
        raise pytest.fail.Exception(f"no verdict: {_worded(reason)}{heard}{said}", pytrace=False) from None


def _of_class(self: SFQConformance, request: pytest.FixtureRequest) -> Piecemeal:
    """The judgement that the tests of a class share, until the last of them has run."""
    node: pytest.Class = request.node.getparent(pytest.Class)
    held = node.stash.get(_HELD, None)
    if held is None:
        option: Callable[[str, Any], Any] = request.config.getoption
        budget, seed = option("sfq_budget", None), option("sfq_seed", None)
        held = Piecemeal(
            _subject(_factory(self) or self.command, self.any_tie),
            CASES,
            excused=_known(self.known_faults),
            budget=self.budget if budget is None else budget,
            seed=self.seed if seed is None else seed,
        )
        node.stash[_HELD] = held
        node.addfinalizer(held.close)
    return held


def _factory(self: SFQConformance) -> Any:
    """What makes a scheduler. A plain function in the class without `self` is meant as one, and not as a method."""
    found = inspect.getattr_static(self, "scheduler")
    plain = inspect.isfunction(found) and not inspect.signature(found).parameters
    return found if plain else self.scheduler


def _subject(scheduler: Any, any_tie: bool) -> Subject:
    if isinstance(scheduler, str):
        try:
            return PythonSubject(scheduler, load(scheduler), any_tie=any_tie)
        except CannotLoad as error:
            raise NoVerdict(str(error)) from None
    if callable(scheduler):
        return PythonSubject(getattr(scheduler, "__name__", "scheduler"), scheduler, any_tie=any_tie)
    if isinstance(scheduler, Sequence) and scheduler and all(isinstance(word, str) for word in scheduler):
        if any_tie:
            raise NoVerdict('any_tie is for Python: an adapter says "ties": "any" among its capabilities')
        return ProcessSubject(scheduler, patience=PATIENCE)
    raise NoVerdict(
        "no scheduler is named: give a class, a function without arguments, a text module:factory, or the words of "
        'the command that starts an adapter, such as ["node", "adapter.mjs"]'
    )


def _known(faults: Collection[str]) -> frozenset[str]:
    if unknown := sorted(set(faults) - {case.id for case in CASES}):
        raise NoVerdict(f"known_faults names {unknown[0]!r}, and there is no such case: see sfq-spec vectors list")
    return frozenset(faults)


def _worded(text: str) -> str:
    """With the options as they are named for pytest."""
    text = text.replace("excused by --skip", "among the known faults")
    return re.sub(r"--(seed|skip|budget|patience)\b", r"--sfq-\1", text)
