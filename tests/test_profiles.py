"""The frame of the tests itself: what a run leaves out it says, and a deep run can be repeated."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = """
import pytest
from hypothesis import given, settings, strategies

@given(strategies.integers())
def test_fast(number):
    assert settings.default.max_examples > 0

@pytest.mark.deep
def test_long():
    pass

def test_real_trace(shared_data, request):
    assert request.node.get_closest_marker("data")
    assert shared_data.name == "data"
"""


def run(checkout: Path, profile: str, *options: str) -> str:
    """The output of pytest in a checkout that has our conftest and one sample of each kind of test."""
    tests = checkout / "tests"
    tests.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("conftest.py"), tests)
    (tests / "test_sample.py").write_text(SAMPLE)
    (checkout / "pytest.ini").write_text("[pytest]\nmarkers =\n  deep: long\n  data: real\n")
    command = [sys.executable, "-m", "pytest", "-rs", "--strict-markers", "--override-ini=addopts=", *options]
    done = subprocess.run(
        command, cwd=checkout, env={**os.environ, "SFQ_PROFILE": profile}, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "with workers"])
def test_a_fast_run_tells_which_tests_it_leaves_out(tmp_path: Path, options: tuple[str, ...]) -> None:
    said = run(tmp_path / "here", "ci", *options)
    assert "1 passed, 1 skipped" in said
    assert "needs the real traces in ../shared/data" in said
    assert "Tests marked deep, left out: 1 " in said


@pytest.mark.integration
def test_a_deep_run_leaves_nothing_out_and_names_its_seed(tmp_path: Path) -> None:
    (tmp_path / "shared" / "data").mkdir(parents=True)
    said = run(tmp_path / "here", "deep", "-n", "2")
    assert "3 passed" in said
    assert "left out" not in said
    assert re.search(r"--hypothesis-seed=\d+", said)


@pytest.mark.integration
def test_the_seed_of_a_deep_run_can_be_given(tmp_path: Path) -> None:
    assert "repeat with --hypothesis-seed=7\n" in run(tmp_path / "here", "deep", "--hypothesis-seed=7")


def test_an_unknown_profile_is_an_error(tmp_path: Path) -> None:
    said = run(tmp_path / "here", "quick")
    assert "SFQ_PROFILE=quick: the profiles are ci, dev and deep" in said
    assert "passed" not in said
