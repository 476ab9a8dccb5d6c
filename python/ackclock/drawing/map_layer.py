"""How a map is drawn: rings, places with their colours, and the scale of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from ackclock.drawing.chart import Chart, Scale
from ackclock.drawing.shapes import Map, Spot
from ackclock.drawing.style import NEUTRAL
from ackclock.drawing.wrapping import plain

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Kinds of places keep their markers: with these, a grey print tells as much as the colours do.
_MARKERS = (("o", 3.6), ("s", 3.8), ("^", 4.8), ("x", 4.2))
_MANY = 60  # places that are drawn a little smaller
_CENTRE: dict[str, Any] = {"marker": "P", "markersize": 6.5, "color": "black", "linestyle": "none"}
_EDGE, _HOLLOW = 0.35, 1.1  # points
_MARGIN = 1.06
_COLOURS = "viridis"  # lighter is more, in a grey print too
_ROOM = 2.5  # points between a place and its name
_NEAR = 0.2  # of the radius: places whose names keep out of each other's way
_LEAST_SPAN = 1e-3
_TURNS = 24


def maps(figure: Figure, chart: Chart, drawn: Sequence[Axes], kinds: Sequence[str]) -> None:
    """The maps of a figure, with one scale of colours. `kinds` are those of places, in the order of their markers."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = chart.z or Scale("")
    low, high = scale.low or 0.0, scale.high if scale.high is not None else 1.0
    if high - low < _LEAST_SPAN * max(abs(low), abs(high), 1.0):
        low, high = low - 0.5, high + 0.5
    colours = ScalarMappable(Normalize(low, high), _COLOURS)
    for axes, panel in zip(drawn, chart.panels, strict=False):
        if panel.map is not None:
            _map(axes, panel.map, colours, kinds)
    values = [spot.value for panel in chart.panels if panel.map for spot in panel.map.spots]
    beyond = (any(value < low for value in values), any(value > high for value in values))
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
    bar = figure.colorbar(
        colours, ax=list(drawn), label=scale.label, pad=0.02, fraction=0.05, shrink=0.8, aspect=30, extend=extend
    )
    bar.outline.set_linewidth(0.4)


def entries(panels: Sequence[Map], kinds: Sequence[str]) -> list[Artist]:
    """The entries of the legend: the centre, the kinds of places that are there, and what hollow ones are."""
    found: list[Artist] = []
    there = {spot.label for panel in panels for spot in panel.spots}
    for number, kind in enumerate(kinds):
        if kind in there:
            marker, size = _MARKERS[number % len(_MARKERS)]
            style: dict[str, Any] = {"markerfacecolor": "#BBBBBB", "markeredgecolor": "black", "markeredgewidth": _EDGE}
            if marker == "x":
                style = {"markeredgecolor": "black", "markeredgewidth": _HOLLOW}
            found.append(Line2D([], [], linestyle="none", marker=marker, markersize=size, label=kind, **style))
    centres = dict.fromkeys(panel.centre for panel in panels if panel.centre)
    found += [Line2D([], [], label=centre, **_CENTRE) for centre in centres]
    hollow = dict.fromkeys(panel.hollow for panel in panels if panel.hollow)
    look: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": NEUTRAL, "markeredgewidth": _HOLLOW}
    found += [Line2D([], [], linestyle="none", marker="o", markersize=4, label=words, **look) for words in hollow]
    return found


def _map(axes: Axes, own: Map, colours: Any, kinds: Sequence[str]) -> None:
    radius = own.radius * _MARGIN
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(-radius, radius)
    axes.set_ylim(-radius, radius)
    axes.grid(visible=False)
    turn = np.linspace(0, 2 * np.pi, 181)
    at = _free(own)
    for ring in own.rings:
        axes.plot(ring * np.cos(turn), ring * np.sin(turn), color="#BBBBBB", linewidth=0.5, linestyle="--", zorder=1)
        axes.annotate(
            plain(ring), (ring * math.cos(at), ring * math.sin(at)), ha="center", va="center",
            fontsize=5.5, color=NEUTRAL, zorder=1.1,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )  # fmt: skip
    axes.plot([0], [0], zorder=2.5, **_CENTRE)
    for spot in own.spots:
        axes.plot([spot.x], [spot.y], **_marker(spot, colours, kinds, len(own.spots)))
        if spot.name:
            right, up = _aside(spot, own)
            axes.annotate(
                spot.name, (spot.x, spot.y), (_ROOM * right, _ROOM * up), textcoords="offset points", fontsize=5.5,
                color=NEUTRAL, zorder=3.5, ha="left" if right > 0 else "right", va="bottom" if up > 0 else "top",
            )  # fmt: skip


def _aside(spot: Spot, own: Map) -> tuple[int, int]:
    """Where the name of a place stands: right and above, or away from a place that is near."""
    others = [each for each in own.spots if each is not spot]
    nearest = min(others, key=lambda each: math.dist((each.x, each.y), (spot.x, spot.y)), default=None)
    if nearest is None or math.dist((nearest.x, nearest.y), (spot.x, spot.y)) > _NEAR * own.radius:
        return 1, 1
    return (-1 if nearest.x > spot.x else 1), (-1 if nearest.y > spot.y else 1)


def _free(own: Map) -> float:
    """The direction in which the names of rings are farthest from any place."""
    turns = [math.pi / 2 - 2 * math.pi * step / _TURNS for step in range(_TURNS)]
    names = {turn: [(ring * math.cos(turn), ring * math.sin(turn)) for ring in own.rings] for turn in turns}
    places = [(spot.x, spot.y) for spot in own.spots]
    near = {
        turn: min((math.dist(a, b) for a in own_names for b in places), default=0.0)
        for turn, own_names in names.items()
    }
    return max(turns, key=lambda turn: round(near[turn], 6))


def _marker(spot: Spot, colours: Any, kinds: Sequence[str], count: int) -> dict[str, Any]:
    marker, size = _MARKERS[kinds.index(spot.label) % len(_MARKERS)]
    colour = colours.to_rgba(spot.value) if np.isfinite(spot.value) else "#DDDDDD"
    size *= 0.85 if count > _MANY else 1.0
    own: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": size, "zorder": 3}
    if spot.hollow:
        return {**own, "markerfacecolor": "white", "markeredgecolor": colour, "markeredgewidth": _HOLLOW}
    if marker == "x":
        return {**own, "markeredgecolor": colour, "markeredgewidth": _HOLLOW}
    return {**own, "markerfacecolor": colour, "markeredgecolor": "black", "markeredgewidth": _EDGE}
