"""From samples over time to numbers: rates in bins, how smooth they are, losses in common.

Counters are samples of a series such as `delivered`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def counter(time: Sequence[float] | Array, value: Sequence[float] | Array, at: Array) -> Array:
    """The counter at each time: what the last sample until then says, nothing before the first."""
    times, values = np.asarray(time, dtype=float), np.asarray(value, dtype=float)
    index = np.searchsorted(times, at + 1e-9, side="right") - 1
    if not len(times):
        return np.zeros(len(at))
    found: Array = np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
    return found


def rate_over(
    time: Sequence[float] | Array, value: Sequence[float] | Array, begin: float, end: float, width: float
) -> tuple[Array, Array]:
    """The rate of a counter in bins of `width` seconds from `begin` to `end`: begins of the bins, and units per second.

    A last bin that would not be whole is left out. Raises :class:`ValueError` for a width of zero or less.
    """
    if width <= 0:
        raise ValueError(f"a bin is longer than nothing, not {width} s")
    count = int(np.floor((end - begin) / width + 1e-9))
    edges: Array = begin + width * np.arange(max(count, 0) + 1, dtype=np.float64)
    return edges[:-1], np.diff(counter(time, value, edges)) / width


def smoothness(rates: Sequence[float] | Array) -> float | None:
    """The coefficient of variation of the rates of bins: 0 is perfectly smooth (RFC 5166 §2.4).

    Which width the bins have decides the value: tell it with the figure. ``None`` with fewer than two bins or a mean
    of zero.
    """
    values = np.asarray(rates, dtype=float)
    mean = float(values.mean()) if len(values) else 0.0
    return float(values.std(ddof=1)) / mean if len(values) > 1 and mean > 0 else None


def synchronisation(events: Sequence[Sequence[float]], rtt: float) -> float | None:
    """The mean share of the flows that lose in the same overflow, of all overflows: 1 if they always lose together.

    `events` has the times of each flow's losses. An overflow is a loss of any flow with all losses up to `rtt` after
    it. With ``n`` flows the least is 1/n. ``None`` with fewer than two flows or without losses.
    """
    if len(events) < 2:
        return None
    marked = sorted((time, flow) for flow, times in enumerate(events) for time in times)
    overflows: list[tuple[float, set[int]]] = []
    for time, flow in marked:
        if overflows and time - overflows[-1][0] <= rtt:
            overflows[-1][1].add(flow)
        else:
            overflows.append((time, {flow}))
    if not overflows:
        return None
    return sum(len(flows) for _, flows in overflows) / len(overflows) / len(events)
