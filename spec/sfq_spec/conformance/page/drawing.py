"""A run as a picture: the meters of the users as steps, v, and the band [v, v + c_max], over events.

Below stand the events, what the scheduler sent and what was due; the first wrong answer is marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

from msgspec import UNSET

from sfq_spec.competition import Competition
from sfq_spec.conformance.page.chart import COLOURS
from sfq_spec.conformance.page.document import text
from sfq_spec.conformance.page.following import Moment, Run
from sfq_spec.conformance.page.scale import Scale, scale
from sfq_spec.conformance.page.words import answered, cut, expected, label
from sfq_spec.trace import Arrive, Dispatch, SetWeight

NAMED = 7
"""Users that have a line of their own."""
LEFT, RIGHT, TOP, HEIGHT = 84, 200, 34, 250
FULL, WIDEST, FAULT = 924, 100, 140
"""Pixels: of the picture, of a column at most, and of the column of the first wrong answer."""
LETTER = 6.8
"""Pixels of a letter."""

State = Competition[str, Fraction, bool]


@dataclass(frozen=True)
class Picture:
    """One run, laid out. Nothing in it runs; it has a title for whoever cannot see it."""

    run: Run
    title: str
    named: tuple[str, ...]
    """The users with a line of their own."""
    others: tuple[str, ...]
    edges: tuple[float, ...]
    """The left edge of each column, and the right edge of the last."""
    scale: Scale
    marks: tuple[tuple[str, str, Fraction], ...]
    """What is marked at the first wrong answer: the sign, its words, and where it stands."""

    def svg(self) -> str:
        """The picture."""
        lanes, height = _lanes(self)
        width = self.edges[-1] + RIGHT
        parts = [
            f'<svg class="run" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{text(self.title)}">',
            *_fault(self, height),
            _band(self),
            *_axis(self),
            *_lines(self),
            *_starts(self),
            *_marks(self),
            *_names(self),
            *lanes,
            "</svg>",
        ]
        return "\n".join(parts)

    @property
    def states(self) -> list[State]:
        """Before the first event, and after each."""
        return states_of(self.run)

    def centre(self, place: int) -> float:
        """The middle of a column."""
        return round((self.edges[place] + self.edges[place + 1]) / 2, 1)

    def colour(self, user: str) -> str:
        """The colour of a user; of the ink where it has no line of its own."""
        return COLOURS[self.named.index(user)] if user in self.named else "var(--dim)"

    def shift(self, user: str) -> float:
        """Pixels by which a line is moved, so that lines at the same value are all seen."""
        step = min(2.6, 9 / len(self.named)) if user in self.named else 0
        return round((self.named.index(user) - (len(self.named) - 1) / 2) * step, 1) if step else 0.0


def picture(run: Run, title: str) -> Picture:
    """The picture of a run that has at least one moment."""
    marks = tuple(_marked(run))
    users = _users(run)
    named, others = tuple(sorted(users[:NAMED])), tuple(users[NAMED:])
    states = states_of(run)
    values = {value for _, _, value in marks}
    for state, moment in zip(states, (run.moments[0], *run.moments), strict=True):
        values |= {state.v, state.v + moment.greatest, *(state.meter[user] for user in named if user in state.meter)}
        values |= {state.meter[user] for user in others if _counts(state, user)}
    last = run.moments[-1]
    telling = {value for _, _, value in marks} | {last.before.v} if last.is_wrong else set()
    if any(kind == "told" for kind, _, _ in marks):
        telling |= {last.after.v, *(last.after.meter[user] for user in _off(last))}
    scaled = scale(values, telling, TOP + HEIGHT - 8, TOP + 10)
    return Picture(run, title, named, others, _edges(run), scaled, marks)


def states_of(run: Run) -> list[State]:
    """The states that are drawn: before the first event, and after each."""
    return [run.moments[0].before, *(moment.after for moment in run.moments)]


def _users(run: Run) -> list[str]:
    """All users, those first of whom the run tells most."""
    last = run.moments[-1]
    seen = Counter(owner for moment in run.moments for owner in moment.owners.values())
    seen.update(
        event.user for moment in run.moments for event in moment.events if isinstance(event, Arrive | SetWeight)
    )
    first = {*last.owners.values()} if last.is_wrong else set()
    first |= set(_off(last)) if last.is_wrong else set()
    return sorted(last.after.meter, key=lambda user: (user not in first, -seen[user], user))


def _off(moment: Moment) -> list[str]:
    """The users of whom another lag was told than they have."""
    if moment.told.lag is UNSET:
        return []
    found = []
    for user, meter in sorted(moment.after.meter.items()):
        lag = moment.told.lag.get(user, Fraction(0))
        if isinstance(lag, float) or max(lag, Fraction(0)) != max(meter - moment.after.v, Fraction(0)):
            found.append(user)
    return found


def _marked(run: Run) -> Iterator[tuple[str, str, Fraction]]:
    last = run.moments[-1]
    if run.wrong is None or not last.is_wrong:
        return
    told = last.told
    is_lag = isinstance(last.events[0], Dispatch) and told.dispatched in last.due
    if isinstance(last.events[0], Dispatch) and not is_lag:
        for request in last.due:
            yield "due", f"{request} was due", last.before.meter[last.owners[request]]
        if isinstance(told.dispatched, str) and told.dispatched in last.owners:
            yield "sent", f"{told.dispatched} was sent", last.before.meter[last.owners[told.dispatched]]
    elif told.lag is not UNSET and run.wrong.claims != ("R-REFUSE",):
        for user in _off(last)[:3]:
            lag = told.lag.get(user, Fraction(0))
            if not isinstance(lag, float):
                yield "told", f"{user} as told", last.after.v + lag


def _edges(run: Run) -> tuple[float, ...]:
    columns = len(run.moments)
    fault = FAULT if run.moments[-1].is_wrong else 0
    room = FULL - LEFT - RIGHT - fault
    width = round(min(WIDEST, room / max(1, columns - bool(fault))), 1)
    edges = [round(LEFT + width * place, 1) for place in range(columns + (not fault))]
    return (*edges, edges[-1] + fault) if fault else tuple(edges)


# The plot


def _fault(drawn: Picture, height: float) -> Iterator[str]:
    if drawn.run.moments[-1].is_wrong:
        left, right = drawn.edges[-2:]
        yield f'<rect class="fault" x="{left}" y="0" width="{right - left:.1f}" height="{height:g}"/>'
        yield f'<text class="bad" x="{(left + right) / 2:.1f}" y="20" text-anchor="middle">first wrong answer</text>'


def _axis(drawn: Picture) -> Iterator[str]:
    left, right, bottom = LEFT, drawn.edges[-1], TOP + HEIGHT
    for value in drawn.scale.ticks:
        y = drawn.scale.at(value)
        yield f'<line x1="{left}" x2="{right}" y1="{y}" y2="{y}" class="grid"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{text(drawn.scale.tick(value))}</text>'
    yield f'<line x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}" class="axis"/>'
    yield f'<text class="dim" x="{left - 6}" y="20" text-anchor="end">meter S</text>'


def _band(drawn: Picture) -> str:
    moments = (drawn.run.moments[0], *drawn.run.moments)
    lower = _steps(drawn, [drawn.scale.at(state.v) for state in drawn.states])
    tops = [state.v + moment.greatest for state, moment in zip(drawn.states, moments, strict=True)]
    upper = _steps(drawn, [drawn.scale.at(top) for top in tops])
    path = " ".join(f"{x},{y}" for x, y in (*lower, *reversed(upper)))
    return f'<polygon class="band" points="{path}"><title>v to v + c_max</title></polygon>'


def _steps(drawn: Picture, heights: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of a line that holds each height from the middle of one column to the middle of the next."""
    middles = [drawn.centre(place) for place in range(len(drawn.run.moments))]
    turns = [drawn.edges[0], *middles, drawn.edges[-1]]
    return [(turns[place + side], y) for place, y in enumerate(heights) for side in (0, 1)]


