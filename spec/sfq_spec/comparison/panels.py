"""Small pictures that stand side by side on common axes, as inline SVG: lines over time, boxes of waits, an order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, log1p, log10

from sfq_spec.conformance.page.chart import Axis, Point
from sfq_spec.conformance.page.document import text

WIDTH, HEIGHT = 320, 128
LEFT, RIGHT, TOP, BOTTOM = 40, 10, 8, 20
CELL = 10
"""Pixels of a square in an order."""


@dataclass(frozen=True)
class Line:
    """A named line."""

    name: str
    points: Sequence[Point]
    colour: str


@dataclass(frozen=True)
class Frame:
    """The axes that all pictures of a column have in common: values from 0 up."""

    end: float
    """The greatest value on the axis of time."""
    top: float
    """The greatest value of any line."""
    is_log: bool = False
    """Whether great values stand closer than small ones: as the logarithm of one more than the value."""

    @property
    def across(self) -> Axis:
        """Time."""
        return Axis(0.0, self.end or 1.0, LEFT, WIDTH - RIGHT)

    def height(self, value: float) -> float:
        """The pixel of a value."""
        scaled: Callable[[float], float] = log1p if self.is_log else float
        return Axis(0.0, scaled(self.top or 1.0), HEIGHT - BOTTOM, TOP).at(scaled(value))

    @property
    def ticks(self) -> list[float]:
        """The values that have a number."""
        if not self.is_log:
            ticks = Axis(0.0, self.top or 1.0, HEIGHT - BOTTOM, TOP).ticks
            return ticks if len(ticks) < 5 else ticks[::2]
        powers = [10.0**power for power in range(1, floor(log10(max(self.top, 1))) + 1)]
        return [0.0, 2.0, *powers] if self.top > 4 else [0.0, 1.0, 2.0]


def lines(title: str, frame: Frame, drawn: Sequence[Line], level: float | None = None) -> str:
    """Lines over time; a dashed one at a level."""
    parts = [*_start(title, HEIGHT), *_heights(frame), *_times(frame.across, HEIGHT)]
    if level is not None and level <= frame.top:
        y = frame.height(level)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="level"/>')
    for line in reversed(drawn):
        places = dict.fromkeys((frame.across.at(x), frame.height(y)) for x, y in line.points)
        path = " ".join(f"{x:g},{y:g}" for x, y in places)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="1.8" stroke-linejoin="round">'
            f"<title>{text(line.name)}</title></polyline>"
        )
    return "\n".join([*parts, "</svg>"])


@dataclass(frozen=True)
class Box:
    """The waits of some users, ascending: a thin line over all, a thick one over the middle half, marks."""

    name: str
    figures: tuple[float, float, float, float, float, float]
    """The shortest, a quarter, the median, three quarters, 95 of 100, the longest."""
    is_open: bool
    """Whether some last on."""
    told: str


def boxes(title: str, end: float, drawn: Sequence[Box]) -> str:
    """Waits of each group in a row of its own."""
    across = Axis(0.0, end or 1.0, LEFT + 6, WIDTH - RIGHT - 4)
    parts = [*_start(title, HEIGHT), *_times(across, HEIGHT)]
    room = (HEIGHT - TOP - BOTTOM) / max(1, len(drawn))
    for place, box in enumerate(drawn):
        y = round(TOP + room * (place + 0.5), 1)
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{text(box.name)}</text>')
        parts.append(_box(box, across, y))
    return "\n".join([*parts, "</svg>"])


def order(title: str, cells: Sequence[tuple[str, str]]) -> str:
    """A row of squares: a name and a colour each."""
    width = CELL * max(1, len(cells))
    squares = "".join(
        f'<rect x="{place * CELL}" y="0" width="{CELL - 1}" height="{CELL + 4}" fill="{colour}">'
        f"<title>{place + 1}: {text(name)}</title></rect>"
        for place, (name, colour) in enumerate(cells)
    )
    return (
        f'<svg class="order" width="{width}" height="{CELL + 4}" viewBox="0 0 {width} {CELL + 4}" role="img" '
        f'aria-label="{text(title)}">{squares}</svg>'
    )


def number(value: float) -> str:
    """A number on an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:g}"


def _start(title: str, height: float) -> Iterator[str]:
    yield f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(title)}">'


def _heights(frame: Frame) -> Iterator[str]:
    for value in frame.ticks:
        y = frame.height(value)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="grid"/>'
        yield f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>'


def _times(across: Axis, height: float) -> Iterator[str]:
    y = height - BOTTOM
    yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="axis"/>'
    ticks = across.ticks
    for place, value in enumerate(ticks):
        x = across.at(value)
        is_last = place == len(ticks) - 1
        unit, anchor = (" s", "end") if is_last and x > WIDTH - RIGHT - 14 else (" s" if is_last else "", "middle")
        end = x + 8 if anchor == "end" else x
        yield f'<line x1="{x}" x2="{x}" y1="{y}" y2="{y + 4}" class="axis"/>'
        yield f'<text x="{end}" y="{y + 16}" text-anchor="{anchor}">{number(round(value, 9))}{unit}</text>'


def _box(box: Box, across: Axis, y: float) -> str:
    shortest, quarter, median, three_quarters, most, longest = map(across.at, box.figures)
    end = (
        f'<path d="M{longest - 4},{y - 5} l5,5 l-5,5" fill="none" stroke-width="2"/>'
        if box.is_open
        else f'<circle cx="{longest}" cy="{y}" r="3.5"/>'
    )
    return (
        f'<g class="box"><title>{text(box.told)}</title>'
        f'<line x1="{shortest}" x2="{longest}" y1="{y}" y2="{y}" stroke-width="1.5"/>'
        f'<rect x="{quarter}" y="{y - 7}" width="{max(1.5, round(three_quarters - quarter, 1))}" height="14" '
        f'rx="2" fill-opacity=".45" stroke="none"/>'
        f'<line x1="{most}" x2="{most}" y1="{y - 7}" y2="{y + 7}" stroke-width="1.5"/>{end}'
        f'<line class="median" x1="{median}" x2="{median}" y1="{y - 9}" y2="{y + 9}" stroke-width="3"/></g>'
    )
