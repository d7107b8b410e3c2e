"""Logs of the VTC artifact: `client,req_time,first_token_latency,request_latency,prompt_len,output_len`.

The arrivals come from `req_time` and the user is the client. Requests with a `first_token_latency` below 0 were
rejected: they are left out and counted. What the log measured is not used: the pool decides anew who is served.
"""

from __future__ import annotations

from fractions import Fraction

from sfq_spec import numbers
from sfq_spec.importers.rows import Arrival, Imported, in_order, microseconds, named, table, whole
from sfq_spec.trace import BadLine, Readable

COLUMNS = ("client", "req_time", "first_token_latency", "prompt_len", "output_len")


def read(stream: Readable) -> Imported:
    """The accepted requests of the log. Raises `BadLine`."""
    arrivals = []
    left_out = 0
    for line, (client, time, latency, prompt, output) in table(stream, COLUMNS):
        arrival = Arrival(
            microseconds(line, "req_time", time),
            named(line, "client", client),
            whole(line, "prompt_len", prompt),
            whole(line, "output_len", output),
        )
        if _is_rejected(line, latency):
            left_out += 1
        else:
            arrivals.append(arrival)
    return in_order(arrivals, left_out)


def _is_rejected(line: int, latency: str) -> bool:
    try:
        seconds = numbers.read(latency)
    except numbers.NotANumber as error:
        raise BadLine(line, "first_token_latency", str(error)) from None
    if not isinstance(seconds, Fraction):
        raise BadLine(line, "first_token_latency", f"{latency} is not a latency: seconds, or -1 if rejected")
    return seconds < 0
