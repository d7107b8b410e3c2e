"""The program-aware policy of this project behind the adapter protocol, section `las`; with a fault if one is named.

Run as `python adapter.py [FAULT]`. The policy's hooks are called as a framework calls them: a completion that comes
twice comes to the policy twice, and a pick is made also where nobody waits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from sfq_impl.fleet.policy import Usage
from sfq_impl.fleet.request import Request
from sfq_impl.policy import attained, program_aware
from sfq_impl.policy.interfaces import SECOND, InferenceRequest, Response
from sfq_impl.policy.parameters import PROGRAM_AWARE, ProgramAware, read
from sfq_impl.policy.program_aware import ProgramAwareFairness
from sfq_impl.policy.queue_policy import QueuePolicy

FOR_EVER = 1 << 62


def run(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answers to a case."""
    now = 0
    given = {**message["parameters"], "compatibility": message["mode"]}
    fairness = ProgramAwareFairness(read(ProgramAware, PROGRAM_AWARE, "las", given), clock=lambda: now)
    policy = QueuePolicy(fairness, clock=lambda: now, kept=FOR_EVER)
    waiting: dict[str, Request] = {}
    sent: dict[str, InferenceRequest] = {}
    answers: list[dict[str, Any]] = []
    for event in message["events"]:
        now = round(Fraction(str(event["time"])) * SECOND)
        answer: dict[str, Any] = {}
        match event["event"]:
            case "arrive":
                request = Request(event["request"], event["user"], event["cost"], priority=event.get("priority", 0))
                waiting[request.id] = request
                policy.arrive(request)
            case "dispatch":
                found = policy.next()
                if found is not None:
                    item, _ = policy._items[found.id]
                    policy.dispatch(waiting.pop(found.id))
                    sent[found.id] = item.original_request
                else:
                    for band in policy._bands.values():
                        fairness.pick(band)
                answer = {"dispatched": None if found is None else found.id}
            case "cancel" if event["request"] not in waiting:
                answer = {"refused": "not-waiting"}
            case "cancel":
                policy.cancel(waiting.pop(event["request"]))
            case "complete":
                usage = Usage(event["input_tokens"], event["output_tokens"])
                fairness.response_body(sent.get(event["request"]), Response(True, usage))
            case "upkeep":
                fairness.advance(now)
        answers.append(answer)
    return answers


def no_decay(service: float, elapsed: int, half_life: float) -> float:
    return service


def uncut() -> None:
    RULES["waited"] = lambda queue, now: now - queue.peek().enqueue_time


def once() -> None:
    attained.OUTPUT_WEIGHT = 1


def frozen() -> None:
    RULES["halved"] = no_decay


def unguarded() -> None:
    """A completion that comes twice is taken twice."""

    def response_body(self: ProgramAwareFairness, request: Any, response: Any) -> None:
        if request is not None:
            self._flying.setdefault(request.request_id, request.fairness_id)
            RESPONSE_BODY(self, request, response)

    ProgramAwareFairness.response_body = response_body  # type: ignore[method-assign]


RULES = vars(program_aware)
RESPONSE_BODY = ProgramAwareFairness.response_body
FAULTS: Mapping[str, Callable[[], None]] = {"uncut": uncut, "once": once, "frozen": frozen, "unguarded": unguarded}


def main() -> None:
    """Answer message after message."""
    for fault in sys.argv[1:]:
        FAULTS[fault]()
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            return
        if message["cmd"] == "start":
            said: dict[str, Any] = {
                "protocol": 1,
                "policy": "las",
                "implementation": {"name": "sfq-impl program-aware-fairness", "language": "python"},
                "capabilities": {"cancel": True, "priorities": True},
            }
        else:
            said = {"seq": message["seq"], "answers": run(message)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
