"""What was learnt, saved and loaded: nothing is lost in a crash, and a damaged file changes nothing."""

from __future__ import annotations

import itertools
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_impl import cost
from sfq_impl.cost import BadState, Estimator, Settings, load, save

SEEN = st.tuples(st.text(), st.text(), st.integers(0, 10**6), st.integers(0, 10**6))


def one() -> Estimator:
    estimator = Estimator()
    for user, output in (("A", 5), ("A", 10), ("ä", 0)):
        estimator.learn("m", user, 10, output)
    return estimator


@given(history=st.lists(SEEN), later=st.lists(SEEN))
def test_what_was_saved_goes_on_as_if_nothing_had_been(history: list[Any], later: list[Any]) -> None:
    estimator, loaded = Estimator(Settings(memory=3, most_totals=6)), Estimator(Settings(memory=3, most_totals=6))
    for seen in history:
        estimator.learn(*seen)
    loaded.take_in(estimator.dump())
    for seen in later:
        estimator.learn(*seen)
        loaded.learn(*seen)
    assert loaded.dump() == estimator.dump()
    for model, user, *_ in [*history, *later]:
        assert loaded.cost(model, user, 7) == estimator.cost(model, user, 7)


def test_the_file_is_json_that_a_person_can_read() -> None:
    assert json.loads(one().dump()) == {
        "format": "sfq-cost",
        "version": 1,
        "totals": [
            {"model": "m", "user": "A", "requests": 2, "cap": 20, "output": 15},
            {"model": "m", "user": "ä", "requests": 1, "cap": 10, "output": 0},
            {"model": "m", "user": None, "requests": 3, "cap": 30, "output": 15},
        ],
    }


def test_more_than_may_be_remembered_is_taken_in_only_as_far_as_it_may() -> None:
    small = Estimator(Settings(most_totals=2))
    small.take_in(one().dump())
    assert json.loads(small.dump())["totals"] == json.loads(one().dump())["totals"][1:]


def edited(edit: Callable[[Any], None]) -> bytes:
    state = json.loads(one().dump())
    edit(state)
    return json.dumps(state).encode()


DAMAGED = {
    "nothing": (b"", "truncated"),
    "cut off": (one().dump()[:-20], "truncated"),
    "zeros": (b"\0" * 200, "malformed"),
    "not UTF-8": (b'{"format": "\xff"}', "utf-8|UTF-8"),
    "deep": (b"[" * 200_000, "recursion|malformed|Expected"),
    "a list": (b"[]", "Expected `object`"),
    "another format": (edited(lambda s: s.update(format="x")), "field `format`: 'x' is not 'sfq-cost'"),
    "another version": (edited(lambda s: s.update(version=2)), "field `version`: 2 is not 1: another release"),
    "no totals": (edited(lambda s: s.pop("totals")), "`totals`"),
    "no requests": (edited(lambda s: s["totals"][0].update(requests=0)), r"`int` >= 1 .*`\$.totals\[0\].requests`"),
    "no cap": (edited(lambda s: s["totals"][0].update(cap=0)), r"`int` >= 1 .*`\$.totals\[0\].cap`"),
    "less than nothing": (edited(lambda s: s["totals"][1].update(output=-1)), r"`int` >= 0 .*\.output`"),
    "a fraction": (edited(lambda s: s["totals"][1].update(output=1.5)), r"Expected `int`, got `float` .*\.output`"),
    "a field of others": (edited(lambda s: s["totals"][1].update(x=1)), "unknown field `x`"),
    "twice": (edited(lambda s: s["totals"].append(s["totals"][0])), r"field `totals\[3\]`: 'A' of 'm' is there twice"),
    "small cap": (edited(lambda s: s["totals"][0].update(cap=1)), r"field `totals\[0\].cap`: 1 is less than 1 for"),
}


