"""Which program a request is of, as llm-d reads it from the headers."""

from __future__ import annotations

from collections.abc import Mapping

HEADER = "x-llm-d-inference-fairness-id"
DEPRECATED_HEADER = "x-gateway-inference-fairness-id"
AGENT_HEADERS = ("x-claude-code-session-id", "x-session-affinity", "session-id", "session_id")
"""Headers in which agents name their session; looked at only where the plugin `agent-identity` is configured."""
DEFAULT_ID = "default-flow"
"""The program of all requests that name none: they share one queue and one account."""


def fairness_id(headers: Mapping[str, str], *, agents: bool = False) -> str:
    """The program of a request with these headers, whose names are in small letters.

    The first of the two fairness headers that is there decides, even where it is empty: an empty one hides the other
    one's value. After them, with `agents`, the first session header that holds something. Then the default.
    """
    for name in (HEADER, DEPRECATED_HEADER):
        if name in headers:
            if headers[name]:
                return headers[name]
            break
    if agents:
        for name in AGENT_HEADERS:
            if headers.get(name):
                return headers[name]
    return DEFAULT_ID