def _lines(drawn: Picture) -> Iterator[str]:
    for pick in (min, max) if drawn.others else ():
        yield from _line(drawn, partial(_of_others, drawn, pick), lambda state: "rest", "var(--dim)")
    for user in drawn.named:
        meter, kind = partial(_meter, user), partial(_kind, user)
        yield from _line(drawn, meter, kind, drawn.colour(user), drawn.shift(user))
    yield from _line(drawn, lambda state: state.v, lambda state: "v", "var(--ink)")


def _meter(user: str, state: State) -> Fraction | None:
    return state.meter.get(user)


def _kind(user: str, state: State) -> str:
    return "waits" if state.waiting.get(user) else "idle"


def _of_others(drawn: Picture, pick: Callable[..., Fraction], state: State) -> Fraction | None:
    """The least or greatest meter of the others, of those that count: who waits, or is ahead of v."""
    return pick((state.meter[user] for user in drawn.others if _counts(state, user)), default=None)


def _counts(state: State, user: str) -> bool:
    return state.waiting.get(user, False) or state.meter.get(user, state.v) > state.v


def _line(
    drawn: Picture,
    value: Callable[[State], Fraction | None],
    kind_of: Callable[[State], str],
    colour: str,
    shift: float = 0,
) -> Iterator[str]:
    """A line, in pieces of one kind each."""
    held: list[tuple[float, float]] = []
    kind = ""
    for place, state in enumerate(drawn.states):
        at = value(state)
        if at is None:
            if held:
                yield _piece(held, colour, kind)
            held = []
            continue
        y = round(drawn.scale.at(at) + shift, 1)
        left = drawn.edges[0] if place == 0 else drawn.centre(place - 1)
        right = drawn.centre(place) if place < len(drawn.states) - 1 else drawn.edges[-1]
        if held and kind_of(state) != kind:
            yield _piece([*held, (left, y)], colour, kind)
            held = []
        kind = kind_of(state)
        held += [(left, y), (right, y)]
    if held:
        yield _piece(held, colour, kind)


