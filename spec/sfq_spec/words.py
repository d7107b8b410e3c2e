"""Words for people."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """So many of something, such as 1 dispatch, or 1,200 dispatches."""
    many = f"{what}es" if what.endswith(("ch", "s", "x")) else f"{what}s"
    return f"{number:,} {what if number == 1 else many}"
