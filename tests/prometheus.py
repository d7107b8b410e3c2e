"""Prometheus' own tool, which judges metrics, alerts and expressions."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def promtool(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """What it says. Where it is absent the test is skipped, or fails if SFQ_PROMTOOL says that it is required."""
    if shutil.which("promtool") is None:
        absent = "needs promtool, of the Debian package prometheus"
        pytest.fail(absent) if os.environ.get("SFQ_PROMTOOL") == "required" else pytest.skip(absent)
    return subprocess.run(["promtool", *arguments], input=given, capture_output=True, text=True, check=False)
