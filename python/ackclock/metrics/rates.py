"""Rates over time: bins, smoothness, how fast a flow gets going.

Counters are samples of a series such as `delivered`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ackclock.results.series import Array, counter, rate_over, smoothness

__all__ = ["rate_over", "settle_time", "smoothness", "start_up_rate"]


def settle_time(
    time: Sequence[float] | Array,
    value: Sequence[float] | Array,
    start: float,
    end: float,
    rate: float,
    *,
    share: float = 0.99,
    window: float = 1.0,
    step: float = 0.1,
) -> float | None:
    """Time from `start` until the first `window` in which the counter grows at `share` of `rate` or more.

    Looked at every `step` seconds; all times in seconds, `rate` in units of the counter per second. ``None`` is
    censored: it never did before `end`.
    """
    count = int(np.floor((end - window - start) / step + 1e-9)) + 1
    if count <= 0:
        return None
    begins: Array = start + step * np.arange(count, dtype=np.float64)
    grown = counter(time, value, begins + window) - counter(time, value, begins)
    reached = np.flatnonzero(grown >= share * rate * window * (1 - 1e-12))
    return float(step * reached[0]) if len(reached) else None


def start_up_rate(
    time: Sequence[float] | Array, value: Sequence[float] | Array, start: float, until: float
) -> float | None:
    """Mean rate of the counter from the start of the flow until a time; ``None`` if no time passes."""
    if until <= start:
        return None
    grown = counter(time, value, np.array([start, until]))
    return float(grown[1] - grown[0]) / (until - start)
