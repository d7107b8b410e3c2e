"""Which program a request is of, as llm-d reads it from the headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HEADER = "x-llm-d-inference-fairness-id"
DEPRECATED_HEADER = "x-gateway-inference-fairness-id"
AGENT_HEADERS = ("x-claude-code-session-id", "x-session-affinity", "session-id", "session_id")
"""Headers in which agents name their session; looked at only where the plugin `agent-identity` is configured."""
DEFAULT_ID = "default-flow"
"""The program of all requests that name none: they share one queue and one account."""


def named(headers: Mapping[str, str], names: Sequence[str]) -> str | None:
    """What the first of these headers says that says anything; the names of those in `headers` are in small letters.

    Where the current fairness header is there, even empty, the deprecated one is not looked at.
    """
    known = [name.lower() for name in names]
    hidden = DEPRECATED_HEADER if HEADER in headers and HEADER in known else None
    return next((headers[name] for name in known if name != hidden and headers.get(name)), None)


def fairness_id(headers: Mapping[str, str], *, agents: bool = False) -> str:
    """The program of a request with these headers; with `agents` those in which agents name their session count too."""
    names = (HEADER, DEPRECATED_HEADER, *(AGENT_HEADERS if agents else ()))
    return named(headers, names) or DEFAULT_ID
