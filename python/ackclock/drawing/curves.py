"""Curves over time or over a swept value, in panels side by side: the figures of studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.drawing.figures import write
from ackclock.drawing.style import DASHES, NEUTRAL, RC, Look, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACROSS = 3  # panels in a row
_SIZE = {1: (4.4, 3.0), 2: (6.4, 2.9), 3: (7.6, 2.7)}  # inches of a row, by its panels
_TICKS = 8  # values of a logarithmic axis that are each named
_MARKERS = 9  # per line, at most


@dataclass(frozen=True, slots=True)
class Curve:
    """A line. `low` and `high` are the ends of the intervals, where there are any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Straight:
    """A straight line at an x or a y, such as a number of a paper."""

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes."""

    title: str
    curves: tuple[Curve, ...]
    marks: tuple[Straight, ...] = ()


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis. `ticks` are the names of 0, 1, 2, ... where the values are no numbers."""

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of several panels with the same axes."""

    title: str
    x: Scale
    y: Scale
    panels: tuple[Panel, ...] = field(default=())


def save(chart: Chart, folder: Path, name: str) -> list[Path]:
    """Draw `chart` as ``name.png`` and ``name.svg`` in `folder`. The same chart gives the same files."""
    with mpl.rc_context(RC):
        return write(_draw(chart), folder, name)


def _draw(chart: Chart) -> Figure:
    count = max(1, len(chart.panels))
    across = count if count <= _ACROSS else 2 if count == 4 else _ACROSS
    down = math.ceil(count / across)
    width, height = _SIZE[across]
    figure = Figure(figsize=(width, height * down), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    looks = _looks(chart)
    for index, axes in enumerate(grid.flat):
        if index >= len(chart.panels):
            axes.set_visible(False)
            continue
        _panel(axes, chart, chart.panels[index], looks)
        if index % across == 0:
            axes.set_ylabel(chart.y.label)
        if index + across >= count:
            axes.set_xlabel(chart.x.label)
            axes.tick_params(labelbottom=True)
    _axes(grid.flat[0], chart)  # the panels share theirs
    figure.suptitle(chart.title, fontsize=8)
    labels = [*looks, *dict.fromkeys(mark.label for panel in chart.panels for mark in panel.marks)]
    handles = [Line2D([], [], label=label, **_line(looks[label], 1)) for label in looks]
    handles += [Line2D([], [], label=label, **_mark(chart, label)) for label in labels[len(looks) :]]
    if len(handles) > 1:
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 2 * across))
    return figure


def _panel(axes: Axes, chart: Chart, panel: Panel, looks: dict[str, tuple[Look, Any]]) -> None:
    for curve in panel.curves:
        style = _line(looks[curve.label], len(curve.x))
        axes.plot(curve.x, curve.y, **style)
        if len(curve.low):
            axes.fill_between(curve.x, curve.low, curve.high, color=style["color"], alpha=0.2, linewidth=0)
    for mark in panel.marks:
        draw, at = (axes.axhline, mark.y) if mark.x is None else (axes.axvline, mark.x)
        if at is not None:
            draw(at, **_mark(chart, mark.label))
    axes.set_title(panel.title)


def _axes(axes: Axes, chart: Chart) -> None:
    places = sorted({x for panel in chart.panels for curve in panel.curves for x in curve.x})
    if chart.x.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    if chart.y.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    if chart.x.ticks:
        axes.set_xticks(range(len(chart.x.ticks)), chart.x.ticks)
    elif chart.x.log and len(places) <= _TICKS:
        axes.set_xticks(places)
        axes.xaxis.minorticks_off()
    # Setting an end stops the automatic scaling of both, so only where one is given.
    if (chart.x.low, chart.x.high) != (None, None):
        axes.set_xlim(chart.x.low, chart.x.high)
    if (chart.y.low, chart.y.high) != (None, None):
        axes.set_ylim(chart.y.low, chart.y.high)


def _looks(chart: Chart) -> dict[str, tuple[Look, Any]]:
    """Colour and marker of each label, and a dash of its own where two would look alike."""
    found: dict[str, tuple[Look, Any]] = {}
    for label in dict.fromkeys(curve.label for panel in chart.panels for curve in panel.curves):
        own = look(label)
        alike = sum(other == own for other, _ in found.values())
        found[label] = (own, DASHES[alike % len(DASHES)])
    return found


def _line(style: tuple[Look, Any], points: int) -> dict[str, Any]:
    own, dash = style
    return {
        "color": own.colour,
        "linestyle": dash,
        "marker": own.marker,
        "markeredgewidth": 0.7,
        "markevery": max(1, points // _MARKERS),
    }


def _mark(chart: Chart, label: str) -> dict[str, Any]:
    labels = list(dict.fromkeys(mark.label for panel in chart.panels for mark in panel.marks))
    return {"color": NEUTRAL, "linewidth": 0.7, "linestyle": DASHES[(labels.index(label) + 1) % len(DASHES)]}
