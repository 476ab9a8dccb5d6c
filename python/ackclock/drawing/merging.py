"""Fewer points where more cannot be seen: a figure of 100 000 segments is no heavier than one of a few thousand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ackclock.drawing.shapes import Stair, Strokes

Array = np.ndarray[Any, Any]

MOST = 3000
"""Strokes of a kind, or points of a line, of which each is kept."""
_SEEN = (1200, 500)  # times and heights that a figure of a page can tell apart
_MARKS = (150, 75)  # of those that have a marker, which is larger


def strokes(label: str, rows: Mapping[str, Array], span: tuple[float, float], *, marked: bool = False) -> Strokes:
    """The bytes of `rows` (x, low, high, packet). Of too many, those at nearly the same place become one.

    `span` is how much time and how many bytes the figure shows.
    """
    order = np.argsort(rows["x"], kind="stable")
    x, low, high, packet = (rows[name][order] for name in ("x", "low", "high", "packet"))
    if len(x) <= (MOST // 10 if marked else MOST) or not len(x):
        return Strokes(label, x.tolist(), low.tolist(), high.tolist(), packet.tolist())
    times, heights = _MARKS if marked else _SEEN
    column = np.floor((x - x[0]) / (span[0] / times or 1.0)).astype(np.int64)
    order = np.lexsort((low, column))
    column, x, low, high, packet = (each[order] for each in (column, x, low, high, packet))
    # Those of a column are above all of the one before it, so that one pass finds how far up any before it reaches.
    above = column * 4.0 * (float(high.max() - low.min()) + span[1] + 1.0)
    reach = np.maximum.accumulate(high + above)
    begins = np.concatenate(([True], low[1:] + above[1:] > reach[:-1] + span[1] / heights))
    begins[1:] |= column[1:] != column[:-1]
    at = np.flatnonzero(begins)
    first = np.minimum.reduceat(x, at)
    again = np.argsort(first, kind="stable")
    count = np.diff(np.append(at, len(x)))
    return Strokes(
        label,
        first[again].tolist(),
        low[at][again].tolist(),
        np.maximum.reduceat(high, at)[again].tolist(),
        np.minimum.reduceat(packet, at)[again].tolist(),
        count[again].tolist(),
    )


def stair(label: str, x: Array, y: Array, most: int = MOST) -> Stair:
    """A line without the points at which nothing changes; of too many, the first and the last of each stretch."""
    if len(x) > 2:
        changes = np.concatenate(([True], y[1:] != y[:-1]))
        changes[-1] = True
        x, y = x[changes], y[changes]
    if len(x) > most:
        edges = np.linspace(x[0], x[-1], max(most // 2, 2))
        stretch = np.searchsorted(edges, x, side="right")
        first = np.concatenate(([True], stretch[1:] != stretch[:-1]))
        kept = first | np.concatenate((first[1:], [True]))
        x, y = x[kept], y[kept]
    return Stair(label, x.tolist(), y.tolist())
