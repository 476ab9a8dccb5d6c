"""All differences of several samples at once, over runs that share their random numbers.

Student's t for each pair, adjusted by Bonferroni's inequality for their number: nothing is assumed of how candidates
vary together, which common random numbers decide (B. L. Nelson and F. J. Matejcik, Using common random numbers for
indifference-zone selection and multiple comparisons in simulation, Management Science 41, 1995). From ten runs on the
quantile is at least that of the bootstrapped largest |t| (P. Hall, The Bootstrap and Edgeworth Expansion, 1992, §3.5,
percentile-t), as t alone is too narrow for one skewed candidate among others. docs/rank.md has the coverage measured.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.stats.intervals.mean import t_quantile
from ackclock.stats.samples.missing import check_level
from ackclock.stats.samples.spread import NOISE

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

LEAST_RESAMPLED = 10
"""Runs from which on the bootstrap counts: of fewer its quantiles are several times those of t, and say nothing."""

LEAST_SHARES = 5
"""Runs from which on there is a probability of being best: of fewer one run decides how wide the draws are."""

_RESAMPLES = 10_000
_TAIL, _MOST = 100, 100_000  # resamples beyond a quantile, and of all
_CELLS, _FEWEST = 20_000_000, 1000  # what their table may take, and resamples there are whatever that is


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The differences of K samples: ``value[i, j]`` is the mean of i less that of j, within ± ``half[i, j]``.

    All intervals hold together with the level asked for. `half` is nan where there is none: for a single run, and
    where a difference is the same in all runs. It is infinite where runs vary too seldom to know how much they do.
    """

    value: Array
    half: Array
    n: int
    family: int

    def apart(self, i: int, j: int) -> bool:
        """Whether i is shown to differ from j: the interval leaves zero out."""
        return bool(abs(self.value[i, j]) > self.half[i, j])

    def ends(self, i: int, j: int) -> tuple[float, float] | None:
        """The interval of i less j; ``None`` without one."""
        value, half = float(self.value[i, j]), float(self.half[i, j])
        return (value - half, value + half) if math.isfinite(half) else None


def pairwise(samples: Array, *, level: float = 0.95) -> Pairwise:
    """Simultaneous intervals of all differences of columns; a row is a run that all columns share.

    Raises :class:`ValueError` for a missing or infinite value: leave the row out.
    """
    import numpy as np

    check_level(level)
    n, count = samples.shape
    if not np.isfinite(samples).all():
        raise ValueError("a value is missing or infinite: leave its row out")
    first, second = np.triu_indices(count, 1)
    value, half = np.zeros((count, count)), np.full((count, count), np.nan)
    if not len(first):
        return Pairwise(value, half, n, 0)
    differences = samples[:, first] - samples[:, second]
    means = differences.mean(axis=0)
    size = np.abs(samples).max()
    means[np.abs(means) <= NOISE * size] = 0.0
    widths = np.full(len(first), np.nan)
    varies = np.ptp(differences, axis=0) > NOISE * size
    if n > 1 and varies.any():
        own = differences[:, varies]
        error = own.std(axis=0, ddof=1) / math.sqrt(n)
        least = t_quantile(1 - (1 - level) / (2 * len(first)), n - 1)
        widths[varies] = error * (np.maximum(least, _largest_t(own, level)) if n >= LEAST_RESAMPLED else least)
    value[first, second], value[second, first] = means, -means
    half[first, second] = half[second, first] = widths
    return Pairwise(value, half, n, len(first))


def best_shares(samples: Array) -> list[float] | None:
    """How sure each column is the one with the largest mean: its share of draws of all means around those measured.

    Draws are of a multivariate Student's t with the covariance of the rows and n - 1 degrees of freedom, so that what
    columns share cancels. They are wider by t(0.975) / t(0.95): the one that leads was not named before, and of two
    that are equal one comes to 95 % as seldom as p < 0.05 does in a two-sided test, whatever n is. Equal columns
    share. ``None`` for fewer rows than :data:`LEAST_SHARES`.
    """
    import numpy as np

    n = len(samples)
    if n < LEAST_SHARES:
        return None
    wider = t_quantile(0.975, n - 1) / t_quantile(0.95, n - 1)
    means = samples.mean(axis=0)
    drawn = means - samples.mean() + wider * (_student(n) @ (samples - means))
    largest = drawn.max(axis=1, keepdims=True)
    best = drawn >= largest - NOISE * np.abs(samples).max()
    return [float(share) for share in (best / best.sum(axis=1, keepdims=True)).mean(axis=0)]


@functools.lru_cache(maxsize=4)
def _student(n: int) -> Array:
    """Weights of `n` rows whose products with centred rows are Student's t, in standard errors of the mean.

    From a fixed seed: the same whatever they weigh. Half of them are the others with the opposite sign.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    count = min(_RESAMPLES, max(_FEWEST, _CELLS // n)) // 2
    scale = np.sqrt((n - 1) / rng.chisquare(n - 1, size=(count, 1)))
    half = rng.normal(size=(count, n)) * scale / math.sqrt(n * (n - 1))
    return np.concatenate([half, -half])


def _largest_t(differences: Array, level: float) -> Array:
    """The quantile of the largest |t| over all differences, by bootstrap; infinite for one that seldom varies."""
    import numpy as np

    n = len(differences)
    most = max(_FEWEST, _CELLS // (5 * differences.shape[1]))  # of several tables of all resamples
    weights = _weights(n, min(_MOST, most, math.ceil(_TAIL / (1 - level))))
    centred = differences - differences.mean(axis=0)
    centred /= centred.std(axis=0)
    means = weights @ centred / n
    variances = (weights @ centred**2 / n - means**2) / (n - 1)
    without = variances <= NOISE
    t = np.where(without, 0.0, np.abs(means) / np.sqrt(np.where(without, 1.0, variances)))
    quantile = float(np.quantile(t.max(axis=1), level, method="higher"))
    return np.where(without.mean(axis=0) > 1 - level, np.inf, quantile)


@functools.lru_cache(maxsize=4)
def _weights(n: int, resamples: int) -> Array:
    """How often each of `n` rows is drawn in each resample, from a fixed seed: the same whatever is resampled."""
    import numpy as np

    count = min(resamples, max(_FEWEST, _CELLS // n))
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), count).astype(np.float64)
