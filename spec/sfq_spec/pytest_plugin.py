"""The plugin for pytest: `--sfq module:factory` adds tests of a scheduler, and `sfq_conforms` judges one in a test.

Without the options it adds nothing, and imports nothing of the kit.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sfq_spec.conformance.piecemeal import Piecemeal, Told
    from sfq_spec.conformance.subjects import Subject

NAME = "sfq"
"""The first part of the ids of the tests that are added, and the marker that they carry."""
_RUN = "sfq-run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, as `sfq-spec validate` has them."""
    group = parser.getgroup("sfq", "Start-time Fair Queueing: conformance of a scheduler")
    group.addoption("--sfq", metavar="MODULE:FACTORY", help="test this scheduler in Python")
    group.addoption(
        "--sfq-command", metavar="COMMAND", help='test the scheduler behind this adapter: "node adapter.js"'
    )
    group.addoption("--sfq-budget", type=int, metavar="N", help="random histories (default: 200)")
    group.addoption("--sfq-seed", type=int, metavar="SEED", help="draw the same histories again")
    group.addoption("--sfq-skip", metavar="FILE", help="ids of cases known to fail, one a line; one that passes fails")
    group.addoption("--sfq-any-tie", action="store_true", help="with --sfq: a tie may go to anybody")
    group.addoption("--sfq-patience", type=float, metavar="SECONDS", help="for one message of an adapter")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the tests where they are asked for. Raises `pytest.UsageError` that names the fix."""
    config.addinivalue_line("markers", f"{NAME}: the tests of a scheduler that --sfq and --sfq-command add")
    option: Callable[[str], Any] = config.getoption
    budget = option("sfq_budget")
    if budget is not None and budget < 0:
        raise pytest.UsageError(f"--sfq-budget {budget}: is below zero; with 0 there are no random histories")
    named = [name for name in ("sfq", "sfq_command") if option(name) is not None]
    if named:
        if len(named) > 1:
            raise pytest.UsageError("--sfq and --sfq-command: name one scheduler")
        if option("sfq_seed") is None:
            import secrets

            config.option.sfq_seed = secrets.randbelow(2**31)  # the workers of xdist inherit it
        config.pluginmanager.register(Run(config), _RUN)
        return
    for name in ("sfq_skip", "sfq_any_tie", "sfq_patience"):
        if option(name) not in (None, False):
            raise pytest.UsageError(f"--{name.replace('_', '-')}: also name a scheduler, by --sfq or --sfq-command")


@pytest.fixture
def sfq_conforms() -> Iterator[Callable[..., Any]]:
    """Judge a scheduler: see `sfq_spec.testing.judge`. A broken adapter skips the test, and is an error after it."""
    from sfq_spec.conformance.subjects import NoVerdict
    from sfq_spec.testing import judge, no_verdict

    broken: list[NoVerdict] = []

    def conforms(scheduler: Any, **options: Any) -> Any:
        try:
            return judge(scheduler, **options)
        except NoVerdict as error:
            broken.append(error)
        pytest.skip("no verdict: see the error at teardown")

    yield conforms
    if broken:
        with no_verdict():
            raise broken[0]


class Run:
    """The tests that are added to one run of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        from sfq_spec.conformance.piecemeal import Piecemeal
        from sfq_spec.testing import BUDGET, CASES

        option: Callable[[str], Any] = config.getoption
        self.budget: int = BUDGET if option("sfq_budget") is None else option("sfq_budget")
        self._seed: int = option("sfq_seed")
        self._name: str = option("sfq") or option("sfq_command")
        self.held = Piecemeal(_subject(config), CASES, excused=_excused(config), budget=self.budget, seed=self._seed)
        self._outcomes: set[str] = set()

    def pytest_report_header(self) -> str:
        """Who is tested, and how to draw the same histories again."""
        histories = f", {self.budget} random histories (--sfq-seed {self._seed})" if self.budget else ""
        return f"sfq: {self._name}{histories}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the tests, before any are chosen by -k or -m."""
        tests = Tests.from_parent(session, path=session.config.rootpath / NAME, run=self)
        added = list(tests.collect())
        report = pytest.CollectReport(tests.nodeid, "passed", None, [*added])
        session.config.hook.pytest_collectreport(report=report)
        items += added

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how the tests end."""
        if report.nodeid.startswith(f"{NAME}::") and (report.failed or report.when == "call"):
            self._outcomes.add(report.outcome)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run in which nothing was checked is not a good one."""
        if self._outcomes == {"skipped"} and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say so where nothing was checked."""
        if self._outcomes == {"skipped"}:
            terminalreporter.write_line(
                "sfq: no verdict: nothing was checked, for every test of the scheduler was skipped"
            )

    def pytest_unconfigure(self) -> None:
        """Stop the scheduler."""
        self.held.close()


class Tests(pytest.File):
    """All the tests that are added, below a file that is not there."""

    def __init__(self, *, run: Run, **node: Any) -> None:
        super().__init__(**node)
        self._run = run

    def collect(self) -> Iterator[pytest.Item]:
        """The tests: vectors, random histories, claims."""
        from sfq_spec.testing import CASES, CLAIMS

        held = self._run.held
        vectors, claims = Group.from_parent(self, name="vectors"), Group.from_parent(self, name="claims")
        for case in CASES:
            yield Test.from_parent(vectors, name=case.id, ask=partial(held.vector, case.id), held=held)
        if self._run.budget:
            yield Test.from_parent(self, name="random-histories", ask=held.histories, held=held)
        for claim in CLAIMS:
            yield Test.from_parent(claims, name=claim, ask=partial(held.claim, claim), held=held)


class Group(pytest.Collector):
    """The tests of one kind."""

    def collect(self) -> Iterator[pytest.Item]:
        """Nothing: `Tests` knows them all."""
        return iter(())


class Test(pytest.Item):
    """One vector, one claim, or the random histories."""

    def __init__(self, *, ask: Callable[[], Told], held: Piecemeal, **node: Any) -> None:
        super().__init__(**node)
        self._held = held
        self._ask = ask
        self.add_marker(NAME)

    def setup(self) -> None:
        """Find out what to tell. Where there is no verdict, that is an error and not a failure."""
        from sfq_spec.testing import no_verdict

        with no_verdict(self._held.told):
            self._told = self._ask()

    def runtest(self) -> None:
        """Tell it."""
        from sfq_spec.testing import end

        end(self._told)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands."""
        return self.path, None, self.name


