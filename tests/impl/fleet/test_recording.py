"""The dispatcher's own trace, in memory and in files: the audit accepts it, and the files stay bounded."""

from __future__ import annotations

import asyncio
import io
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sfq_impl.fleet.admission import Limits
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server
from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.recording import Memory, Recorder, Recording
from sfq_impl.fleet.request import Request
from sfq_impl.fleet.simulation.loop import VirtualLoop, run
from sfq_impl.fleet.simulation.run import simulate
from sfq_impl.fleet.simulation.scenario import draw
from sfq_spec.cli import app
from sfq_spec.conformance.audit.findings import audit_order
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import Unreadable, batches
from sfq_spec.trace import Dispatch, Entry


def audit(*files: Path | bytes, mode: str = "order") -> str:
    """The verdict of the command."""
    names = [str(file) if isinstance(file, Path) else "-" for file in files]
    given = next((file for file in files if isinstance(file, bytes)), b"")
    told = CliRunner().invoke(app, ["audit", *names, "--mode", mode, "--json"], input=given)
    return str(json.loads(told.stdout)["verdict"]) if told.stdout.startswith("{") else told.output


def order(files: Iterable[Path]) -> str:
    """The verdict on some files as one trace, in a millisecond."""
    content = b"".join(file.read_bytes() for file in files)
    return audit_order(batches("trace", io.BytesIO(content)), Order()).verdict


async def send(dispatcher: Dispatcher, user: str, cost: int, hold: float = 0.01) -> None:
    async with dispatcher.slot(user, cost, tokens=cost) as slot:
        await asyncio.sleep(hold)
        slot.usage = Usage(cost, 2)


async def flood(dispatcher: Dispatcher, rng: random.Random, count: int, gap: float) -> None:
    """Many requests, at times with a moment in between at which nobody waits."""
    tasks = []
    for number in range(count):
        tasks.append(asyncio.create_task(send(dispatcher, rng.choice("ABC"), rng.randint(1, 9))))
        await asyncio.sleep(0)
        if number % 20 == 19:
            await asyncio.sleep(gap)
        if number % 50 == 0:
            dispatcher.set_weight("B", rng.choice([0.5, 1, 2]))
        if number % 7 == 6:
            rng.choice(tasks[-7:]).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def recorded(recorder: Recorder, count: int = 400, gap: float = 1.0, wait: float | None = None) -> None:
    """What a recorder is told of many requests."""
    loop = VirtualLoop(7, shuffle=False)
    recorder._clock = loop.time
    dispatcher = Dispatcher(Placement([Server("one", 2)]), limits=Limits(wait=wait), observers=[recorder])
    run(loop, flood(dispatcher, random.Random(5), count, gap))
    assert not loop.problems
    assert not loop.left


@pytest.mark.parametrize("mode", ["order", "fairness"])
def test_the_audit_accepts_the_trace_of_a_run(mode: str) -> None:
    memory = Memory()
    recorded(memory, wait=0.05)
    kinds = [entry.event.__struct_config__.tag for entry in memory.entries]
    assert {kind: kinds.count(kind) > 5 for kind in set(kinds)} == dict.fromkeys(
        ("arrive", "dispatch", "cancel", "complete", "weight"), True
    )
    assert {entry.extra.get("ended") for entry in memory.entries} == {None, "expired", "cancelled"}
    assert audit(memory.lines, mode=mode) == "conforms"


def test_the_audit_rejects_a_trace_that_was_changed() -> None:
    memory = Memory()
    recorded(memory)
    lines = memory.lines.splitlines(keepends=True)
    weights = [line for line in lines if b'"event":"weight"' not in line]
    assert audit(b"".join(weights)) == "does not conform"
    cancels = [line for line in lines if b'"event":"cancel"' not in line]
    assert audit(b"".join(cancels)) != "conforms"


def test_a_line_tells_what_there_is_to_tell_and_no_more() -> None:
    for seed in range(200):
        result = simulate(draw(seed))
        for line in result.trace.lines.splitlines():
            fields = json.loads(line)
            assert fields["time"] >= 0
            assert fields.keys() <= FIELDS[fields["event"]], line
            if "moved" in fields:
                assert len(fields["moved"]) > 1


