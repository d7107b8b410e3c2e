"""What is made for llm-d's own plugin (`llmd/check.py`), tried on another one of the same form, and on its faults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from third_party.llmd import check

SOURCE = check.CHECKOUT / "tests/schedulers/las.go"
MODE = "development-2026-08"
FAULTS = {
    "output counts once": ("2*response.Usage.CompletionTokens", "response.Usage.CompletionTokens"),
    "nothing decays": ("if p.HalfLife > 0 {", "if false {"),
    "who is in flight is forgotten": ("of.inFlight == 0 && ", ""),
    "sweeps never come": ("case <-sweeps.C:", "case <-make(chan int):"),
    "the longest wait goes last": ("+ p.WeightWait*", "- p.WeightWait*"),
}
"""Parts of the policy, and what to put in their place."""


@pytest.fixture
def go() -> None:
    try:
        check.go()
    except check.Unusable as absent:
        if os.environ.get("SFQ_GO") == "required":
            raise
        pytest.skip(str(absent))


@pytest.mark.integration
@pytest.mark.usefixtures("go")
@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_plugin_of_its_form_is_judged(fault: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = SOURCE.read_text(encoding="utf-8")
    part, other = FAULTS[fault] if fault else ("", "")
    assert part in text
    adapter = check.build({"las.go": text.replace(part, other)}, tmp_path)
    assert check.validated(adapter, MODE, "sample", "--budget", "100") == (1 if fault else 0)
    assert ("does not conform" in capfd.readouterr().out) is bool(fault)


@pytest.mark.integration
@pytest.mark.usefixtures("go")
def test_what_does_not_compile_is_told(tmp_path: Path) -> None:
    with pytest.raises(check.Unusable, match=r"it does not compile:\n(.|\n)*las\.go"):
        check.build({"las.go": "package programaware\n\nfunc ("}, tmp_path)


def repository(folder: Path, **files: str) -> Path:
    """A checkout with these files in the place of the plugin."""
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / check.PLUGIN).mkdir(parents=True)
    for name, text in files.items():
        (folder / check.PLUGIN / f"{name}.go").write_text(text, encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "as it was"], check=True)
    return folder


def test_the_plugin_is_taken_from_the_revision_without_its_tests(tmp_path: Path) -> None:
    checkout = repository(tmp_path, plugin="first", plugin_test="a test")
    (checkout / check.PLUGIN / "plugin.go").write_text("changed since")
    assert check.plugin(checkout, "HEAD") == {"plugin.go": "first"}
    with pytest.raises(check.Unusable, match="nowhere"):
        check.plugin(checkout, "nowhere")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{checkout}", "HEAD"], "'HEAD' is no REVISION=MODE, such as v0.9.0=release-0.10"),
        (["{checkout}", "HEAD=release-0.10"], f"HEAD=release-0.10: HEAD has no {check.PLUGIN}"),
        (["{checkout}/nothing", "HEAD=release-0.10"], "HEAD=release-0.10: fatal: "),
    ],
)
def test_what_cannot_be_done_is_told(arguments: list[str], said: str, tmp_path: Path) -> None:
    checkout = repository(tmp_path, plugin_test="a test")
    given = [argument.format(checkout=checkout) for argument in arguments]
    ran = subprocess.run([sys.executable, check.__file__, *given], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
