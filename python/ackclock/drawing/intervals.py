"""Confidence intervals of points: a bar for each, or a band behind a few long lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CAP, _CHEVRONS = 3.6, 9.0

Ends = tuple[float, float]
"""How far bars go on an axis: one that would go farther ends there, with two chevrons in place of its cap."""


def _chevrons(way: int) -> Path:
    """Two open chevrons, whose tip is at the point: no marker of an algorithm is open, and a hollow one is closed."""
    corners = [(-1, -1.2), (0, 0), (1, -1.2), (-1, -2.4), (0, -1.2), (1, -2.4)]
    return Path([(x, way * y) for x, y in corners], [Path.MOVETO, Path.LINETO, Path.LINETO] * 2)


UP, DOWN = _chevrons(1), _chevrons(-1)
"""The signs of what goes on beyond an end of the y axis."""


def bars(
    axes: Axes,
    x: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    colour: str,
    within: Ends,
    bounds: tuple[float | None, float | None] = (None, None),
) -> None:
    """A bar with caps for each point that has an interval; without a cap where it ends at what no value can pass."""
    known = [each for each in zip(x, low, high, strict=True) if not math.isnan(each[1]) and not math.isnan(each[2])]
    bottom, top = within
    style: dict[str, Any] = {"color": colour, "linestyle": "none", "alpha": 0.8, "zorder": 1.8}
    seen = [(at, max(a, bottom), min(b, top)) for at, a, b in known if b > bottom and a < top]
    axes.vlines(
        [at for at, _, _ in seen], [a for _, a, _ in seen], [b for _, _, b in seen],
        color=colour, linewidth=0.8, alpha=0.8, zorder=1.8,
    )  # fmt: skip
    caps = [(at, end) for at, a, b in known for end in (a, b) if bottom <= end <= top and end not in bounds]
    axes.plot(*_columns(caps), marker="_", markersize=_CAP, markeredgewidth=0.8, **style)
    arrows(axes, [at for at, a, _ in known if a < bottom], bottom, DOWN, **style)
    arrows(axes, [at for at, _, b in known if b > top], top, UP, **style)


def arrows(axes: Axes, x: Sequence[float], end: float, sign: Path, **style: Any) -> None:
    """Chevrons at the end of the y axis, which they do not make longer."""
    if x:
        (drawn,) = axes.plot(x, [end] * len(x), **{**style, **looks(sign)}, clip_on=False)
        drawn.set_in_layout(False)


def looks(sign: Path) -> dict[str, Any]:
    """How chevrons are drawn."""
    return {
        "linestyle": "none",
        "marker": sign,
        "markersize": _CHEVRONS,
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
    }


def cut(low: Sequence[float], high: Sequence[float], within: Ends) -> bool:
    """Whether a bar goes on beyond the axis."""
    known = [each for each in zip(low, high, strict=True) if not math.isnan(each[0]) and not math.isnan(each[1])]
    return any(a < within[0] or b > within[1] for a, b in known)


def band(
    axes: Axes, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, within: Ends
) -> None:
    """A band behind a line."""
    axes.fill_between(x, np.clip(low, *within), np.clip(high, *within), color=colour, alpha=0.2, linewidth=0)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
