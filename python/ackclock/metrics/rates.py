"""Rates over time: bins, smoothness, how fast a flow gets going.

Counters are samples of a series such as `delivered`. Numpy is loaded by the first function that needs it: most runs
record no series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


def counter(time: Sequence[float] | Array, value: Sequence[float] | Array, at: Array) -> Array:
    """The counter at each time: what the last sample until then says, nothing before the first."""
    import numpy as np

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
    import numpy as np

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
    import numpy as np

    values = np.asarray(rates, dtype=float)
    mean = float(values.mean()) if len(values) else 0.0
    return float(values.std(ddof=1)) / mean if len(values) > 1 and mean > 0 else None


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
    import numpy as np

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
    import numpy as np

    if until <= start:
        return None
    grown = counter(time, value, np.array([start, until]))
    return float(grown[1] - grown[0]) / (until - start)
