"""CrossHair on the contracts of `symbolic`: what it says, on what lines they bear, and the last run, written down.

Only `CONFIRMED` counts: every path was followed to its end, and the precondition was met. A run of all contracts takes
minutes, so `python -m sfq_proofs.scheduler.confirming` writes down what it found, with the fingerprint of the code it
was about.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import hashlib
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import islice, product
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
from crosshair.core_and_libs import analyze_function, run_checkables
from crosshair.options import AnalysisKind, AnalysisOptionSet

import sfq_impl
from sfq_proofs.scheduler import symbolic
from sfq_proofs.scheduler.faults import Fault, plant
from sfq_proofs.scheduler.symbolic import PLAIN, Contract, begins, contracts, functions, steps
from sfq_proofs.workers import workers

FILE = Path(__file__).resolve().parents[1] / "data" / "symbolic.json"
PATIENCE = 120.0
"""Seconds for one contract."""
CONFIRMED = "CONFIRMED"
CODE = ("heap.py", "state.py", "representation.py")


@dataclass(frozen=True)
class Said:
    """What CrossHair said of one contract."""

    contract: str
    state: str
    message: str
    seconds: float

    @property
    def confirmed(self) -> bool:
        """Nothing else counts."""
        return self.state == CONFIRMED


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of all contracts."""

    on: str
    """The day."""
    python: str
    crosshair: str
    code: str
    """The fingerprint of the code that was executed, comments and docstrings apart."""
    users: int
    contracts: int
    confirmed: int
    others: tuple[str, ...]
    """What was not confirmed: contract and state."""
    cpu_seconds: float


def confirm(chosen: Sequence[Contract], patience: float = PATIENCE) -> Iterator[Said]:
    """Execute contracts symbolically, one after the other."""
    for contract, function in zip(chosen, functions(chosen), strict=True):
        yield check(contract.name, function, patience)


@contextmanager
def testing(*faults: Fault) -> Iterator[None]:
    """Meanwhile the contracts execute a scheduler with these faults."""
    usual, symbolic.under_test = symbolic.under_test, plant(*faults, PLAIN)
    try:
        yield
    finally:
        symbolic.under_test = usual


def check(name: str, function: Callable[..., bool], patience: float = PATIENCE) -> Said:
    """What CrossHair says of one function with a contract."""
    options = AnalysisOptionSet(
        analysis_kind=[AnalysisKind.PEP316],
        per_condition_timeout=patience,
        per_path_timeout=patience,
        report_all=True,
    )
    started = time.process_time()
    messages = run_checkables(analyze_function(function, options))
    states = {message.state.name for message in messages} or {"SILENT"}
    other = next((message for message in messages if message.state.name != CONFIRMED), None)
    state = other.state.name if other else states.pop()
    return Said(name, state, other.message if other else "", time.process_time() - started)


def _chunk(chosen: Sequence[Contract]) -> list[Said]:
    return list(confirm(chosen))


def confirm_all(users: int, tell: Callable[[Said], None], most: int | None = None) -> list[Said]:
    """Every contract of up to so many users, several at a time."""
    chosen = [contract for count in range(1, users + 1) for contract in contracts(count)]
    chunks = [chosen[at : at + 10] for at in range(0, len(chosen), 10)]
    said: list[Said] = []
    with workers(most) as pool:
        for some in pool.map(_chunk, chunks):
            said += some
            for one in some:
                tell(one)
    return said


def hunt(fault: Fault, users: int = 3, patience: float = 30.0) -> Said | None:
    """A contract that CrossHair finds broken by a scheduler with a fault; None where it finds none.

    Only those contracts are put to it that some sample breaks, three for each number of users.
    """
    with testing(fault):
        for count in range(1, users + 1):
            suspects = islice((contract for contract in contracts(count) if _breaks(contract)), 3)
            for said in confirm(list(suspects), patience):
                if not said.confirmed:
                    return said
    return None


def _breaks(contract: Contract) -> bool:
    for numbers in samples(contract):
        try:
            if not steps(contract, numbers):
                return True
        except Exception:
            return True
    return False


