"""The mean of a metric over runs, with the interval that a figure shows of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.results import bounds
from ackclock.stats import estimate


@dataclass(frozen=True, slots=True)
class Found:
    """A mean over runs with the ends of its 95 % confidence interval, where there is one."""

    values: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None


def found(values: Sequence[float], metric: str, *, more: bool = False) -> Found | None:
    """The mean of some values of a metric; replications that are the same say nothing of its spread.

    Its interval ends where no value of the metric can be beyond. With `more`, some values are only known to be larger,
    and so is all that follows from them: then it does not end above.
    """
    if not values:
        return None
    known = estimate(values)
    mean = float(known.mean if known.mean is not None else values[0])
    if known.ci95 is None or len(set(values)) == 1:
        # All may be the end of what is known: then the mean is where the values begin that are possible.
        return Found(tuple(values), mean, *((mean, math.inf) if more else (None, None)))
    low, high = bounds.ends(known, metric) or (mean, mean)
    return Found(tuple(values), mean, low, math.inf if more else high)
