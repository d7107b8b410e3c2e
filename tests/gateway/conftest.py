"""A real engine with a tiny model, started once, and servers with faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.running import FaultServer, Running, running
from sfq_impl.gateway import engine, tiny_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the tiny model."""
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    tiny_model.write(path)
    return path


@pytest.fixture(scope="session")
def engine_url(model: Path) -> Iterator[str]:
    """Where a real engine listens, for up to four requests at once."""
    server = engine.start(model, 4)
    yield server.listening_address
    del server


@pytest.fixture
def gateway(engine_url: str) -> Iterator[Running]:
    """A gateway before the real engine."""
    with running([engine_url]) as gateway:
        yield gateway


@pytest.fixture
def fault() -> Iterator[FaultServer]:
    server = FaultServer()
    yield server
    server.close()
