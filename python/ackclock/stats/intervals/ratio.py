"""Paired ratios: how many times as much, run by run."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ackclock.stats.intervals.mean import Interval, mean_interval
from ackclock.stats.samples.missing import known_pairs


def ratio_interval(pairs: Iterable[tuple[float | None, float | None]], *, level: float = 0.95) -> Interval:
    """The geometric mean of paired ratios, with the interval of their logarithms.

    A pair with a missing value is left out, as is one that is not above zero, which has no logarithm.
    """
    given = list(pairs)
    a, b = known_pairs([x for x, _ in given], [y for _, y in given])
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0 and y > 0]
    found = mean_interval(logs, level=level)
    if found.value is None:
        return found
    value = math.exp(found.value)
    if found.low is None or found.high is None:
        return Interval(value, None, None, found.n)
    return Interval(value, math.exp(found.low), math.exp(found.high), found.n)
