"""Hypothesis profiles, the real traces, and an account of the tests that a run leaves out.

`SFQ_PROFILE` chooses the profile: `ci` (the default) draws the same examples in every run, `dev` draws few and
new ones, `deep` draws many from a seed that the header shows and includes the tests marked `deep`. A test that
needs more examples than others takes a multiple of `settings.default.max_examples`, so that all profiles count.

Tests marked `integration`, and those that need what others have written, are run where `-m` speaks of them.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("SFQ_PROFILE", "ci")
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""How many tests of each mark a run leaves out."""
WITH = {"deep": "make test-deep", "integration": "make test-integrations"}
"""What runs the tests of a mark."""
OF_OTHERS = {"oracle": {"oracle"}, "third_party": {"name", "subject"}}
"""Fixtures, by folder, that need what others have written."""

# A loaded machine is slow without anything being wrong: no profile judges an example by the clock.
_untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", _untimed, derandomize=True, database=None, max_examples=100, stateful_step_count=50)
settings.register_profile("dev", _untimed, max_examples=30, stateful_step_count=30)
settings.register_profile("deep", _untimed, max_examples=3_000, stateful_step_count=100)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Load the profile before any test module is imported, so that `settings.default` is the chosen one."""
    if PROFILE not in ("ci", "dev", "deep"):
        raise pytest.UsageError(f"SFQ_PROFILE={PROFILE}: the profiles are ci, dev and deep")
    settings.load_profile(PROFILE)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give a deep run a seed that can be shown and given again; the workers of xdist inherit it."""
    config.stash[LEFT_OUT] = {}
    if PROFILE == "deep" and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(secrets.randbits(32))


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is drawn, how to draw it again, and what is left out."""
    if PROFILE == "deep":
        return f"profile: deep, repeat with --hypothesis-seed={config.getoption('--hypothesis-seed')}"
    return f"profile: {PROFILE}, without the tests marked deep (make test-deep)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what reads the real traces and what needs programs of others; leave out what was not asked for."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "shared_data" in fixtures:
            item.add_marker("data")
        if fixtures & OF_OTHERS.get(item.path.parent.name, set()):
            item.add_marker("integration")
    if PROFILE != "deep":
        _leave_out("deep", config, items)
        if "integration" not in config.option.markexpr:
            _leave_out("integration", config, items)


def _leave_out(mark: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker(mark)]
    items[:] = [item for item in items if not item.get_closest_marker(mark)]
    config.stash[LEFT_OUT][mark] = len(marked)
    config.hook.pytest_deselected(items=marked)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist hands its counts to the controller, which has collected nothing itself."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker has collected the same tests, so any one of them knows the counts."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """No test is left out in silence."""
    for mark, count in config.stash[LEFT_OUT].items():
        if count:
            terminalreporter.write_line(f"Tests marked {mark}, left out: {count} ({WITH[mark]} runs them)")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real traces beside the checkout; a test that needs it skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real traces in ../shared/data, which are not here")
    return SHARED_DATA
