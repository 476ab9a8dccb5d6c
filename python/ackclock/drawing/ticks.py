"""Round numbers: ticks of a logarithmic axis (2, 5, 10, 20, 50), and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 4, 6, 8), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9))
_FEWEST, _MOST = 3, 7


def log_ticks(low: float, high: float) -> list[float]:
    """A few round numbers from `low` to `high`, both above 0: powers of ten where these are enough."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for steps in _STEPS:
        found = [value for ten in decades for step in steps if low <= (value := _times(step, ten)) <= high]
        if len(found) >= _FEWEST:
            break
    return _thinned(found)


def nice(value: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below `value`."""
    if value <= 1:
        return 1
    scale: int = 10 ** math.floor(math.log10(value))
    return next(step * scale for step in (1, 2, 5, 10) if step * scale >= value * (1 - 1e-9))


def _times(step: float, ten: int) -> float:
    return float(f"{step}e{ten}")  # exact where a product would be 0.30000000000000004


def _thinned(values: Sequence[float]) -> list[float]:
    return list(values[:: max(1, math.ceil(len(values) / _MOST))])
