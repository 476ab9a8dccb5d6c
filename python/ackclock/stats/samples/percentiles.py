"""Percentiles, and how many values each needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from ackclock.stats.samples.missing import known


def least(percent: float) -> int:
    """How many values a percentile needs: with fewer, the nearest rank is just the largest one.

    ``ceil(100 / (100 - percent))``: 2 for the median, 20 for the 95th, 100 for the 99th, 1000 for the 99.9th.
    """
    if not 0 < percent < 100:
        raise ValueError(f"a percentile lies above 0 and below 100, not at {percent}")
    return math.ceil(100 / (100 - Fraction(str(percent))))


def percentile(values: Iterable[float | None], percent: float) -> float | None:
    """The smallest value that so many percent of all do not exceed (nearest rank, ``ceil(p n / 100)``).

    ``None`` of fewer than :func:`least` values; missing ones are left out.
    """
    ordered = sorted(known(values))
    if len(ordered) < least(percent):
        return None
    return ordered[math.ceil(len(ordered) * Fraction(str(percent)) / 100) - 1]
