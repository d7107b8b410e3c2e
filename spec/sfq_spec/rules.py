"""Start-time Fair Queueing on one page: four rules over a meter S and the virtual time v.

A user's meter is the start tag of its next request (article §2.2). Costs c and weights w are positive. The rules
are read on exact numbers and on solver terms alike, so `maximum` is handed in.
"""

from __future__ import annotations

from collections.abc import Callable

from sfq_spec.logic import N


def join(S: N, v: N, maximum: Callable[[N, N], N]) -> N:
    """R-JOIN. A queue turns from empty to non-empty: nothing is banked, no debt is dropped (article §2.4)."""
    return maximum(S, v)


def advance(S: N, v: N) -> N:
    """R-ADVANCE. Virtual time becomes the start tag of the request that is dispatched (article §2.3)."""
    return S


def charge(S: N, c: N, w: N) -> N:
    """R-CHARGE. The finish tag of the request that is dispatched, once and never corrected (article §2.3, §4.4)."""
    return S + c / w  # type: ignore[no-any-return]


def reset(v: N, greatest: N, maximum: Callable[[N, N], N]) -> N:
    """R-RESET. Nobody waits: the next competition starts level, at the greatest finish tag (article §2.5)."""
    return maximum(v, greatest)
