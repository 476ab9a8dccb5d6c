"""Means with confidence intervals, and fairness."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent replications.

    ``ci95`` is half the width of the 95 % confidence interval: the mean lies in mean ± ci95. It is ``None`` for
    a single value, which says nothing about its own spread; ``mean`` is ``None`` if there was no value at all.
    """

    mean: float | None
    ci95: float | None
    n: int


def estimate(values: Iterable[float | None]) -> Estimate:
    """Mean and 95 % confidence interval, ``mean ± t(0.975, n - 1) s / sqrt(n)``; missing values are left out."""
    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    n = len(known)
    if n == 0:
        return Estimate(None, None, 0)
    mean = math.fsum(known) / n
    if n == 1:
        return Estimate(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in known) / (n - 1)
    return Estimate(mean, t_quantile(0.975, n - 1) * math.sqrt(variance / n), n)


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution with so many degrees of freedom."""
    from scipy.special import stdtrit  # a tenth of the import time of scipy.stats

    return float(stdtrit(degrees, probability))


def jain(values: Iterable[float]) -> float | None:
    """Jain's fairness index, ``(sum x)^2 / (n sum x^2)``: 1 if all are equal, 1/n if one has everything.

    ``None`` if there are no values or all are zero.
    """
    shares = [float(value) for value in values]
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else None
