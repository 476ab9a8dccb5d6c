"""How a graph of sequence numbers is drawn: strokes of segments, lines below and above them, marks of what is rare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from ackclock.drawing import shapes
from ackclock.drawing.chart import Panel
from ackclock.drawing.frame import whole
from ackclock.drawing.shapes import AGAIN, BytesOverTime, Strokes
from ackclock.drawing.style import NEUTRAL, Style, dash

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_HOLLOW = "white"
STAIRS: Mapping[str, dict[str, Any]] = {
    shapes.WINDOW: {"color": "#B87A00", "linewidth": 0.8, "linestyle": dash(1)},
    shapes.DATA: {"color": NEUTRAL, "linewidth": 0.8},
    shapes.ACKS: {"color": "#0072B2", "linewidth": 0.9},
}
"""Lines, in the order of the legend."""

BARS: Mapping[str, dict[str, Any]] = {
    shapes.DATA: {"color": NEUTRAL, "linewidth": 0.8},
    shapes.SACK: {"color": "#CC79A7", "linewidth": 1.0},
}
"""Strokes without markers."""

MARKS: Mapping[str, tuple[str, str, float, bool]] = {
    AGAIN["fast"]: ("o", "#D55E00", 3.2, True),
    AGAIN["rto"]: ("s", "#882255", 4.0, True),
    AGAIN["rto_recovery"]: ("s", "#882255", 3.2, False),
    AGAIN["tlp"]: ("^", "#009E73", 4.2, True),
    AGAIN["unknown"]: ("X", "#1E7FB8", 5.4, True),
    shapes.NEEDLESS: ("o", "#000000", 6.4, False),
    shapes.REORDERED: ("D", "#3A2BE0", 3.0, False),
    shapes.DUPLICATE: ("+", "#000000", 4.6, True),
    shapes.DUP_ACK: ("|", "#0072B2", 6.0, True),
    shapes.PROBE: ("v", "#6C2400", 3.8, False),
    shapes.CLOSED: ("*", "#B87A00", 6.5, True),
}
"""Marker, colour, size in points, and whether it is full. No two have marker and filling alike: a grey print."""

_RED = "#C00000"
_LINES_ONLY = ("+", "|", "*")
_THIN = 0.45  # points of one of many lines
_FAINT = 0.45
_WHITE = 3.0  # points of what parts the line in the middle from the others
_MIDDLE = 1.5


def graph(axes: Axes, own: BytesOverTime, styles: Mapping[str, Style]) -> None:
    """Everything of a panel."""
    for stair in own.stairs:
        axes.step(stair.x, stair.y, where="post", solid_capstyle="butt", zorder=1.8, **STAIRS[stair.label])
    for strokes in own.strokes:
        if strokes.label in BARS:
            _bars(axes, strokes, BARS[strokes.label])
        else:
            _marks(axes, strokes, _RED if own.red else MARKS[strokes.label][1])
    for bundle in own.bundles:
        style = styles[bundle.label].line()
        many = bundle.middle is not None
        width, alpha = (_THIN, _FAINT) if many else (0.9, 1.0)
        for line in bundle.lines:
            axes.step(
                line.x, line.y, where="post", color=style["color"], linewidth=width, alpha=alpha, zorder=1.7,
                linestyle="-" if many else style["linestyle"],
            )  # fmt: skip
    for bundle in own.bundles:
        if bundle.middle is not None:
            x, y = bundle.middle.x, bundle.middle.y
            style = {**styles[bundle.label].line(), "markersize": 4.5, "linewidth": _MIDDLE}
            axes.plot(x, y, color="white", linewidth=_WHITE, zorder=2.4)
            whole(axes, *axes.plot(x, y, markevery=max(1, len(x) // 9), zorder=2.5, **style))


def entries(panels: Sequence[BytesOverTime]) -> list[Artist]:
    """The entries of the legend, always in the same order. Bundles are lines of the figure."""
    lines = {stair.label for panel in panels for stair in panel.stairs}
    strokes = {each.label for panel in panels for each in panel.strokes}
    found: list[Artist] = []
    for label, look in BARS.items():
        if label in strokes:
            found.append(Line2D([], [], marker="|", markersize=6, markeredgewidth=1.2, linestyle="none", label=label,
                                color=look["color"]))  # fmt: skip
    found += [
        Line2D([], [], label=label, **look)
        for label, look in STAIRS.items()
        if label in lines and not (label == shapes.DATA and label in strokes)
    ]
    red = any(panel.red for panel in panels)
    for label, (_, own, *_) in MARKS.items():
        if label in strokes:
            found.append(Line2D([], [], label=label, **_marker(label, _RED if red else own)))
    return found


def bare(panels: Sequence[Panel]) -> set[str]:
    """The labels of lines without markers."""
    bundles = [bundle for panel in panels if panel.sequence for bundle in panel.sequence.bundles]
    return {bundle.label for bundle in bundles} - {bundle.label for bundle in bundles if bundle.middle}


def _bars(axes: Axes, own: Strokes, look: Mapping[str, Any]) -> None:
    """One path for all: a path of each would make a vector file heavy."""
    gap = np.full(len(own.x), np.nan)
    x = np.column_stack((own.x, own.x, gap)).ravel()
    y = np.column_stack((own.low, own.high, gap)).ravel()
    axes.plot(x, y, solid_capstyle="projecting", zorder=2.0, **look)


def _marks(axes: Axes, own: Strokes, colour: str) -> None:
    middle = (np.asarray(own.low) + np.asarray(own.high)) / 2
    marker = MARKS[own.label][0]
    if marker not in _LINES_ONLY and own.label != shapes.NEEDLESS:
        _bars(axes, own, {"color": colour, "linewidth": 0.8})
    above = 3.0 if own.label == shapes.NEEDLESS else 2.6
    whole(axes, *axes.plot(own.x, middle, zorder=above, **_marker(own.label, colour)))


def _marker(label: str, colour: str) -> dict[str, Any]:
    marker, _, size, full = MARKS[label]
    return {
        "linestyle": "none",
        "marker": marker,
        "markersize": size,
        "color": colour,
        "markeredgewidth": 0.8,
        "markerfacecolor": "none" if label == shapes.NEEDLESS else colour if full else _HOLLOW,
    }
