# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Line charts as coordinates, in a space that a phone shows at about its own size; a template turns them into SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 14, 34
TICKS = 4
# Dots make points visible where there are few; many would hide the line.
MOST_DOTS = 40

Point = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Line:
    name: str
    tone: int
    path: str
    dots: tuple[Point, ...]


@dataclass(frozen=True)
class Band:
    """A span of the x axis with a name, such as a stage."""

    x: float
    width: float
    label: str


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    bands: tuple[Band, ...]

    width, height = WIDTH, HEIGHT
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM


def chart(
    title: str,
    x_label: str,
    lines: Sequence[tuple[str, Sequence[Point]]],
    y_form: Callable[[float], str],
    x_form: Callable[[float], str] = "{:,.0f}".format,
    bands: Sequence[tuple[float, float, str]] = (),
    y_most: float | None = None,
) -> Chart | None:
    """A chart of named lines; the y axis begins at 0 and goes to ``y_most`` or what is needed. None without two x."""
    points = [point for _name, line in lines for point in line]
    xs = sorted({x for x, _y in points})
    if len(xs) < 2:
        return None
    first, last = xs[0], xs[-1]
    top, step = _scale(max(y for _x, y in points)) if y_most is None else (y_most, y_most / TICKS)

    def x_at(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - first) / (last - first)

    def y_at(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(y, top) / top)

    return Chart(
        title=title,
        x_label=x_label,
        lines=tuple(
            _line(name, tone, [(x_at(x), y_at(y)) for x, y in line]) for tone, (name, line) in enumerate(lines)
        ),
        x_ticks=tuple(Tick(x_at(x), x_form(x)) for x in _spread(xs)),
        y_ticks=tuple(Tick(y_at(number * step), y_form(number * step)) for number in range(round(top / step) + 1)),
        bands=tuple(
            Band(x_at(max(start, first)), x_at(min(end, last)) - x_at(max(start, first)), label)
            for start, end, label in bands
            if end > first and start < last
        ),
    )


def _line(name: str, tone: int, places: Sequence[Point]) -> Line:
    path = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(places))
    return Line(name, tone, path, tuple(places) if len(places) <= MOST_DOTS else ())


def _scale(most: float) -> tuple[float, float]:
    """A round end of an axis at or above ``most``, and the round step that leads there."""
    if most <= 0:
        return 1.0, 1.0
    rough = most / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    return math.ceil(most / step * 0.999) * step, step


def _spread(xs: Sequence[float]) -> list[float]:
    """Values to name on the x axis: all of a few, else some at even distances."""
    if len(xs) <= 6:
        near = (xs[-1] - xs[0]) / 9
        shown = [xs[-1]]
        for x in reversed(xs[:-1]):
            if shown[-1] - x >= near:
                shown.append(x)
        return shown[::-1]
    return [xs[0] + (xs[-1] - xs[0]) * number / TICKS for number in range(TICKS + 1)]