def _piece(corners: Sequence[tuple[float, float]], colour: str, kind: str) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in dict.fromkeys(corners))
    return f'<polyline class="{kind}" points="{path}" stroke="{colour}"/>'


def _starts(drawn: Picture) -> Iterator[str]:
    """A dot at the start tag of each dispatch."""
    for place, moment in enumerate(drawn.run.moments):
        user = moment.owners.get(str(moment.told.dispatched))
        if user is not None and not moment.is_wrong:
            y = round(drawn.scale.at(moment.before.meter[user]) + drawn.shift(user), 1)
            yield f'<circle cx="{drawn.centre(place)}" cy="{y}" r="4" fill="{drawn.colour(user)}"/>'


def _marks(drawn: Picture) -> Iterator[str]:
    heights = [drawn.scale.at(value) for _, _, value in drawn.marks]
    middle = drawn.centre(len(drawn.run.moments) - 1)
    for (kind, words, _), y, beside in zip(drawn.marks, heights, _apart(heights, 15), strict=True):
        x = round(middle + 52 if kind == "told" else middle - 52, 1)
        cross, ring = (
            f"M{x - 5:.1f},{y - 5:.1f} l10,10 m0,-10 l-10,10",
            f"M{x - 6:.1f},{y} a6,6 0 1 0 12,0 a6,6 0 1 0 -12,0",
        )
        sign = ring if kind == "due" else cross
        where = f'x="{x - 12:.1f}" text-anchor="end"' if kind == "told" else f'x="{x + 12:.1f}"'
        yield f'<path class="{kind}" d="{sign}"/>'
        yield f'<text class="{kind}" {where} y="{beside + 4:.1f}">{text(cut(words))}</text>'


