"""Means and medians of independent replications with confidence intervals.

Student (W. S. Gosset), The probable error of a mean, Biometrika 6, 1908; the median's interval is that of the sign
test: W. J. Conover, Practical Nonparametric Statistics, 3rd edition, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ackclock.stats.samples.missing import check_level, known, there
from ackclock.stats.samples.spread import constant


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent replications.

    ``ci95`` is half the width of the 95 % confidence interval: the mean lies in mean ± ci95. It is ``None`` for
    a single value, which says nothing about its own spread, and where all values are the same, which have none: they
    may be one run over and over. ``mean`` is ``None`` if there was no value at all.
    """

    mean: float | None
    ci95: float | None
    n: int


def estimate(values: Iterable[float | None]) -> Estimate:
    """Mean and 95 % confidence interval, ``mean ± t(0.975, n - 1) s / sqrt(n)``; missing values are left out.

    What a summary of anything is made with, so that it refuses nothing: with an infinite value there is no mean.
    """
    present = [float(value) for value in values if there(value)]
    return _estimate(present, 0.95) if all(map(math.isfinite, present)) else Estimate(None, None, 0)


def _estimate(values: Sequence[float], level: float) -> Estimate:
    n = len(values)
    if n == 0:
        return Estimate(None, None, 0)
    mean = math.fsum(values) / n
    if n == 1 or constant(values):
        return Estimate(mean, None, n)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(mean, t_quantile((1 + level) / 2, n - 1) * math.sqrt(variance / n), n)


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution with so many degrees of freedom."""
    from scipy.special import stdtrit  # a tenth of the import time of scipy.stats

    return float(stdtrit(degrees, probability))


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the confidence interval around it, from `low` to `high`, of `n` independent values.

    A single value has no interval, and values that are all the same have none: `low` and `high` are ``None``, as all
    three are without any value.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval; those of a single value are the value itself."""
        if self.value is None:
            return None
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    def scaled(self, factor: float) -> Interval:
        """The same in another unit; `factor` is above zero."""
        value, low, high = (None if part is None else part * factor for part in (self.value, self.low, self.high))
        return Interval(value, low, high, self.n)


def mean_interval(values: Iterable[float | None], *, level: float = 0.95) -> Interval:
    """The mean with its interval by Student's t, as in :func:`estimate`."""
    check_level(level)
    found = _estimate(known(values), level)
    if found.mean is None or found.ci95 is None:
        return Interval(found.mean, None, None, found.n)
    return Interval(found.mean, found.mean - found.ci95, found.mean + found.ci95, found.n)


def median_interval(values: Iterable[float | None], *, level: float = 0.95) -> Interval:
    """The median with the order statistics around it that hold it with that level, whatever the distribution.

    Too few values for the level, of 95 % fewer than six, have none; then these are the smallest and the largest, which
    hold it less often: 94 % of five.
    """
    check_level(level)
    ordered = sorted(known(values))
    n = len(ordered)
    if n == 0:
        return Interval(None, None, None, 0)
    value = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    if n == 1 or constant(ordered):
        return Interval(value, None, None, n)
    if 2 * 0.5**n > 1 - level:
        return Interval(value, ordered[0], ordered[-1], n)
    from scipy.stats import quantile_test

    ends = quantile_test(ordered, q=value, p=0.5).confidence_interval(level)
    return Interval(value, float(ends.low), float(ends.high), n)
