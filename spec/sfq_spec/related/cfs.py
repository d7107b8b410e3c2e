"""CFS, the completely fair scheduler of Linux 2.6.23, as far as the article compares it (article §6.1, §6.3).

A user is a task whose work is its requests, one after another. One processor runs the task of least vruntime for a
slice, or until its request ends; vruntime grows by what has really run, divided by the weight. min_vruntime follows the
least vruntime of those that can run, the one that has just run included, and never goes back. A task that wakes
continues at its own vruntime, but not below min_vruntime less a credit; a new one wakes like any other.

Requests are preemptible here: a slice of one runs, then a slice of another. A dispatch answers the request that ends
next, so dispatches tell the order of completion on one processor; what has already run of others stays, and is charged.
What happens between two dispatches is calculated at once, not slice by slice.

From the published design and from secondary accounts of the kernel; the source was not at hand. Left out: slices that
depend on how many can run, the debit at a fork, and preemption at a wake-up in the middle of a slice. Ties go to the
least id (there: whoever came first to that vruntime). Nothing beside the events is used: a cost is the time that a
request runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sfq_spec.related.method import Job, Method, Situation

ZERO = Fraction(0)


@dataclass(frozen=True)
class Tasks:
    """What CFS remembers."""

    least: Fraction = ZERO
    """min_vruntime."""
    vruntime: Mapping[str, Fraction] = field(default_factory=dict)
    """Of users that wait, and of those that are asleep with more than they would wake with anyway."""
    ran: Mapping[str, Fraction] = field(default_factory=dict)
    """What has run of a waiting request, by its id; requests that have not begun are left out."""


@dataclass(frozen=True)
class Cfs(Method[Tasks]):
    """Requests run in slices, and a dispatch is the end of one."""

    title: ClassVar[str] = "CFS"
    slice: Fraction = Fraction(1)
    """How much cost runs before another task may."""
    credit: Fraction = ZERO
    """How far below min_vruntime a task may wake."""

    def __post_init__(self) -> None:
        if self.slice <= 0:
            raise ValueError(f"slice {self.slice}: must be above zero")
        if self.credit < 0:
            raise ValueError(f"credit {self.credit}: must be 0 or more")

    def first(self) -> Tasks:
        """There are no tasks."""
        return Tasks()

    def arrive(self, at: Situation[Tasks], job: Job) -> Tasks:
        """A task that was asleep wakes."""
        tasks, floor = at.state, at.state.least - self.credit
        if not at.joins(job):
            return tasks
        woken = max(tasks.vruntime.get(job.user, floor), floor)
        return replace(tasks, vruntime={**tasks.vruntime, job.user: woken})

    def dispatch(self, at: Situation[Tasks]) -> tuple[Tasks, Job]:
        """Slices run until a request ends.

        As slices start in the order of vruntime, the request ends first whose last slice starts first; until then every
        other task has run all slices that start before that.
        """
        ends, user = min((self._last(at, user), user) for user in at.queues)
        job = at.head(user)
        vruntime, ran = dict(at.state.vruntime), dict(at.state.ran)
        for other in at.queues:
            step = self.slice / at.weight(other)
            slices = (ends - vruntime[other]) // step + ((ends - vruntime[other]) % step > 0 or other < user)
            if other != user and slices > 0:
                vruntime[other] += slices * step
                ran[at.head(other).request] = ran.get(at.head(other).request, ZERO) + slices * self.slice
        vruntime[user] += self._rest(at, user) / at.weight(user)
        ran.pop(job.request, None)
        return self._followed(
            Tasks(at.state.least, vruntime, ran), {*at.queues}, {user} if at.is_last(job) else set()
        ), job

    def cancel(self, at: Situation[Tasks], job: Job) -> Tasks:
        """What has run stays charged."""
        ran = {id: cost for id, cost in at.state.ran.items() if id != job.request}
        asleep = {job.user} - at.queues.keys()
        return self._followed(replace(at.state, ran=ran), {*at.queues, job.user}, asleep)

    def _rest(self, at: Situation[Tasks], user: str) -> Fraction:
        """What has still to run of a task's request: nothing where it has been found to cost less than has run."""
        job = at.head(user)
        return max(job.cost - at.state.ran.get(job.request, ZERO), ZERO)

    def _last(self, at: Situation[Tasks], user: str) -> Fraction:
        """The vruntime at which the last slice of a task's request starts."""
        before = max(-(-self._rest(at, user) // self.slice) - 1, 0)
        return at.state.vruntime[user] + before * self.slice / at.weight(user)

    def _followed(self, tasks: Tasks, could_run: set[str], asleep: set[str]) -> Tasks:
        """min_vruntime follows those that could run, then those that can; sleepers that would be lifted are dropped."""
        least = tasks.least
        for able in (could_run, could_run - asleep):
            least = max(least, min((tasks.vruntime[user] for user in able), default=least))
        able = could_run - asleep
        kept = {user: at for user, at in tasks.vruntime.items() if user in able or at > least - self.credit}
        return replace(tasks, least=least, vruntime=kept)
