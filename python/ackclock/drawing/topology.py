"""The picture of a topology: links with what they do to packets, and the routes of flows in colour."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.drawing.picture import drawable, write_file
from ackclock.drawing.style import NEUTRAL, RC, dash, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ackclock.scenario.display.sketch import DrawnRoute, Line, Sketch

Point = tuple[float, float]

_LENGTH = 1.65  # inches of a link
_MARGIN, _BELOW = 0.55, 0.42  # around it all, inches
_APART, _WIDEST = 0.055, 0.4  # between the routes of flows over one link, and of all of them, inches
_LINK, _PALE = "#D4D4D4", "#F7F7F7"
_TEXT = 6.0


def save(drawn: Sketch, path: str | os.PathLike[str]) -> Path:
    """Draw a topology into a file of the kind its name says: PNG, SVG or PDF. The same topology gives the same file."""
    file = drawable(path)
    with mpl.rc_context(RC):
        write_file(draw(drawn), file)
    return file


def draw(drawn: Sketch) -> Figure:
    """The figure. Call it within the settings of :data:`ackclock.drawing.style.RC`."""
    spots = {place.name: _inches(place.at) for place in drawn.places}
    every = [*spots.values(), *(_inches(bend) for line in drawn.lines for bend in line.bends)]
    left, right = min(x for x, _ in every) - _MARGIN, max(x for x, _ in every) + _MARGIN
    most = max(len(line.words) for line in drawn.lines)
    low, high = min(y for _, y in every) - _BELOW, max(y for _, y in every) + _MARGIN + 0.1 * max(0, most - 3)
    legend = 0.16 * math.ceil(len(drawn.routes) / 4) + 0.12
    figure = Figure(figsize=(right - left, high - low + legend))
    share = legend / (high - low + legend)
    axes = figure.add_axes((0.0, share, 1.0, 1.0 - share))
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_axis_off()
    lines = {line.ends: [spots[line.ends[0]], *map(_inches, line.bends), spots[line.ends[1]]] for line in drawn.lines}
    users = _users(drawn.routes, lines)
    looks = _looks(drawn.routes)
    hosts = {place.name for place in drawn.places if place.host}
    for line in drawn.lines:
        # Lines of a fan are apart where their hosts are.
        along = 0.5 + 0.12 * ((line.ends[1] in hosts) - (line.ends[0] in hosts))
        _link(axes, line, lines[line.ends], len(users[line.ends]), along)
    for number, route in enumerate(drawn.routes):
        _route(axes, number, route, lines, users, looks[number])
    for place in drawn.places:
        _place(axes, place.name if _named(place.name) else "", spots[place.name], host=place.host)
    handles = [
        Line2D([], [], color=colour, linestyle=dash, linewidth=1.4, label=f"{_flows(route.flows)}: {route.cc}")
        for route, (colour, dash) in zip(drawn.routes, looks, strict=True)
    ]
    figure.legend(handles=handles, loc="lower center", ncols=min(4, len(handles)))
    return figure


def _flows(numbers: str) -> str:
    return f"flows {numbers}" if " " in numbers else f"flow {numbers}"


def _named(name: str) -> bool:
    """Whether a place has a name of its own: those of a row are called by what they are, and nothing is gained."""
    return " " not in name


def _inches(point: Point) -> Point:
    return point[0] * _LENGTH, point[1] * _LENGTH


def _users(routes: Sequence[DrawnRoute], lines: dict[tuple[str, str], list[Point]]) -> dict[tuple[str, str], list[int]]:
    """Which routes pass each line."""
    users: dict[tuple[str, str], list[int]] = {ends: [] for ends in lines}
    for number, route in enumerate(routes):
        for ends in itertools.pairwise(route.stops):
            users[ends if ends in users else ends[::-1]].append(number)
    return users


def _looks(routes: Sequence[DrawnRoute]) -> list[tuple[str, Any]]:
    """A colour for each controller, a line style for each group of flows that has it."""
    seen: dict[str, int] = {}
    result = []
    for route in routes:
        before = seen[route.cc] = seen.get(route.cc, -1) + 1
        result.append((look(route.cc).colour, dash(before)))
    return result


def _link(axes: Axes, line: Line, points: Sequence[Point], users: int, along: float) -> None:
    """A link with its words, which stand so far along it."""
    xs, ys = zip(*points, strict=True)
    width = 1.5 + 72 * _apart(users) * max(users, 1)
    if line.delay:
        axes.plot(xs, ys, color=_LINK, linewidth=1.2, linestyle=(0, (3, 2)), zorder=1)
    else:
        axes.plot(xs, ys, color=_LINK, linewidth=width, solid_capstyle="round", zorder=1, gid=_id("link", *line.ends))
    middle = (len(points) - 1) // 2
    one, other = points[middle], points[middle + 1]
    along = 0.5 if one[1] == other[1] else along
    x, y = one[0] + along * (other[0] - one[0]), one[1] + along * (other[1] - one[1])
    (x0, y0), (x1, y1) = sorted((one, other))
    away = (width / 2 + 2) / 72
    if abs(x1 - x0) < abs(y1 - y0) / 2:  # steep: below its lower end, which is a host
        under = "\n".join((*line.words, *line.back)).replace(", ", "\n")
        low = min(one, other, key=lambda point: point[1])
        axes.text(low[0], low[1] - 0.1, under, fontsize=_TEXT, color=NEUTRAL, ha="center", va="top", zorder=4)
        return
    angle = math.atan2(y1 - y0, x1 - x0)
    # Below a sloping line is often the next one of a fan.
    texts = (
        ((line.words, 1, "bottom"), (line.back, -1, "top")) if angle == 0 else ((line.words + line.back, 1, "bottom"),)
    )
    for text, side, align in texts:
        axes.text(
            x - side * away * math.sin(angle),
            y + side * away * math.cos(angle),
            "\n".join(text),
            fontsize=_TEXT,
            color=NEUTRAL,
            ha="center",
            va=align,
            rotation=math.degrees(angle),
            rotation_mode="anchor",
            linespacing=1.15,
            zorder=4,
        )


def _route(
    axes: Axes,
    number: int,
    route: DrawnRoute,
    lines: dict[tuple[str, str], list[Point]],
    users: dict[tuple[str, str], list[int]],
    style: tuple[str, Any],
) -> None:
    """The route of a group: beside those of others where they share a line."""
    xs: list[float] = []
    ys: list[float] = []
    for ends in itertools.pairwise(route.stops):
        along = ends in lines
        key = ends if along else ends[::-1]
        order = users[key].index(number)
        aside = _apart(len(users[key])) * ((len(users[key]) - 1) / 2 - order)
        moved = _moved(lines[key], aside)
        for x, y in moved if along else moved[::-1]:
            xs.append(x)
            ys.append(y)
    colour, dash = style
    axes.plot(xs, ys, color=colour, linestyle=dash, linewidth=1.4, zorder=2, gid=_id("flows", route.flows))
    end, before = (xs[-1], ys[-1]), (xs[-2], ys[-2])
    size = math.hypot(end[0] - before[0], end[1] - before[1])
    tip, tail = (
        (end[0] - back * (end[0] - before[0]) / size, end[1] - back * (end[1] - before[1]) / size)
        for back in (0.07, 0.2)
    )
    arrow = {"arrowstyle": "-|>,head_length=0.5,head_width=0.25", "color": colour, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=tip, xytext=tail, arrowprops=arrow, zorder=3)


def _id(*words: str) -> str:
    """The name of a part of an SVG, which has no blanks."""
    return " ".join(words).replace(" ", "-")


def _apart(users: int) -> float:
    return min(_APART, _WIDEST / max(users, 1))


def _moved(points: Sequence[Point], aside: float) -> list[Point]:
    """A line moved to its left by so many inches."""
    result: list[Point] = []
    for index, (x, y) in enumerate(points):
        one, other = points[max(0, index - 1)], points[min(len(points) - 1, index + 1)]
        dx, dy = other[0] - one[0], other[1] - one[1]
        size = math.hypot(dx, dy)
        result.append((x - aside * dy / size, y + aside * dx / size))
    return result


def _place(axes: Axes, name: str, at: Point, *, host: bool) -> None:
    marker, size = ("s", 8) if host else ("o", 10)
    axes.plot(
        *([coordinate] for coordinate in at),
        marker=marker,
        markersize=size,
        markerfacecolor=_PALE,
        markeredgecolor=NEUTRAL,
        markeredgewidth=0.8,
        zorder=5,
    )
    if name:
        axes.text(at[0], at[1] - 0.12, name, fontsize=_TEXT + 1, ha="center", va="top", zorder=6)
