"""The settings in docs/gateway.md, as the code has them: `make settings` writes them there."""

from __future__ import annotations

from pathlib import Path

from sfq_impl.gateway.config import Settings
from sfq_impl.gateway.reading import reference
from sfq_proofs.related.page import renewed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gateway.md"


def as_it_is() -> str:
    """The page, with the settings of now."""
    return renewed(PAGE.read_text(encoding="utf-8"), {"settings": "\n".join(reference(Settings))})


if __name__ == "__main__":
    PAGE.write_text(as_it_is(), encoding="utf-8")
