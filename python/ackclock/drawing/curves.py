"""Curves over time or over a swept value, in panels side by side: the figures of studies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.drawing import intervals
from ackclock.drawing.chart import Chart as Chart
from ackclock.drawing.chart import Curve as Curve
from ackclock.drawing.chart import Panel as Panel
from ackclock.drawing.chart import Scale as Scale
from ackclock.drawing.chart import Straight as Straight
from ackclock.drawing.figures import write
from ackclock.drawing.scales import FEW, Heights, Places
from ackclock.drawing.style import NEUTRAL, RC, Style, dash, styles
from ackclock.drawing.wrapping import ENTRY, TITLE, fitted, inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACROSS = 3  # panels in a row
_SIZE = {1: (4.4, 3.0), 2: (6.4, 2.9), 3: (7.6, 2.7)}  # inches of a row, by its panels
_LINE, _ROW = 0.14, 0.15  # inches of a further line of the title, and of a further row of the legend
_HANDLE = 0.45  # inches of an entry of the legend, beside its words
_MARKED = 30  # points of a line that each have a marker; of longer ones about _MARKERS have
_MARKERS = 9
_BANDS = 3  # more of them cannot be told apart
_WIDER = 2  # times a line is made wider at most: more would hide what is beside it
_ALIKE = 0.015  # of the height of a panel: lines that are nowhere farther apart hide each other


@dataclass(frozen=True, slots=True)
class _Look:
    """What the panels of a figure have in common."""

    chart: Chart
    styles: Mapping[str, Style]
    places: Places
    heights: Heights


def save(chart: Chart, folder: Path, name: str) -> list[Path]:
    """Draw `chart` as ``name.png`` and ``name.svg`` in `folder`. The same chart gives the same files.

    Points that a logarithmic axis has no place for are arrows at its end, and so are intervals that go beyond it.
    """
    with mpl.rc_context(RC):
        return write(draw(chart), folder, name)


def draw(chart: Chart) -> Figure:
    """The figure. Call it within the settings of :data:`ackclock.drawing.style.RC`."""
    count = max(1, len(chart.panels))
    across = count if count <= _ACROSS else 2 if count == 4 else _ACROSS
    down = math.ceil(count / across)
    width, height = _SIZE[across]
    common = _Look(chart, styles(chart.labels), Places(chart), Heights(chart))
    title = fitted(chart.title, 0.95 * width, TITLE)
    handles = _handles(common)
    columns = _columns(handles, width)
    rows = math.ceil(len(handles) / columns)
    more = _LINE * title.count("\n") + _ROW * max(0, rows - 2)
    figure = Figure(figsize=(width, height * down + more), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for index, axes in enumerate(grid.flat):
        if index >= len(chart.panels):
            axes.set_visible(False)
            continue
        _panel(axes, common, chart.panels[index])
        axes.set_title(fitted(chart.panels[index].title, 0.85 * width / across, TITLE))
        if index % across == 0:
            axes.set_ylabel(chart.y.label)
        if index + across >= count:
            axes.set_xlabel(chart.x.label)
            axes.tick_params(labelbottom=True)
    common.places.set(grid.flat[0], 0.8 * width / across)  # the panels share theirs
    common.heights.set(grid.flat[0])
    figure.suptitle(title, fontsize=TITLE)
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure


def _panel(axes: Axes, common: _Look, panel: Panel) -> None:
    curves = [curve for curve in panel.curves if curve.known]
    if not curves:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color=NEUTRAL)
    bands = sum(bool(len(curve.low)) for curve in curves) <= _BANDS
    for index, curve in enumerate(curves):
        over = 0 if common.places.beside else sum(_alike(common.heights, curve, other) for other in curves[index + 1 :])
        _curve(axes, common, curve, min(over, _WIDER), band=bands and len(curve.x) > FEW)
    for mark in panel.marks:
        if mark.y is not None:
            axes.axhline(mark.y, **_mark(common.chart, mark.label))
        elif mark.x is not None:
            axes.axvline(mark.x, **_mark(common.chart, mark.label))


def _curve(axes: Axes, common: _Look, curve: Curve, over: int, *, band: bool) -> None:
    """A line with its intervals; wider than the `over` lines that would hide it."""
    x, y = common.places.of(curve.label, curve.x), common.heights.drawn(curve.y)
    style = _line(common, curve.label)
    if len(x) > _MARKED:
        labels, every = common.chart.labels, len(x) // _MARKERS
        style["markevery"] = (labels.index(curve.label) * every // len(labels), every)
    style["markersize"] += 1.8 * over
    axes.plot(x, y, **style, linewidth=0.9 + 1.3 * over)
    if len(curve.low):
        draw = intervals.band if band else intervals.bars
        draw(axes, x, curve.low, curve.high, style["color"], common.heights.ends)
    below = common.heights.below(x, curve.y)
    intervals.arrows(axes, below, common.heights.ends[0], intervals.DOWN, color=style["color"], markersize=5)


def _alike(heights: Heights, curve: Curve, other: Curve) -> bool:
    """Whether two lines are at the same places everywhere, as far as one can see."""
    if max(len(curve.x), len(other.x)) > _MARKED:
        return False
    values = dict(zip(other.x, other.y, strict=True))
    apart = [heights.apart(y, values[x]) for x, y in zip(curve.x, curve.y, strict=True) if x in values]
    return bool(apart) and all(each <= _ALIKE for each in apart)


def _line(common: _Look, label: str) -> dict[str, Any]:
    """How a line is drawn. Names have no order: no line joins them."""
    style = common.styles[label].line()
    return {**style, "linestyle": "none"} if common.chart.x.ticks else style


def _handles(common: _Look) -> list[Line2D]:
    """The entries of the legend: lines, then marks. One that has no words says nothing."""
    chart = common.chart
    lines = [(_entry(common, label), _line(common, label)) for label in chart.labels]
    marks = [(label, _mark(chart, label)) for label in chart.marks]
    return [Line2D([], [], label=label, **style) for label, style in (*lines, *marks) if label]


def _entry(common: _Look, label: str) -> str:
    """The words of a line; of one that a logarithmic axis does not show they say why."""
    values = [y for curve in common.chart.curves if curve.label == label for y in curve.y if math.isfinite(y)]
    if not common.heights.log or max(values) > 0:
        return label
    return f"{label}: 0" if not any(values) else f"{label}: not above 0"


def _columns(handles: Sequence[Line2D], width: float) -> int:
    widest = max((inches(str(handle.get_label()), ENTRY) for handle in handles), default=0.0)
    most = max(1, int(0.95 * width / (widest + _HANDLE)))
    rows = math.ceil(len(handles) / most)
    return max(1, math.ceil(len(handles) / max(1, rows)))  # so that the last row is not nearly empty


def _mark(chart: Chart, label: str) -> dict[str, Any]:
    return {
        "color": NEUTRAL,
        "linewidth": 0.7,
        "linestyle": dash(chart.marks.index(label) + 1),
    }