FIELDS = {
    "arrive": {"event", "user", "request", "cost", "time", "tokens"},
    "dispatch": {"event", "dispatched", "user", "cost", "time", "server", "held"},
    "cancel": {"event", "request", "time", "ended"},
    "complete": {"event", "request", "outcome", "time", "moved", "input_tokens", "output_tokens"},
    "weight": {"event", "user", "weight", "time"},
}


def test_files_are_traces_by_themselves_and_together(tmp_path: Path) -> None:
    files = Recording(tmp_path / "trace", size=4_000, keep=100)
    recorded(files)
    files.close()
    assert len(files.files) > 5
    assert all(order([file]) == "conforms" for file in files.files[:-1])
    assert order(files.files) == "conforms"
    assert audit(*files.files) == "conforms"
    assert audit(*files.files, mode="fairness") == "conforms"
    memory = Memory()
    recorded(memory)
    kept = b"".join(file.read_bytes() for file in files.files).splitlines()
    again = [line for line in kept if b'"event":"weight"' not in line]
    assert again == [line for line in memory.lines.splitlines() if b'"event":"weight"' not in line]


def test_with_no_quiet_moment_a_file_ends_all_the_same(tmp_path: Path) -> None:
    files = Recording(tmp_path / "trace", size=2_000, keep=100)
    recorded(files, gap=0.0)
    files.close()
    sizes = [file.stat().st_size for file in files.files]
    assert all(size < 9_000 for size in sizes)
    assert sum(size > 8_000 for size in sizes) > 8
    assert order(files.files) == "conforms"
    with pytest.raises(Unreadable, match="arrival is missing"):
        order(files.files[-3:-2])


def test_only_so_many_files_are_kept(tmp_path: Path) -> None:
    files = Recording(tmp_path / "trace", size=2_000, keep=3)
    (tmp_path / "trace-notes.jsonl").write_text("not ours")
    recorded(files, count=1_000)
    files.close()
    assert [file.name for file in files.files] == [f"trace-0001-{part:04}.jsonl" for part in _parts(files.files)]
    assert len(files.files) == 3
    assert sum(file.stat().st_size for file in files.files) <= 3 * 9_000
    assert (tmp_path / "trace-notes.jsonl").exists()


def _parts(files: list[Path]) -> Iterator[int]:
    last = int(files[-1].stem.rpartition("-")[2])
    return iter(range(last - len(files) + 1, last + 1))


def test_a_new_start_is_a_new_run(tmp_path: Path) -> None:
    for _ in range(3):
        files = Recording(tmp_path / "trace")
        recorded(files)
        files.close()
    assert [file.name for file in files.files] == [f"trace-000{run}-0001.jsonl" for run in (1, 2, 3)]
    assert all(order([file]) == "conforms" for file in files.files)


@pytest.mark.parametrize(
    ("flush_after", "early", "late"), [(0.0, True, True), (1.0, False, True), (60.0, False, False)]
)
def test_lines_are_written_in_time(tmp_path: Path, flush_after: float, early: bool, late: bool) -> None:
    files = Recording(tmp_path / "trace", flush_after=flush_after)
    dispatcher = Dispatcher(Placement([Server("one", 2)]), observers=[files])
    [file] = files.files

    async def main() -> None:
        await send(dispatcher, "A", 1)
        assert bool(file.read_bytes()) == early
        await asyncio.sleep(2)
        assert bool(file.read_bytes()) == late
        files.close()
        assert len(file.read_bytes().splitlines()) == 3

    run(VirtualLoop(1), main())


