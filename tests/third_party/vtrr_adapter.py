"""vtrr-queue behind the adapter protocol: its own scripts, run by a Redis in this process.

A partition is a user, a task a request, and the weight of a task its cost. A task is queued as an application queues
it, and a dispatch is what a Celery worker does: it runs the task of the library, which takes the next one from Redis
and calls the function. There is no call that withdraws a task, and nothing to tell of a completion.
"""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery
from fakeredis import FakeRedis
from serve import Event, Number, Refused, Skipped, number, serve
from vtrr_queue import VTRRQueue

EXACT = 2**53
"""Redis keeps scores in binary floats; up to here they are exact."""

redis = FakeRedis()
# A worker is run by hand below, so the library is told to ask for none; the messages that it sends wait in memory.
celery = Celery("sfq", broker="memory://")
queue = VTRRQueue(redis, celery, name="sfq", max_concurrency=0)
started: list[str] = []


@queue.task  # type: ignore[untyped-decorator]
def work(task: object, request: str) -> None:
    """The work of a request: it says that it has begun."""
    started.append(request)


class Scheduler:
    """The queue, emptied for a new run."""

    def __init__(self, events: Sequence[Event]) -> None:
        costs = [number(event["cost"]) for event in events if event["event"] == "arrive"]
        if sum(cost for cost in costs if isinstance(cost, int)) > EXACT:
            raise Skipped("scores are binary floats")
        if any(event.get("user") == "" for event in events):
            raise Skipped("a partition has a name")
        redis.flushall()
        started.clear()

    def arrive(self, user: str, request: str, cost: Number) -> None:
        try:
            work.queue(partition_key=user, tasks=[{"id": request, "weight": cost, "args": [request]}])
        except (ValueError, OverflowError):
            raise Refused("invalid-cost") from None

    def dispatch(self) -> str | None:
        before = len(started)
        celery.tasks[work.name].apply(throw=True)
        return started[-1] if len(started) > before else None

    def cancel(self, request: str) -> None:
        raise NotImplementedError

    def complete(self, request: str) -> None:
        pass

    def close(self) -> None:
        pass


if __name__ == "__main__":
    serve("vtrr-queue", {"ties": "any", "numbers": "integer"}, Scheduler)
