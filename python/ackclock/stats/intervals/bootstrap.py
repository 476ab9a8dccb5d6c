"""Bootstrap intervals: for what is far from normal, and for statistics other than the mean.

B. Efron, Better bootstrap confidence intervals, J. Amer. Statist. Assoc. 82, 1987 (bias-corrected and accelerated).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ackclock.stats.intervals.mean import Interval
from ackclock.stats.samples.missing import check_level, known
from ackclock.stats.samples.spread import constant

LEAST = 10
"""Values that a bootstrap needs: of fewer the resamples take so few values that the tails are steps."""

RESAMPLES = 9999


def bca_interval(
    values: Iterable[float | None],
    statistic: Callable[..., Any] | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """A statistic with its BCa bootstrap interval; missing values are left out.

    `statistic` is of numpy's kind, with an argument `axis`; by default the mean. The resamples are drawn with `seed`:
    the same values give the same interval. Of fewer than :data:`LEAST` values, or of equal ones, there is no interval.
    """
    import numpy as np
    from scipy.stats import bootstrap

    check_level(level)
    sample = np.array(known(values), dtype=np.float64)
    own = np.mean if statistic is None else statistic
    n = int(sample.size)
    if n == 0:
        return Interval(None, None, None, 0)
    value = float(own(sample, axis=-1))
    if n < LEAST or constant(sample):
        return Interval(value, None, None, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a degenerate bootstrap distribution: seen below by its interval
        found = bootstrap(
            (sample,),
            own,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, 2_000_000 // n),  # a bound on the memory, whatever n is
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(value, None, None, n)
    return Interval(value, low, high, n)
