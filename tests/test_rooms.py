"""The three rooms and their directions, read from the source without running it.

`spec` imports neither of the others; `impl` knows the vocabulary in `sfq_spec.trace` and no rule; `proofs` may
import both; nothing imports `proofs`. What each room may take from outside the standard library is listed here.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
ROOMS = {"spec": "sfq_spec", "impl": "sfq_impl", "proofs": "sfq_proofs"}

RULES = frozenset(
    {"rules", "logic", "competition", "machine", "tags", "properties", "mutants"}
    | {"variants", "sameness", "placement", "replica", "fleet"}
)
"""Modules of the specification that say what is right; `sfq_spec.trace` must not lead to them."""
PURE = (RULES - {"machine", "mutants", "sameness"}) | {"__init__", "numbers", "refusals"}
"""Modules of the specification that need only the standard library and each other."""
TERMINAL = frozenset({"cli", "commands"})
"""Modules of the specification that talk to a person."""
LOADERS = frozenset({"cli", "scheduler"})
"""Modules of the specification that load a scheduler which the user has named."""
OUTSIDE = {
    "spec": {"msgspec"},
    "impl": {"msgspec"},
    "proofs": {"msgspec", "typer", "rich", "z3", "cvc5", "bitwuzla", "crosshair", "hypothesis"},
}
"""Packages from outside that any module of the room may import, unless it is pure."""
OPTIONAL = {
    "conformance": {"hypothesis", "zstandard", "compression"},
    "pytest_plugin": {"pytest"},
    "testing": {"pytest"},
}
"""Parts of the specification that use a package where it is there, and say so where it is not."""
OPTIONAL_IMPL = {
    "tokens": {"tokenizers"},
    "policy": {"prometheus_client", "yaml"},
    "gateway": {"starlette", "uvicorn", "aiohttp", "prometheus_client", "yaml", "jwt", "httptools"}
    | {"typer", "rich", "xllamacpp", "gguf", "numpy"},
}
"""The same of the scheduler's room."""

NAMES_A_MODULE = re.compile(r"sfq_(spec|impl|proofs)(\.\w+)*(:\w+)?")
LOADS_BY_NAME = re.compile(r"importlib(?!\.(resources|metadata)\b)|(pkgutil|runpy|imp|zipimport)\b")


@dataclass(frozen=True)
class Module:
    """A source file and where it stands."""

    room: str
    path: Path
    inside: str
    """The path inside the package, with dots and without the ending."""

    @property
    def first(self) -> str:
        """The module or the folder right below the package."""
        return self.inside.partition(".")[0]


@dataclass(frozen=True)
class Found:
    """One import, in whatever form."""

    line: int
    whole: str
    """What is imported, with its whole name."""
    bound: str
    """What the module can then reach: `import a.b` gives it all of `a`."""
    relative: bool = False
    by_name: bool = False
    """Whether the import is one that no reader of the source can follow."""
    text: bool = False
    """Whether it is only the name of a module in a text, of which a loader could make an import."""


def modules(checkout: Path) -> list[Module]:
    """Every Python file below the three roots."""
    found = []
    for room, package in ROOMS.items():
        for path in sorted((checkout / room).rglob("*.py")):
            inside = ".".join(path.relative_to(checkout / room).with_suffix("").parts)
            found.append(Module(room, path, inside.removeprefix(f"{package}.")))
    return found


