"""What was learnt is saved as it is at one moment, and a server that comes back remembers nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sfq_impl.cost import Estimator, load, save
from sfq_impl.fleet.policy import Usage
from sfq_impl.gateway import pricing as module
from sfq_impl.gateway.asking import Asked
from sfq_impl.gateway.config import CostSettings
from sfq_impl.gateway.pricing import Pricing

ASKED = Asked("tiny", None, b"hello", b"hello", 100)


def saved(path: Path) -> int:
    estimator = Estimator()
    assert load(estimator, path) is None
    return sum(totals.requests for (_, user), totals in estimator._totals.items() if user is None)


def test_what_is_learnt_while_it_is_being_saved_is_saved_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    pricing = Pricing(CostSettings(state=path))

    def learn() -> None:
        pricing.learn(pricing.price("ann", ASKED), Usage(10, 20))

    def slowly(path: Path, state: bytes) -> None:
        learn()
        save(path, state)

    monkeypatch.setattr(module, "SAVE_EVERY", 0.01)
    monkeypatch.setattr(module, "save", slowly)

    async def run() -> None:
        keeping = asyncio.create_task(pricing.keep())
        learn()
        while not path.exists():
            await asyncio.sleep(0.005)
        keeping.cancel()
        await asyncio.wait({keeping})

    asyncio.run(run())
    learnt, before = pricing.estimator.learnt, saved(path)
    assert before < learnt
    monkeypatch.setattr(module, "save", save)
    pricing.save()
    assert saved(path) == learnt


def test_what_cannot_be_saved_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.json"
    pricing = Pricing(CostSettings(state=path))
    pricing.learn(pricing.price("ann", ASKED), Usage(10, 20))
    pricing.save()
    path.parent.mkdir()
    pricing.save()
    assert saved(path) == 1
