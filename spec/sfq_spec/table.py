"""A run as a table like the article's (§2.7): for each dispatch v, the user selected, the charge, the meters.

The table is made from the trace alone: the machine follows the dispatches that were observed, whatever it would
have chosen itself. So a scheduler that tells neither v nor meters, or whose order is another one, has them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from msgspec import UNSET

from sfq_spec import numbers
from sfq_spec.competition import SFQ
from sfq_spec.machine import Machine, answer
from sfq_spec.trace import Dispatch, Entry

MOST_USERS = 12
"""Users that get a column each. Where there are more, one column has the meter of the selected user."""

SELECTED = "Selected"
NOTHING = "-"


@dataclass(frozen=True)
class Row:
    """One dispatch."""

    v: Fraction
    """Virtual time: the start tag of this dispatch."""
    user: str
    tie: bool
    """Whether another waiting user had the same meter, so that the ids decided."""
    charge: Fraction
    """What was added to the meter: cost over weight."""
    meters: Mapping[str, Fraction]
    """After the charge: of every user that has arrived, or of the selected one where they are many."""


@dataclass
class Follower:
    """The machine, made to take the observed request at each dispatch."""

    state: Machine = field(default_factory=Machine)

    def follow(self, entry: Entry) -> Row | None:
        """The row of a dispatch that sent a waiting request; None for any other entry.

        Events that the scheduler refused are not carried out, nor those that the machine refuses.
        """
        told = entry.answer
        if told.refused is not UNSET:
            return None
        if not isinstance(entry.event, Dispatch):
            self.state, _ = answer(self.state, entry.event)
            return None
        return self._dispatch(told.dispatched) if isinstance(told.dispatched, str) else None

    def _dispatch(self, id: str) -> Row | None:
        request = self.state.live.get(id)
        if request is None or not self.state.is_waiting(request):
            return None
        user = request.user
        before = self.state.competition
        others = (before.meter[other] for other in self.state.queues if other != user)
        tie = before.meter[user] in others
        queue = (request, *(other for other in self.state.queues[user] if other is not request))
        observed = replace(SFQ, is_first=lambda logic, s, candidate, head: candidate == user)
        state = replace(self.state, queues={**self.state.queues, user: queue})
        self.state, _ = answer(state, Dispatch(), observed)
        meters = self.state.competition.meter
        kept = meters if len(meters) <= MOST_USERS else {user: meters[user]}
        return Row(before.meter[user], user, tie, meters[user] - before.meter[user], kept)


@dataclass(frozen=True)
class Observed:
    """What a table is made of."""

    initial: Mapping[str, Fraction]
    """The meters before the first dispatch."""
    rows: tuple[Row, ...]
    users: tuple[str, ...]
    """All users, by id."""


def observe(trace: Iterable[Entry]) -> Observed:
    """The dispatches of a run, and what the rules give for each."""
    follower = Follower()
    initial: Mapping[str, Fraction] = {}
    rows: list[Row] = []
    for entry in trace:
        if row := follower.follow(entry):
            rows.append(row)
        elif not rows:
            initial = follower.state.competition.meter
    return Observed(initial, tuple(rows), tuple(sorted(follower.state.competition.meter)))


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def widths(self) -> list[int]:
        """The letters in the longest text of each column."""
        return [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]

    def plain(self) -> Iterator[str]:
        """The lines of the table: columns padded with spaces, numbers to the right."""
        widths = self.widths
        for row in (self.header, *self.rows):
            columns = zip(self.header, widths, row, strict=True)
            cells = (text.ljust(width) if is_text(name) else text.rjust(width) for name, width, text in columns)
            yield "  ".join(cells).rstrip()


def layout(observed: Observed, most_users: int = MOST_USERS) -> Table:
    """The table of a run. The first row is the state before the first dispatch.

    Each user has a column for its meter, where there are at most `most_users`, and at most `MOST_USERS`.
    """
    users = observed.users
    each = len(users) <= min(most_users, MOST_USERS)
    meters = [f"S_{shown(user)}" for user in users] if each else ["S after"]
    first = _meters(observed.initial, users) if each else [NOTHING]
    rows = (
        (
            str(number),
            written(row.v),
            shown(row.user) + (" (tie)" if row.tie else ""),
            f"+{written(row.charge)}",
            *(_meters(row.meters, users) if each else [written(row.meters[row.user])]),
        )
        for number, row in enumerate(observed.rows, start=1)
    )
    header = ("Dispatch", "v", SELECTED, "Charge", *meters)
    return Table(header, (("Initial", "0", NOTHING, NOTHING, *first), *rows))


def is_text(column: str) -> bool:
    """Whether the column of this name holds words, not numbers."""
    return column == SELECTED


def written(number: Fraction) -> str:
    """A number as a trace has it."""
    return str(numbers.write(number))


def shown(id: str) -> str:
    """An id with whatever does not print, such as the codes that steer a terminal, spelled out."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in id)


def _meters(meters: Mapping[str, Fraction], users: Iterable[str]) -> list[str]:
    return [written(meters[user]) if user in meters else "" for user in users]