class Full:
    """A disk that is full for a while."""

    def __init__(self, file: Any, is_full: Callable[[], bool]) -> None:
        self.file, self.is_full = file, is_full

    def write(self, data: bytes) -> int:
        if self.is_full():
            raise OSError(28, "No space left on device")
        return int(self.file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_full_disk_stops_the_trace_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, opened = VirtualLoop(3), Path.open
    files = Recording(tmp_path / "trace", clock=loop.time)

    def is_full() -> bool:
        return 2 < loop.time() < 4

    monkeypatch.setattr(
        Path, "open", lambda path, mode: Full(opened(path, mode), is_full) if mode == "xb" else opened(path, mode)
    )
    files._file = Full(files._file, is_full)  # type: ignore[assignment]
    dispatcher = Dispatcher(Placement([Server("one", 2)]), observers=[files])
    run(loop, flood(dispatcher, random.Random(5), 200, 1.0))
    files.close()
    assert not loop.problems
    assert files.lost > 10
    assert "No space left" in str(files.error)
    made = [file for file in files.files if file.stat().st_size]
    assert len(made) == 2
    assert [order([file]) for file in made] == ["conforms", "conforms"]


SMALL_FILES = """
import resource, sys
from pathlib import Path
from sfq_impl.fleet.placement import Server
from sfq_impl.fleet.recording import Recording
from sfq_impl.fleet.request import Request

resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
now, told = 0.0, []
files = Recording(Path(sys.argv[1]), flush_after=0, clock=lambda: now, failed=told.append)
for number in range(60):
    now = number / 2
    request = Request(f"ann-{number}", "ann", 1)
    files.arrived(request)
    files.dispatched(request, Server("one", 1))
files.close()
print(len(told), files.lost, files.error)
"""


def test_what_was_half_written_goes_and_another_run_is_begun_later(tmp_path: Path) -> None:
    """No file may be larger than a thousand bytes, so a line is cut off in the middle of it, again and again."""
    command = [sys.executable, "-c", SMALL_FILES, str(tmp_path / "trace")]
    told, lost, error = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split(maxsplit=2)
    assert "File too large" in error
    made = sorted(tmp_path.iterdir())
    assert [file.name for file in made] == [f"trace-{run:04}-0001.jsonl" for run in range(1, 1 + len(made))]
    assert [order([file]) for file in made] == ["conforms"] * len(made)
    assert len(made) == int(told) == 4
    assert sum(len(file.read_bytes().splitlines()) for file in made) + int(lost) == 120


def test_a_trace_of_nothing_is_no_file(tmp_path: Path) -> None:
    Recording(tmp_path / "trace").close()
    assert not list(tmp_path.iterdir())


def test_a_disk_that_stays_full_does_not_cost_what_was_written_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lasting(Full):
        """A file that keeps what is written until it is flushed, as they do."""

        def flush(self) -> None:
            if self.is_full():
                raise OSError(28, "No space left on device")
            self.file.flush()

        def write(self, data: bytes) -> int:
            return int(self.file.write(data))

    opened, full = Path.open, False
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, mode: Lasting(opened(path, mode), lambda: full) if mode == "xb" else opened(path, mode),
    )
    files = Recording(tmp_path / "trace", keep=2, flush_after=0)
    users = [Request(f"ann-{number}", "ann", 1) for number in range(20)]
    for request in users[:10]:
        files.arrived(request)
        files.withdrawn(request)
    [first] = files.files
    written, full = first.read_bytes(), True
    for request in users[10:]:
        files.arrived(request)
        files.withdrawn(request)
    assert files.files == [first]
    assert first.read_bytes().startswith(written)
    assert (len(written.splitlines()), files.lost) == (20, 20)


def test_a_folder_that_is_none_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        Recording(tmp_path / "file" / "trace")
    with pytest.raises(ValueError, match="two files"):
        Recording(tmp_path / "trace", keep=1)


def test_half_of_a_surrogate_pair_is_written_all_the_same() -> None:
    memory = Memory()
    dispatcher = Dispatcher(Placement([Server("one", 2)]), observers=[memory])
    loop = VirtualLoop(1)
    run(loop, send(dispatcher, "\ud800", 1))
    assert not loop.problems
    assert audit(memory.lines) == "conforms"


def test_a_recorder_must_say_where_an_entry_goes() -> None:
    with pytest.raises(NotImplementedError):
        Recorder().put(Entry(Dispatch()))
