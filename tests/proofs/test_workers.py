"""Processes that work for a command end with it, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from sfq_proofs.workers import workers

PATIENCE = 20.0
WORK = """
import os, time
from sfq_proofs.workers import workers
with workers(2) as pool:
    told = [pool.submit(os.getpid) for _ in range(20)]
    print(*{each.result() for each in told}, flush=True)
    for busy in [pool.submit(time.sleep, 100) for _ in range(50)]:
        busy.result()
"""


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_an_end_in_the_middle_leaves_nobody(how: signal.Signals) -> None:
    command = subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert command.stdout is not None
    busy = [int(process) for process in command.stdout.readline().split()]
    assert busy
    command.send_signal(how)
    assert command.wait(PATIENCE) in (-how, 130)
    until = time.monotonic() + PATIENCE
    while any(map(is_there, busy)) and time.monotonic() < until:
        time.sleep(0.01)
    assert [process for process in busy if is_there(process)] == []


def fail_beside_others() -> None:
    with workers(1) as pool:
        pool.submit(time.sleep, 100)
        raise ZeroDivisionError


def test_what_fails_ends_the_rest() -> None:
    with pytest.raises(ZeroDivisionError):
        fail_beside_others()
    for process in multiprocessing.active_children():
        process.join(PATIENCE)
    assert multiprocessing.active_children() == []


def test_all_is_done_where_nothing_happens() -> None:
    with workers() as pool:
        assert list(pool.map(abs, range(-20, 0))) == list(range(20, 0, -1))