def _subject(config: pytest.Config) -> Subject:
    """The scheduler that is named. Raises `pytest.UsageError`."""
    from sfq_spec.conformance.subjects import PATIENCE, ProcessSubject, PythonSubject
    from sfq_spec.scheduler import CannotLoad, load

    name, option = config.getoption("sfq"), config.getoption
    if name is not None:
        if option("sfq_patience"):
            raise pytest.UsageError("--sfq-patience is for --sfq-command: a scheduler in Python has all the time")
        try:
            return PythonSubject(name, load(name), any_tie=option("sfq_any_tie"))
        except CannotLoad as error:
            raise pytest.UsageError(f"--sfq: {error}") from None
    if option("sfq_any_tie"):
        raise pytest.UsageError('--sfq-any-tie is for --sfq: an adapter says "ties": "any" among its capabilities')
    try:
        words = shlex.split(option("sfq_command"))
    except ValueError as error:
        raise pytest.UsageError(f"--sfq-command {option('sfq_command')!r}: {error}") from None
    if not words:
        raise pytest.UsageError("--sfq-command: is empty: name the program, as in --sfq-command 'node adapter.mjs'")
    return ProcessSubject(words, patience=option("sfq_patience") or PATIENCE)


def _excused(config: pytest.Config) -> frozenset[str]:
    """The cases that are known to fail. Raises `pytest.UsageError`."""
    if not config.getoption("sfq_skip"):
        return frozenset()
    from sfq_spec.commands.console import Failure
    from sfq_spec.commands.validating import excused_by
    from sfq_spec.testing import CASES

    try:
        return excused_by(Path(config.getoption("sfq_skip")), CASES)
    except Failure as failure:
        raise pytest.UsageError(f"--sfq-skip {failure}") from None