def samples(contract: Contract) -> Iterator[tuple[int, ...]]:
    """Some small numbers that meet the precondition of a contract."""
    width = len(contract.arguments) - 3
    every = product((-6,), (-6, -4, -2), (2,), *[(-6, -7, -4, -2)] * width)
    return islice((numbers for numbers in every if begins(contract, numbers)), 12)


def missed(chosen: Iterable[Contract]) -> set[str]:
    """Where no sample of the contracts comes by: `function: line` of heap.py and state.py.

    Handlers of exceptions are left out. Raises `AssertionError` where a sample breaks its contract.
    """
    seen: set[tuple[str, int]] = set()

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith("planted_") else None

    for contract in chosen:
        for numbers in samples(contract):
            usual = sys.gettrace()
            sys.settrace(enter)
            try:
                held = steps(contract, numbers)
            finally:
                sys.settrace(usual)
            assert held, f"{contract.name}{numbers}"
    return {
        f"{function}: {text}"
        for module in ("heap", "state")
        for line, function, text in _statements(symbolic.source(module))
        if (f"planted_{module}.py", line) not in seen
    }


def _statements(source: str) -> Iterator[tuple[int, str, str]]:
    """Every statement in a function: its line, the function, its first line of text."""
    lines = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            handled = {id(n) for h in ast.walk(function) if isinstance(h, ast.ExceptHandler) for n in ast.walk(h)}
            for node in ast.walk(function):
                if not isinstance(node, ast.stmt) or isinstance(node, ast.Try | ast.FunctionDef):
                    continue
                if id(node) not in handled and not _is_text(node):
                    yield node.lineno, function.name, lines[node.lineno - 1].strip()


def fingerprint() -> str:
    """Of the code that the contracts are about."""
    digest = hashlib.sha256()
    for name in CODE:
        tree = ast.parse((Path(sfq_impl.__path__[0]) / name).read_text(encoding="utf-8"))
        digest.update(repr(_meaning(tree)).encode())
    return digest.hexdigest()[:16]


def _meaning(part: object) -> object:
    """What is written there, the same under every version of Python: fields that are empty are left out."""
    if isinstance(part, list):
        return [_meaning(one) for one in part if not _is_text(one)]
    if not isinstance(part, ast.AST):
        return part
    fields = ((name, _meaning(value)) for name, value in ast.iter_fields(part))
    return type(part).__name__, [(name, said) for name, said in fields if said not in (None, [])]


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def recorded() -> Record:
    """The last run that was written down. Raises `msgspec.MsgspecError` where the file is not one."""
    return msgspec.json.decode(FILE.read_bytes(), type=Record)


def record(users: int, said: Sequence[Said]) -> Record:
    """What a run found."""
    return Record(
        on=datetime.date.today().isoformat(),
        python=platform.python_version(),
        crosshair=metadata.version("crosshair-tool"),
        code=fingerprint(),
        users=users,
        contracts=len(said),
        confirmed=sum(one.confirmed for one in said),
        others=tuple(f"{one.contract}: {one.state}" for one in said if not one.confirmed),
        cpu_seconds=round(sum(one.seconds for one in said)),
    )


def _tell(states: Counter[str], one: Said) -> None:
    states[one.state] += 1
    if not one.confirmed:
        print(f"{one.contract}: {one.state}: {one.message}")
    if states.total() % 50 == 0:
        print(f"{states.total()} contracts: {dict(states)}", file=sys.stderr)


def main() -> int:
    """Run all contracts and write down what was found. Exit status 1 where not all are confirmed."""
    parser = argparse.ArgumentParser(prog="python -m sfq_proofs.scheduler.confirming", description=main.__doc__)
    parser.add_argument("--users", type=int, default=3, help="up to so many users (3; 4 takes hours)")
    parser.add_argument("--workers", type=int, default=None, help="processes (one for each core)")
    asked = parser.parse_args()
    said = confirm_all(asked.users, partial(_tell, Counter()), asked.workers)
    found = record(asked.users, said)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    print(f"{found.confirmed} of {found.contracts} contracts confirmed, {found.cpu_seconds:.0f} s of processor time")
    return 0 if found.confirmed == found.contracts else 1


if __name__ == "__main__":
    raise SystemExit(main())