def imports(path: Path) -> Iterator[Found]:
    """Every import in a source file, nested ones included, and every text that names a module of ours."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                for alias in node.names:
                    bound = alias.name if alias.asname else alias.name.partition(".")[0]
                    by_name = LOADS_BY_NAME.match(alias.name) is not None
                    yield Found(node.lineno, alias.name, bound, by_name=by_name)
            case ast.ImportFrom():
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    by_name = LOADS_BY_NAME.match(whole) is not None
                    yield Found(node.lineno, whole, whole, relative=node.level > 0, by_name=by_name)
            case ast.Name(id="__import__" | "exec" | "eval" as name):
                yield Found(node.lineno, name, name, by_name=True)
            case ast.Attribute(attr="import_module" | "__import__" | "meta_path" as name):
                yield Found(node.lineno, name, name, by_name=True)
            case ast.Attribute(value=ast.Name(id="sys"), attr="modules" | "path" as name):
                yield Found(node.lineno, f"sys.{name}", f"sys.{name}", by_name=True)
            case ast.Constant(value=str(text)) if NAMES_A_MODULE.fullmatch(text):
                whole = text.replace(":", ".")
                yield Found(node.lineno, whole, whole, text=True)


def faults(checkout: Path) -> list[str]:
    """Every import that goes against a direction, as a sentence that begins with the place."""
    vocabulary = exported(checkout / "spec/sfq_spec/trace.py")
    said = []
    for module in modules(checkout):
        for found in imports(module.path):
            if reason := fault(module, found, vocabulary):
                said.append(f"{module.path.relative_to(checkout)}:{found.line}: {reason}")
    rules = sorted(reached(checkout, "trace") & RULES)
    return said + [f"spec/sfq_spec/trace.py leads to sfq_spec.{name}, a rule" for name in rules]


def fault(module: Module, found: Found, vocabulary: frozenset[str]) -> str | None:
    """What is wrong with an import, if anything."""
    room, package = module.room, found.whole.partition(".")[0]
    if found.relative:
        return "relative import: write the whole name"
    loader = room == "proofs" or (room == "spec" and module.first in LOADERS)
    if found.by_name:
        return None if loader else f"`{found.whole}` imports by name, which this test cannot follow"
    if found.text and not loader:
        return None
    if package in sys.stdlib_module_names:
        return None
    if package in ROOMS.values():
        return fault_between_rooms(module, found, package, vocabulary)
    if room == "spec" and module.first in PURE | RULES:
        return f"sfq_spec.{module.inside} needs only the standard library, not {package}"
    terminal = room == "spec" and module.first in TERMINAL and package in ("typer", "rich")
    optional = package in {"spec": OPTIONAL, "impl": OPTIONAL_IMPL}.get(room, {}).get(module.first, ())
    return None if terminal or optional or package in OUTSIDE[room] else f"{room} does not import {package}"


def fault_between_rooms(module: Module, found: Found, package: str, vocabulary: frozenset[str]) -> str | None:
    """What is wrong with an import of one of the three packages, if anything."""
    match module.room, package:
        case ("proofs", _) | ("impl", "sfq_impl"):
            return None
        case "spec", "sfq_spec":
            target = "".join(found.whole.split(".")[1:2])
            impure = module.first in PURE and target not in PURE
            return f"sfq_spec.{module.inside} is pure, and imports {found.whole}" if impure else None
        case "impl", "sfq_spec":
            known = {"sfq_spec.trace", *(f"sfq_spec.trace.{name}" for name in vocabulary)}
            return None if found.bound in known else f"impl imports {found.bound}, and may know the vocabulary only"
        case _:
            return f"{module.room} imports {package}"


def exported(path: Path) -> frozenset[str]:
    """The names in `__all__`."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def reached(checkout: Path, start: str) -> set[str]:
    """The modules of the specification that run when one of them is imported, the package included."""
    package = checkout / "spec/sfq_spec"
    seen: set[str] = set()
    todo = {"__init__", start}
    while todo:
        name = todo.pop()
        seen.add(name)
        for path in (package / f"{name}.py", *(package / name).rglob("*.py")):
            if path.is_file():
                parts = (found.whole.split(".") for found in imports(path) if not found.text)
                todo |= {part[1] for part in parts if part[0] == "sfq_spec" and len(part) > 1} - seen
    return seen


def test_every_import_follows_the_directions() -> None:
    assert {module.room for module in modules(CHECKOUT)} == set(ROOMS)
    assert faults(CHECKOUT) == []


def test_each_module_with_a_rule_of_its_own_is_there() -> None:
    there = {module.first for module in modules(CHECKOUT) if module.room == "spec"}
    assert there >= RULES | PURE


