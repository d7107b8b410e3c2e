"""LAS with one thing wrong in a pick, in decay or in a sweep. What ends otherwise than it should is in `endings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sfq_spec.conformance.las.model import Following
from sfq_spec.related.facts import NOTHING, Facts
from sfq_spec.related.halving import Halving, number
from sfq_spec.related.las import NEW, Las, Program, Programs
from sfq_spec.related.method import Job, Situation
from sfq_spec.trace import Outcome

At = Situation[Programs]


class Fault(Following):
    """A wrong model. The docstring of each says what it does instead, and what goes wrong for users."""


class DecaysOnlyWhereVisited(Fault):
    """A service decays only when a pick comes by the program's empty queue.

    Who is busy, or whose queue is gone, keeps its whole past against it.
    """

    def __post_init__(self) -> None:
        """The decay of the releases, in whatever mode."""
        if self.version == "v2":
            object.__setattr__(self, "version", "v1")


class NeverDecays(Fault):
    """The half-life is not heeded.

    A program that once was busy is behind all newcomers until it is forgotten.
    """

    def __post_init__(self) -> None:
        """There is none, and no factor in its place."""
        if self.half_life and self.version == "v1":
            object.__setattr__(self, "factor", Fraction(1))
        object.__setattr__(self, "half_life", Fraction(0))


class AddsWithoutDecay(Fault):
    """Adding to a service moves its anchor to now, and the decay that was due is forfeited.

    The more often a program completes, the less its past decays: a service that is never too old.
    """

    def _added(self, at: At, user: str, used: Halving) -> Program:
        program = at.state.known.get(user, NEW)
        return Program(program.service.plus(used), at.time, at.time)


class DecaysWhenAdding(Fault):
    """In the release, the decay that is due is applied when something is added.

    It is the later version, under the name of the release.
    """

    def _added(self, at: At, user: str, used: Halving) -> Program:
        program = at.state.known.get(user)
        if self.version == "v2" or program is None or not self.half_life:
            return super()._added(at, user, used)
        left = program.service.halved((at.time - program.anchor) / self.half_life)
        return Program(left.plus(used), at.time, at.time)


class DecaysInFlight(Fault):
    """In the release, a service decays also while a request of the program is in flight.

    A program that streams one long answer forgets what it has had.
    """

    def _visited(self, at: At, programs: Programs) -> Programs:
        visited = super()._visited(at, replace(programs, in_flight={}))
        return replace(visited, in_flight=programs.in_flight)


class WaitsUncut(Fault):
    """Waits are not cut to whole milliseconds.

    Of two programs that came in the same millisecond one is put before the other.
    """

    def _wait(self, at: At, user: str) -> Fraction:
        return (at.time - at.head(user).time) * 1000

    def _chosen(self, at: At, programs: Programs) -> str:
        return _chosen(self, at, programs, wait={user: self._wait(at, user) for user in at.queues})


class WaitsOfTheLast(WaitsUncut):
    """The wait that counts is that of the newest request and not of the head.

    A program that keeps sending looks as if it had only just come.
    """

    def _wait(self, at: At, user: str) -> Fraction:
        return Fraction((at.time - at.queues[user][-1].time) * 1000 // 1)


class NoRange(Fault):
    """Services and waits are not brought to a range from 0 to 1 before they are weighed.

    Milliseconds are weighed against tokens, and whoever has waited goes first whatever it has had.
    """

    def _chosen(self, at: At, programs: Programs) -> str:
        score = {
            user: float(self.weight_wait) * float((at.time - at.head(user).time) * 1000 // 1)
            - float(self.weight_service) * self.about(programs, user, at.time)
            for user in at.queues
        }
        return min(score, key=lambda user: (-score[user], user))


class RangeOverAll(Fault):
    """The range is that of all known programs and not of the candidates.

    One heavy program that does not even wait makes all others look alike.
    """

    def _chosen(self, at: At, programs: Programs) -> str:
        services = [self.about(programs, user, at.time) for user in programs.known]
        return _chosen(self, at, programs, among=services)


class OutputOnce(Fault):
    """Output tokens count once.

    Programs with long answers get more than their part.
    """

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """Input less the output, to which twice the output is added."""
        half = replace(told, input_tokens=(told.input_tokens or 0) - (told.output_tokens or 0))
        return super().complete(at, job, outcome, half)


class ChargesAtDispatch(Fault):
    """A request is charged its estimate when it is dispatched, and nothing when it has ended.

    It is another policy: fairer among free rooms, and wrong by every estimate that is.
    """

    def dispatch(self, at: At) -> tuple[Programs, Job]:
        """The estimate is added."""
        programs, job = super().dispatch(at)
        program = self._added(replace(at, state=programs), job.user, number(job.cost))
        return replace(programs, known={**programs.known, job.user: program}), job

    def complete(self, at: At, job: Job, outcome: Outcome, told: Facts) -> Programs:
        """Nothing is added."""
        return super().complete(at, job, outcome, replace(NOTHING, input_tokens=0, output_tokens=0))


class EvictsInFlight(Fault):
    """A sweep forgets programs that have a request in flight.

    A program with long requests starts from nothing again and again.
    """

    def _swept(self, programs: Programs, time: Fraction) -> Programs:
        return replace(super()._swept(replace(programs, in_flight={}), time), in_flight=programs.in_flight)


class EvictsAtTheTtl(Fault):
    """A sweep forgets a program whose last completion is exactly the ttl ago.

    State is gone one sweep too early.
    """

    def _swept(self, programs: Programs, time: Fraction) -> Programs:
        sweep = time // self.sweep * self.sweep
        known = {
            user: program
            for user, program in super()._swept(programs, time).known.items()
            if not self.ttl or user in programs.in_flight or sweep - program.completed < self.ttl
        }
        return replace(programs, known=known)


class KeepsEverybody(Fault):
    """A sweep leaves the attained service where it was.

    Memory grows with ids that users choose, and nobody ever starts anew.
    """

    def _swept(self, programs: Programs, time: Fraction) -> Programs:
        return programs


class WaitingProtects(Fault):
    """A sweep leaves programs that have a request waiting.

    A program that starves is not even forgotten, which would have ended it.
    """

    def dispatch(self, at: At) -> tuple[Programs, Job]:
        """The sweep passes over whoever waits."""
        held = {user: 1 for user in at.queues if user not in at.state.in_flight}
        swept = self._swept(replace(at.state, in_flight={**at.state.in_flight, **held}), at.time)
        lasting = replace(self, ttl=Fraction(0), wanted=[], near=[], tied=[])
        return Las.dispatch(lasting, replace(at, state=replace(swept, in_flight=at.state.in_flight)))


class LiftsNewcomers(Fault):
    """A program begins at the least service of those that wait.

    It is another policy: fresh ids gain less, and none of the figures fit.
    """

    def arrive(self, at: At, job: Job) -> Programs:
        """Who was not known gets the account of another."""
        programs = super().arrive(at, job)
        others = [user for user in at.queues if user != job.user]
        if not others or job.user in programs.known or not at.is_last(job):
            return programs
        least = min(others, key=lambda user: self.about(programs, user, at.time))
        if least not in programs.known:
            return programs
        return replace(programs, known={**programs.known, job.user: programs.known[least]})


class WeightsSwapped(Fault):
    """The two weights are swapped.

    The longest wait goes first, and service only breaks ties.
    """

    def __post_init__(self) -> None:
        """Each in the place of the other."""
        service, wait = self.weight_service, self.weight_wait
        object.__setattr__(self, "weight_service", wait)
        object.__setattr__(self, "weight_wait", service)


class TiesByArrival(Fault):
    """A tie goes to whoever came first and not to the least id.

    Runs cannot be repeated.
    """

    def _chosen(self, at: At, programs: Programs) -> str:
        right = super()._chosen(at, programs)
        return min([right, *self.tied], key=lambda user: at.head(user).number)


class TiesByUtf16(Fault):
    """A tie goes to the least id by UTF-16 units, and not by code point.

    Ids with letters beyond the first 65,536 are in another order than elsewhere.
    """

    def _chosen(self, at: At, programs: Programs) -> str:
        right = super()._chosen(at, programs)
        return min([right, *self.tied], key=lambda user: user.encode("utf-16-be"))


class WeightsIgnored(Fault):
    """The weights are 0.8 and 0.2, whatever is configured.

    Who wants age to count for more gets nothing for it.
    """

    def __post_init__(self) -> None:
        """The defaults."""
        object.__setattr__(self, "weight_service", Fraction("0.8"))
        object.__setattr__(self, "weight_wait", Fraction("0.2"))


class RangeFromZero(Fault):
    """The range of services begins at zero and not at the least.

    The more everybody has had, the less it counts who has had more.
    """

    def _chosen(self, at: At, programs: Programs) -> str:
        return _chosen(self, at, programs, among=[0.0])


class WaitsCutBefore(WaitsUncut):
    """Times are cut to whole milliseconds, and not the waits.

    A program that came in the same millisecond as another seems to have waited for one longer.
    """

    def _wait(self, at: At, user: str) -> Fraction:
        return Fraction(at.time * 1000 // 1 - at.head(user).time * 1000 // 1)


class HalvesByE(Fault):
    """In a half-life a service falls to 1/e of what it was, and not to a half.

    Everything is forgotten sooner than it is configured.
    """

    def __post_init__(self) -> None:
        """A half-life that is as much shorter."""
        object.__setattr__(self, "half_life", self.half_life * Fraction("0.693147"))


class AnchorStays(Fault):
    """In the release, a pick that comes by lets a service decay, and does not note that it has.

    Each further pick takes the same again, and the half-life hangs on the number of picks.
    """

    def _visited(self, at: At, programs: Programs) -> Programs:
        visited = super()._visited(at, programs)
        known = {
            user: replace(program, anchor=programs.known[user].anchor) if self.half_life else program
            for user, program in visited.known.items()
        }
        return replace(visited, known=known)


class DecaysWhileWaiting(Fault):
    """Where only idle programs decay, those that wait do as well.

    Who is kept waiting by others is forgiven what it has had.
    """

    def _visited(self, at: At, programs: Programs) -> Programs:
        waiting = dict.fromkeys(at.queues, at.time)
        visited = super()._visited(at, replace(programs, emptied={**programs.emptied, **waiting}))
        known = {
            user: replace(program, service=self._left(program), visits=0) if user in waiting else program
            for user, program in visited.known.items()
        }
        return replace(visited, known=known, emptied=programs.emptied)


def _chosen(
    las: Following,
    at: At,
    programs: Programs,
    *,
    wait: Mapping[str, Fraction] | None = None,
    among: list[float] | None = None,
) -> str:
    """The choice with other waits, or in the range of other services."""
    services = {user: las.about(programs, user, at.time) for user in at.queues}
    waits = wait or {user: Fraction((at.time - at.head(user).time) * 1000 // 1) for user in at.queues}
    among = [*services.values(), *(among or [])]
    least, spread = min(among), max(among) - min(among)
    shortest, range_ = min(waits.values()), max(waits.values()) - min(waits.values())
    score = {
        user: float(las.weight_service) * (1 - ((services[user] - least) / spread if spread else 0.5))
        + float(las.weight_wait) * float((waits[user] - shortest) / range_ if range_ else 0.5)
        for user in at.queues
    }
    return min(score, key=lambda user: (-score[user], user))