@pytest.mark.parametrize(("state", "told"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_named_and_changes_nothing(tmp_path: Path, state: bytes, told: str) -> None:
    path = tmp_path / "cost.json"
    path.write_bytes(state)
    estimator = one()
    with pytest.raises(BadState, match=told) as raised:
        load(estimator, path)
    assert str(raised.value).startswith(f"{path}: ")
    assert str(raised.value).endswith("; mend it, or remove it to begin anew")
    assert estimator.dump() == one().dump()
    assert path.read_bytes() == state


def test_a_damaged_file_is_put_aside_where_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    path.write_bytes(b"{")
    estimator = one()
    assert "truncated" in str(load(estimator, path, "begin anew"))
    assert len(estimator) == 0
    assert estimator.cost("m", "A", 1) == Estimator().cost("m", "A", 1)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"cost.json.damaged": b"{"}
    save(path, estimator.dump())
    assert load(estimator, path, "begin anew") is None


def test_no_file_is_no_complaint(tmp_path: Path) -> None:
    estimator = one()
    assert load(estimator, tmp_path / "none.json") is None
    assert estimator.dump() == one().dump()


def test_what_was_learnt_of_users_is_for_nobody_else_to_read(tmp_path: Path) -> None:
    save(tmp_path / "cost.json", one().dump())
    assert stat.S_IMODE((tmp_path / "cost.json").stat().st_mode) == 0o600


def test_the_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, fsync, replace = [], os.fsync, Path.replace

    def synced(file: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else f"file of {os.fstat(file).st_size}")
        fsync(file)

    def replaced(path: Path, target: Path) -> Path:
        done.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    save(tmp_path / "cost.json", b"x" * 1_000)
    assert done == ["file of 1000", "replace", "folder"]


@pytest.mark.parametrize(("owner", "call"), [(os, "open"), (os, "fsync"), (Path, "replace")])
def test_a_save_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, call: str
) -> None:
    path = tmp_path / "cost.json"
    save(path, b"old")

    def fail(*arguments: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(owner, call, fail)
        with pytest.raises(OSError, match="no space left"):
            save(path, b"new")
    assert path.read_bytes() == b"old"
    save(path, b"newer")
    assert [file.name for file in tmp_path.iterdir()] == ["cost.json"]


SAVING = """
import sys
from pathlib import Path
from sfq_impl.cost import Estimator, save
estimator = Estimator()
print("ready", flush=True)
while True:
    for user in range(300):
        estimator.learn("m", f"user {user}", 100, 7)
    save(Path(sys.argv[1]), estimator.dump())
"""
IN_PLACE = """
import sfq_impl.cost
def save(path, state):
    with path.open("wb") as file:
        for byte in range(0, len(state), 64):
            file.write(state[byte:byte + 64])
            file.flush()
sfq_impl.cost.save = save
"""


def killed(path: Path, program: str, after: int) -> None:
    """The program, killed without warning when the file has been replaced or grown so many times."""
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        seen = set[tuple[int, int]]()
        for _ in itertools.takewhile(lambda _: len(seen) < after and process.poll() is None, itertools.count()):
            if path.exists():
                found = path.stat()
                seen.add((found.st_ino, found.st_mtime_ns))
        process.send_signal(signal.SIGKILL)


def damaged_by_kills(folder: Path, program: str) -> int:
    """How many of some kills leave a file that cannot be loaded."""
    count = 0
    for number in range(6):
        path = folder / f"{number}.json"
        killed(path, program, after=2 + number)
        estimator = Estimator()
        try:
            load(estimator, path)
            assert len(estimator) == 301
        except BadState:
            count += 1
    return count


def test_a_kill_in_the_middle_of_saving_damages_nothing(tmp_path: Path) -> None:
    assert damaged_by_kills(tmp_path, SAVING) == 0


def test_a_file_that_is_written_in_place_is_damaged_by_a_kill(tmp_path: Path) -> None:
    assert damaged_by_kills(tmp_path, IN_PLACE + SAVING) > 0


def test_the_file_names_its_format() -> None:
    assert (cost.FORMAT, cost.VERSION) == ("sfq-cost", 1)
