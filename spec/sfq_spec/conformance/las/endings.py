"""LAS with one thing wrong in how requests end or are withdrawn, in who a request is of, or in priorities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sfq_spec.conformance.las.faults import At, Fault
from sfq_spec.related.facts import Facts
from sfq_spec.related.halving import Halving, number
from sfq_spec.related.las import Program, Programs
from sfq_spec.related.method import Job
from sfq_spec.trace import Outcome


class NegativeInFlight(Fault):
    """A completion that comes twice is taken twice: the count falls below zero, and counts as in flight.

    The program is charged twice, and is never forgotten again.
    """

    def __post_init__(self) -> None:
        """As the compatible modes have it."""
        object.__setattr__(self, "once", False)


class CompletesOnce(Fault):
    """In a compatible mode, a completion that comes twice counts once.

    It is the right thing, under the name of a version that does otherwise.
    """

    def __post_init__(self) -> None:
        """As the default mode has it."""
        object.__setattr__(self, "once", True)


class InFlightOrNot(Fault):
    """With the first request that ends, nothing of the program is in flight any more.

    A program that streams long answers beside short ones is forgotten while it does.
    """

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """The count is zero."""
        programs = super().complete(at, job, outcome, told)
        return replace(programs, in_flight={user: n for user, n in programs.in_flight.items() if user != job.user})


class FailedIsFree(Fault):
    """A request that failed is not charged what it took.

    Who breaks off all answers just before their end is served for nothing.
    """

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """No tokens count but those of a whole answer."""
        nothing = replace(told, input_tokens=0, output_tokens=0)
        return super().complete(at, job, outcome, told if outcome == "completed" else nothing)


class FirstCompletionCounts(Fault):
    """The time to live runs from the first completion and not from the last.

    Programs that are busy all day are forgotten every hour.
    """

    def _added(self, at: At, user: str, used: Halving) -> Program:
        before, program = at.state.known.get(user), super()._added(at, user, used)
        return program if before is None else replace(program, completed=before.completed)


class SweepsAtPicks(Fault):
    """What a sweep forgets is found out afterwards, by what is in flight then.

    A program is forgotten that was in use when the sweep came by.
    """

    def _swept(self, programs: Programs, time: Fraction) -> Programs:
        return super()._swept(replace(programs, swept=Fraction(0)), time)


class TtlOfZeroForgets(Fault):
    """A time to live of 0 is taken for no time, and not for ever.

    Every sweep forgets everybody.
    """

    def _swept(self, programs: Programs, time: Fraction) -> Programs:
        if self.ttl:
            return super()._swept(programs, time)
        sweep = time // self.sweep * self.sweep
        known = {
            user: program
            for user, program in programs.known.items()
            if user in programs.in_flight or program.completed >= sweep
        }
        return replace(programs, known=known)


class WithdrawnIsCharged(Fault):
    """A request that is withdrawn while it waits is charged its estimate.

    Clients that give up pay for what they never got.
    """

    def cancel(self, at: At, job: Job) -> Programs:
        """It is added."""
        programs = super().cancel(at, job)
        program = self._added(replace(at, state=programs), job.user, number(job.cost))
        return replace(programs, known={**programs.known, job.user: program})


class WithdrawnEnds(Fault):
    """A request that is withdrawn while it waits is one less in flight.

    The count falls below zero, and the program is never forgotten again.
    """

    def cancel(self, at: At, job: Job) -> Programs:
        """It is taken for one that has ended."""
        flying = {**at.state.in_flight, job.user: at.state.in_flight.get(job.user, 0) - 1}
        flying = {user: count for user, count in flying.items() if count}
        return super().cancel(replace(at, state=replace(at.state, in_flight=flying)), job)


class NoDefaultProgram(Fault):
    """Requests that name no program are a program of their own, beside the default one.

    They have a second account by leaving a header out.
    """

    def __post_init__(self) -> None:
        """An empty name is a name."""
        object.__setattr__(self, "nobody", "")


class IgnoresPriority(Fault):
    """Priorities are not heeded: all that waits is one band.

    What is urgent waits behind what is not.
    """

    def band(self, at: At) -> Mapping[str, tuple[Job, ...]]:
        """Everybody."""
        return at.queues


class LowestPriorityFirst(Fault):
    """The lowest priority goes first.

    What is urgent waits for ever.
    """

    def priority(self, queue: tuple[Job, ...]) -> int:
        """Upside down."""
        return -super().priority(queue)
