"""Where a scheduler fails, the place that is named is in a file of its author, or there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfq_spec.conformance.subjects import NoVerdict, PythonSubject
from sfq_spec.scheduler import described

SCRIPT = b'{"event": "arrive", "user": "A", "request": "A1", "cost": 1}\n'
METHODS = "    def arrive(self, user, request, cost): pass\n    def dispatch(self): pass\n"
PROPERTY = "    @property\n    def {}(self):\n        raise ValueError('x')\n"
MODULES = {
    "arguments": "class S:\n    def arrive(self): pass\n    def dispatch(self): pass\n",
    "syntax": "class S:\n    def arrive(self)\n        pass\n",
    "raising": "class S:\n    def __init__(self):\n        raise ValueError('x')\n",
    "asked": "class S:\n    def __getattr__(self, name):\n        raise ValueError(name)\n",
    "cancel": "class S:\n" + METHODS + PROPERTY.format("cancel"),
    "given": "class S:\n" + METHODS + PROPERTY.format("given"),
    "lag": "class S:\n" + METHODS + PROPERTY.format("lag"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the modules in it."""
    for name, text in MODULES.items():
        (tmp_path / f"blamed_{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("json:dumps", "raised TypeError: dumps() missing 1 required positional argument: 'obj'"),
        ("blamed_arguments:S", "`arrive` raised TypeError: S.arrive() takes 1 positional argument but 4 were given"),
        ("blamed_syntax:S", "raised SyntaxError: expected ':' (blamed_syntax.py, line 2)"),
        ("blamed_raising:S", "raised ValueError: x (blamed_raising.py, line 3, in __init__)"),
        (
            "blamed_asked:S",
            "made no scheduler: to ask for its `arrive` raised ValueError: arrive "
            "(blamed_asked.py, line 3, in __getattr__)",
        ),
        ("blamed_given:S", "`given` raised ValueError: x (blamed_given.py, line 6, in given)"),
        ("blamed_lag:S", "`lag` raised ValueError: x (blamed_lag.py, line 6, in lag)"),
    ],
)
def test_a_place_is_the_author_s_or_none(command: Callable[..., Any], name: str, reason: str) -> None:
    told = command("run", "-", "--lag", "--python", name, stdin=SCRIPT)
    assert told.status == 2
    assert told.err.endswith(f"{reason}\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["asked", "cancel", "lag"])
def test_attributes_that_raise_are_no_verdict(command: Callable[..., Any], name: str) -> None:
    told = command("validate", "--python", f"blamed_{name}:S", "--budget", "0")
    assert told.status == 2
    assert "raised ValueError: " in told.err
    assert f"(blamed_{name}.py, line " in told.err
    assert "Traceback" not in told.err


def test_what_cannot_be_asked_has_no_verdict_in_this_process_either() -> None:
    class Silent:
        def arrive(self, user: str, request: str, cost: int) -> None: ...

        def dispatch(self) -> None: ...

        @property
        def weight(self) -> None:
            raise ZeroDivisionError

    with (
        pytest.raises(NoVerdict, match=r"`weight` raised ZeroDivisionError \(test_blame.py"),
        PythonSubject("s", Silent),
    ):
        pass


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert described(ValueError("x")) == "ValueError: x"
