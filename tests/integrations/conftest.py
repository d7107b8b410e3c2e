"""What the tests of the gateway have, here too."""

from __future__ import annotations

from gateway.conftest import fault

__all__ = ["fault"]
