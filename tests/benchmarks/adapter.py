"""The scheduler behind the adapter protocol, for `validate.py` beside it: what an author of one writes."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any

from sfq_impl.heap import HeapScheduler
from sfq_spec.trace import Refused


def number(value: int | str) -> Any:
    """A cost or weight."""
    if value in ("nan", "inf", "-inf"):
        return float(value)
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else exact


def played(scheduler: HeapScheduler, event: dict[str, Any]) -> dict[str, Any]:
    """The answer to one event."""
    try:
        match event["event"]:
            case "arrive":
                scheduler.arrive(event["user"], event["request"], number(event["cost"]))
            case "dispatch":
                sent = scheduler.dispatch()
                return {"dispatched": sent and sent.request}
            case "cancel":
                scheduler.cancel(event["request"])
            case "complete":
                scheduler.complete(event["request"], event["outcome"])
            case "weight":
                scheduler.set_weight(event["user"], number(event["weight"]))
            case "cost":
                scheduler.recost(event["request"], number(event["cost"]))
            case "upkeep":
                scheduler.upkeep()
    except Refused as refused:
        return {"refused": refused.code}
    return {}


def run(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of a fresh scheduler, with the lags."""
    scheduler = HeapScheduler()
    return [played(scheduler, event) | {"lag": {u: str(lag) for u, lag in scheduler.lag.items()}} for event in events]


def main() -> None:
    """Answer message after message."""
    able = {"cancel": True, "weights": True, "recost": True, "lag": True, "ties": "user-id", "numbers": "rational"}
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            break
        told = {"protocol": 1, "implementation": {"name": "heap"}, "capabilities": able}
        if message["cmd"] == "run":
            told = {"seq": message["seq"], "answers": run(message["events"])}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
