"""How the panels of a figure are arranged, and how large it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.drawing.chart import Chart
from ackclock.drawing.waterfall_layer import EACH
from ackclock.drawing.wrapping import ENTRY, fitted, inches, shown

WIDTHS = {"column": 3.5, "page": 7.16}
"""Inches: a column, and both of them, of the two-column pages of IEEE and ACM."""

_ACROSS = 3  # panels in a row
_SIZE = {1: (4.4, 3.0), 2: (6.4, 2.9), 3: (7.6, 2.7)}  # inches of a row, by its panels
_NARROW = 4.0
_SHAPE = 0.68  # height of a panel, of its width
_LOWEST, _HIGHEST = 1.7, 3.0
_TIME = 1.25  # inches of a row where each has its own y axis
_SQUARE, _SQUARE_MOST = 0.85, 4.2  # height of a map, of its width, and inches
_FEWEST = 8  # rows of a waterfall that it is high enough for
NAMES = 1.4
"""Inches that the names of a y axis may take; longer ones have several lines."""
_PLOT = 0.8  # of the width of a panel: its axis
_LINE = 0.125  # inches of a further line of a name
_CLOSER = 0.19  # inches for each name where there are several rows of panels
_NAME, _AROUND = 0.24, 0.75  # inches of a row for each name of a y axis, and of what is around them


@dataclass(frozen=True, slots=True)
class Layout:
    """Panels across and down, the width of all and the height of a row, inches."""

    across: int
    down: int
    width: float
    height: float


def arranged(chart: Chart, width: float | None) -> Layout:
    """The arrangement of a chart in so many inches, or in what its panels like."""
    count = max(1, len(chart.panels))
    across = chart.across or _across(count, width, grid=chart.z is not None)
    down = math.ceil(count / across)
    if width is None:
        return Layout(across, down, *_SIZE[min(across, _ACROSS)])
    if any(panel.map for panel in chart.panels):
        return Layout(across, down, width, min(_SQUARE * width / across, _SQUARE_MOST))
    if any(panel.schedule for panel in chart.panels):
        return Layout(across, down, width, _AROUND + EACH * max(len(chart.y.ticks), _FEWEST))
    if chart.y.ticks:
        words = (fitted(word, NAMES, ENTRY) for word in shown(chart.y.ticks).values())
        each = (_NAME if down == 1 else _CLOSER) + _LINE * max(word.count("\n") for word in words)
        return Layout(across, down, width, _AROUND + each * len(chart.y.ticks))
    if any(panel.y is not None for panel in chart.panels):
        return Layout(across, down, width, _TIME if down > 1 else _LOWEST)
    height = min(max(_SHAPE * width / across, _LOWEST), _HIGHEST)
    if chart.x.ticks and slanted(chart.x.ticks, _PLOT * width / across):
        height += 0.5 * max(inches(name, ENTRY) for name in chart.x.ticks)
    return Layout(across, down, width, height)


def slanted(ticks: Sequence[str], width: float) -> bool:
    """Whether names along an axis of so many inches are too wide to stand side by side."""
    return max(inches(name, ENTRY) for name in ticks) > 0.9 * width / len(ticks)


def _across(count: int, width: float | None, *, grid: bool) -> int:
    """Panels in a row, so that the last one is not nearly empty."""
    if width is not None and width <= _NARROW:
        return 1 if grid and count <= _ACROSS else min(count, 2)
    return count if count <= _ACROSS else 2 if count == 4 else _ACROSS
