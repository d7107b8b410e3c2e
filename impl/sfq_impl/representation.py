"""The representation invariant of the heap scheduler: what holds between any two calls.

Together with the events it is the whole argument that the scheduler is right: each event, begun where this holds,
answers as the rules say and ends where it holds again.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfq_impl.state import State


def representation_holds(state: State) -> bool:
    """Whether nothing is wrong with the state of a scheduler that is not in the middle of a call."""
    return not any(flaws(state))


def flaws(state: State) -> Iterator[str]:
    """What is wrong, a sentence each; nothing where the invariant holds."""
    if state._busy:
        yield "a call is under way"
    yield from _flaws_of_heap(state)
    yield from _flaws_of_queues(state)
    yield from _flaws_of_users(state)
    yield from _flaws_of_reset(state)
    yield from _flaws_of_memory(state)


def _flaws_of_heap(state: State) -> Iterator[str]:
    """Whoever waits has one entry, under its meter; besides, only those who are gone have one."""
    heap, users = state._heap, state._users
    for i in range(1, len(heap)):
        parent, child = heap[(i - 1) // 2], heap[i]
        if not parent[:2] < child[:2]:
            yield f"heap: {child[1]!r} stands under {parent[1]!r} and comes before it"
    names = [name for _, name, _ in heap]
    if len(set(names)) != len(names):
        yield "heap: a user stands in it twice"
    for meter, name, user in heap:
        if users.get(name) is not user:
            yield f"heap: {name!r} has another record than the one it is remembered by"
        if meter != user.meter:
            yield f"heap: {name!r} stands at {meter} and has the meter {user.meter}"
        if (not user.queue) != (name in state._gone):
            yield f"heap: {name!r} is gone and waits, or neither"
    if {name for name, user in users.items() if user.queue} | state._gone != set(names):
        yield "heap: not those who wait and those who are gone"
    if heap and heap[0][1] in state._gone:
        yield "heap: the first user is gone"
    if 2 * len(state._gone) > len(heap):
        yield "heap: more than half of the users are gone"


def _flaws_of_queues(state: State) -> Iterator[str]:
    """The queues hold the live requests that wait, once each, and withdrawn ones behind the first."""
    waiting = {id(request) for request in state._live.values() if request.waits}
    queued = 0
    for name, user in state._users.items():
        alive = [request for request in user.queue if request.waits]
        queued += len(alive)
        if user.queue and not user.queue[0].waits:
            yield f"queue of {name!r}: the first request is withdrawn"
        if user.withdrawn != len(user.queue) - len(alive):
            yield f"queue of {name!r}: {user.withdrawn} is not how many are withdrawn"
        if 2 * user.withdrawn > len(user.queue):
            yield f"queue of {name!r}: more than half is withdrawn"
        for request in alive:
            if id(request) not in waiting or request.user != name or request.cost <= 0:
                yield f"queue of {name!r}: {request.request!r} is not live, not theirs, or free"
    if queued != len(waiting):
        yield f"queues: {queued} requests wait there, and {len(waiting)} are live and wait"
    for key, request in state._live.items():
        if key != request.request:
            yield f"live: {request.request!r} stands under {key!r}"


def _flaws_of_users(state: State) -> Iterator[str]:
    """Meters of users who wait are not below v; a unit of cost adds scale / weight."""
    for name, user in state._users.items():
        if user.name != name:
            yield f"user {name!r}: the record is of {user.name!r}"
        if user.queue and user.meter < state._virtual:
            yield f"user {name!r}: waits with its meter {user.meter} below v = {state._virtual}"
        if user.rate * state.weight(name) != state._scale:
            yield f"user {name!r}: a unit of cost adds {user.rate}, not scale / weight"
        if state._integral and not type(user.meter) is type(user.rate) is type(state._virtual) is int:
            yield f"user {name!r}: all costs are integers, and not the meters {user.meter} and {state._virtual}"
    if 1 in state._weights.values():
        yield "weights: a weight of 1 is kept"


def _flaws_of_reset(state: State) -> Iterator[str]:
    """The greatest meter is one that somebody has had, and nobody who does not wait has a greater one."""
    v, greatest = state._virtual, state._greatest
    meters = [user.meter for user in state._users.values()]
    if greatest > max([v, *meters]):
        yield f"reset: the greatest meter {greatest} is nobody's"
    if any(user.meter > max(v, greatest) for user in state._users.values() if not user.queue):
        yield f"reset: somebody has left with a meter above {greatest}"
    if not state._heap and any(meter > v for meter in [greatest, *meters]):
        yield "reset: nobody waits, and v is below a meter"


def _flaws_of_memory(state: State) -> Iterator[str]:
    """No more records than there may be until it is time to forget."""
    if len(state._users) > state._limit:
        yield f"memory: {len(state._users)} records, where {state._limit} are allowed"