WRONG = {
    "spec takes what only the kit may": (
        "spec/sfq_spec/running.py",
        "import hypothesis",
        "spec does not import hypothesis",
    ),
    "spec takes the scheduler": ("spec/sfq_spec/machine.py", "import sfq_impl.heap", "spec imports sfq_impl"),
    "spec takes a proof": (
        "spec/sfq_spec/machine.py",
        "from sfq_proofs import band",
        "spec imports sfq_proofs",
    ),
    "impl takes a proof": ("impl/sfq_impl/heap.py", "from sfq_proofs.page import x", "impl imports sfq_proofs"),
    "impl takes a rule": ("impl/sfq_impl/heap.py", "from sfq_spec.rules import join", "sfq_spec.rules"),
    "impl takes a rule's module": ("impl/sfq_impl/heap.py", "from sfq_spec import rules", "sfq_spec.rules"),
    "impl takes a rule under a name": ("impl/sfq_impl/heap.py", "import sfq_spec.rules as r", "sfq_spec.rules"),
    "impl takes the whole spec": ("impl/sfq_impl/heap.py", "import sfq_spec", "impl imports sfq_spec"),
    "impl binds the whole spec": ("impl/sfq_impl/heap.py", "import sfq_spec.trace", "impl imports sfq_spec"),
    "impl takes everything": ("impl/sfq_impl/heap.py", "from sfq_spec import *", "impl imports sfq_spec"),
    "impl takes more than the vocabulary": (
        "impl/sfq_impl/heap.py",
        "from sfq_spec.trace import numbers",
        "sfq_spec.trace.numbers",
    ),
    "inside a function": (
        "impl/sfq_impl/policy/sfq.py",
        "def f():\n    from sfq_spec import machine",
        "policy/sfq.py:2: impl imports sfq_spec.machine",
    ),
    "for types only": (
        "spec/sfq_spec/tags.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sfq_impl",
        "tags.py:3: spec imports sfq_impl",
    ),
    "relative": ("spec/sfq_spec/machine.py", "from . import rules", "relative import"),
    "by name": (
        "impl/sfq_impl/heap.py",
        'import importlib.resources\nimportlib.import_module("sfq_" + "spec.rules")',
        "heap.py:2: `import_module` imports by name",
    ),
    "by name, renamed": (
        "spec/sfq_spec/machine.py",
        "from importlib import import_module as load",
        "imports by name",
    ),
    "by the built-in": ("impl/sfq_impl/heap.py", '__import__("json")', "`__import__` imports by name"),
    "by text": ("spec/sfq_spec/machine.py", 'exec("import x")', "`exec` imports by name"),
    "out of the table of modules": (
        "impl/sfq_impl/heap.py",
        "import sys\nsys.modules['x']",
        "`sys.modules` imports by name",
    ),
    "by a runner": ("impl/sfq_impl/heap.py", "import runpy", "`runpy` imports by name"),
    "a loader with a built-in scheduler": (
        "spec/sfq_spec/scheduler.py",
        'DEFAULT = "sfq_impl.heap:HeapScheduler"',
        "spec imports sfq_impl",
    ),
    "a pure module with a dependency": (
        "spec/sfq_spec/rules.py",
        "import msgspec",
        "only the standard library",
    ),
    "a mutant with a dependency": ("spec/sfq_spec/mutants.py", "import msgspec", "only the standard library"),
    "a pure module by way of another": (
        "spec/sfq_spec/tags.py",
        "from sfq_spec.trace import Arrive",
        "sfq_spec.tags is pure, and imports sfq_spec.trace",
    ),
    "the core talks to a person": ("spec/sfq_spec/table.py", "import rich.table", "spec does not import rich"),
    "impl takes what only a part of it may": ("impl/sfq_impl/cost.py", "import tokenizers", "not import tokenizers"),
    "the scheduler with a dependency": ("impl/sfq_impl/heap.py", "import sortedcontainers", "sortedcontainers"),
    "the vocabulary leads to a rule": (
        "spec/sfq_spec/trace.py",
        "from sfq_spec.machine import Machine\n__all__ = ['Arrive']",
        "trace.py leads to sfq_spec.machine",
    ),
    "the vocabulary leads to a rule by way of another": (
        "spec/sfq_spec/numbers.py",
        "from sfq_spec.competition import SFQ",
        "trace.py leads to sfq_spec.competition",
    ),
}

RIGHT = {
    "spec/sfq_spec/conformance/histories.py": "import hypothesis",
    "spec/sfq_spec/cli.py": "import typer\nfrom rich.table import Table",
    "spec/sfq_spec/scheduler.py": "import importlib\nimportlib.import_module(named)\nhint = 'or sfq_impl.heap:Heap'",
    "spec/sfq_spec/commands/run.py": "from rich.progress import track\nfrom sfq_spec.machine import step",
    "spec/sfq_spec/sample.py": "import importlib.resources\nshown_by = 'sfq_proofs.theorems.band'",
    "spec/sfq_spec/tags.py": "from sfq_spec.logic import N\nfrom fractions import Fraction",
    "spec/sfq_spec/trace.py": "import msgspec\nfrom sfq_spec import numbers\n__all__ = ['Arrive']",
    "impl/sfq_impl/heap.py": "from heapq import heapreplace\nfrom sfq_spec.trace import Arrive",
    "impl/sfq_impl/tokens.py": "from tokenizers import Tokenizer",
    "impl/sfq_impl/fleet/gate.py": "from sfq_spec import trace\nfrom sfq_impl.heap import HeapScheduler",
    "proofs/sfq_proofs/theorems/band.py": "import z3\nfrom sfq_spec.competition import SFQ\nimport sfq_impl.heap",
    "proofs/sfq_proofs/shapes.py": "import importlib\nimportlib.import_module('sfq_impl.heap')",
}


def write(checkout: Path, path: str, source: str) -> None:
    file = checkout / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source + "\n", encoding="utf-8")


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house in which every import is right."""
    for module in (*RULES, *PURE):
        write(tmp_path, f"spec/sfq_spec/{module}.py", "from __future__ import annotations")
    for path, source in RIGHT.items():
        write(tmp_path, path, source)
    return tmp_path


def test_right_imports_are_accepted(house: Path) -> None:
    assert faults(house) == []


@pytest.mark.parametrize(("path", "source", "reason"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_import_is_found(house: Path, path: str, source: str, reason: str) -> None:
    write(house, path, source)
    [said] = faults(house)
    assert reason in said
