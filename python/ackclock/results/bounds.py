"""What a value of a metric can be, and where the interval of its mean ends therefore.

Student's interval does not know that nothing is below zero, or that an index ends at 1: with few replications it goes
on there. What can be no value is cut off, which loses nothing: the mean is not there.
"""

from __future__ import annotations

import math

from ackclock.stats import Estimate

_SHARES = frozenset({"jain", "utilisation", "max_min_index", "goodput_share"})
_ANY = frozenset({"proportional_fairness"})  # a sum of logarithms


def is_share(metric: str) -> bool:
    """Whether a metric lies between 0 and 1."""
    return metric in _SHARES


def bounds(metric: str) -> tuple[float, float]:
    """What no value of a metric can pass: nothing that is counted or timed is below zero."""
    if metric in _ANY:
        return -math.inf, math.inf
    return 0.0, 1.0 if is_share(metric) else 100.0 if metric.endswith("_percent") else math.inf


def ends(value: Estimate, metric: str) -> tuple[float, float] | None:
    """The 95 % confidence interval of a mean, cut where its metric ends; ``None`` without one."""
    if value.mean is None or value.ci95 is None:
        return None
    least, most = bounds(metric)
    # A value that is beyond by rounding keeps its place within the interval.
    return max(value.mean - value.ci95, min(least, value.mean)), min(value.mean + value.ci95, max(most, value.mean))
