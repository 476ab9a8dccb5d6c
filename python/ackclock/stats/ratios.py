"""Paired ratios: how many times as much, run by run."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ackclock.stats.intervals import Interval, mean_interval


def ratio_interval(pairs: Iterable[tuple[float | None, float | None]]) -> Interval:
    """The geometric mean of paired ratios, with the interval of their logarithms.

    A pair with a missing value is left out, as is one that is not above zero, which has no logarithm.
    """
    logs = [math.log(a / b) for a, b in pairs if a is not None and b is not None and a > 0 and b > 0]
    found = mean_interval(logs)
    if found.value is None:
        return found
    value = math.exp(found.value)
    if found.low is None or found.high is None:
        return Interval(value, None, None, found.n)
    return Interval(value, math.exp(found.low), math.exp(found.high), found.n)
