"""Everything that is wrong with a simulated run, as sentences that each begin with the claim that is broken."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.simulation.run import Result, simulate
from sfq_impl.fleet.simulation.scenario import Scenario
from sfq_impl.heap import HeapScheduler
from sfq_proofs.fleet.shadow import Shadow
from sfq_spec.competition import SFQ
from sfq_spec.conformance.audit.findings import audit_order
from sfq_spec.conformance.audit.order import Order
from sfq_spec.conformance.audit.records import batches
from sfq_spec.fleet import is_over
from sfq_spec.machine import Machine, take
from sfq_spec.placement import overtake, placing
from sfq_spec.trace import Dispatch, Entry


def judge(scenario: Scenario, make: Callable[..., Dispatcher] = Dispatcher) -> tuple[list[str], Shadow, Result]:
    """Run a scenario beside the machine. Returns everything that is wrong as well."""
    shadows: list[Shadow] = []

    def watch(dispatcher: Dispatcher) -> list[Shadow]:
        shadows.append(Shadow(dispatcher))
        return shadows

    result = simulate(scenario, make, watch, lambda result: shadows[0].look(result))
    return list(_wrong(result, shadows[0])), shadows[0], result


def _wrong(result: Result, shadow: Shadow) -> Iterator[str]:
    yield from (f"FLEET-ONCE: {said}" for said in result.faults)
    yield from shadow.wrong
    yield from _not_once(result, shadow)
    yield from _left_over(result, shadow)
    yield from _out_of_order(result)


def _not_once(result: Result, shadow: Shadow) -> Iterator[str]:
    """What began has ended, and each client saw how."""
    for request in shadow.begun | shadow.over:
        if not is_over(shadow.begun[request], shadow.over[request]):
            yield f"FLEET-ONCE: {request} begins {shadow.begun[request]} and ends {shadow.over[request]} times"
    for request, fate in result.fates.items():
        if fate not in shadow.how.get(request, {"cancelled"}):
            yield f"FLEET-ONCE: the client of {request} saw {fate}, not {shadow.how.get(request)}"
    for request in shadow.how.keys() - result.fates:
        yield f"FLEET-ONCE: {request} ended and its client never knew"
    for request in result.disconnected:
        if result.fates.get(request, "cancelled") != "cancelled":
            yield f"FLEET-ONCE: the client of {request} left, and saw {result.fates[request]}"


def _left_over(result: Result, shadow: Shadow) -> Iterator[str]:
    """Nothing is kept of anybody when all is over."""
    dispatcher = result.dispatcher
    kept = [
        *dispatcher._turns, *dispatcher._moving, *dispatcher.in_flight, *dispatcher._held.requests,
        *(name for server in result.rooms.values() for name in server.held),
        *(engine.name for engine in result.engines.values() if engine.active),
        *shadow.machine.live,
    ]  # fmt: skip
    policy, queue = dispatcher.policy, dispatcher.queue
    scheduler = getattr(policy, "scheduler", None)
    if isinstance(scheduler, HeapScheduler):
        kept += [f"{scheduler.waiting_requests} wait"] * bool(scheduler.waiting_requests)
        kept += [f"{scheduler.requests_in_flight} in flight"] * bool(scheduler.requests_in_flight)
    if policy.next() or queue.requests or queue.cost or queue.requests_of or queue.cost_of:
        kept.append("the queue")
    if kept:
        yield f"FLEET-ONCE: left at the end: {kept}"


def _out_of_order(result: Result) -> Iterator[str]:
    """FLEET-ORDER, by what the dispatcher has written down alone."""
    if result.scenario.policy != "sfq":
        return
    if result.scenario.mode == "overtake":
        yield from follow(result.trace.entries)
        return
    found = audit_order(batches("trace", io.BytesIO(result.trace.lines)), Order())
    if found.wrong:
        yield f"FLEET-ORDER: {found.wrong.sentence}"


def follow(entries: Iterable[Entry]) -> list[str]:
    """What is wrong with a trace of the mode `overtake`, given who was held at each dispatch; at most one sentence."""
    machine = Machine()
    for number, entry in enumerate(entries, start=1):
        held = entry.extra.get("held", ())
        rules = placing(overtake, lambda user, held=held: user not in held)  # type: ignore[misc]
        taken = take(machine, entry.event, rules if isinstance(entry.event, Dispatch) else SFQ)
        if isinstance(entry.event, Dispatch) and taken.answer != entry.answer:
            return [f"FLEET-ORDER: line {number} sends {entry.answer.dispatched}, not {taken.answer.dispatched}"]
        machine = taken.state
    return []
