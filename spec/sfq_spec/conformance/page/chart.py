"""Line charts as inline SVG, drawn by hand: a few lines, axes with round numbers, a legend, marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 860, 320
LEFT, RIGHT, TOP, BOTTOM = 84, 200, 16, 46
COLOURS = ("#3b6fb6", "#d1702f", "#3a8f52", "#b3404a", "#7d5fa8", "#8a6a4f", "#c063a0", "#5f7f2a", "#2f8f9d", "#a08a1e")
GREY = "#8b8f98"

Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """A named line; as steps where a value holds until the next, or only points."""

    name: str
    points: Sequence[Point]
    colour: str
    as_points: bool = False


@dataclass(frozen=True)
class Level:
    """A dashed horizontal line."""

    name: str
    value: float


@dataclass(frozen=True)
class Span:
    """A stretch of the x axis that is shaded."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Chart:
    """One chart. Nothing in it runs: it is a picture, with a title for whoever cannot see it."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    levels: Sequence[Level] = ()
    spans: Sequence[Span] = ()

    def svg(self) -> str:
        """The picture."""
        points = [point for curve in self.curves for point in curve.points]
        xs = [x for x, _ in points] + [x for span in self.spans for x in (span.begin, span.end)]
        ys = [y for _, y in points] + [level.value for level in self.levels]
        x_axis = Axis(min(xs, default=0.0), max(xs, default=1.0), LEFT, WIDTH - RIGHT)
        y_axis = Axis(0.0, max(ys, default=1.0), HEIGHT - BOTTOM, TOP)
        parts = [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title, quote=True)}">',
            *(_span(span, x_axis) for span in self.spans),
            *_grid(x_axis, y_axis, self.x_label, self.y_label),
            *(_curve(curve, x_axis, y_axis) for curve in self.curves),
            *(_level(level, y_axis) for level in self.levels),
            *_legend(self.curves, self.spans),
            "</svg>",
        ]
        return "\n".join(parts)


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` on pixels from `begin` to `end`; the values end at round numbers."""

    low: float
    high: float
    begin: float
    end: float

    @property
    def step(self) -> float:
        """A round number: about five of it fit on the axis."""
        rough = ((self.high - self.low) or 1.0) / 5
        power: float = 10.0 ** floor(log10(rough))
        return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)

    @property
    def ticks(self) -> list[float]:
        """Where the axis has numbers."""
        step = self.step
        return [step * n for n in range(ceil(self.low / step), floor(self.high / step + 1e-9) + 1)]

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return round(self.begin + (self.end - self.begin) * (value - self.low) / ((self.high - self.low) or 1.0), 1)


def _grid(x_axis: Axis, y_axis: Axis, x_label: str, y_label: str) -> list[str]:
    parts = []
    for value in y_axis.ticks:
        y = y_axis.at(value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_number(value)}</text>')
    for value in x_axis.ticks:
        x = x_axis.at(value)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}" class="axis"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_number(value)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}" class="axis"/>')
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    turned = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{turned}" text-anchor="middle" transform="rotate(-90 14 {turned})">{escape(y_label)}</text>'
    )
    return parts


def _curve(curve: Curve, x_axis: Axis, y_axis: Axis) -> str:
    places = [(x_axis.at(x), y_axis.at(y)) for x, y in curve.points]
    if curve.as_points:
        dots = "".join(f'<circle cx="{x}" cy="{y}" r="2.5"/>' for x, y in places)
        return f'<g fill="{curve.colour}">{dots}</g>'
    path = " ".join(f"{x},{y}" for x, y in places)
    return f'<polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="1.6"/>'


def _level(level: Level, y_axis: Axis) -> str:
    y = y_axis.at(level.value)
    below = y < TOP + 14
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="level"/>'
        f'<text x="{LEFT + 6}" y="{y + 14 if below else y - 5}">{escape(level.name)}</text>'
    )


def _span(span: Span, x_axis: Axis) -> str:
    begin, end = x_axis.at(span.begin), x_axis.at(span.end)
    return (
        f'<rect x="{begin}" y="{TOP}" width="{max(1.0, round(end - begin, 1))}" '
        f'height="{HEIGHT - TOP - BOTTOM}" class="span"><title>{escape(span.name)}</title></rect>'
    )


def _legend(curves: Sequence[Curve], spans: Sequence[Span]) -> list[str]:
    parts = []
    x, y = WIDTH - RIGHT + 16, TOP + 10
    for curve in curves:
        parts.append(f'<rect x="{x}" y="{y - 7}" width="14" height="4" fill="{curve.colour}"/>')
        parts.append(f'<text x="{x + 20}" y="{y}">{escape(_short(curve.name))}</text>')
        y += 20
    for span in spans:
        parts.append(f'<rect x="{x}" y="{y - 10}" width="14" height="12" class="span"/>')
        parts.append(f'<text x="{x + 20}" y="{y}">{escape(_short(span.name))}</text>')
        y += 20
    return parts


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:22] + "…"


def _number(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{round(value, 9):g}"
