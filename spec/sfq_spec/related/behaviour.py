"""What may be asked of any method, whatever it keeps: claims of the ledger, said of arrivals and dispatches alone.

Each question is a monitor beside the state: it goes through a run event by event and says where the run breaks it.
Those that compare two runs go through both at once, so that a search over the pairs of states answers them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from sfq_spec.related.facts import NOTHING, Facts
from sfq_spec.related.model import Model, key
from sfq_spec.requests import Book
from sfq_spec.trace import Answer, Arrive, Cancel, Complete, Dispatch, Event, SetWeight

ZERO = Fraction(0)


class Line(NamedTuple):
    """An event, and what is told beside it."""

    event: Event
    told: Facts = NOTHING


class Node(NamedTuple):
    """A moment of a run: the state of the method, and what the monitor remembers."""

    state: Book[Any]
    memory: Any = None


class Question(ABC):
    """Something that holds after every event of every run, or does not."""

    id: str
    says: str
    """One sentence."""
    users: int = 2
    """How many users a small world needs for it."""
    completes: bool = False
    """Whether requests must complete for it to say something."""
    timed: bool = False
    """Whether the clock must be told."""
    costs: tuple[int, ...] = ()
    """At which costs requests arrive, if not at those of the other questions."""

    def essence(self, model: Model, node: Node) -> Any:
        """A hashable value that is the same only for moments with the same future."""
        return model.essence(node.state), key(node.memory)

    def first(self, model: Model) -> Node:
        """Before any event."""
        return Node(model.first())

    @abstractmethod
    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """The moments that may come after an event, and whether it held there."""


class Monitor(Question):
    """A question about one run."""

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """The one moment that comes after."""
        state, answer = model.take(node.state, line.event, line.told)
        memory, holds = self.note(node, line.event, answer, state)
        yield Node(state, memory), holds

    @abstractmethod
    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Any, bool]:
        """What is remembered from now on, and whether it held."""


class Works(Monitor):
    """ORDER-WORK."""

    id = "WORK"
    says = "A dispatch sends a request exactly when somebody waits."

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[None, bool]:
        """A dispatch that sends nothing has found nobody."""
        return None, not isinstance(event, Dispatch) or (answer.dispatched is None) == (not before.state.queues)


class InOrder(Monitor):
    """R-FIFO."""

    id = "FIFO"
    says = "Of one user's requests the one that arrived first goes first."

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[None, bool]:
        """What is sent is the head of a queue."""
        heads = {queue[0].request for queue in before.state.queues.values()}
        return None, not isinstance(answer.dispatched, str) or answer.dispatched in heads


class Account(NamedTuple):
    """What the lead of one user over others needs: charges of each, and levels since when each waits."""

    weights: Mapping[str, Fraction]
    last: Mapping[str, Fraction]
    lead: Mapping[tuple[str, str], Fraction]
    """Per waiting j and any i the greatest W_i − W_j − last_j(t1), over all t1 since when j waits."""


class Fair(Monitor):
    """FAIR-LEAD."""

    id = "LEAD"
    says = "Nobody gets ahead of a user that waits throughout by more than the latest charge of each of the two."

    def first(self, model: Model) -> Node:
        """Nobody has been charged."""
        return Node(model.first(), Account({}, {}, {}))

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Account, bool]:
        """Leads grow by the charges of the one ahead, and shrink by those of the one behind."""
        account: Account = before.memory
        if isinstance(event, SetWeight):
            return account._replace(weights={**account.weights, event.user: Fraction(event.weight)}), True
        sent = before.state.live.get(answer.dispatched) if isinstance(answer.dispatched, str) else None
        if sent is not None:
            account = self._charged(account, sent.user, sent.cost / account.weights.get(sent.user, Fraction(1)))
        waiting = after.queues.keys()
        met = {*account.last, *waiting}
        lead = {
            (i, j): account.lead.get((i, j), -account.last.get(j, ZERO))
            for j in sorted(waiting)
            for i in sorted(met)
            if i != j
        }
        account = account._replace(last={user: account.last.get(user, ZERO) for user in sorted(met)}, lead=lead)
        return account, all(gap <= account.last[i] for (i, _), gap in lead.items())

    @staticmethod
    def _charged(account: Account, user: str, charge: Fraction) -> Account:
        last = {**account.last, user: charge}
        lead = dict(account.lead)
        for i, j in account.lead:
            if i == user:
                lead[i, j] += charge
            elif j == user:
                lead[i, j] = max(lead[i, j] - charge, -charge)
        return account._replace(last=last, lead=lead)


class Weighted(Fair):
    """FAIR-LEAD with weights: the same, where the first user has twice the weight."""

    id = "WEIGHT"
    says = "The same with charges divided by weights, where one user has twice the weight of the others."


class Prompt(Monitor):
    """FAIR-PROMPT, for a user that has never been dispatched before, so that no rule can hold anything against it."""

    id = "PROMPT"
    says = "A user's first request goes before any other user is dispatched twice."

    def first(self, model: Model) -> Node:
        """Nobody has come."""
        return Node(model.first(), (frozenset(), {}))

    def note(self, before: Node, event: Event, answer: Answer, after: Book[Any]) -> tuple[Any, bool]:
        """Per newcomer that waits: who has been dispatched since."""
        met, since = before.memory
        since = {user: others for user, others in since.items() if user in after.queues}
        if isinstance(event, Arrive) and event.user not in met:
            met, since = met | {event.user}, {**since, event.user: frozenset()}
        holds = True
        if isinstance(answer.dispatched, str):
            sent = before.state.live[answer.dispatched].user
            since.pop(sent, None)
            holds = all(sent not in others for others in since.values())
            since = {user: others | {sent} for user, others in since.items()}
        return (met, since), holds


class Irrelevant(Question):
    """Independence of irrelevant alternatives."""

    id = "OTHERS"
    says = "Who is chosen stays chosen when another, who is not, is taken away."
    users = 3

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """Choose again without each of those that were not chosen."""
        state, answer = model.take(node.state, line.event, line.told)
        holds = True
        if isinstance(answer.dispatched, str):
            chosen = node.state.live[answer.dispatched].user
            for other in node.state.queues.keys() - {chosen}:
                left: Any = node.state
                for request in node.state.queues[other]:
                    left, _ = model.take(left, Cancel(request.request))
                _, again = model.take(left, line.event, line.told)
                holds = holds and again.dispatched == answer.dispatched
        yield Node(state), holds


class Lockstep(Question):
    """A question about two runs: where the other is changed in a way that must not matter, the order is the same."""

    def essence(self, model: Model, node: Node) -> Any:
        """Both states."""
        return model.essence(node.state), model.essence(node.memory)

    def first(self, model: Model) -> Node:
        """Both before any event."""
        return Node(model.first(), model.first())

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """Both after the event, or the other as it was."""
        state, answer = model.take(node.state, line.event, line.told)
        other, told = node.memory, answer
        if (changed := self.other(line)) is not None:
            other, told = model.take(node.memory, changed.event, changed.told)
        yield Node(state, other), answer.dispatched == told.dispatched

    @abstractmethod
    def other(self, line: Line) -> Line | None:
        """What happens in the other run; None: nothing."""


class Final(Lockstep):
    """R-FINAL."""

    id = "FINAL"
    says = "Completions change nothing: without them the order is the same."
    completes = True

    def other(self, line: Line) -> Line | None:
        """Nothing completes."""
        return None if isinstance(line.event, Complete) else line


class Timeless(Lockstep):
    """ORDER-SPEED."""

    id = "CLOCK"
    says = "The clock changes nothing: at another speed the order is the same."
    timed = True

    def other(self, line: Line) -> Line:
        """Everything happens later, and takes longer."""
        time = line.told.time
        return line if time is None else Line(line.event, replace(line.told, time=time * time))


class Scaled(Lockstep):
    """ORDER-SCALE."""

    id = "SCALE"
    says = "With all costs seven times as large the order is the same."

    def other(self, line: Line) -> Line:
        """Every cost is seven times as large."""
        event = line.event
        return Line(Arrive(event.user, event.request, event.cost * 7), line.told) if isinstance(event, Arrive) else line


class Blind(Question):
    """ORDER-BLIND."""

    id = "BLIND"
    says = "Who is next does not depend on the cost of a request that has not been dispatched."

    def essence(self, model: Model, node: Node) -> Any:
        """Both states, and the place of the request that they have at different costs."""
        if node.memory is None:
            return model.essence(node.state), None
        request, other = node.memory
        job = node.state.live[request]
        place = job.user, node.state.queues[job.user].index(job)
        return model.essence(node.state), place, model.essence(other)

    def first(self, model: Model) -> Node:
        """No cost has been changed."""
        return Node(model.first(), None)

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """At any one arrival the other run may go apart, until that request is dispatched."""
        state, answer = model.take(node.state, line.event, line.told)
        if node.memory is None:
            yield Node(state, None), True
            if isinstance(line.event, Arrive):
                dearer = Arrive(line.event.user, line.event.request, line.event.cost * 5)
                other, _ = model.take(node.state, dearer, line.told)
                yield Node(state, (line.event.request, other)), True
            return
        request, other = node.memory
        other, told = model.take(other, line.event, line.told)
        holds = answer.dispatched == told.dispatched
        yield Node(state, None if answer.dispatched == request else (request, other)), holds


class Level(Question):
    """RESET-LEVEL."""

    id = "LEVEL"
    says = "Once nobody waits and nothing is in flight, all goes on as if nothing had ever happened."
    completes = True

    def essence(self, model: Model, node: Node) -> Any:
        """Both states, where there are two."""
        return model.essence(node.state), None if node.memory is None else model.essence(node.memory)

    def follow(self, model: Model, node: Node, line: Line) -> Iterator[tuple[Node, bool]]:
        """At any such moment another run may begin afresh."""
        state, answer = model.take(node.state, line.event, line.told)
        if node.memory is not None:
            other, told = model.take(node.memory, line.event, line.told)
            yield Node(state, other), answer.dispatched == told.dispatched
            return
        yield Node(state), True
        if not state.live:
            yield Node(state, model.first()), True


QUESTIONS: tuple[Question, ...] = (
    Works(), InOrder(), Fair(), Weighted(), Prompt(), Blind(), Final(), Timeless(), Scaled(), Level(), Irrelevant(),
)  # fmt: skip
"""All of them, in the order in which a table shows them."""
