"""Hypothesis profiles, the real traces, and an account of the tests that a run leaves out.

`SFQ_PROFILE` chooses the profile: `ci` (the default) draws the same examples in every run, `dev` draws few and
new ones, `deep` draws many from a seed that the header shows and includes the tests marked `deep`. A test that
needs more examples than others takes a multiple of `settings.default.max_examples`, so that all profiles count.
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
DEEP_LEFT_OUT = pytest.StashKey[int]()

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
    config.stash[DEEP_LEFT_OUT] = 0
    if PROFILE == "deep" and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(secrets.randbits(32))


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is drawn, how to draw it again, and what is left out."""
    if PROFILE == "deep":
        return f"profile: deep, repeat with --hypothesis-seed={config.getoption('--hypothesis-seed')}"
    return f"profile: {PROFILE}, without the tests marked deep (make test-deep)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what reads the real traces; leave the deep tests to the deep profile."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
    if PROFILE != "deep":
        deep = [item for item in items if item.get_closest_marker("deep")]
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
        config.stash[DEEP_LEFT_OUT] = len(deep)
        config.hook.pytest_deselected(items=deep)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist hands its count to the controller, which has collected nothing itself."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deep_left_out"] = session.config.stash[DEEP_LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker has collected the same tests, so any one of them knows the count."""
    node.config.stash[DEEP_LEFT_OUT] = getattr(node, "workeroutput", {}).get("deep_left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """No test is left out in silence."""
    if count := config.stash[DEEP_LEFT_OUT]:
        terminalreporter.write_line(f"Tests marked deep, left out: {count} (make test-deep runs them)")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real traces beside the checkout; a test that needs it skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real traces in ../shared/data, which are not here")
    return SHARED_DATA