def _names(drawn: Picture) -> Iterator[str]:
    """What each line is, at its right end."""
    last = drawn.run.moments[-1]
    rows = [(drawn.scale.at(last.after.v), "var(--ink)", f"v = {drawn.scale.written(last.after.v)}")]
    for user in drawn.named:
        if user in last.after.meter:
            at = last.after.meter[user]
            told = f"{cut(user, 10)} = {drawn.scale.written(at)}"
            rows.append((drawn.scale.at(at) + drawn.shift(user), drawn.colour(user), told))
    if last.greatest:
        top = last.after.v + last.greatest
        rows.append((drawn.scale.at(top), "var(--band)", f"v + c_max = {drawn.scale.written(top)}"))
    if drawn.others:
        for pick, what in ((min, "least"), (max, "greatest")):
            of = _of_others(drawn, pick, last.after)
            if of is not None:
                rows.append((drawn.scale.at(of), "var(--dim)", f"{what} of {len(drawn.others):,} others"))
    rows.sort(key=lambda row: row[0])
    x = drawn.edges[-1]
    for (y, colour, told), beside in zip(rows, _apart([y for y, _, _ in rows], 15), strict=True):
        yield f'<path class="lead" d="M{x + 2},{y:.1f} L{x + 12},{beside:.1f}"/>'
        yield f'<rect x="{x + 14}" y="{beside - 4:.1f}" width="8" height="8" fill="{colour}"/>'
        yield f'<text x="{x + 27}" y="{beside + 4:.1f}">{text(told)}</text>'


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """The same heights, moved so that none is nearer to another than `least`, and all are in the plot."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    moved = list(heights)
    for above, place in pairwise(order):
        moved[place] = max(moved[place], moved[above] + least)
    lowest: float = TOP + HEIGHT
    for place in reversed(order):
        moved[place] = lowest = min(moved[place], lowest)
        lowest -= least
    return moved


# The rows below


def _lanes(drawn: Picture) -> tuple[list[str], float]:
    """The numbers of the events, the events, what was sent and what was due; and where the picture ends."""
    columns = drawn.run.moments
    y: float = TOP + HEIGHT + 16
    parts = [f'<text class="dim" x="{LEFT - 6}" y="{y}" text-anchor="end">event</text>']
    narrow = min(right - left for left, right in pairwise(drawn.edges)) < 30
    for place, moment in enumerate(columns):
        if not narrow or moment.is_wrong or (place % 5 == 0 and place < len(columns) - 2):
            number = f"{moment.first}" if moment.first == moment.last else f"{moment.first}–{moment.last}"
            shown = number if not narrow else f"{moment.first}"
            parts.append(f'<text class="dim" x="{drawn.centre(place)}" y="{y}" text-anchor="middle">{shown}</text>')
    y += 8
    for name, words, kind in (("", label, "bad"), ("answer", answered, "sent"), ("due", expected, "due")):
        cells = [(words(moment), moment) for moment in columns]
        made, y = _lane(drawn, cells, y, kind if name == "" or answered(columns[-1]) != expected(columns[-1]) else "")
        parts.append(
            f'<text class="dim" x="{LEFT - 6}" y="{(y + made[0]) / 2 + 4:.1f}" text-anchor="end">{name}</text>'
        )
        parts += made[1]
    return parts, y + 4


def _lane(
    drawn: Picture, cells: Sequence[tuple[str, Moment]], y: float, kind_of_wrong: str
) -> tuple[tuple[float, list[str]], float]:
    texts = [cut(told) for told, _ in cells]
    widths = [right - left for left, right in pairwise(drawn.edges)]
    turned = any(len(told) * LETTER > width - 4 for told, width in zip(texts, widths, strict=True))
    longest = max((len(told) for told, (_, m) in zip(texts, cells, strict=True) if not m.is_wrong), default=0)
    height = longest * LETTER + 10 if turned else 20.0
    parts = [f'<line x1="{LEFT}" x2="{drawn.edges[-1]}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>']
    for place, (told, (whole, moment)) in enumerate(zip(texts, cells, strict=True)):
        if not told:
            continue
        x = drawn.centre(place)
        kind = f' class="{kind_of_wrong}"' if moment.is_wrong else ""
        middle = y + height / 2 + 4
        where = f'x="{x}" y="{middle:.1f}" text-anchor="middle"'
        if turned and not moment.is_wrong:
            where = f'text-anchor="end" transform="translate({x + 4:.1f} {y + 5:.1f}) rotate(-90)"'
        parts.append(f"<text{kind} {where}>{text(told)}<title>{text(whole)}</title></text>")
    return (y, parts), y + height
