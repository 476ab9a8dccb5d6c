"""What stands in a panel besides lines: values of runs at names, ellipses in a plane, stacked areas, and grids."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch

from ackclock.drawing.chart import Box, Chart, Cloud, Curve, Grid
from ackclock.drawing.frame import whole
from ackclock.drawing.style import NEUTRAL, Style
from ackclock.drawing.wrapping import ENTRY, fitted, inches, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "///", "\\\\\\", "xxx", "---", "+++", "|||")  # no dots, which make a vector file heavy
QUARTILES = 5
"""Values of which quartiles say more than the values themselves."""
_HALF = 0.3  # of the room of a name: half the height of a box
_SPREAD = 0.11  # how far values stand from the line of all
_VALUES, _MEAN = 0.14, -0.13  # of the room of a name: where the values are, and the mean with its interval
_MOST_LETTERS = 8  # of the number in a cell
_LETTER, _SLANTED = 0.12, 0.18  # inches of a line of names at an axis, upright and turned


def boxes(axes: Axes, found: Sequence[Box], styles: Mapping[str, Style]) -> None:
    """The runs as dots, their quartiles as a box, and above the dots their mean, with its interval."""
    for box in found:
        style = styles[box.label].line()
        colour, values = style["color"], sorted(box.values)
        if len(values) >= QUARTILES and values[0] < values[-1]:
            low, middle, high = np.percentile(values, (25, 50, 75))
            bottom = box.at - _HALF
            axes.barh(
                bottom, high - low, 2 * _HALF, low, align="edge",
                facecolor=colour, alpha=0.18, edgecolor=colour, linewidth=0.6, zorder=1.5,
            )  # fmt: skip
            axes.vlines(middle, bottom, bottom + 2 * _HALF, color=colour, linewidth=1.0, zorder=1.6)
        aside = [_SPREAD * math.sin(2.4 * index) for index in range(len(values))]  # apart, and the same every time
        axes.plot(
            values, [box.at + _VALUES + each for each in aside],
            linestyle="none", marker=".", markersize=2.6, markeredgewidth=0, color=colour, alpha=0.55, zorder=1.7,
        )  # fmt: skip
        if box.low is not None and box.high is not None:
            axes.hlines(box.at + _MEAN, box.low, box.high, color="black", linewidth=1.0, zorder=2.5)
        mean = {**style, "linestyle": "none", "markersize": 5.0}
        whole(axes, *axes.plot([box.mean], [box.at + _MEAN], **mean, zorder=3))


def clouds(axes: Axes, found: Sequence[Cloud], styles: Mapping[str, Style]) -> None:
    """The mean of each algorithm with the ellipse of its runs."""
    for cloud in found:
        style = styles[cloud.label].line()
        if cloud.outline:
            x, y = zip(*cloud.outline, strict=True)
            axes.fill(x, y, facecolor=style["color"], alpha=0.2, linewidth=0, zorder=1.5)
            axes.plot(
                [*x, x[0]], [*y, y[0]], color=style["color"], linewidth=0.8, linestyle=style["linestyle"], zorder=1.6
            )
        dots: dict[str, Any] = {
            "linestyle": "none",
            "marker": ".",
            "markersize": 2.2,
            "markeredgewidth": 0,
            "alpha": 0.5,
        }
        axes.plot(cloud.x, cloud.y, color=style["color"], **dots, zorder=1.7)
        mean = {**style, "linestyle": "none", "markersize": 5.5}
        whole(axes, *axes.plot([cloud.mean[0]], [cloud.mean[1]], **mean, zorder=3))


def area(axes: Axes, curve: Curve, style: Style, number: int) -> None:
    """What lies between the ends of a curve, filled; with a pattern of its own for a print without colours."""
    axes.fill_between(curve.x, curve.low, curve.high, step="mid", **_filled(style, number))


def bars(axes: Axes, x: Sequence[float], y: Sequence[float], width: float, style: Style, number: int) -> None:
    """Bars from 0, with a pattern of their own for a print without colours."""
    axes.bar(x, y, width, zorder=1.5, **_filled(style, number))
    axes.axhline(0, color="black", linewidth=0.6, zorder=1.6)


def area_entry(label: str, style: Style, number: int) -> Patch:
    """Its entry in the legend, or that of bars."""
    return Patch(label=label, **_filled(style, number))


def _filled(style: Style, number: int) -> dict[str, Any]:
    hatch = _HATCHES[number % len(_HATCHES)]
    return {"facecolor": style.look.colour, "edgecolor": "white", "linewidth": 0.4, "hatch": hatch, "alpha": 0.85}


def names(axes: Axes, ticks: Sequence[str], width: float) -> None:
    """The y axis of names, the first on top; long ones in lines of at most so many inches."""
    words = shown(ticks)
    axes.set_yticks(range(len(ticks)), [fitted(words[tick], width, ENTRY) for tick in ticks])
    axes.set_ylim(len(ticks) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def grids(figure: Figure, chart: Chart, drawn: Sequence[Axes], width: float, height: float) -> None:
    """Grids of values with one scale of colours, and the number of each cell where it has room.

    Each is about so many inches wide and high.
    """
    from matplotlib.colors import LogNorm, Normalize

    every = [
        value
        for panel in chart.panels
        if panel.grid
        for row in panel.grid.values
        for value in row
        if math.isfinite(value)
    ]
    scale = chart.z
    if not every or scale is None:
        return
    low = min(every) if scale.low is None else scale.low
    high = max(every) if scale.high is None else scale.high
    positive = [value for value in every if value > 0]
    norm = LogNorm(min(positive), high) if scale.log and positive else Normalize(low, high)
    mesh = None
    for axes, panel in zip(drawn, chart.panels, strict=False):
        if panel.grid is not None:
            mesh = _grid(axes, panel.grid, norm, width, height)
    if mesh is not None:
        bar = figure.colorbar(mesh, ax=list(drawn), label=scale.label, pad=0.02, fraction=0.06)
        bar.outline.set_linewidth(0.4)
        if scale.log:
            from ackclock.drawing.ticks import log_ticks

            bar.ax.yaxis.set_major_formatter("{x:g}")
            bar.set_ticks(log_ticks(min(positive), high) or [high])
            bar.ax.minorticks_off()


def _grid(axes: Axes, grid: Grid, norm: Any, width: float, height: float) -> Any:
    values = np.ma.masked_invalid(np.array(grid.values, dtype=float))
    if getattr(norm, "vmin", 0) and type(norm).__name__ == "LogNorm":
        values = np.ma.masked_less_equal(values, 0)
    edges = np.arange(len(grid.columns) + 1) - 0.5, np.arange(len(grid.rows) + 1) - 0.5
    axes.set_facecolor("#EEEEEE")  # where nothing is known
    mesh = axes.pcolormesh(*edges, values, norm=norm, cmap="viridis", linewidth=0)
    axes.grid(visible=False)
    cell = width / max(1, len(grid.columns))
    longest = max((inches(name, ENTRY) for name in grid.columns), default=0.0)
    every = _every(len(grid.columns), cell, _SLANTED) if longest > 0.92 * cell else 1
    axes.set_xticks(range(0, len(grid.columns), every), grid.columns[::every])
    turned(axes, longest > 0.92 * cell * every)
    every = _every(len(grid.rows), height / max(1, len(grid.rows)), _LETTER)
    axes.set_yticks(range(0, len(grid.rows), every), grid.rows[::every])
    axes.tick_params(length=0)
    words = {
        (x, y): f"{value:.3g}"
        for y, row in enumerate(grid.values)
        for x, value in enumerate(row)
        if math.isfinite(value)
    }
    if words and max(inches(word, 6) for word in words.values()) < 0.9 * cell and len(grid.rows) <= _MOST_LETTERS:
        for (x, y), word in words.items():
            red, green, blue, _ = mesh.cmap(norm(grid.values[y][x]))
            dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
            axes.text(x, y, word, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    return mesh


def _every(count: int, each: float, letter: float) -> int:
    """Of so many names, each with so many inches, every how many have room."""
    return next(step for step in range(1, count + 2) if each * step >= letter or step > count)


def turned(axes: Axes, needed: bool) -> None:
    """Turn the names of an x axis that are too wide to stand side by side, each ending at its place."""
    if needed:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def shaded(axes: Axes, until: float) -> None:
    """The warm-up."""
    if until > 0:
        axes.axvspan(0, until, color="#F0F0F0", linewidth=0, zorder=0)


def nothing(axes: Axes) -> None:
    """What stands in a panel without anything to draw."""
    axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color=NEUTRAL)
