"""How a waterfall is drawn: bars in rows, what made what begin, and what did not come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ackclock.drawing.shapes import Schedule
from ackclock.drawing.style import NEUTRAL
from ackclock.drawing.wrapping import shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# From light to dark in the order of phases, with patterns: a grey print tells them apart.
_LOOKS: tuple[dict[str, Any], ...] = (
    {"facecolor": "#E8E8E8", "edgecolor": "#999999", "hatch": ""},
    {"facecolor": "#E69F00", "edgecolor": "white", "hatch": "////"},
    {"facecolor": "#9ACD66", "edgecolor": "white", "hatch": ""},
    {"facecolor": "#0072B2", "edgecolor": "white", "hatch": ""},
)
_HALF = 0.36  # of a row: half the height of a bar
_THIN = 0.14  # of bars in which nothing happens
_LINK: dict[str, Any] = {"color": NEUTRAL, "linewidth": 0.5}
_OPEN: dict[str, Any] = {
    "marker": "x", "markersize": 3.6, "markeredgewidth": 0.9, "color": "black", "linestyle": "none"
}  # fmt: skip
_LETTERS = 6
EACH = 0.118
"""Inches of a row."""


def schedule(axes: Axes, own: Schedule, phases: Sequence[str]) -> None:
    """The bars; thin where an object only waits. Lines lead from what came last to what could begin then."""
    for bar in own.bars:
        number = phases.index(bar.phase)
        half = _THIN if number == 0 else _HALF
        axes.barh(
            bar.row - half, bar.end - bar.start, 2 * half, bar.start, align="edge", linewidth=0.3, zorder=2,
            **_LOOKS[number % len(_LOOKS)],
        )  # fmt: skip
    for link in own.links:
        axes.plot(
            [link.start, link.end, link.end], [link.from_row, link.from_row, link.to_row], solid_joinstyle="miter",
            zorder=1.5, **_LINK,
        )  # fmt: skip
    ends: dict[int, float] = {}
    for bar in own.bars:
        ends[bar.row] = max(bar.end, ends.get(bar.row, bar.end))
    axes.plot(
        [ends[row] for row in own.open if row in ends], [row for row in own.open if row in ends], zorder=3, **_OPEN
    )


def rows(axes: Axes, ticks: Sequence[str]) -> None:
    """The names of rows, the first on top."""
    words = shown(ticks)
    axes.set_yticks(range(len(ticks)), [words[tick] for tick in ticks])
    axes.tick_params(axis="y", length=0, labelsize=_LETTERS)
    axes.set_ylim(len(ticks) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def entries(own: Sequence[Schedule], phases: Sequence[str]) -> list[Artist]:
    """The entries of the legend."""
    there = {bar.phase for each in own for bar in each.bars}
    found: list[Artist] = [
        Patch(label=phase, linewidth=0.3, **_LOOKS[number % len(_LOOKS)])
        for number, phase in enumerate(phases)
        if phase in there
    ]
    if any(each.links for each in own):
        found.append(Line2D([], [], label="made known by", **_LINK))
    found += [Line2D([], [], label=each.open_label, **_OPEN) for each in own if each.open][:1]
    return found
