"""Confidence intervals of points: a bar for each, or a band behind a few long lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOWN, UP = 7, 6  # matplotlib's carets, whose tip is at the point
_CAP, _CARET = 3.6, 3.2

Ends = tuple[float, float]
"""How far bars go on an axis: one that would go farther ends there, with an arrow in place of its cap."""


def bars(
    axes: Axes, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, within: Ends
) -> None:
    """A bar with caps for each point that has an interval."""
    known = [each for each in zip(x, low, high, strict=True) if not math.isnan(each[1]) and not math.isnan(each[2])]
    bottom, top = within
    style: dict[str, Any] = {"color": colour, "linestyle": "none", "alpha": 0.8, "zorder": 1.8}
    seen = [(at, max(a, bottom), min(b, top)) for at, a, b in known if b > bottom and a < top]
    axes.vlines(
        [at for at, _, _ in seen], [a for _, a, _ in seen], [b for _, _, b in seen],
        color=colour, linewidth=0.8, alpha=0.8, zorder=1.8,
    )  # fmt: skip
    caps = [(at, end) for at, a, b in known for end in (a, b) if bottom <= end <= top]
    axes.plot(*_columns(caps), marker="_", markersize=_CAP, markeredgewidth=0.8, **style)
    arrows(axes, [at for at, a, _ in known if a < bottom], bottom, DOWN, **style)
    arrows(axes, [at for at, _, b in known if b > top], top, UP, **style)


def arrows(axes: Axes, x: Sequence[float], end: float, which: int, **style: Any) -> None:
    """Heads of arrows at the end of the y axis, which they do not make longer."""
    if x:
        size = {"markersize": _CARET, "markeredgewidth": 0} | style
        (drawn,) = axes.plot(x, [end] * len(x), **{**size, "linestyle": "none", "marker": which}, clip_on=False)
        drawn.set_in_layout(False)


def band(
    axes: Axes, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, within: Ends
) -> None:
    """A band behind a line."""
    axes.fill_between(x, np.clip(low, *within), np.clip(high, *within), color=colour, alpha=0.2, linewidth=0)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
