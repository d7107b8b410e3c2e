"""Processes of our own for what takes long, which never outlive this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from threading import Thread


@contextmanager
def workers(most: int | None = None) -> Iterator[Executor]:
    """As many as there are cores, or `most`. Where the work is left early, as at an interrupt, they end at once."""
    pool = ProcessPoolExecutor(min(most or 1 << 10, os.cpu_count() or 1), initializer=_follow)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.kill()
        raise
    pool.shutdown()


def _follow() -> None:
    """An interrupt is for whoever began the work; when that one has gone, however that came, this one goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with_the_parent, daemon=True).start()


def _leave_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
