"""Calls that meet: in threads, and one within another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from threading import Lock, Thread

import pytest

from sfq_impl.heap import HeapScheduler, Overlapping
from sfq_impl.representation import flaws


@pytest.fixture
def _frequent_switches() -> Iterator[None]:
    """The interpreter goes from thread to thread as often as it can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_frequent_switches")
@pytest.mark.parametrize("lock", [Lock(), nullcontext()], ids=["with a lock", "without a lock"])
def test_threads(lock: Lock | nullcontext[None]) -> None:
    """Under a lock all goes well. Without one a call may be refused, and nothing else goes wrong.

    Costs are fractions, so that there is Python code to switch threads in, also inside the heap.
    """
    scheduler = HeapScheduler()
    accepted: list[str] = []
    sent: list[str] = []
    refused: list[Overlapping] = []
    wrong: list[BaseException] = []

    def attempt(call: Callable[[], None]) -> None:
        try:
            with lock:
                call()
        except Overlapping as error:
            refused.append(error)

    def arrive(number: int) -> None:
        scheduler.arrive(f"user {number % 7}", f"{number}", Fraction(number % 5 + 1, 3))
        accepted.append(f"{number}")

    def dispatch() -> None:
        if request := scheduler.dispatch():
            sent.append(request.request)

    def work(numbers: range) -> None:
        try:
            for number in numbers:
                attempt(partial(arrive, number))
                attempt(dispatch)
        except BaseException as error:
            wrong.append(error)

    threads = [Thread(target=work, args=(range(first, 4_000, 4),)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert list(flaws(scheduler)) == []
    while scheduler.next_request:
        dispatch()
    assert sorted(sent) == sorted(accepted)
    assert not refused or isinstance(lock, nullcontext)
