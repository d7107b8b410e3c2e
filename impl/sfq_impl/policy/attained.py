"""Least attained service: the score of the candidates, decay, and what a request is charged (seed, "Unit of Fairness").

Pure functions on floating-point numbers, as in the original. The exact ones are in the specification's model of LAS,
and the tests hold these against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sfq_impl.fleet.policy import Usage
from sfq_impl.policy.interfaces import MILLISECOND, SECOND, FlowQueueAccessor

INPUT_WEIGHT = 1
OUTPUT_WEIGHT = 2
LONGEST_USAGE = 1 << 62
"""Tokens that are believed of one request, at most."""


class Candidate(NamedTuple):
    """A queue that can be picked."""

    queue: FlowQueueAccessor
    service: float
    """Attained service, as it counts now."""
    wait: int
    """Of the head, in whole milliseconds."""


def weighted_tokens(usage: Usage) -> float:
    """Input tokens and twice the output tokens. A count below zero, which no server should tell, is taken for zero."""
    read, made = (min(max(tokens, 0), LONGEST_USAGE) for tokens in (usage.input_tokens, usage.output_tokens))
    return float(INPUT_WEIGHT * read + OUTPUT_WEIGHT * made)


def waited(queue: FlowQueueAccessor, now: int) -> int:
    """For how many whole milliseconds the head has waited; 0 where there is none."""
    head = queue.peek()
    return 0 if head is None else max(0, now - head.enqueue_time) // MILLISECOND


def halved(service: float, elapsed: int, half_life: float) -> float:
    """A service after so many nanoseconds; a half-life of 0 seconds is none."""
    if half_life <= 0 or elapsed <= 0:
        return service
    return float(service * 2.0 ** -(elapsed / SECOND / half_life))


def best(candidates: Iterable[Candidate], weight_service: float, weight_wait: float) -> FlowQueueAccessor | None:
    """The queue of greatest score; of equal scores that of the least id. None where there is no candidate.

    The score is weight_service · (1 − n(service)) + weight_wait · n(wait); n gives the place in the range of all
    candidates, from 0 to 1, and a half where there is no range.
    """
    all_of_them = list(candidates)
    if not all_of_them:
        return None
    services = [candidate.service for candidate in all_of_them]
    waits = [candidate.wait for candidate in all_of_them]
    least_service, least_wait = min(services), min(waits)
    service_range, wait_range = max(services) - least_service, max(waits) - least_wait
    found, highest = None, 0.0
    for queue, service, wait in all_of_them:
        served = normal(service, least_service, service_range)
        score = weight_service * (1 - served) + weight_wait * normal(wait, least_wait, wait_range)
        if found is None or (-score, queue.flow_key.id) < (-highest, found.flow_key.id):
            found, highest = queue, score
    return found


def normal(value: float, least: float, spread: float) -> float:
    """The place of a value in a range, from 0 to 1; a half where the range is empty."""
    return (value - least) / spread if spread else 0.5


def jains_index(values: Iterable[float]) -> float:
    """Jain's index of fairness: 1 where all values are the same, 1/n where only one is above zero."""
    found = list(values)
    squares = sum(value * value for value in found)
    return sum(found) ** 2 / (len(found) * squares) if len(found) > 1 and squares else 1.0
